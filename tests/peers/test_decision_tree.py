"""DecisionTree beside scikit-learn's, and its accuracy on disguised Adult.

Undisguised, both grow to the same accuracy on what they learnt from. Disguised, the first 8,000 of
the first 10,000 records are learnt from and the other 2,000, undisguised, are predicted; ID3 on the
same records undisguised gets .8135 (METHODS 6), the commonest class .7665. Thresholds are on means
of some disguises.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from tacit import Design, Group, Schema, disguise, related, truthful, uniform_perturbation
from tacit.core.arrays import Codes
from tacit.core.channel import Coin
from tacit.datasets import (
    adult_binary,
    adult_native,
    wisconsin_binary,
)
from tacit.mine import DecisionTree
from tests.support.breast_cancer import ljubljana, wisconsin
from tests.support.grids import thinned

LEARNT, ALL = 8_000, 10_000
REPEATS, FEW = 5, 3


DATA: dict[str, Callable[[], tuple[Codes, Schema]]] = {
    "Adult as yes/no": adult_binary,
    "Adult": lambda: adult_native(bins=5),
    "Wisconsin as yes/no": wisconsin_binary,
    "Wisconsin": wisconsin,
    "Ljubljana": ljubljana,
}


@cache
def loaded(name: str) -> tuple[Codes, Schema]:
    codes, schema = DATA[name]()
    return codes[:ALL], schema


def plain(schema: Schema) -> Design:
    return Design(schema, [Group(schema.names, truthful())])


def accuracy(model: DecisionTree, records: Codes, schema: Schema) -> float:
    """The share of records whose class, the last attribute, is predicted."""
    labels = np.array(schema[schema.names[-1]].categories)
    return float(np.mean(model.predict(records[:, :-1]) == labels[records[:, -1]]))


# Undisguised -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_undisguised_it_learns_as_much_as_scikit_learns_tree_on_one_hot_data(
    name: str, criterion: str
) -> None:
    """Adult as yes/no .8483, Adult .9753, Wisconsin .9728 and 1, Ljubljana .9790."""
    codes, schema = loaded(name)
    features = OneHotEncoder().fit_transform(codes[:, :-1])
    peer = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(features, codes[:, -1])
    expected = peer.score(features, codes[:, -1])
    ours = DecisionTree(plain(schema), schema.names[-1], criterion).fit(codes)
    assert accuracy(ours, codes, schema) == expected
    without = DecisionTree(criterion=criterion).fit(codes[:, :-1], codes[:, -1])
    assert without.score(codes[:, :-1], codes[:, -1]) == expected


@pytest.mark.parametrize("name", ["Adult as yes/no", "Wisconsin as yes/no"])
def test_undisguised_yes_no_trees_are_as_large_as_scikit_learns(name: str) -> None:
    """Within 2 %: where two splits gain the same, either may be taken (839, 839; 51, 51 leaves)."""
    codes, schema = loaded(name)
    peer = DecisionTreeClassifier(random_state=0).fit(codes[:, :-1], codes[:, -1])
    ours = DecisionTree(plain(schema), schema.names[-1], "gini").fit(codes)
    assert ours.get_n_leaves() == pytest.approx(peer.get_n_leaves(), rel=0.02)


def test_id3_fully_grown_on_the_first_10000_of_adult() -> None:
    """METHODS 6: .8135."""
    codes, schema = loaded("Adult as yes/no")
    model = DecisionTree(plain(schema), schema.names[-1]).fit(codes[:LEARNT])
    assert accuracy(model, codes[LEARNT:], schema) == pytest.approx(0.81, abs=0.01)


# Disguised ---------------------------------------------------------------------------------------

Coins = Callable[[float], Coin]


def disguised(
    name: str, coins: Coins, theta: float, groups: int, repeats: int, criterion: str = "entropy"
) -> Any:
    """Accuracies of trees learnt from disguised records; every g-th attribute is a group."""
    codes, schema = loaded(name)
    parts = [schema.names[i::groups] for i in range(groups)]
    design = Design(schema, [Group(part, coins(theta)) for part in parts])
    found = []
    for repeat in range(repeats):
        reported = disguise(codes[:LEARNT], design, np.random.default_rng(1000 + repeat))
        model = DecisionTree(design, schema.names[-1], criterion).fit(reported)
        found.append(accuracy(model, codes[LEARNT:], schema))
    return np.array(found)


ADULT = "Adult as yes/no"


@pytest.mark.parametrize(
    ("groups", "theta", "least"),
    thinned(
        [(1, 0.6, 0.785), (3, 0.8, 0.793)],
        [
            *[
                (1, 0.55, 0.755),
                (2, 0.7, 0.77),
                (4, 0.9, 0.797),
                (1, 0.7, 0.80),
                (1, 0.8, 0.805),
                (1, 0.9, 0.808),
            ],
            *[(2, 0.8, 0.798), (2, 0.9, 0.80), (3, 0.7, 0.755), (3, 0.9, 0.80)],
            *[(4, 0.7, 0.755), (4, 0.8, 0.78)],
        ],
    ),
)
def test_adult_under_related_coins(groups: int, theta: float, least: float) -> None:
    repeats = REPEATS if theta < 0.6 else FEW  # where more is hidden, accuracies vary more
    assert disguised(ADULT, related, theta, groups, repeats).mean() >= least


@pytest.mark.parametrize(
    ("groups", "theta"), thinned([(2, 0.55)], [(4, 0.6), (2, 0.6), (3, 0.55), (3, 0.6), (4, 0.55)])
)
def test_adult_under_coins_that_hide_nearly_all_is_no_worse_than_the_commonest_class(
    groups: int, theta: float
) -> None:
    """Without caution .727, .658 and .657 at theta .6 (METHODS 6)."""
    assert disguised(ADULT, related, theta, groups, REPEATS).mean() >= 0.75


def test_the_procedure_of_the_papers_is_worse_where_much_is_hidden() -> None:
    """METHODS 6 measured .658 for three groups at theta .6; the commonest class is .7665."""
    codes, schema = loaded(ADULT)
    design = Design(schema, [Group(schema.names[i::3], related(0.6)) for i in range(3)])
    found = []
    for repeat in range(3):
        reported = disguise(codes[:LEARNT], design, np.random.default_rng(repeat))
        model = DecisionTree(design, schema.names[-1], caution=0).fit(reported)
        found.append(accuracy(model, codes[LEARNT:], schema))
    assert np.mean(found) < 0.72


@pytest.mark.parametrize(
    ("coins", "criterion"),
    thinned(
        [(related, "gini"), (uniform_perturbation, "entropy")],
        [(related, "entropy"), (uniform_perturbation, "gini")],
    ),
)
def test_adult_with_its_own_categories_in_two_groups(coins: Coins, criterion: str) -> None:
    codes, schema = loaded("Adult")
    model = DecisionTree(plain(schema), schema.names[-1], criterion).fit(codes[:LEARNT])
    undisguised = accuracy(model, codes[LEARNT:], schema)
    found = disguised("Adult", coins, 0.8, 2, 1, criterion)
    assert found.mean() >= undisguised - 0.025
