"""The noise that a tree knows of is the noise there is, and noise alone is rarely split.

True records stay the same and are disguised again in every survey. Each assertion fails a correct
program once in a million; beside it stands a control that must fail: standard errors a quarter too
small, or less caution.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.stats import binom, chi2, norm

from tacit import Attribute, Design, Group, Schema, disguise
from tacit.core.arrays import Array, Codes
from tacit.core.channel import matrix, related, truthful, uniform_perturbation, unrelated
from tacit.datasets import adult_binary
from tacit.mine import DecisionTree
from tacit.mine.tree.tables import TreeReports, root_tables
from tacit.records import count
from tests.support.chance import FALSE_ALARM

HALF = ["1/2", "1/2"]
THREE = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.2], [0.1, 0.1, 0.7]]
UNDECIDED = "it is uncertain which class is the most common"

# The standard error of a cell ---------------------------------------------------------------------

SURVEYS = 200
SCHEMA = Schema(
    [
        Attribute("class", ["x", "y", "z"]),
        Attribute("a", ["no", "yes"]),
        Attribute("b", ["p", "q", "r"]),
        Attribute("c", ["no", "yes"]),
    ]
)
DESIGNS = {
    "one related group": [Group(SCHEMA.names, related(0.8))],
    "one unrelated group": [
        Group(SCHEMA.names, unrelated(0.6, {a.name: [f"1/{a.size}"] * a.size for a in SCHEMA}))
    ],
    "groups of every kind": [
        Group(["class", "a"], uniform_perturbation(0.7)),
        Group(["b"], matrix(THREE)),
        Group(["c"], related(0.85)),
    ],
    "a truthful class": [Group(["class"], truthful()), Group(SCHEMA.names[1:], related(0.75))],
}


def related_records(n: int = 4000) -> Codes:
    rng = np.random.default_rng(1)
    own = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    a = rng.random(n) < np.array([0.3, 0.5, 0.7])[own]
    b = np.where(a, rng.choice(3, n, p=[0.5, 0.3, 0.2]), rng.integers(0, 3, n))
    c = rng.random(n) < np.array([0.6, 0.4, 0.5])[own]
    return np.stack([own, a, b, c], axis=1).astype(np.uint8)


@cache
def read(name: str) -> list[tuple[Array, Array]]:
    """`beyond` and `noise` of every cell by survey: at the root, and where c is no or yes."""
    design, rng = Design(SCHEMA, DESIGNS[name]), np.random.default_rng(11)
    found = []
    for _ in range(SURVEYS):
        reported = count(disguise(related_records(), design, rng), design.reported)
        root = root_tables(TreeReports.of(reported, design, "class"))
        parts = np.array([[0, 1, -1]])
        below = root.children(np.array([3]), parts, np.ones((1, 2), bool))
        splits = [(root.n, s) for s in root.splits(np.array([[False, True, True, True]]))]
        splits += [(below.n, s) for s in below.splits(np.array([[False, True, True, False]]))]
        pairs = [(n, s, place) for n, s in splits for place in range(len(s.attributes))]
        found.append([s.noise(np.arange(n), np.full(n, place)) for n, s, place in pairs])
    return [
        (np.array([f[i][0] for f in found]), np.array([f[i][1] for f in found]))
        for i in range(len(found[0]))
    ]


def agrees(beyond: Array, noise: Array) -> bool:
    """Whether the spread over surveys may be this noise, in all cells; chi-squared, Bonferroni."""
    ratio = beyond.var(axis=0, ddof=1) / (noise**2).mean(axis=0) * (SURVEYS - 1)
    alarm = FALSE_ALARM / ratio.size
    low, high = chi2.ppf([alarm / 2, 1 - alarm / 2], SURVEYS - 1)
    return bool(((low < ratio) & (ratio < high)).all())


@pytest.mark.parametrize("name", DESIGNS)
def test_the_noise_of_a_cell_is_its_spread_over_disguises_of_the_same_records(name: str) -> None:
    for beyond, noise in read(name):
        assert agrees(beyond, noise), beyond.std(axis=0) / noise.mean(axis=0)
        assert not agrees(beyond, 0.75 * noise)


# Splits of pure noise -----------------------------------------------------------------------------

FITS = 60
TWO_SIDED = 2 * norm.sf(2.0)  # 4.55 %


def unrelated_records(n_attributes: int, k: int = 2) -> tuple[Schema, Codes]:
    """Every pattern of the attributes with 40 % of each class: nothing tells the class at all."""
    sizes = (5, *[k] * n_attributes)
    cells = np.indices(sizes).reshape(len(sizes), -1).T
    cells[:, 0] = cells[:, 0] < 2
    names = [Attribute("class", ["no", "yes"])]
    names += [Attribute(f"q{i}", [f"c{j}" for j in range(k)]) for i in range(n_attributes)]
    records = np.tile(cells, (1 + 3000 // len(cells), 1)).astype(np.uint8)
    return Schema(names), records


def splits(schema: Schema, records: Codes, groups: int, caution: float, criterion: str) -> int:
    """In how many surveys the root is split."""
    parts = [schema.names[i::groups] for i in range(groups)]
    design = Design(schema, [Group(part, uniform_perturbation(0.5)) for part in parts])
    rng = np.random.default_rng(21)
    found = 0
    for _ in range(FITS):
        model = DecisionTree(design, "class", criterion, caution, max_depth=1)
        found += model.fit(disguise(records, design, rng)).get_n_leaves() > 1
    return found


@pytest.mark.parametrize(("groups", "criterion"), [(1, "entropy"), (2, "gini")])
@pytest.mark.parametrize(
    ("n_attributes", "k"), [(1, 2), (4, 2), (1, 6)], ids=["one", "four", "six categories"]
)
def test_pure_noise_is_rarely_split(n_attributes: int, k: int, groups: int, criterion: str) -> None:
    """4.55 % an attribute.

    With k categories there are k tests for yes/no classes, each 4.55 % / (k - 1).
    """
    schema, records = unrelated_records(n_attributes, k)
    rate = n_attributes * TWO_SIDED * (1 if k == 2 else k / (k - 1))
    most = binom.ppf(1 - FALSE_ALARM, FITS, rate)
    assert splits(schema, records, groups, 2.0, criterion) <= most
    assert splits(schema, records, groups, 0.5, criterion) > most


# What cannot be known -----------------------------------------------------------------------------


REPEATS = 24


@cache
def undecided(theta: float, repeats: int = REPEATS) -> int:
    """How often a tree learnt from 8,000 records of Adult says so."""
    every, schema = adult_binary()
    codes, schema = every[:8000, -5:], schema.subset(schema.names[-5:])
    design, rng = Design(schema, [Group(schema.names, related(theta))]), np.random.default_rng(31)
    found = 0
    for _ in range(repeats):
        reported = disguise(codes, design, rng)
        found += UNDECIDED in DecisionTree(design, schema.names[-1]).fit(reported).notes()
    return found


def test_near_one_half_the_reports_do_not_tell_the_commonest_class_and_the_tree_says_so() -> None:
    """One class leads by .52, with a standard error of .56: within two of them in 86 %."""
    codes, _ = adult_binary()
    lead = abs(1 - 2 * codes[:8000, -1].mean())
    error = 1 / (0.02 * np.sqrt(8000))
    expected = norm.cdf(2 - lead / error) - norm.cdf(-2 - lead / error)
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], REPEATS, expected)
    assert low <= undecided(0.51) <= high
    assert undecided(0.51) > REPEATS / 2
    assert undecided(0.8, 10) == 0
