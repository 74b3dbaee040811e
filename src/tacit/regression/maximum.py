"""The maximum of the likelihood of reports by Newton's method, and its profile intervals.

The information of a disguised outcome need not be positive definite away from the maximum, and the
likelihood is almost flat where predictors are large: a step could end so far away that no
derivative leads back. There the squares of the predictors' changes are added to the information,
as many as it takes (Levenberg, 1944; Marquardt, 1963). The step is halved until the likelihood
rises.

Intervals by the profile likelihood are the values that a likelihood-ratio test does not reject:

    2 (max l - max over the other parameters of l given b) <= chi-squared quantile, one degree

The root of the left side is almost linear in b, so interpolation needs few fits. An end is infinite
where the likelihood has a limit that is not rejected: the reports of a group may be those of people
who all answer no. Its log-odds are then minus infinity, and the likelihood is flat around them and
may have several local maxima in the other parameters. So a value is only rejected after several
starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import ndtri

from tacit.core.arrays import TINY, Array, Mask
from tacit.errors import DataError
from tacit.regression.likelihood import Evaluation, ReportLikelihood

MAX_ITERATIONS = 100
#: Squared length of the step, in standard errors, at which the last step is taken.
_NEAR = 1e-10
#: The same where rounding stops the search earlier.
_SMALL = 1e-6
#: Relative error of a sum of logarithms.
_ROUNDING = 1e-9
_HALVINGS = 30
#: Share of the expected gain that a step must reach.
_ENOUGH = 1e-4
#: Largest change of a linear predictor in one step, and how much is added to keep to it.
_LONGEST, _DAMPING = 5.0, (0.0, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where the search ended."""

    theta: Array
    value: float
    information: Array
    converged: bool
    iterations: int

    @property
    def inverse(self) -> Array:
        """The inverse of the information; not a number if there is none."""
        inverse = solved(self.information, np.eye(self.theta.size))
        return np.full_like(self.information, np.nan) if inverse is None else inverse


def maximum(likelihood: ReportLikelihood, start: Array, fixed: int | None = None) -> Maximum:
    """Maximise a likelihood; the parameter with the index `fixed` keeps its value."""
    free = np.array([i != fixed for i in range(start.size)])
    theta, best = start, likelihood.evaluate(start)
    for iteration in range(1, MAX_ITERATIONS + 1):
        step = _ascent(likelihood, best, free)
        gain = float(best.gradient @ step)
        tried = likelihood.evaluate(theta + step)
        if gain < _NEAR:  # closer than rounding lets the values be compared
            better = tried.value >= best.value - _ROUNDING * abs(best.value)
            theta, best = (theta + step, tried) if better else (theta, best)
            return Maximum(theta, best.value, best.information, True, iteration)
        if tried.value >= best.value + _ENOUGH * gain:
            theta, best = theta + step, tried
            continue
        length = 0.5
        for _ in range(_HALVINGS):
            if likelihood.value(theta + length * step) >= best.value + _ENOUGH * length * gain:
                break
            length /= 2
        else:
            return Maximum(theta, best.value, best.information, gain < _SMALL, iteration)
        theta = theta + length * step
        best = likelihood.evaluate(theta)
    return Maximum(theta, best.value, best.information, False, MAX_ITERATIONS)


def _ascent(likelihood: ReportLikelihood, at: Evaluation, free: Mask) -> Array:
    """The Newton step of the free parameters, damped where it would lead downwards or too far."""
    step = np.zeros(free.size)
    for damping in _DAMPING:
        added = damping * likelihood.cross_products if damping else 0.0
        moves = solved((at.information + added)[np.ix_(free, free)], at.gradient[free])
        if moves is not None:
            step[free] = moves
            if likelihood.reach(step) <= _LONGEST:
                return step
    scale = np.abs(np.diag(at.information))
    return np.where(free, at.gradient / np.where(scale > 0, scale, 1.0), 0.0)


def solved(matrix: Array, vector: Array) -> Array | None:
    """matrix^-1 vector, scaled by the diagonal; None unless the matrix is positive definite."""
    diagonal = np.diag(matrix)
    if not np.isfinite(matrix).all() or (diagonal <= 0).any():
        return None
    scale = 1 / np.sqrt(diagonal)
    try:
        factor = cho_factor(matrix * np.outer(scale, scale))
    except LinAlgError:
        return None
    right = vector * (scale if vector.ndim == 1 else scale[:, None])
    return np.asarray(scale * cho_solve(factor, right).T).T


#: Splines of formulaic whose columns add up to a constant.
_SPLINE = re.compile(r"(cr|cs|cc)\(")
#: Smallest eigenvalue of the scaled cross products that rounding does not explain.
_RANK = 1e-12
#: Share of a direction from which on a coefficient is named.
_NAMED = 0.1
#: How far predictors are moved, and the fall of the log-likelihood that shows a maximum.
_FAR, _FALL = 5.0, 0.01


def check_collinear(matrices: Sequence[Array], names: Sequence[str]) -> None:
    """Raise if some columns are linear combinations of others."""
    cross = sum(matrix.T @ matrix for matrix in matrices)
    size = np.sqrt(np.diag(np.asarray(cross)))
    if (size == 0).any():
        raise DataError(f"covariate {names[int((size == 0).argmax())]!r} is 0 in all records")
    values, vectors = np.linalg.eigh(cross / np.outer(size, size))
    if values[0] < _RANK * len(names):
        involved = [n for n, v in zip(names, vectors[:, 0], strict=True) if abs(v) > _NAMED / 10]
        remedy = "leave one of them out"
        if any(_SPLINE.match(name) for name in involved):
            remedy += ", or give the spline constraints='center'"
        raise DataError(f"the covariates are collinear: {', '.join(involved)}; {remedy}")


def unbounded_terms(likelihood: ReportLikelihood, fit: Maximum, names: Sequence[str]) -> list[str]:
    """The coefficients that may grow without bound while the likelihood does not fall.

    The direction in which the likelihood is flattest is followed in both senses, until a linear
    predictor has moved far. At a maximum the likelihood falls on both sides.
    """
    scale = np.sqrt(np.maximum(np.diag(likelihood.cross_products), TINY))
    scaled = fit.information / np.outer(scale, scale)
    if not np.isfinite(scaled).all():
        return list(names)
    _, vectors = np.linalg.eigh(scaled)
    direction = vectors[:, 0] / scale
    effects = np.where(np.arange(direction.size) < likelihood.n_effects, direction, 0.0)
    moved = likelihood.reach(effects)
    if moved == 0:
        return []
    step = direction * (_FAR / moved)
    fall = [fit.value - likelihood.value(fit.theta + sign * step) for sign in (1, -1)]
    if min(fall) > _FALL:
        return []
    share = np.abs(vectors[: len(names), 0])
    return [n for n, part in zip(names, share, strict=True) if part > _NAMED * share.max()]


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
    index: int

    @cached_property
    def unit(self) -> float:
        """The change of the coefficient that moves the linear predictors by 1 at most."""
        model = self.likelihood.model
        ones = np.ones((len(self.likelihood.counts), model.n_predictors))
        columns = [model.scores(matrix, ones)[:, self.index] for matrix in self.likelihood.matrices]
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
        best, parameters, likelihood = -np.inf, near, self.likelihood
        for others, flat in self._starts(value, near):
            point = np.insert(others, self.index, value)
            if others.size and not (flat and likelihood.value(point) < best):
                point = maximum(likelihood, point, self.index).theta
            reached = likelihood.value(point)
            if reached > best:
                best, parameters = reached, point
            if 2 * (self._top - best) <= enough**2:
                break
        return float(np.sqrt(max(2 * (self._top - best), 0.0))), parameters

    def _starts(self, value: float, near: Array) -> Iterator[tuple[Array, bool]]:
        """The other parameters: along the tangent, unchanged, and where everybody is alike.

        And whether the likelihood is flat around them.
        """
        rest = np.arange(near.size) != self.index
        information = self.likelihood.evaluate(near).information
        tangent = solved(information[np.ix_(rest, rest)], -information[rest, self.index])
        if tangent is not None:
            yield near[rest] + tangent * (value - near[self.index]), False
        yield near[rest], False
        if not rest.any():
            return
        cross, unit = self.likelihood.cross_products, np.zeros(near.size)
        unit[self.index] = value
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


class Point(NamedTuple):
    """A distance from the estimate, and the root there."""

    distance: float
    root: float


def profile_end(
    likelihood: ReportLikelihood, theta: Array, index: int, step: float, alpha: float
) -> float:
    """One end of the interval of a coefficient; `step` is about one standard error towards it."""
    profile, goal = ProfileLikelihood(likelihood, theta, index), -float(ndtri(alpha / 2))
    near, distance = theta, min(goal * abs(step), _MODERATE * profile.unit)
    low, high, before = Point(0.0, 0.0), None, Point(0.0, 0.0)  # with a root below and above goal
    for _ in range(_FITS):
        value = theta[index] + np.copysign(distance, step)
        root, parameters = profile.fitted(value, near, goal)
        if abs(root - goal) < _CLOSE:
            break
        if root < goal:
            low, before, near = Point(distance, root), low, parameters
        else:
            high = Point(distance, root)
        if low.distance > _INFINITE * profile.unit:
            return float(np.copysign(np.inf, step))
        if high is None:  # at most four times as far
            rise = (low.root - before.root) / max(low.distance - before.distance, TINY)
            step_on = 1.01 * (goal - low.root) / max(rise, TINY)
            distance = low.distance + min(step_on, 3 * low.distance)
        else:
            share = (goal - low.root) / (high.root - low.root)
            share = share if _STEEP < share < 1 - _STEEP else 0.5
            distance = low.distance + (high.distance - low.distance) * share
    return float(theta[index] + np.copysign(distance, step))
