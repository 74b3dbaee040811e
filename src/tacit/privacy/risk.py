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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tacit.arrays import Array
from tacit.errors import DataError, unknown

#: Standard errors between a Monte Carlo figure and the pessimistic end that is shown.
CAUTION = 3.0
FIGURES = ("pse", "map_privacy", "worst_posterior", "information")


@dataclass(frozen=True)
class Figures:
    """Four figures, each at its pessimistic end: privacy rounded down, risk rounded up.

    Where the prior was estimated, or a figure by Monte Carlo, `central` holds the figures
    themselves and `ends` their intervals, of which the pessimistic end is shown; `stderr` holds
    Monte Carlo standard errors. All three are None where they do not apply. `largest_prior` is
    the best guess without any report.
    """

    pse: float
    map_privacy: float
    worst_posterior: float
    information: float
    largest_prior: float
    central: tuple[float, float, float, float] | None = None
    ends: tuple[tuple[float, float], ...] | None = None
    stderr: tuple[float, float, float, float] | None = None

    def interval(self, name: str) -> tuple[float, float]:
        """Lower and upper end of a figure; both the figure itself where it is exact."""
        if name not in FIGURES:
            raise DataError(unknown("figure", name, FIGURES))
        value = getattr(self, name)
        return (value, value) if self.ends is None else self.ends[FIGURES.index(name)]

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
        for name in ("central", "ends", "stderr"):
            if plain[name] is None:
                del plain[name]
            else:
                plain[name] = dict(zip(FIGURES, plain[name], strict=True))
        return plain


@dataclass(frozen=True)
class Risk:
    """What an adversary achieves, one entry per prior; variances are those of Monte Carlo."""

    drawn: Array
    best: Array
    worst: Array
    information: Array
    largest_prior: Array
    #: Relative error that roundings may have made.
    slack: float
    #: Variances of drawn, best and information, one entry per prior; zero where exact.
    variance: tuple[Array, Array, Array] | None = None

    def figures(self, level: float = 0.95) -> Figures:
        """The figures of the first prior; the others are draws that say how uncertain it is."""
        table, stderr = self._table(), self._stderr()
        widened = self.variance is not None or table.shape[1] > 1
        spans = [
            self._span(values, error, level) for values, error in zip(table, stderr, strict=True)
        ]
        pse, best, worst, bits = spans
        bound = [(_clip(low), _clip(high)) for low, high in (pse, best, worst)]
        ends = (*bound, (max(0.0, bits[0]), max(0.0, bits[1])))
        first, second, third, fourth = (float(row[0]) for row in table)
        return Figures(
            pse=ends[0][0],
            map_privacy=ends[1][0],
            worst_posterior=ends[2][1],
            information=ends[3][1],
            largest_prior=float(self.largest_prior[0]),
            central=(first, second, third, fourth) if widened else None,
            ends=ends if widened else None,
            stderr=stderr if self.variance is not None else None,
        )

    def _span(self, values: Array, stderr: float, level: float) -> tuple[float, float]:
        """Both ends, wide enough for the draws of the prior, Monte Carlo and all roundings."""
        low, high = -upper(-values, level), upper(values, level)
        rounding = self.slack * (1 + abs(high))
        return float(low - CAUTION * stderr - rounding), float(high + CAUTION * stderr + rounding)

    def _table(self) -> Array:
        return np.stack([1 - self.drawn, 1 - self.best, self.worst, self.information])

    def _stderr(self) -> tuple[float, float, float, float]:
        if self.variance is None:
            return (0.0, 0.0, 0.0, 0.0)
        drawn, best, information = (math.sqrt(v[0]) for v in self.variance)
        return (drawn, best, 0.0, information)


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


def stacked(risks: Sequence[Risk]) -> Risk:
    """The risks of consecutive priors as one."""

    def along(name: str) -> Array:
        return np.concatenate([getattr(risk, name) for risk in risks])

    known = [risk.variance for risk in risks if risk.variance is not None]
    variance = None
    if known:
        first, second, third = (np.concatenate(parts) for parts in zip(*known, strict=True))
        variance = (first, second, third)
    return Risk(
        along("drawn"),
        along("best"),
        along("worst"),
        along("information"),
        along("largest_prior"),
        max(risk.slack for risk in risks),
        variance,
    )


def sampled(seen: Sequence[Array], worst: float, largest_prior: float, slack: float) -> Risk:
    """The risk under one prior from draws of `drawn`, `best` and `information`."""
    means = [np.array([values.mean()]) for values in seen]
    first, second, third = (np.array([values.var(ddof=1) / values.size]) for values in seen)
    return Risk(
        means[0],
        means[1],
        np.array([worst]),
        np.maximum(means[2], 0),
        np.array([largest_prior]),
        slack,
        (first, second, third),
    )


def _product_variance(product: Array, parts: list[tuple[Array, Array | None]]) -> Array:
    """Delta method: relative variances add up."""
    relative = sum(v / np.maximum(value, 1e-300) ** 2 for value, v in parts if v is not None)
    return np.asarray(product**2 * relative)


def figures(matrix: Any, prior: Any) -> Figures:
    """The figures of one channel `matrix[reported, true]` and a prior over its true categories.

    The adversary knows both and sees one report. A report of probability zero counts nowhere.
    """
    entries, given = _checked(matrix, prior)
    return joint_risk(entries * given, slack_of(sum(entries.shape))).figures()


def joint_risk(joint: Array, slack: float) -> Risk:
    """The risk from J[report, target], written out."""
    total, peak, prior = joint.sum(axis=1), joint.max(axis=1), joint.sum(axis=0)
    information = _bits(total) + _bits(prior) - _bits(joint)
    return Risk(
        drawn=np.array([quotient((joint**2).sum(axis=1), total).sum()]),
        best=np.array([peak.sum()]),
        worst=np.array([quotient(peak, total).max()]),
        information=np.array([max(information, 0.0)]),
        largest_prior=np.array([prior.max()]),
        slack=slack,
    )


def _bits(p: Array) -> float:
    """Entropy."""
    held = p[p > 0]
    return float(-(held * np.log2(held)).sum())


def quotient(top: Array, bottom: Array) -> Array:
    """top / bottom; 0 where the bottom is 0, as is then the top."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def upper(values: Array, level: float) -> Array:
    """The upper end over a stack of priors, along the first axis; not below the first of them."""
    if len(values) == 1:
        return np.asarray(values[0])
    end = np.quantile(values, (1 + level) / 2, axis=0, method="higher")
    return np.asarray(np.maximum(values[0], end))


def slack_of(length: int) -> float:
    """A bound on the relative error of a figure: a ratio of sums, `length` roundings in each."""
    return (length + 32) * float(np.finfo(np.float64).eps)


def _checked(matrix: Any, prior: Any) -> tuple[Array, Array]:
    """A channel and a prior that belong together, or an error that says what does not fit."""
    entries = _numbers(matrix, "the channel matrix")
    given = _numbers(prior, "the prior")
    if entries.ndim != 2 or given.shape != entries.shape[1:]:
        raise DataError(
            f"the channel matrix has shape {entries.shape} and the prior {given.shape}; "
            "need matrix[reported, true] and one probability for each true category"
        )
    for values, what in (
        (entries.T, "column {} of the channel matrix"),
        (given[None], "the prior"),
    ):
        for place, column in enumerate(values):
            check_distribution(column, what.format(place))
    return entries / entries.sum(axis=0), given / given.sum()


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
