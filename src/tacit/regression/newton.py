"""Newton's method with a line search, for the likelihood of reports.

The information of a disguised outcome need not be positive definite away from the maximum, and the
likelihood is almost flat where predictors are large: a step could end so far away that no
derivative leads back. There the squares of the predictors' changes are added to the information,
as many as it takes (Levenberg, 1944; Marquardt, 1963). The step is halved until the likelihood
rises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from tacit.core.arrays import Array
from tacit.regression.report_likelihood import Evaluation

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


class Likelihood(Protocol):
    """What Newton's method needs."""

    def evaluate(self, theta: Array) -> Evaluation:
        """Value, gradient and information."""

    def value(self, theta: Array) -> float:
        """The value alone."""

    @property
    def cross_products(self) -> Array:
        """The matrix of the sum of squared changes of the linear predictors by a step."""

    def reach(self, step: Array) -> float:
        """The largest change of a linear predictor by a step."""


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where the search ended."""

    theta: Array
    value: float
    information: Array
    converged: bool
    iterations: int


def maximum(likelihood: Likelihood, start: Array) -> Maximum:
    """Maximise a likelihood."""
    theta, found = start, likelihood.evaluate(start)
    for iteration in range(1, MAX_ITERATIONS + 1):
        step = _ascent(likelihood, found)
        gain = float(found.gradient @ step)
        tried = likelihood.evaluate(theta + step)
        if gain < _NEAR:  # closer than rounding lets the values be compared
            better = tried.value >= found.value - _ROUNDING * abs(found.value)
            theta, found = (theta + step, tried) if better else (theta, found)
            return Maximum(theta, found.value, found.information, True, iteration)
        if tried.value >= found.value + _ENOUGH * gain:
            theta, found = theta + step, tried
            continue
        length = _step_length(likelihood, theta, step, found.value, gain)
        if not length:
            return Maximum(theta, found.value, found.information, gain < _SMALL, iteration)
        theta = theta + length * step
        found = likelihood.evaluate(theta)
    return Maximum(theta, found.value, found.information, False, MAX_ITERATIONS)


def _ascent(likelihood: Likelihood, found: Evaluation) -> Array:
    """The Newton step, damped where it would not lead upwards or too far."""
    for damping in _DAMPING:
        added = damping * likelihood.cross_products if damping else 0.0
        step = solved(found.information + added, found.gradient)
        if step is not None and likelihood.reach(step) <= _LONGEST:
            return step
    scale = np.abs(np.diag(found.information))
    return np.asarray(found.gradient / np.where(scale > 0, scale, 1.0))


def _step_length(
    likelihood: Likelihood, theta: Array, step: Array, value: float, gain: float
) -> float:
    """The longest of 1/2, 1/4, ... that raises the likelihood enough; 0 if none does."""
    length = 0.5
    for _ in range(_HALVINGS):
        if likelihood.value(theta + length * step) >= value + _ENOUGH * length * gain:
            return length
        length /= 2
    return 0.0


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
