"""Tests of pairs: against brute force over the channel, and where one statistic alone fails."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax
from scipy.stats import chi2, chi2_contingency

from tacit import Attribute, Design, Group, Schema, disguise, related, truthful
from tacit.core.arrays import Array
from tacit.models.dependence_tree import holm, likelihood_ratio, pair_dependence
from tacit.models.units import UnitReports
from tacit.records import count


def tables_of(design: Design, true: Array, seed: int = 1) -> UnitReports:
    reported = disguise(true.astype(np.uint8), design, np.random.default_rng(seed))
    return UnitReports(count(reported, design.reported), design)


def schema_of(*sizes: int) -> Schema:
    return Schema([Attribute(f"a{i}", range(k)) for i, k in enumerate(sizes)])


def dependent(n: int, seed: int = 2) -> Array:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, n)
    return np.stack([first, np.where(rng.random(n) < 0.3, first, rng.integers(0, 3, n))], axis=1)


def largest(log_likelihood: Callable[[Array], float], n_parameters: int) -> float:
    """The largest value, from several starts."""
    rng = np.random.default_rng(3)
    tries = [
        minimize(lambda z: -log_likelihood(z), rng.normal(size=n_parameters), tol=1e-13)
        for _ in range(5)
    ]
    return max(-found.fun for found in tries)


@pytest.mark.parametrize("theta", [1, 0.8, 0.6])
@pytest.mark.parametrize("together", [True, False])
def test_the_likelihood_ratio_is_that_of_brute_force(theta: float, together: bool) -> None:
    schema = schema_of(2, 3)
    parts = [schema.names] if together else [[name] for name in schema.names]
    design = Design(schema, [Group(part, related(theta)) for part in parts])
    tables = tables_of(design, dependent(3000))
    matrix, seen = tables.layout.matrix((0, 1)), tables.frequencies((0, 1))

    def value(table: Array) -> float:
        held = seen > 0
        return float(seen[held] @ np.log((matrix @ table)[held]))

    full = largest(lambda z: value(softmax(z)), 6)
    null = largest(lambda z: value(np.outer(softmax(z[:2]), softmax(z[2:])).ravel()), 5)
    expected = 2 * tables.n_records * (full - null)
    assert likelihood_ratio(tables, (0, 1)) == pytest.approx(expected, rel=2e-3, abs=2e-3)


def test_without_disguise_both_statistics_are_the_usual_ones() -> None:
    schema, true = schema_of(2, 3), dependent(3000)
    tables = tables_of(Design(schema, [Group(schema.names, truthful())]), true)
    counts = np.zeros((2, 3))
    np.add.at(counts, (true[:, 0], true[:, 1]), 1)
    ratio = chi2_contingency(counts, correction=False, lambda_="log-likelihood")
    pearson = chi2_contingency(counts, correction=False)
    found = pair_dependence(tables)
    assert likelihood_ratio(tables, (0, 1)) == pytest.approx(ratio.statistic)
    assert found.statistic[0] == pytest.approx(pearson.statistic)
    assert found.p_values[0] == pytest.approx(max(ratio.pvalue, pearson.pvalue))


def test_one_record_in_a_rare_cell_is_no_evidence() -> None:
    """Pearson's statistic of one record where 0.001 are expected is about 1,000."""
    true = np.zeros((1000, 2), np.uint8)
    true[0] = 1
    schema = schema_of(2, 2)
    tables = tables_of(Design(schema, [Group(schema.names, truthful())]), true)
    found = pair_dependence(tables)
    assert chi2.sf(found.statistic[0], 1) < 1e-99
    assert found.p_values[0] > 1e-5


def test_a_category_that_nobody_has_takes_no_degree_of_freedom() -> None:
    true = dependent(500)
    true[:, 1] = np.minimum(true[:, 1], 1)
    schema = schema_of(2, 3)
    found = pair_dependence(tables_of(Design(schema, [Group(schema.names, truthful())]), true))
    assert found.freedom.tolist() == [1]
    true[:, 1] = 0
    found = pair_dependence(tables_of(Design(schema, [Group(schema.names, truthful())]), true))
    assert found.freedom.tolist() == [0]
    assert found.p_values.tolist() == [1.0]


def test_adjusted_p_values_are_never_below_the_plain_ones_and_keep_their_order() -> None:
    p = np.random.default_rng(4).random(50) ** 3
    adjusted = holm(p)
    assert (adjusted >= p).all()
    assert adjusted.max() <= 1
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()
    assert holm(p).min() == pytest.approx(min(1, 50 * p.min()))
    assert holm(np.array([])).tolist() == []
