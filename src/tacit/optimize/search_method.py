"""What all search methods share: result, progress and grid of privacies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tacit.core.arrays import Array
from tacit.errors import DesignError
from tacit.optimize.front_problem import FrontProblem
from tacit.optimize.weight_solver import Certificate
from tacit.records import Progress

#: How much of the range of privacy a front covers; at its end the error is often infinite.
COVERED = 0.98
_SAME = 1e-4
#: A wanted privacy stays this far below that of no report: nearer, numbers break down.
_EDGE = 1e-5


@dataclass(frozen=True)
class SearchResult:
    """Channels as a method found them, in any order, and what it can prove."""

    matrices: tuple[Array, ...]
    proofs: tuple[Certificate, ...] = ()
    state: Any = None


class SearchMethod(Protocol):
    """A way to find the channels of a front."""

    def search(self, problem: FrontProblem, tell: Progress) -> SearchResult:
        """Channels that trade privacy for error as well as the method can."""
        ...


def grid(
    problem: FrontProblem, least: float, points: int, wanted: Sequence[float] | None
) -> list[float]:
    """The privacies to solve for: those wanted, or evenly spaced from the least that pays."""
    most = problem.most_private
    if wanted is None:
        if most - least < _SAME:
            return [least]
        evenly = np.linspace(least, least + COVERED * (most - least), points)
        return [float(value) for value in evenly]
    for privacy in wanted:
        if privacy > most - _EDGE:
            fault = "is impossible" if privacy > most else "leaves no room for a search"
            raise DesignError(
                f"privacy {privacy:.8g} {fault}: a guess without any report is right with "
                f"probability {1 - most:.6g}; allowed: up to {most - _EDGE:.6f}"
            )
    return sorted({max(privacy, least) for privacy in wanted})


def targets(privacy: Sequence[float] | None) -> tuple[float, ...] | None:
    """Wanted privacies, checked; no more than once each."""
    if privacy is None:
        return None
    try:
        given = sorted({float(value) for value in privacy})
    except (TypeError, ValueError):
        raise DesignError(f"privacy must be a list of numbers, got {privacy!r}") from None
    if not given or not all(0 <= value < 1 for value in given):
        raise DesignError(f"privacy must be numbers from 0 to below 1, got {given}")
    return tuple(given)


def check_size(value: Any, name: str, least: int) -> int:
    """A whole number that is large enough."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise DesignError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)
