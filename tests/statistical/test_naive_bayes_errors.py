"""95 % intervals of priors and log-odds cover the truth in 95 % of simulated surveys.

Records follow a naive Bayes model, so that what is learnt has a true value. The bounds of a
coverage are quantiles of the binomial distribution: of intervals that cover 95 %, one in 1,000
would be outside by chance, for each of the 60 cells that are looked at. Standard errors two
fifths too small cover 76 % and fail. A spread over 150 surveys is known within 5.8 %, so a fifth
is 3.5 standard errors: chance goes beyond in one of 2,000.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom

from tacit import Attribute, Design, Group, Schema, matrix, related, unrelated
from tacit.core.arrays import Array
from tacit.mine import NaiveBayes
from tacit.reconstruction.interval import normal_interval
from tacit.records import PatternTable
from tests.support.tables import cells_of, reported_table

SURVEYS, SEED, LEVEL = 150, 271, 0.95
FALSE_ALARM = 1e-3
LEAST, MOST = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], SURVEYS, LEVEL) / SURVEYS
HALF = ["1/2", "1/2"]
PRIOR = np.array([0.65, 0.35])
TABLES = [
    np.array([[0.8, 0.2], [0.25, 0.75]]),
    np.array([[0.3, 0.7], [0.75, 0.25]]),
    np.array([[0.6, 0.4], [0.2, 0.8]]),
]
SCHEMA = Schema([Attribute(name, ["no", "yes"]) for name in ("class", "a", "b", "c")])
THREE = [[0.7, 0.1, 0.2], [0.2, 0.8, 0.1], [0.1, 0.1, 0.7]]
KINDS = Schema([Attribute("class", ["x", "y", "z"]), Attribute("a", ["p", "q", "r"]), SCHEMA["b"]])


@dataclass(frozen=True, eq=False)
class Setting:
    """A design, the true model and the number of records of a survey."""

    design: Design
    prior: Array
    tables: list[Array]
    n: int

    @property
    def true(self) -> Array:
        """The true distribution of records; the class is the first attribute."""
        joint = self.prior
        for table in self.tables:
            joint = joint[..., None] * table.reshape(len(table), *[1] * (joint.ndim - 1), -1)
        return joint

    def log_odds(self, place: int) -> Array:
        table, prior = self.tables[place], self.prior[:, None]
        others = (prior * table).sum(axis=0) - prior * table
        return np.asarray(np.log(table) - np.log(others / (1 - prior)))


def four(groups: list[Group], n: int) -> Setting:
    return Setting(Design(SCHEMA, groups), PRIOR, TABLES, n)


SETTINGS = {
    "one related group": four([Group(SCHEMA.names, related(0.7))], 4000),
    "one unrelated group": four([Group(SCHEMA.names, unrelated(0.5, HALF))], 4000),
    "three groups": four(
        [
            Group(["class", "a"], related(0.9)),
            Group(["b"], related(0.85)),
            Group(["c"], unrelated(0.75, HALF)),
        ],
        4000,
    ),
    "a matrix": Setting(
        Design(
            KINDS,
            [
                Group(["class"], matrix(THREE)),
                Group(["a"], matrix(THREE)),
                Group(["b"], related(0.8)),
            ],
        ),
        np.array([0.5, 0.3, 0.2]),
        [np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]), TABLES[0][[0, 1, 1]]],
        8000,
    ),
}


def simulated(name: str) -> list[tuple[Array, Array, Array]]:
    """For the prior and each attribute: the truth, and values and standard errors by survey."""
    setting = SETTINGS[name]
    schema = setting.design.schema
    expected = reported_table(setting.design, setting.true).ravel()
    patterns = np.asfortranarray(cells_of(schema.attributes), dtype=np.uint8)
    surveys = np.random.default_rng(SEED).multinomial(setting.n, expected, size=SURVEYS)
    found = []
    for counts in surveys:
        seen = counts > 0
        table = PatternTable(schema, np.asfortranarray(patterns[seen]), counts[seen])
        model = NaiveBayes(setting.design, "class").fit(table)
        asked = [model.prior(), *(model.log_odds(name) for name in schema.names[1:])]
        found.append([(e.value, e.stderr) for e in asked])
    truths = [setting.prior, *(setting.log_odds(i) for i in range(len(setting.tables)))]
    return [
        (truth, np.stack([f[i][0] for f in found]), np.stack([f[i][1] for f in found]))
        for i, truth in enumerate(truths)
    ]


def coverage(truth: Array, value: Array, stderr: Array) -> Array:
    lower, upper = normal_interval(value, stderr, LEVEL)
    return np.asarray(((lower <= truth) & (truth <= upper)).mean(axis=0))


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_intervals_cover_the_truth_and_standard_errors_are_the_spread_over_surveys(
    name: str,
) -> None:
    for truth, value, stderr in simulated(name):
        covered = coverage(truth, value, stderr)
        assert (covered >= LEAST).all(), covered
        assert (covered <= MOST).all(), covered
        control = coverage(truth, value, 0.6 * stderr)
        assert (control < LEAST).all(), control
        ratio = np.sqrt((stderr**2).mean(axis=0)) / value.std(axis=0)
        assert (np.abs(ratio - 1) < 1 / 5).all(), ratio
