"""Intervals by the profile likelihood: the values that a likelihood-ratio test does not reject.

    2 (max l - max over the other parameters of l given b) <= chi-squared quantile, one degree

The root of the left side is almost linear in b, so interpolation needs few fits. An end is infinite
where the likelihood has a limit that is not rejected: the reports of a group may be those of people
who all answer no. Its log-odds are then minus infinity, and the likelihood is flat around them and
may have several local maxima in the other parameters. So a value is only rejected after several
starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from tacit.core.arrays import TINY, Array
from tacit.regression.newton import maximum, solved
from tacit.regression.report_likelihood import FixedCoefficient, ReportLikelihood

#: Error of the signed root, and the largest number of fits per end.
_CLOSE, _FITS = 1e-4, 80
#: From this move of a linear predictor on, an end is infinite.
_INFINITE = 2.0**14
#: An interpolation closer to one of two ends makes no progress: bisect instead.
_STEEP = 0.02
#: Within this distance of 0, the likelihood is not flat in a linear predictor; and from where on
#: it is.
_MODERATE, _SATURATED = 4.0, 40.0


@dataclass(frozen=True, eq=False)
class ProfileLikelihood:
    """The likelihood as a function of one coefficient, the others at their maximum."""

    likelihood: ReportLikelihood
    theta: Array
    place: int

    @cached_property
    def unit(self) -> float:
        """The change of the coefficient that moves the linear predictors by 1 at most."""
        model = self.likelihood.model
        columns = [
            model.scores(matrix, np.ones((len(matrix), model.n_predictors)))[:, self.place]
            for matrix in self.likelihood.matrices
        ]
        values = np.concatenate(columns)
        return 1 / float(np.ptp(values) or np.abs(values).max())

    @cached_property
    def _top(self) -> float:
        return self.likelihood.value(self.theta)

    def fitted(self, value: float, near: Array, enough: float) -> tuple[float, Array]:
        """The root at a value of the coefficient, and all parameters there.

        `near` are the parameters at another value. If they lead to a root above `enough`, other
        starts are tried too.
        """
        best, parameters = -np.inf, near
        fixed = FixedCoefficient(self.likelihood, self.place, value)
        for start, flat in self._starts(value, near):
            search = start.size and not (flat and fixed.value(start) < best)
            others = maximum(fixed, start).theta if search else start
            reached = fixed.value(others)
            if reached > best:
                best, parameters = reached, np.insert(others, self.place, value)
            if 2 * (self._top - best) <= enough**2:
                break
        return float(np.sqrt(max(2 * (self._top - best), 0.0))), parameters

    def _starts(self, value: float, near: Array) -> Iterator[tuple[Array, bool]]:
        """The other parameters: along the tangent, unchanged, and where everybody is alike.

        And whether the likelihood is flat around them.
        """
        rest = np.arange(near.size) != self.place
        information = self.likelihood.evaluate(near).information
        tangent = solved(information[np.ix_(rest, rest)], -information[rest, self.place])
        if tangent is not None:
            yield near[rest] + tangent * (value - near[self.place]), False
        yield near[rest], False
        if not rest.any():
            return
        cross, unit = self.likelihood.cross_products, np.zeros(near.size)
        unit[self.place] = value
        far = _SATURATED + self.likelihood.reach(unit)
        for shift in (0.0, far, -far):
            right = self._least_squares_sums(shift) - cross @ unit
            yield np.linalg.lstsq(cross[np.ix_(rest, rest)], right[rest], rcond=None)[0], shift != 0

    def _least_squares_sums(self, shift: float) -> Array:
        """X'u for predictors u of the outcome: the estimated ones, clipped, plus a shift."""
        likelihood, sums = self.likelihood, np.zeros(self.theta.size)
        for model, matrix, part in likelihood.equations:
            clipped = np.clip(model.predictors(matrix, self.theta[part]), -_MODERATE, _MODERATE)
            targets = clipped + (shift if model is likelihood.model else 0.0)
            sums[part] += model.gradient(matrix, targets * likelihood.counts[:, None])
        return sums


def profile_end(
    likelihood: ReportLikelihood, theta: Array, place: int, step: float, alpha: float
) -> float:
    """One end of the interval of a coefficient; `step` is about one standard error towards it."""
    profile, goal = ProfileLikelihood(likelihood, theta, place), -float(ndtri(alpha / 2))
    near, distance = theta, min(goal * abs(step), _MODERATE * profile.unit)
    low, high, before = Point(0.0, 0.0), None, Point(0.0, 0.0)
    for _ in range(_FITS):
        value = theta[place] + np.copysign(distance, step)
        root, parameters = profile.fitted(value, near, goal)
        if abs(root - goal) < _CLOSE:
            break
        if root < goal:
            low, before, near = Point(distance, root), low, parameters
        else:
            high = Point(distance, root)
        if low.distance > _INFINITE * profile.unit:
            return float(np.copysign(np.inf, step))
        distance = _further(goal, before, low) if high is None else _between(goal, low, high)
    return float(theta[place] + np.copysign(distance, step))


class Point(NamedTuple):
    """A distance from the estimate, and the root there."""

    distance: float
    root: float


def _further(goal: float, before: Point, low: Point) -> float:
    """A distance beyond `low`, at most four times as far."""
    rise = (low.root - before.root) / max(low.distance - before.distance, TINY)
    return low.distance + min(1.01 * (goal - low.root) / max(rise, TINY), 3 * low.distance)


def _between(goal: float, low: Point, high: Point) -> float:
    share = (goal - low.root) / (high.root - low.root)
    share = share if _STEEP < share < 1 - _STEEP else 0.5
    return low.distance + (high.distance - low.distance) * share
