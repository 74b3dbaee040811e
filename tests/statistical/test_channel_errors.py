"""The closed form of the mean squared error against simulated reports.

Each figure is the mean of REPEATS squared errors, so nearly normal; a right formula fails one
assertion once in a million.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from tacit.core.arrays import Array
from tacit.optimize import Exact, front, objectives
from tests.support.chance import FALSE_ALARM
from tests.support.priors import decaying, normal

REPEATS, RECORDS = 20_000, 2_000
LIMIT = norm.isf(FALSE_ALARM / 2)


def _deviation(matrix: Array, prior: Array, claimed: float, seed: int) -> float:
    """By how many standard errors the simulated error differs from the one claimed."""
    q = matrix @ prior
    weighted = matrix.T / q
    inverse = np.linalg.solve(weighted @ matrix, weighted)
    counts = np.random.default_rng(seed).multinomial(RECORDS, q / q.sum(), REPEATS)
    squares = ((counts / RECORDS @ inverse.T - prior) ** 2).mean(axis=1)
    return float((squares.mean() - claimed) / (squares.std(ddof=1) / np.sqrt(REPEATS)))


def _exact() -> Array:
    return front(decaying(7), RECORDS, delta=0.8, method=Exact(privacy=[0.4])).channels[0]


CHANNELS = {
    "warner": (lambda: objectives.warner(normal(7), 0.6), normal(7)),
    "random": (
        lambda: objectives.random_matrices(1, decaying(7), np.random.default_rng(4))[0],
        decaying(7),
    ),
    "exact": (_exact, decaying(7)),
}


@pytest.mark.parametrize("name", CHANNELS)
def test_the_closed_form_is_the_simulated_error(name: str) -> None:
    make, prior = CHANNELS[name]
    matrix = make()
    assert (len(matrix) > len(prior)) == (name == "exact")
    assert abs(_deviation(matrix, prior, objectives.mse(matrix, prior, RECORDS), 1)) < LIMIT


@pytest.mark.parametrize("name", ["warner", "random"])
def test_theorem_6_as_printed_would_be_detected(name: str) -> None:
    """Negative control: covariances counted twice, as the paper prints them."""
    make, prior = CHANNELS[name]
    matrix = make()
    inverse, q = np.linalg.inv(matrix), matrix @ prior
    covariance = -2 * np.outer(q, q) / RECORDS
    covariance[np.diag_indices_from(covariance)] = q * (1 - q) / RECORDS
    printed = np.trace(inverse @ covariance @ inverse.T) / len(prior)
    assert abs(_deviation(matrix, prior, printed, 1)) > LIMIT
