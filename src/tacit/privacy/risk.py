"""Risk and figures: what an adversary who knows the prior and the channel can do with a report.

Given J[x, y] = M[y, x] p(x) over true cells x of a target and reports y:

    drawn        sum_y sum_x J^2 / J(y)     a guess drawn from the posterior is right
    best         sum_y max_x J              the best guess is right
    worst        max_y max_x J / J(y)       the largest posterior
    information  H(Y) - H(Y | X)            bits

    PSE = 1 - drawn (Zhan & Matwin, section 4.1, in its general form), MAP privacy = 1 - best
    (Huang & Du, eq. 8), worst posterior (eq. 9).

Risks of independent parts of a record multiply, information adds. Figures are rounded outward:
privacy down, risk up, by more than all roundings of their computation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tacit.channel.linear import Array
from tacit.errors import DataError

#: Standard errors between a Monte Carlo figure and the pessimistic end that is shown.
CAUTION = 3.0
FIGURES = ("pse", "map_privacy", "worst_posterior", "information")


@dataclass(frozen=True)
class Figures:
    """Four figures, each at its pessimistic end: privacy rounded down, risk rounded up.

    `central` holds them before the width of a Monte Carlo error or of an estimated prior was
    taken off, `stderr` the Monte Carlo standard errors; both None where the figures are exact.
    `largest_prior` is the best guess without any report.
    """

    pse: float
    map_privacy: float
    worst_posterior: float
    information: float
    largest_prior: float
    central: tuple[float, float, float, float] | None = None
    stderr: tuple[float, float, float, float] | None = None

    @property
    def accuracy(self) -> float:
        """How often the best guess is right: 1 - MAP privacy."""
        return min(1.0, math.nextafter(1 - self.map_privacy, 2))

    @property
    def respects_theorem_5(self) -> bool:
        """The worst posterior is never below the largest prior (Huang & Du, Theorem 5)."""
        return self.worst_posterior >= self.largest_prior

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in ("central", "stderr"):
            if plain[name] is None:
                del plain[name]
            else:
                plain[name] = dict(zip(FIGURES, plain[name], strict=True))
        return plain


@dataclass(frozen=True)
class Risk:
    """What an adversary achieves, one entry a prior; variances are those of Monte Carlo."""

    drawn: Array
    best: Array
    worst: Array
    information: Array
    largest_prior: Array
    #: Relative error that roundings may have made.
    slack: float
    #: Variances of drawn, best and information, one entry a prior; zero where exact.
    variance: tuple[Array, Array, Array] | None = None

    def figures(self, level: float = 0.95) -> Figures:
        """The figures of the first prior; the others are draws that say how uncertain it is."""
        table = self._table()
        central = tuple(float(row[0]) for row in table)
        stderr = self._stderr()
        ends = [_end(row, i, level) for i, row in enumerate(table)]
        widened = self.variance is not None or table.shape[1] > 1
        return Figures(
            pse=_clip(ends[0] - CAUTION * stderr[0] - self.slack),
            map_privacy=_clip(ends[1] - CAUTION * stderr[1] - self.slack),
            worst_posterior=_clip(ends[2] * (1 + self.slack)),
            information=max(0.0, ends[3] + CAUTION * stderr[3] + self.slack * (1 + ends[3])),
            largest_prior=float(self.largest_prior[0]),
            central=central if widened else None,  # type: ignore[arg-type]
            stderr=stderr if self.variance is not None else None,
        )

    def _table(self) -> Array:
        return np.stack([1 - self.drawn, 1 - self.best, self.worst, self.information])

    def _stderr(self) -> tuple[float, float, float, float]:
        if self.variance is None:
            return (0.0, 0.0, 0.0, 0.0)
        drawn, best, information = (math.sqrt(v[0]) for v in self.variance)
        return (drawn, best, 0.0, information)


def _end(values: Array, row: int, level: float) -> float:
    """The pessimistic end over the draws of a prior, never better than the figure itself."""
    tail = (1 - level) / 2
    if row < 2:
        return float(min(values[0], np.quantile(values, tail, method="lower")))
    return float(max(values[0], np.quantile(values, 1 - tail, method="higher")))


def _clip(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def together(risks: Iterable[Risk]) -> Risk:
    """The risk of independent parts as a whole."""
    known = list(risks)
    drawn, best, worst, prior = (
        np.prod(np.broadcast_arrays(*(getattr(r, name) for r in known)), axis=0)
        for name in ("drawn", "best", "worst", "largest_prior")
    )
    bits = [r.information for r in known]
    information = np.sum(np.broadcast_arrays(*bits), axis=0)
    slack = sum(r.slack for r in known)
    if all(r.variance is None for r in known):
        return Risk(drawn, best, worst, information, prior, slack)
    variance = (
        _product_variance(drawn, [(r.drawn, r.variance and r.variance[0]) for r in known]),
        _product_variance(best, [(r.best, r.variance and r.variance[1]) for r in known]),
        np.asarray(sum(r.variance[2] for r in known if r.variance is not None)),
    )
    return Risk(drawn, best, worst, information, prior, slack, variance)


def _product_variance(product: Array, parts: list[tuple[Array, Array | None]]) -> Array:
    """Delta method: relative variances add up."""
    relative = sum(v / np.maximum(value, 1e-300) ** 2 for value, v in parts if v is not None)
    return np.asarray(product**2 * relative)


def figures(matrix: Any, prior: Any) -> Figures:
    """The figures of one channel `matrix[reported, true]` and a prior over its true categories.

    The adversary knows both and sees one report. A report of probability zero counts nowhere.
    """
    return risk(*checked(matrix, prior)).figures()


def risk(matrix: Array, prior: Array) -> Risk:
    """The risk of a channel written out; `prior` has one column a prior."""
    joint = matrix[:, :, None] * prior
    total = joint.sum(axis=1)
    peak = joint.max(axis=1)
    information = (_bits(total) + _bits(prior) - _bits(joint.reshape(-1, prior.shape[1]))).sum(0)
    return Risk(
        drawn=np.asarray(quotient((joint**2).sum(axis=1), total).sum(axis=0)),
        best=np.asarray(peak.sum(axis=0)),
        worst=np.asarray(quotient(peak, total).max(axis=0)),
        information=np.maximum(information, 0),
        largest_prior=np.asarray(prior.max(axis=0)),
        slack=slack_of(matrix.shape[1] + matrix.shape[0]),
    )


def _bits(p: Array) -> Array:
    """-p log2 p summed over all but the last axis."""
    held = np.where(p > 0, p, 1.0)
    return np.asarray((-p * np.log2(held)).sum(axis=0, keepdims=True))


def quotient(top: Array, bottom: Array) -> Array:
    """top / bottom; 0 where the bottom is 0, as is then the top."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def slack_of(length: int) -> float:
    """A bound on the relative error of a figure: sums of `length` terms, and some steps more."""
    return (4 * length + 64) * float(np.finfo(np.float64).eps)


def checked(matrix: Any, prior: Any) -> tuple[Array, Array]:
    """A channel and a prior that belong together, or an error that says what does not fit."""
    entries = _numbers(matrix, "the channel matrix")
    given = _numbers(prior, "the prior")
    if entries.ndim != 2 or given.shape != entries.shape[1:]:
        raise DataError(
            f"the channel matrix has shape {entries.shape} and the prior {given.shape}; "
            "need matrix[reported, true] and one probability for each true category"
        )
    for values, what in ((entries.T, "column {} of the channel matrix"), (given[None], "the prior")):
        for place, column in enumerate(values):
            check_distribution(column, what.format(place))
    return entries / entries.sum(axis=0), (given / given.sum())[:, None]


def _numbers(values: Any, what: str) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what} must be numbers, got {values!r:.60}") from None


def check_distribution(values: Array, what: str) -> None:
    """Probabilities that sum to 1 within 1e-9."""
    if not np.isfinite(values).all() or (values < 0).any():
        raise DataError(f"{what} must hold probabilities, got {float(values.min()):.6g}")
    if abs(float(values.sum()) - 1) > 1e-9:
        raise DataError(f"{what} must sum to 1, but sums to {float(values.sum()):.12g}")


def check_delta(delta: float, prior: Any) -> None:
    """Raise if no channel can keep every posterior at or below delta (Huang & Du, Theorem 5)."""
    given = _numbers(prior, "the prior")
    check_distribution(given.ravel(), "the prior")
    largest = float(given.max())
    if not largest <= delta <= 1:
        raise DataError(
            f"delta must lie between the largest prior probability, {largest:.6g}, and 1, got "
            f"{delta}: whoever guesses the commonest category is right that often without any "
            "report (Huang & Du, Theorem 5)"
        )
