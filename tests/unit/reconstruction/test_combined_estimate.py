"""Estimates of several designs as one."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, reconstruct
from tacit.core.channel import related, uniform_perturbation
from tacit.errors import DataError
from tacit.reconstruction import Estimate, combine, em

SCHEMA = Schema([Attribute("smokes", ["no", "yes"]), Attribute("region", ["a", "b", "c"])])
ONE = Design(SCHEMA, [Group(["smokes"], related(0.8)), Group(["region"], related(0.7))])
OTHER = Design(SCHEMA, [Group(["smokes", "region"], uniform_perturbation(0.6))])
NAMES = ["smokes", "region"]
TRUE = np.array([[0.3, 0.2, 0.1], [0.1, 0.1, 0.2]])


def estimate(design: Design, n: int, seed: int) -> Estimate:
    rng = np.random.default_rng(seed)
    cells = rng.choice(6, n, p=TRUE.ravel())
    true = np.stack(np.divmod(cells, 3), axis=1).astype(np.uint8)
    return reconstruct(disguise(true, design, rng), design).table(NAMES)


def test_the_variance_of_one_number_is_the_textbooks() -> None:
    one, other = (
        reconstruct(np.array([[0, 0]] * n + [[1, 0]] * 30), ONE).probability({"smokes": "yes"})
        for n in (50, 90)
    )
    found = combine([one, other])
    weights = np.array([1 / one.stderr**2, 1 / other.stderr**2])
    expected = weights @ [float(one), float(other)] / weights.sum()
    np.testing.assert_allclose(float(found), expected, rtol=1e-12)
    np.testing.assert_allclose(found.stderr, weights.sum() ** -0.5, rtol=1e-12)
    assert found.n_records == one.n_records + other.n_records


def test_tables_of_two_designs_sum_to_one_and_are_more_precise_than_each() -> None:
    both = [estimate(ONE, 3000, 1), estimate(OTHER, 5000, 2)]
    found = combine(both)
    np.testing.assert_allclose(found.value.sum(), 1, rtol=1e-12)
    assert all((found.stderr < own.stderr).all() for own in both)


@pytest.mark.slow
def test_the_stated_errors_are_those_of_repeated_surveys() -> None:
    """Mean square of 400 x 6 errors over stated ones: 1, within 5.5 standard deviations (1e-6).

    The same bound rejects errors that are too small by a fifth.
    """
    runs = 400
    found = [
        combine([estimate(ONE, 2000, s), estimate(OTHER, 2000, s + runs)]) for s in range(runs)
    ]
    squares = np.mean([((own.value - TRUE) / own.stderr) ** 2 for own in found], axis=0)
    spread = 5.5 * np.sqrt(2 / runs)
    assert (abs(squares - 1) < spread).all()
    assert (abs(squares / 0.8**2 - 1) > spread).any()


def test_what_cannot_be_combined_is_refused() -> None:
    one = estimate(ONE, 500, 1)
    with pytest.raises(DataError, match="no estimates"):
        combine([])
    with pytest.raises(DataError, match="given twice"):
        combine([one, one])
    records = np.array([[0, 0], [1, 2]] * 20)
    with pytest.raises(DataError, match="different quantities"):
        combine([one, reconstruct(records, ONE).table(["smokes"])])
    with pytest.raises(DataError, match="not em"):
        combine([one, reconstruct(records, ONE).table(NAMES, method=em)])
