"""Means and variances of scrambled numbers in stratified, clustered and weighted samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit.errors import DataError
from tacit.quantitative import additive, mean, scramble, variance
from tacit.reconstruction.sampling import jackknife
from tests.support.samples import jackknife_variance, linearised_variance

CARDS = additive({-10: "1/4", 0: "1/2", 10: "1/4"})
N = 240


def people(seed: int = 3) -> dict[str, Any]:
    """Numbers, weights, strata and clusters of a sample."""
    rng = np.random.default_rng(seed)
    village = np.arange(N) // 10
    numbers = rng.gamma(2, 10, N) + village
    return {
        "reported": scramble(np.round(numbers), CARDS, rng),
        "weights": rng.integers(1, 5, N).astype(float),
        "strata": np.where(village < 12, "hills", "coast"),
        "clusters": village,
    }


def test_mean_and_variance_have_the_errors_of_a_loop_over_strata_and_units() -> None:
    own = people()
    reported, w = own.pop("reported"), own["weights"]
    found = mean(reported, CARDS, **own)
    assert float(found) == pytest.approx(np.average(reported, weights=w))
    units = own["strata"].tolist(), own["clusters"].tolist()
    expected = linearised_variance(reported, w, *units, {})
    assert float(found.stderr) ** 2 == pytest.approx(expected)
    assert found.df == 22
    again = mean(reported, CARDS, **own, errors=jackknife)
    assert float(again.stderr) ** 2 == pytest.approx(jackknife_variance(reported, w, *units))
    spread = variance(reported, CARDS, **own)
    influence = reported**2 - 2 * float(found) * reported
    squared = linearised_variance(influence, w, *units, {})
    beyond = 2 * float(found.stderr) ** 4 * N / (N - 1)
    assert float(spread.stderr) ** 2 == pytest.approx(squared + beyond)
    plain = np.average(reported**2, weights=w) - float(found) ** 2 - 50  # the cards' variance
    assert float(spread) == pytest.approx(plain + float(found.stderr) ** 2)


def test_equal_weights_of_single_people_change_only_the_interval_for_skewness() -> None:
    reported = people()["reported"]
    for moment in (mean, variance):
        plain, weighted = (moment(reported, CARDS, **how) for how in ({}, {"weights": np.ones(N)}))
        assert float(weighted) == pytest.approx(float(plain))
        assert float(weighted.stderr) == pytest.approx(float(plain.stderr))
        assert float(weighted.design_effect) == pytest.approx(1)
        assert weighted.df == N - 1


def test_clusters_that_are_alike_have_a_large_design_effect() -> None:
    numbers = np.repeat(np.arange(24.0), 10)
    found = mean(numbers, additive([0]), clusters=np.arange(N) // 10)
    assert float(found.design_effect) == pytest.approx(10 * 239 / 240 * 24 / 23, rel=1e-3)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"weights": "w"}, "one value per reported number"),
        ({"weights": np.zeros(N)}, "the sampling weight is 0"),
        ({"weights": np.ones(3)}, "got shape"),
        ({"clusters": np.ones(N)}, "has one cluster"),
        ({"weights": np.ones(N), "fpc": 500}, "fpc is not used"),
        ({"weights": np.ones(N), "errors": "jackknife"}, "errors must be linearised"),
    ],
)
def test_a_bad_sample_is_one_clear_error(how: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        mean(people()["reported"], CARDS, **how)
