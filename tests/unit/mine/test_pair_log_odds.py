"""PairLogOdds: values and limits against known cases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, reconstruct, related, truthful
from tacit.core.arrays import Array
from tacit.core.channel import Coin
from tacit.errors import DataError
from tacit.mine import NaiveBayes, literal, pairs
from tacit.mine.naive_bayes import PairLogOdds

SCHEMA = Schema([Attribute("class", ["no", "yes"]), Attribute("answer", ["a", "b", "c"])])


def found(counts: list[int], coin: Coin) -> PairLogOdds:
    cells = np.indices(SCHEMA.sizes).reshape(2, -1).T.astype(np.uint8)
    records: Array = np.repeat(cells, counts, axis=0)
    design = Design(SCHEMA, [Group([name], coin) for name in SCHEMA.names])
    return PairLogOdds(reconstruct(records, design).table(SCHEMA.names))


def test_with_many_records_the_limits_are_normal() -> None:
    exact = found([30_000, 20_000, 1_000, 10_000, 15_000, 25_000], truthful())
    lower, upper = exact.interval()
    np.testing.assert_allclose((upper - lower) / 2, 1.96 * exact.stderr, rtol=0.02)
    truth = math.log(10 / 50) - math.log(30 / 51)
    assert exact.value[1, 0] == pytest.approx(truth, abs=1e-3)
    np.testing.assert_allclose(exact.value[0], -exact.value[1], rtol=1e-9)
    np.testing.assert_allclose(lower[0], -upper[1], rtol=1e-6)


@pytest.mark.parametrize("counts", [[40, 900, 60, 900, 30, 70], [5, 6, 989, 0, 3, 997]])
def test_the_log_odds_of_two_classes_mirror_each_other(counts: list[int]) -> None:
    """Also where few records outside the answer are left for one class."""
    some = found(counts, related("3/4"))
    lower, upper = some.interval()
    np.testing.assert_allclose(lower[0], -upper[1], rtol=1e-9)
    np.testing.assert_allclose(upper[0], -lower[1], rtol=1e-9)
    np.testing.assert_allclose(some.stderr[0], some.stderr[1], rtol=1e-9)
    np.testing.assert_allclose(some.value[0], -some.value[1], rtol=1e-9)


def test_a_cell_without_records_leaves_one_side_unbounded() -> None:
    none = found([300, 200, 100, 100, 150, 0], truthful())
    lower, upper = none.interval()
    assert (lower[1, 2], upper[0, 2]) == (-math.inf, math.inf)
    assert math.isfinite(upper[1, 2])
    assert np.isfinite(none.value).all()
    assert (np.isfinite(none.stderr) & (none.stderr > 0)).all()


def test_reports_that_say_nothing_leave_both_sides_unbounded_and_the_estimate_near_zero() -> None:
    vague = found([9, 8, 8, 9, 8, 8], related("51/100"))
    assert np.isinf(vague.interval()).all()
    assert (np.abs(vague.value) < 1).all()
    assert np.isfinite(vague.stderr).all()


def test_the_covariance_has_the_standard_errors() -> None:
    some = found([300, 200, 100, 100, 150, 40], related("4/5"))
    spread = some.covariance()
    np.testing.assert_allclose(np.sqrt(np.diagonal(spread)), some.stderr.ravel(), rtol=1e-12)
    assert (np.linalg.eigvalsh(spread) > -1e-9 * spread.max()).all()


def test_a_higher_level_gives_wider_limits_and_a_level_above_one_is_an_error() -> None:
    some = found([300, 200, 100, 100, 150, 40], related("4/5"))
    narrow, wide = some.interval(0.8), some.interval(0.99)
    assert (wide.lower <= narrow.lower).all()
    assert (wide.upper >= narrow.upper).all()
    assert (wide.lower < narrow.lower).any()
    with pytest.raises(DataError, match="level must lie between 0 and 1"):
        some.interval(2)


@pytest.mark.parametrize("method", [pairs, literal])
def test_tables_of_pairs_have_these_limits(method: object) -> None:
    design = Design(SCHEMA, [Group(SCHEMA.names, truthful())])
    cells = np.indices(SCHEMA.sizes).reshape(2, -1).T.astype(np.uint8)
    records = np.repeat(cells, [300, 200, 100, 100, 150, 40], axis=0)
    model = NaiveBayes(design, "class", method=method).fit(records)
    expected = PairLogOdds(reconstruct(records, design).table(SCHEMA.names)).interval(0.9)
    np.testing.assert_array_equal(model.log_odds("answer").interval(0.9), expected)
