"""The papers' procedure (caution 0), beside ID3 written out node by node.

Du & Zhan 2003, section 4: the listing of ID3 and eq. 2, with every estimated share cut at zero.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tacit.core.arrays import Array
from tacit.core.channel import related
from tacit.core.disguise import disguise
from tacit.core.schema import Attribute, Schema
from tacit.mine import DecisionTree
from tacit.mine.tree.growth import CRITERIA
from tacit.privacy.comparison import grouped
from tacit.reconstruction import reconstruct

NAMES = "abcdef"
SCHEMA = Schema([Attribute(name, ["no", "yes"]) for name in NAMES])
TIE = 1e-12


def some_records(seed: int, n: int = 400) -> Array:
    """Records whose class, the last attribute, leans on the first two."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (n, len(NAMES)))
    leaning = np.where(codes[:, 0] & codes[:, 1], 0.8, 0.25)
    codes[:, -1] = rng.random(n) < leaning
    return codes.astype(np.uint8)


def impurity(shares: Array, criterion: str) -> float:
    """|S| Entropy(S) or |S| Gini(S) of shares without negative ones."""
    chances = [q / shares.sum() for q in shares if q > TIE]
    if criterion == "gini":
        return float(shares.sum()) * (1 - sum(q * q for q in chances)) if chances else 0.0
    return float(shares.sum()) * -sum(q * np.log2(q) for q in chances)


def cut(shares: Array) -> Array:
    return np.where(shares > TIE, shares, 0)


def written_out(joint: Array, record: tuple[int, ...], criterion: str) -> int:
    """The class of a record: the tree is walked, and grown where it is walked."""
    free, label = list(range(len(record))), 0
    while True:
        shares = cut(joint.sum(axis=tuple(range(joint.ndim - 1))))
        if not shares.any():
            return label
        label = int((shares > shares.max() - TIE).argmax())
        if np.count_nonzero(shares) == 1 or not free:
            return label
        gains = []
        for k in range(len(free)):
            others = tuple(i for i in range(len(free)) if i != k)
            parts = [cut(part) for part in joint.sum(axis=others)]
            gain = impurity(shares, criterion) - sum(impurity(part, criterion) for part in parts)
            gains.append(gain if all(part.any() for part in parts) else -np.inf)
        if max(gains) == -np.inf:
            return label
        best = next(k for k, gain in enumerate(gains) if gain > max(gains) - TIE)
        joint = joint.take(record[free.pop(best)], axis=best)


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@pytest.mark.parametrize(("groups", "theta"), [(1, "0.55"), (2, "0.6"), (3, "0.65")])
def test_the_papers_procedure_classifies_as_id3_written_out(
    groups: int, theta: str, criterion: str
) -> None:
    design = grouped(SCHEMA, groups, lambda _: related(theta=theta))
    every = list(product((0, 1), repeat=len(NAMES) - 1))
    negative = 0
    for seed in range(12):
        reported = disguise(some_records(seed), design, np.random.default_rng(seed))
        model = DecisionTree(design, NAMES[-1], criterion=criterion, caution=0).fit(reported)
        joint = np.asarray(reconstruct(reported, design).table(SCHEMA.names).value)
        expected = [written_out(joint, record, criterion) for record in every]
        predicted = model.predict(np.array(every, np.uint8)) == "yes"
        np.testing.assert_array_equal(predicted, expected)
        negative += int((joint < 0).sum())
    assert negative > 0


@pytest.mark.parametrize("criterion", CRITERIA.values(), ids=list(CRITERIA))
def test_what_is_cut_off_a_split_does_not_add_to_its_gain(criterion: Any) -> None:
    """P(E, c) is .3 and .2 for both attributes: Entropy(S) is the same, eq. 2."""
    plain = np.array([[[0.2, 0.1], [0.1, 0.1]]])
    below = np.array([[[0.5, 0.1], [-0.2, 0.1]]])
    whole = float(criterion.impurity(np.array([0.3, 0.2])))
    for table in (plain, below):
        left = sum(float(criterion.impurity(part)) for part in np.maximum(table[0], 0))
        np.testing.assert_allclose(criterion.gains(table), whole - left, rtol=0, atol=TIE)
