"""Profile-likelihood intervals near the boundary, beside a grid of probabilities."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import expit, xlogy
from scipy.stats import chi2

from tacit import Attribute, Design, Group, Schema, related, truthful
from tacit.core.arrays import Array
from tacit.regression import logit
from tacit.regression.logit import LogitResult

#: Log-odds of the grid: its step is the only error of the expected limits.
_STEP = 0.01
_LOG_ODDS = np.concatenate([[-np.inf], np.arange(-12, 12 + _STEP / 2, _STEP), [np.inf]])
WARNER = related("0.8"), 0.8
OPEN = truthful(), 1.0


def _limits(yes: tuple[int, int], n: int, theta: float) -> Array:
    """The ends of intercept and slope over all pairs of probabilities that are not rejected."""
    reported = (1 - theta) + (2 * theta - 1) * expit(_LOG_ODDS)
    first, second = (xlogy(k, reported) + xlogy(n - k, 1 - reported) for k in yes)
    inside = 2 * (first.max() + second.max() - first[:, None] - second) <= chi2.isf(0.05, 1)
    intercepts = _LOG_ODDS[inside.any(axis=1)]
    slopes = []
    for intercept in np.flatnonzero(inside.any(axis=1)):
        others = _LOG_ODDS[inside[intercept]]
        own = _LOG_ODDS[intercept]
        if np.isinf(own) and own in others:
            slopes += [-np.inf, np.inf]  # any slope has this limit
        slopes += [other - own for other in others[[0, -1]] if other != own]
    return np.array([[intercepts[0], intercepts[-1]], [min(slopes), max(slopes)]])


def _fit(yes: tuple[int, int], n: int, coin: object) -> LogitResult:
    design = Design(Schema([Attribute("cheats", ["no", "yes"])]), [Group(["cheats"], coin)])
    group = np.repeat([0, 0, 1, 1], [n - yes[0], yes[0], n - yes[1], yes[1]])
    codes = np.repeat([0, 1, 0, 1], [n - yes[0], yes[0], n - yes[1], yes[1]])
    columns = {"Intercept": np.ones(2 * n), "group": group}
    return logit("cheats", codes[:, None], design, covariates=columns)


@pytest.mark.parametrize(
    "yes", list(itertools.product([18, 25, 40, 77], [12, 30, 50, 84])), ids=str
)
def test_limits_of_two_groups_are_those_of_a_grid_of_probabilities(yes: tuple[int, int]) -> None:
    coin, theta = WARNER
    found, expected = _fit(yes, 100, coin).profile_conf_int(), _limits(yes, 100, theta)
    np.testing.assert_allclose(found, expected, atol=2 * _STEP)


@pytest.mark.parametrize("yes", [(0, 6), (0, 3), (2, 6), (6, 0)], ids=str)
def test_limits_without_disguise_are_finite_on_the_side_that_the_records_reject(
    yes: tuple[int, int],
) -> None:
    coin, theta = OPEN
    found, expected = _fit(yes, 6, coin).profile_conf_int(), _limits(yes, 6, theta)
    np.testing.assert_allclose(found, expected, atol=2 * _STEP)


def test_a_slope_that_separates_the_records_has_no_upper_limit() -> None:
    """Six records, 0 up to the third and 1 from the fourth on; every pair of coefficients."""
    x, y = np.arange(1.0, 7), np.array([0, 0, 0, 1, 1, 1])
    design = Design(Schema([Attribute("cheats", ["no", "yes"])]), [Group(["cheats"], OPEN[0])])
    fit = logit("cheats", y[:, None], design, covariates={"Intercept": np.ones(6), "x": x})
    slopes, middles = np.arange(0.01, 3, _STEP), np.arange(1, 6, _STEP)
    odds = slopes[:, None, None] * (x - middles[:, None])
    fall = -2 * np.log(expit(np.where(y, odds, -odds))).sum(axis=-1)
    least = slopes[(fall <= chi2.isf(0.05, 1)).any(axis=1)][0]
    lower, upper = fit.profile_conf_int()[1]
    assert upper == np.inf
    assert least - _STEP - 1e-3 < lower <= least + 1e-3
    assert "profile_conf_int()" in str(fit)
