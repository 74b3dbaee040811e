"""climb: follow steps that raise a likelihood, leaping ahead where it can.

Expectation-maximisation makes sure but small steps. Two of them tell a pace and a turn; the leap
along both (SQUAREM: Varadhan & Roland, 2008) is taken unless the likelihood would fall, and tried
at shorter lengths before that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.arrays import Array

#: A leap may shrink a probability at most to this share of what a plain step makes of it.
SHRINK = 0.01
#: Lengths of a leap that are tried, each about half the one before.
_TRIES = 4
#: Log-likelihoods a record that differ by less cannot be told apart.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Convergence:
    """How an iteration ended; `gap` is what its steps measure themselves by, 0 at a maximum."""

    converged: bool
    iterations: int
    last_change: float
    log_likelihood: float
    gap: float


@dataclass(frozen=True, eq=False)
class Step:
    """One step from a place: where it leads, and how good the place was."""

    after: Array
    log_likelihood: float
    gap: float


def climb(
    step: Callable[[Array], Step],
    start: Array,
    repair: Callable[[Array], Array],
    tolerance: float,
    max_iterations: int,
) -> tuple[Array, Convergence]:
    """Follow `step` until its gap is within `tolerance`; `repair` makes a leap land on good ground.

    An iteration is two plain steps and a leap. What is given back is one plain step further than
    where the convergence was measured.
    """
    place, change = start, 0.0
    for iteration in range(1, max_iterations + 1):
        first = step(place)
        if first.gap <= tolerance:
            ended = Convergence(True, iteration, change, first.log_likelihood, first.gap)
            return first.after, ended
        following = _furthest(step, place, first, repair)
        change, place = float(np.abs(following - place).max()), following
    last = step(place)
    return last.after, Convergence(False, max_iterations, change, last.log_likelihood, last.gap)


def _furthest(
    step: Callable[[Array], Step], place: Array, first: Step, repair: Callable[[Array], Array]
) -> Array:
    """Where the longest leap leads that does not lower the likelihood; else two plain steps."""
    second = step(first.after)
    pace, turn = first.after - place, second.after - 2 * first.after + place
    length = float(np.linalg.norm(turn))
    reach = max(1.0, float(np.linalg.norm(pace)) / length) if length > 0 else 1.0
    for _ in range(_TRIES):
        leap = place + 2 * reach * pace + reach**2 * turn
        third = step(repair(np.maximum(leap, SHRINK * second.after)))
        if third.log_likelihood >= second.log_likelihood - _ROUNDING:
            return third.after
        reach = (reach + 1) / 2
    return second.after
