"""One repeat of the tree experiments: split, disguise, grow both ways, test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.channel.linear import Array
from tacit.coding import Codes
from tacit.counting import PatternTable, count
from tacit.design import Design
from tacit.disguising import disguise
from tacit.evaluate import accuracy
from tacit.mine import DecisionTree
from tacit.reconstruction import Reconstruction
from tacit.reconstruction.simplex import project
from tacit.reproduce.adult import TARGETS, first_records, split
from tacit.reproduce.setting import Value

TARGET = TARGETS["adult"]
#: Standard errors by which a split must stand out; 0 is the papers' procedure.
PROCEDURES = {"literal": 0.0, "noise-aware": 2.0}
#: How near the curves of the literal procedure should be to those measured before.
NEAR = 0.02


@dataclass(frozen=True)
class Trial:
    """Accuracy on true test records, and as estimated from disguised ones with its error."""

    accuracy: float
    estimated: float
    stderr: float


def trials(
    design: Design, rng: np.random.Generator, criteria: tuple[str, ...]
) -> tuple[dict[tuple[str, str], Trial], float]:
    """A trial by criterion and procedure, and the gain of the root as the reports tell it."""
    codes, _ = first_records()
    train, test = split(codes, rng)
    reported = count(disguise(train, design, rng), design.reported)
    tested = count(disguise(test, design, rng), design.reported)
    found = {
        (criterion, name): _trial(_grown(design, criterion, caution, reported), test, tested)
        for criterion in criteria
        for name, caution in PROCEDURES.items()
    }
    return found, largest_gain(Reconstruction(reported, design), TARGET)


def _grown(design: Design, criterion: str, caution: float, reported: PatternTable) -> DecisionTree:
    return DecisionTree(design, TARGET, criterion=criterion, caution=caution).fit(reported)


def _trial(model: DecisionTree, test: Codes, tested: PatternTable) -> Trial:
    design = model.design
    assert design is not None
    classes = np.array(design.schema[TARGET].categories)
    right = float(np.mean(model.predict(test[:, :-1]) == classes[test[:, -1]]))
    estimate = accuracy(model, tested, design)
    return Trial(right, float(estimate.value), float(estimate.stderr))


def largest_gain(found: Reconstruction, target: str) -> float:
    """Information gain in bits of the best split of all records.

        Gain(A) = H(C) - sum_a P(a) H(C | a) = H(C) + H(A) - H(C, A)

    from reconstructed tables, projected on the simplex (Du & Zhan 2003, section 4.1).
    """
    names = [name for name in found.design.schema.names if name != target]
    tables = [project(found.table([target, name]).value) for name in names]
    return max(_bits(t.sum(axis=1)) + _bits(t.sum(axis=0)) - _bits(t) for t in tables)


def _bits(distribution: Array) -> float:
    positive = distribution[distribution > 0]
    return float(-(positive * np.log2(positive)).sum())


def doubt(stderr: Value) -> str:
    """A sentence where chance alone may explain a difference from what was measured before."""
    if stderr is None or float(stderr) < NEAR / 4:
        return ""
    return f" Ours has a standard error of {float(stderr):.3f}."
