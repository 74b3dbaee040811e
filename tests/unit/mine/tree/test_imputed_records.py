"""True records drawn given the reports: their frequencies are the posterior of brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2

from tacit import Attribute, Design, Group, Schema, forced, matrix, related, uniform_perturbation
from tacit.mine.tree.forest import RecordPosterior
from tacit.records import PatternTable

SCHEMA = Schema(
    [Attribute("a", ["x", "y", "z"]), Attribute("b", ["no", "yes"]), Attribute("c", ["no", "yes"])]
)
PRIOR = np.array([0.3, 0.7])
TABLES = [
    np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]),
    np.array([[0.8, 0.2], [0.35, 0.65]]),
    np.eye(2),
]
#: A wrong posterior passes with probability below this, a right one fails with this probability.
FALSE_ALARM = 1e-6
DRAWS = 40_000

_noisy = [[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]]
DESIGNS = {
    "related": [Group(["a", "b", "c"], related(0.7))],
    "related apart": [Group(["a", "c"], related(0.8)), Group(["b"], related(0.6))],
    "unrelated": [Group(["a", "b"], uniform_perturbation(0.6)), Group(["c"], related(0.7))],
    "matrix": [Group(["a"], matrix(_noisy)), Group(["b", "c"], uniform_perturbation(0.5))],
    "forced": [Group(["b"], forced("1/2", ["1/4", "3/4"])), Group(["a", "c"], related(0.75))],
}


def brute_force(design: Design, report: np.ndarray) -> np.ndarray:
    """P(true record | report), one cell per record."""
    channel = design.channel(SCHEMA.names)
    cell = np.ravel_multi_index(tuple(report), SCHEMA.sizes)
    joint = np.array(
        [PRIOR[c] * TABLES[0][c, a] * TABLES[1][c, b] for a, b, c in np.ndindex(*SCHEMA.sizes)]
    )
    found = channel.matrix[cell] * joint
    return np.asarray(found / found.sum())


def statistic(design: Design, report: np.ndarray, tables: list[np.ndarray]) -> tuple[float, int]:
    """Pearson's chi-squared of drawn records against brute force, and its degrees of freedom."""
    patterns = PatternTable(SCHEMA, report[None].astype(np.uint8), np.array([1]))
    posterior = RecordPosterior.of(patterns, design, "c", PRIOR, tables)
    drawn = posterior.draw(np.zeros(DRAWS, np.intp), np.random.default_rng(7))
    seen = np.bincount(
        np.ravel_multi_index(tuple(drawn.T.astype(np.intp)), SCHEMA.sizes), minlength=12
    )
    expected = DRAWS * brute_force(design, report)
    assert not seen[expected == 0].any()
    own = expected > 0
    value = float((np.square(seen - expected)[own] / expected[own]).sum())
    return value, int(own.sum()) - 1


@pytest.mark.parametrize("name", DESIGNS)
def test_drawn_records_follow_the_posterior_of_brute_force(name: str) -> None:
    design = Design(SCHEMA, DESIGNS[name])
    for report in ([0, 1, 1], [2, 0, 0]):
        value, freedom = statistic(design, np.array(report), TABLES)
        assert value < chi2.isf(FALSE_ALARM, max(freedom, 1)), report


@pytest.mark.parametrize("name", DESIGNS)
def test_draws_under_another_model_do_not_pass(name: str) -> None:
    design = Design(SCHEMA, DESIGNS[name])
    wrong = [np.array([[0.4, 0.4, 0.2], [0.2, 0.2, 0.6]]), TABLES[1], TABLES[2]]
    found = [statistic(design, np.array(r), wrong) for r in product((0, 1, 2), (0, 1), (0, 1))]
    assert any(value > chi2.isf(FALSE_ALARM, max(freedom, 1)) for value, freedom in found)
