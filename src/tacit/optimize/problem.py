"""FrontProblem: the input of a search. The prior, the number of records and the bounds; the
result and the grid of privacies that all search methods share.

All of them are checked here. The prior is kept as exact fractions, so that a channel made of
fractions can be compared with the bounds without rounding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from tacit.core.argument_checks import check_whole
from tacit.core.arrays import Array
from tacit.core.channel.numbers import fraction, log_up, probabilities, probability
from tacit.core.schema import Attribute, Schema
from tacit.errors import DesignError, FileError
from tacit.optimize.weight_solver import Certificate
from tacit.reconstruction import Estimate
from tacit.records import Progress

#: Optimisers stay inside the bounds by this share, so that rounding to decimals cannot break them.
GUARD = 1e-7
#: delta must be above the largest prior by this share: at it, there is nothing to choose.
_ROOM = Fraction(1, 10**5)


@dataclass(frozen=True)
class FrontProblem:
    """A prior over n categories (or the joint categories of a group), records and bounds.

    delta bounds the worst posterior (Huang & Du 2008, eq. 9), epsilon the log of the largest
    ratio in a row of the channel; None is no bound. `attributes` name the categories, if known.
    """

    prior: tuple[Fraction, ...]
    n_records: int
    delta: Fraction = Fraction(1)
    epsilon: float | None = None
    shape: tuple[int, ...] = ()
    attributes: tuple[Attribute, ...] = ()

    @property
    def n(self) -> int:
        """The number of true categories."""
        return len(self.prior)

    @cached_property
    def p(self) -> Array:
        """The prior as floats that sum to 1."""
        p = np.array(self.prior, dtype=np.float64)
        return np.asarray(p / p.sum())

    @cached_property
    def cap(self) -> float:
        """The largest posterior that optimisers allow: delta less the guard."""
        if self.delta == 1:
            return 1.0
        largest = float(max(self.prior))
        return max(float(self.delta) * (1 - GUARD), (float(self.delta) + largest) / 2)

    @property
    def ratio(self) -> float:
        """The largest ratio in a row that optimisers allow: e^epsilon less the guard."""
        return math.inf if self.epsilon is None else math.exp(self.epsilon * (1 - GUARD))

    @property
    def guarded(self) -> float:
        """The share of a bound on tr(W diag(q) W^T), proved within the guards, that holds without.

        A channel on the true bounds, mixed with a share s of one that says nothing, is within
        the guards, no easier to guess from, and its S is at least (1 - s)^2 of what it was.
        """
        largest = float(self.p.max())
        share = (float(self.delta) - self.cap) / (float(self.delta) - largest)
        if self.epsilon is not None:
            full = math.exp(self.epsilon)
            share = max(share, (full - self.ratio) / (full - 1))
        return (1 - share) ** 2

    @property
    def most_private(self) -> float:
        """1 - max p: the privacy of a channel that says nothing."""
        return 1 - float(self.p.max())

    def room(self, accuracy: float) -> float:
        """A bound on the adversary's accuracy; if the cap implies it, one that never binds,
        because an interior-point method needs room.
        """
        return accuracy if accuracy < self.cap * (1 - 1e-6) else 2 * self.cap

    def mse_of(self, trace: Any) -> Any:
        """Mean squared error from tr(W diag(q) W^T), number or array."""
        return (trace - float(self.p @ self.p)) / (self.n * self.n_records)

    def keeps(self, matrices: Array, slack: float = 0.0) -> Any:
        """Whether a matrix, or each of a stack, keeps the bounds as optimisers see them."""
        joint, wider = matrices * self.p, 1 + slack
        kept = (joint.max(axis=-1) <= wider * self.cap * joint.sum(axis=-1)).all(axis=-1)
        if self.epsilon is not None:
            low, high = matrices.min(axis=-1), matrices.max(axis=-1)
            kept &= (high <= wider * self.ratio * low).all(axis=-1)
        return kept

    def holds(self, rows: Any) -> bool:
        """Whether an exact matrix[reported][true] keeps delta and epsilon, without rounding."""
        for row in rows:
            joint = [m * p for m, p in zip(row, self.prior, strict=True)]
            if max(joint) > self.delta * sum(joint):
                return False
            if self.epsilon is not None and (
                min(row) <= 0 or log_up(max(row) / min(row)) > self.epsilon
            ):
                return False
        return True

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready content with exact fractions."""
        return {
            "prior": [str(value) for value in self.prior],
            "shape": list(self.shape),
            "attributes": [attribute.to_dict() for attribute in self.attributes],
            "n_records": self.n_records,
            "delta": str(self.delta),
            "epsilon": self.epsilon,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> FrontProblem:
        """The problem that `to_dict` described."""
        named = {"attributes": content["attributes"]}
        attributes = Schema.from_dict(named).attributes if content["attributes"] else ()
        prior = [Fraction(value) for value in content["prior"]]
        delta = Fraction(content["delta"])
        checked = problem_of(prior, content["n_records"], delta, content["epsilon"])
        shape = tuple(content["shape"])
        sizes = tuple(attribute.size for attribute in attributes)
        if math.prod(shape) != len(prior) or (attributes and sizes != shape):
            raise FileError("the prior does not fit its shape")
        return replace(checked, shape=shape, attributes=tuple(attributes))


def problem_of(prior: Any, n_records: Any, delta: Any = None, epsilon: Any = None) -> FrontProblem:
    """The problem, checked.

    `prior`: numbers that sum to 1, one per category; a mapping from category to number; a table
    with one axis per attribute, for a group disguised together; or an Estimate of either.
    """
    values, shape, attributes = _table(prior)
    exact = probabilities(values, "prior")
    if len(exact) < 2:
        raise DesignError("prior has 1 category; a disguise needs at least 2")
    if 0 in exact:
        raise DesignError(
            f"prior[{exact.index(Fraction(0))}] is 0: a category that nobody has cannot be "
            "disguised or estimated; leave it out, or give it the small probability you expect"
        )
    records = check_whole("n_records", n_records, 1)
    bound = Fraction(1) if delta is None else probability(delta, "delta")
    largest = max(exact)
    if bound < largest:
        raise DesignError(
            f"delta = {float(bound):g} is below the largest prior, {float(largest):.6g}: who "
            "guesses that category is right that often whatever is reported, so no channel keeps "
            f"such a bound (Huang & Du, Theorem 5); allowed: above {float(largest):.6g}, up to 1"
        )
    if bound < largest * (1 + _ROOM):
        raise DesignError(
            f"delta = {float(bound):g} leaves no room above the largest prior: a report could not "
            f"tell more of that category than no report does; allowed: at least "
            f"{float(largest * (1 + _ROOM)):.9g}, up to 1"
        )
    limit = None if epsilon is None else float(fraction(epsilon, "epsilon"))
    if limit is not None and limit <= 0:
        raise DesignError(
            f"epsilon must be above 0, got {epsilon!r}; at 0 a report tells nothing about anyone"
        )
    if limit is not None and limit > math.log(1e12):
        limit = None
    return FrontProblem(exact, records, bound, limit, shape, attributes)


def _table(prior: Any) -> tuple[list[Any], tuple[int, ...], tuple[Attribute, ...]]:
    """The numbers in one list, the shape of their table, and the attributes if it names them."""
    if isinstance(prior, Estimate):
        return prior.value.ravel().tolist(), prior.value.shape, prior.attributes
    if isinstance(prior, Mapping):
        return list(prior.values()), (len(prior),), (Attribute("answer", prior.keys()),)
    if isinstance(prior, str) or not hasattr(prior, "__len__"):
        raise DesignError(f"prior must be a list of probabilities, got {prior!r}")
    cells = np.array(prior, dtype=object)
    if any(isinstance(cell, list | tuple) for cell in cells.flat):
        raise DesignError("prior: all parts of a table must have the same number of entries")
    return list(cells.flat), cells.shape, ()


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
    problem: FrontProblem, least: float, points: int, chosen: Sequence[float] | None
) -> list[float]:
    """The privacies to solve for: those wanted, or evenly spaced from the least that pays."""
    most = problem.most_private
    if chosen is None:
        if most - least < _SAME:
            return [least]
        evenly = np.linspace(least, least + COVERED * (most - least), points)
        return [float(value) for value in evenly]
    for privacy in chosen:
        if privacy > most - _EDGE:
            fault = "is impossible" if privacy > most else "leaves no room for a search"
            raise DesignError(
                f"privacy {privacy:.8g} {fault}: a guess without any report is right with "
                f"probability {1 - most:.6g}; allowed: up to {most - _EDGE:.6f}"
            )
    return sorted({max(privacy, least) for privacy in chosen})


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
