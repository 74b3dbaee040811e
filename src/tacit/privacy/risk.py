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

from tacit.core.arrays import TINY, Array
from tacit.core.channel.kernels import uncertainty
from tacit.core.channel.numbers import quotient
from tacit.errors import DataError, unknown

#: Standard errors between a Monte Carlo figure and the pessimistic end that is shown.
CAUTION = 3.0
#: A bound on how often a guess is right limits nothing from here on.
NO_LIMIT = 0.999
FIGURES = ("pse", "map_privacy", "worst_posterior", "information")


FourNumbers = tuple[float, float, float, float]


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
    central: FourNumbers | None = None
    ends: tuple[tuple[float, float], ...] | None = None
    stderr: FourNumbers | None = None

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
    #: Variances of drawn, best and information, a column per prior; None where all are exact.
    variance: Array | None = None

    def figures(self, level: float = 0.95) -> Figures:
        """The figures of the first prior; the others are draws that say how uncertain it is.

        Both ends are wide enough for the draws of the prior, Monte Carlo and all roundings.
        """
        table = np.stack([1 - self.drawn, 1 - self.best, self.worst, self.information])
        stderr: Array = np.zeros(len(FIGURES))
        if self.variance is not None:
            stderr[[0, 1, 3]] = np.sqrt(self.variance[:, 0])
        low, high = -upper(-table.T, level), upper(table.T, level)
        more = CAUTION * stderr + self.slack * (1 + abs(high))
        most = (1.0, 1.0, 1.0, math.inf)
        ends = np.stack([np.clip(low - more, 0, most), np.clip(high + more, 0, most)], axis=1)
        widened = self.variance is not None or table.shape[1] > 1
        return figures_of(
            ends,
            float(self.largest_prior[0]),
            tuple(table[:, 0].tolist()) if widened else None,
            None if self.variance is None else tuple(stderr.tolist()),
        )


def figures_of(
    ends: Array, prior: float, central: FourNumbers | None, stderr: FourNumbers | None = None
) -> Figures:
    """Figures at the pessimistic of both ends; without central figures the ends are roundings."""
    spans = tuple((low, high) for low, high in ends.tolist())
    (pse, _), (map_privacy, _), (_, worst), (_, information) = spans
    shown = None if central is None else spans
    return Figures(pse, map_privacy, worst, information, prior, central, shown, stderr)


def together(risks: Iterable[Risk]) -> Risk:
    """The risk of independent parts as a whole."""
    parts = list(risks)
    drawn, best, worst, prior = (
        np.prod(np.broadcast_arrays(*(getattr(r, name) for r in parts)), axis=0)
        for name in ("drawn", "best", "worst", "largest_prior")
    )
    information = np.sum(np.broadcast_arrays(*(r.information for r in parts)), axis=0)
    slack = sum(r.slack for r in parts)
    uncertain = [(r, r.variance) for r in parts if r.variance is not None]
    if not uncertain:
        return Risk(drawn, best, worst, information, prior, slack)
    # Delta method: the relative variances of the factors of a product add up.
    relative = sum(v[:2] / np.maximum([r.drawn, r.best], TINY) ** 2 for r, v in uncertain)
    terms = [*np.stack([drawn, best]) ** 2 * relative, sum(v[2] for _, v in uncertain)]
    variance = np.stack(np.broadcast_arrays(*terms))
    return Risk(drawn, best, worst, information, prior, slack, variance)


def stacked(risks: Sequence[Risk]) -> Risk:
    """The risks of consecutive priors as one."""
    names = ("drawn", "best", "worst", "information", "largest_prior")
    along = {name: np.concatenate([getattr(risk, name) for risk in risks]) for name in names}
    variances = [risk.variance for risk in risks if risk.variance is not None]
    variance = np.concatenate(variances, axis=1) if variances else None
    return Risk(**along, slack=max(risk.slack for risk in risks), variance=variance)


def in_turn(risks: Sequence[Risk], priors: int) -> Risk:
    """The risks of a stack of so many priors: the first for itself, the others in turn."""
    return stacked([risks[0], *(risks[1 + i % (len(risks) - 1)] for i in range(priors - 1))])


def sampled(draws: Iterable[Array], worst: float, largest_prior: float, slack: float) -> Risk:
    """The risk under one prior from draws of `drawn`, `best` and `information`."""
    seen = np.stack([values.ravel() for values in draws])
    drawn, best, information = seen.mean(axis=1)[:, None]
    variance = seen.var(axis=1, ddof=1, keepdims=True) / seen.shape[1]
    ends = np.array([worst]), np.maximum(information, 0), np.array([largest_prior])
    return Risk(drawn, best, *ends, slack, variance)


def risk_of_posteriors(shares: Array, prior: Array, worst: float, slack: float) -> Risk:
    """The same from the posteriors that drawn reports lead to, a row each."""
    ratio = np.divide(shares, prior, out=np.ones_like(shares), where=shares > 0)
    draws = (shares**2).sum(axis=1), shares.max(axis=1), (shares * np.log2(ratio)).sum(axis=1)
    return sampled(draws, worst, float(prior.max()), slack)


def figures(matrix: Any, prior: Any) -> Figures:
    """The figures of one channel `matrix[reported, true]` and a prior over its true categories.

    The adversary knows both and sees one report. A report of probability zero counts nowhere.
    """
    entries, given = numbers(matrix, "the channel matrix"), numbers(prior, "the prior")
    if entries.ndim != 2 or given.shape != entries.shape[1:]:
        raise DataError(
            f"the channel matrix has shape {entries.shape} and the prior {given.shape}; "
            "need matrix[reported, true] and one probability for each true category"
        )
    for number, column in enumerate(entries.T):
        check_distribution(column, f"column {number} of the channel matrix")
    check_distribution(given, "the prior")
    joint = entries / entries.sum(axis=0) * (given / given.sum())
    return joint_risk(joint.T[:, :, None], slack_of(sum(entries.shape))).figures()


def joint_risk(joint: Array, slack: float) -> Risk:
    """The risk from J[target, report, prior], written out."""
    prior = joint.sum(axis=1)
    given = add(uncertainty(joint).reshape(-1, joint.shape[-1])) - add(uncertainty(prior))
    return risk_of_sums(
        joint.sum(axis=0), (joint**2).sum(axis=0), joint.max(axis=0), given, prior, slack
    )


def risk_of_sums(
    total: Array, squares: Array, peak: Array, given: Array, prior: Array, slack: float
) -> Risk:
    """The risk from sum_x J, sum_x J^2 and max_x J of each report; `given` is H(Y | X)."""
    return Risk(
        drawn=add(quotient(squares, total)),
        best=add(peak),
        worst=np.asarray(quotient(peak, total).max(axis=0)),
        information=np.maximum(add(uncertainty(total)) - given, 0),
        largest_prior=np.asarray(prior.max(axis=0)),
        slack=slack,
    )


def risk_of_cases(outcomes: Iterable[Array], table: Array, slack: float) -> Risk:
    """The risk to one who knows the case, from table[category, case, prior].

    `outcomes` are P(report | category, case), an array per report.
    """
    drawn, best, left, worst = _by_case(outcomes, table)
    margin = table.sum(axis=1)
    return Risk(
        drawn=drawn.sum(axis=0),
        best=best.sum(axis=0),
        worst=worst.max(axis=0),
        information=np.maximum(uncertainty(margin).sum(axis=0) - left.sum(axis=0), 0),
        largest_prior=margin.max(axis=0),
        slack=slack,
    )


def risk_of_drawn_cases(
    outcomes: Iterable[Array], shares: Array, margin: Array, worst: float, slack: float
) -> Risk:
    """The same under one prior, from P(category | case) of drawn cases and P(category)."""
    drawn, best, left, _ = _by_case(outcomes, shares[..., None])
    draws = (drawn, best, uncertainty(margin).sum() - left)
    return sampled(draws, worst, float(margin.max()), slack)


def _by_case(outcomes: Iterable[Array], table: Array) -> Array:
    """How often guesses are right, uncertainty that is left, and largest posterior, by case."""
    drawn, best, left, worst = sums = np.zeros((4, *table.shape[1:]))
    for chance in outcomes:
        joint = chance[:, :, None] * table
        total, peak = joint.sum(axis=0), joint.max(axis=0)
        drawn += quotient((joint**2).sum(axis=0), total)
        best += peak
        left += uncertainty(joint).sum(axis=0) - uncertainty(total)
        np.maximum(worst, quotient(peak, total), out=worst)
    return sums


def add(table: Array) -> Array:
    """Sums over cells, one per prior; along memory, where NumPy sums pairwise and rounds least."""
    return np.asarray(np.ascontiguousarray(table.T).sum(axis=1))


def upper(values: Array, level: float) -> Array:
    """The upper end over a stack of priors, along the first axis; not below the first of them."""
    if len(values) == 1:
        return np.asarray(values[0])
    end = np.quantile(values, (1 + level) / 2, axis=0, method="higher")
    return np.asarray(np.maximum(values[0], end))


def slack_of(length: int) -> float:
    """A bound on the relative error of a figure: a ratio of sums, `length` roundings in each."""
    return (length + 32) * float(np.finfo(np.float64).eps)


def numbers(values: Any, what: str) -> Array:
    """An array of numbers, or an error that says what is none."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what} must hold numbers, got {values!r:.60}") from None


def check_distribution(values: Array, what: str) -> None:
    """Probabilities that sum to 1 within 1e-9."""
    if not np.isfinite(values).all() or (values < 0).any():
        raise DataError(f"{what} must hold probabilities, got {float(values.min()):.6g}")
    if abs(float(values.sum()) - 1) > 1e-9:
        raise DataError(f"{what} must sum to 1, but sums to {float(values.sum()):.12g}")


def check_delta(delta: float, prior: Any) -> None:
    """Raise if no channel can keep every posterior at or below delta (Huang & Du, Theorem 5)."""
    given = numbers(prior, "the prior")
    check_distribution(given.ravel(), "the prior")
    largest = float(given.max())
    if not largest <= delta <= 1:
        raise DataError(
            f"delta must lie between the largest prior probability, {largest:.6g}, and 1, got "
            f"{delta}: whoever guesses the commonest category is right that often without any "
            "report (Huang & Du, Theorem 5)"
        )
