"""Means and variances of a few scrambled numbers: their errors over all reports that may come."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tacit.quantitative import additive, mean, variance

#: One card of two.
CARDS = additive([-1, 1])


@pytest.mark.parametrize("n", [2, 3, 4])
def test_equal_reports_of_few_people_do_not_make_an_error_of_0(n: int) -> None:
    found = variance(np.full(n, 5.0), CARDS)
    assert float(found.value) == -1  # the variance of the noise is 1
    assert float(found.stderr) > 0.4
    lower, upper = (float(end) for end in found.interval())
    assert lower == 0
    assert upper > 0.1
    assert float(mean(np.full(n, 5.0), CARDS).stderr) == pytest.approx(1 / np.sqrt(n))


def test_reports_that_deviate_alike_do_not_make_an_error_of_0() -> None:
    """Two numbers, and four of which two are equal, have equal squared deviations."""
    for reports in ([4.0, 6.0], [4.0, 4.0, 6.0, 6.0], [1.0, 2.0]):
        assert float(variance(reports, CARDS).stderr) > 0.1


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("true", [(5.0,), (0.0, 10.0)], ids=str)
def test_the_error_of_a_variance_is_on_average_not_too_small(
    n: int, true: tuple[float, ...]
) -> None:
    """Every sample of true numbers and cards; the exact variance of the estimate beside its own."""
    reports = [x + card for x in true for card in (-1.0, 1.0)]
    found = [variance(np.array(sample), CARDS) for sample in itertools.product(reports, repeat=n)]
    exact = np.var([float(each.value) for each in found])
    assert np.mean([float(each.value) for each in found]) == pytest.approx(np.var(true))
    assert np.mean([float(each.stderr) ** 2 for each in found]) >= exact * (1 - 1e-9)
