"""contrast: any smooth function of several probabilities, with their joint covariance.

    f(p),    Var = f'(p)^T Cov(p) f'(p)

Derivatives are central differences. Each probability is that of an event, or of an event given
another one. The interval is normal and has no bounds; `difference`, `ratio` and `odds_ratio` have
intervals of their own that hold near the bounds. If nobody seems to be in a group that a
probability is given, the contrast is not a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.arrays import Array
from tacit.errors import DataError
from tacit.reconstruction.estimate import Estimate

#: Steps of the differences: this share of a probability, or of 1 % if it is smaller.
_STEP, _LEAST = 6e-6, 0.01

Function = Callable[[Array], Any]


def contrast(joint: Estimate, conditional: list[bool], function: Function, name: str) -> Estimate:
    """f of probabilities; `joint` has P(A and B) and P(B) of a conditional one, else P(A)."""

    def composed(means: Array) -> float:
        return _number(function(_probabilities(means, conditional)))

    means = joint.value
    if not (_totals(means, conditional) > 0).all():
        return joint.contrast(np.asarray(np.nan), np.full(len(means), np.nan), name)
    slopes = np.zeros(len(means))
    value = composed(means)
    for i, mean in enumerate(means):
        step = _STEP * max(abs(float(mean)), _LEAST)
        moved = [means.copy(), means.copy()]
        moved[0][i] -= step
        moved[1][i] += step
        slopes[i] = (composed(moved[1]) - composed(moved[0])) / (2 * step)
    return joint.contrast(np.asarray(value), slopes, name)


def _probabilities(means: Array, conditional: list[bool]) -> Array:
    found, place = [], 0
    for given in conditional:
        found.append(means[place] / means[place + 1] if given else means[place])
        place += 1 + given
    return np.array(found)


def _totals(means: Array, conditional: list[bool]) -> Array:
    """P(B) of each conditional probability."""
    places = np.cumsum([1 + given for given in conditional]) - 1
    return np.asarray(means[places[np.array(conditional)]])


def _number(result: Any) -> float:
    try:
        number = float(result)
    except (TypeError, ValueError):
        raise DataError(f"the function must return one number, got {result!r}") from None
    if not np.isfinite(number):
        raise DataError(
            f"the function is {number} at the estimated probabilities; use one that is finite there"
        )
    return number
