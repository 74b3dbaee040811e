"""Repeated participation: what k reports of one person reveal.

A first report that is kept and sent again reveals what one report does. Otherwise every report
throws new coins, and k reports are one report through the product channel

    M_k[(y_1 .. y_k), x] = prod_i M[y_i, x],      epsilon_k = k epsilon.

The order of the reports says nothing, so only their counts matter: there are
(m + k - 1 choose k) of them, enumerated where they are few, else drawn (Monte Carlo).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import gammaln, softmax

from tacit.core.argument_checks import check_whole
from tacit.core.arrays import Array, Index
from tacit.core.channel.kernels import MAX_DENSE, kron
from tacit.core.channel.numbers import sum_up
from tacit.core.design import Design, Factor, check_design
from tacit.output import rounding
from tacit.privacy.prior import Prior, prior_of
from tacit.privacy.risk import (
    Figures,
    Risk,
    in_turn,
    joint_risk,
    risk_of_posteriors,
    slack_of,
    together,
)
from tacit.privacy.scopes import PRIORS, Limits, bound_on_posterior, parts_of, safe_log

#: Counts of reports times true cells that are enumerated.
_MOST_ENTRIES = 2**22


@dataclass(frozen=True)
class Repeated:
    """The figures of every scope after `reports` reports of one person, seen together.

    `attributes` are those of an adversary who sees that answer's reports alone, `from_record`
    those of one who holds the whole reported records, as `groups` and `record` are. A scope too
    large to be written out has None.
    """

    reports: int
    attributes: dict[str, Figures | None]
    from_record: dict[str, Figures | None]
    groups: tuple[Figures | None, ...]
    record: Figures | None
    epsilon: dict[str, float]
    record_epsilon: float

    def caption(self) -> str:
        """What the figures are, in words."""
        said = (
            f"What {self.reports} reports of one person, with new coins each time, reveal "
            "together. A first report that is kept and sent again reveals what one report does."
        )
        figures = (*self.attributes.values(), *self.from_record.values(), self.record)
        drawn = [max(f.stderr[:2]) for f in figures if f is not None and f.stderr is not None]
        if drawn:
            said += f" By Monte Carlo, {rounding.monte_carlo(max(drawn))}."
        return said + (" Empty: too many joint categories." if None in figures else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""

        def plain(figures: Figures | None) -> dict[str, Any] | None:
            return None if figures is None else figures.to_dict()

        return vars(self) | {
            "attributes": {name: plain(f) for name, f in self.attributes.items()},
            "from_record": {name: plain(f) for name, f in self.from_record.items()},
            "groups": [plain(figures) for figures in self.groups],
            "record": plain(self.record),
        }


def repeated(
    design: Design,
    reports: int,
    prior: Any = None,
    *,
    limits: Limits | None = None,
) -> Repeated:
    """What `reports` reports of one person reveal of each answer, each group and the record."""
    check_design(design)
    check_whole("reports", reports, 1)
    limits = limits or Limits()
    checked_prior = prior_of(prior, design, limits.rng, limits.priors)
    names, whole = design.schema.names, design.channel(design.schema.names)
    parts = [
        _RepeatedReports(factors, checked_prior, reports, limits)
        for factors in parts_of(whole.factors, checked_prior)
    ]
    by_name = {name: part for part in parts for name in part.names}
    single = {n: design.channel(design.jointly_reported([n])) for n in names}
    risks = [part.risk(part.names) for part in parts]
    measured = [risk for risk in risks if risk is not None]

    def shown(risk: Risk | None) -> Figures | None:
        return None if risk is None else risk.figures(limits.level)

    return Repeated(
        reports,
        {
            n: shown(_RepeatedReports(single[n].factors, checked_prior, reports, limits).risk((n,)))
            for n in names
        },
        {n: shown(by_name[n].risk((n,))) for n in names},
        tuple(shown(by_name[g.attributes[0]].risk(g.attributes)) for g in design.groups),
        shown(together(measured)) if len(measured) == len(risks) else None,
        {n: sum_up([channel.epsilon] * reports) for n, channel in single.items()},
        sum_up([whole.epsilon] * reports),
    )


class _RepeatedReports:
    """Groups whose reports are seen together, k times; what is computed once for all targets."""

    def __init__(self, factors: Sequence[Factor], prior: Prior, k: int, limits: Limits) -> None:
        self.names = tuple(name for factor in factors for name in factor.names)
        self._factors, self._prior, self._k, self._limits = factors, prior, k, limits

    def risk(self, target: tuple[str, ...]) -> Risk | None:
        """The risk of the joint answer of some attributes; None if too large."""
        if math.prod(math.prod(f.channel.true_shape) for f in self._factors) > MAX_DENSE:
            return None
        sizes = [self._prior.schema[name].size for name in self.names]
        codes = dict(zip(self.names, np.indices(sizes).reshape(len(sizes), -1), strict=True))
        shape = [self._prior.schema[name].size for name in target]
        # The joint category of the target's attributes in every true cell.
        labels = np.ravel_multi_index([codes[name] for name in target], shape)
        slack = slack_of(64 * self._k + len(labels))
        ways = math.comb(len(self._matrix) + self._k - 1, self._k)
        if ways * len(labels) <= _MOST_ENTRIES:
            few = PRIORS if ways * self._table.size > _MOST_ENTRIES else None
            joints = (self._several * prior for prior in self._table.T[:few])
            risks = [joint_risk(_merged(joint, labels).T[:, :, None], slack) for joint in joints]
        else:
            epsilon = sum_up([factor.channel.epsilon for factor in self._factors] * self._k)
            risks = []
            for share, prior in self._shares:
                (margin,) = _merged(prior[None], labels)
                worst = bound_on_posterior(float(margin.max()), epsilon)
                risks.append(risk_of_posteriors(_merged(share, labels), margin, worst, slack))
        return in_turn(risks, self._table.shape[1])

    @cached_property
    def _table(self) -> Array:
        return self._prior.table(self.names)

    @cached_property
    def _matrix(self) -> Array:
        return kron(factor.channel.matrix for factor in self._factors)

    @cached_property
    def _several(self) -> Array:
        """M_k with the counts of reports as its rows."""
        matrix, k = self._matrix, self._k
        if k == 1:
            return matrix
        counts = compositions(k, len(matrix))
        orders = gammaln(k + 1) - gammaln(counts + 1).sum(axis=1)
        return np.asarray(np.exp(orders[:, None] + _log_chances(counts, matrix)))

    @cached_property
    def _shares(self) -> list[tuple[Array, Array]]:
        """For each prior that is sampled: posteriors of true cells, and the prior.

        By Monte Carlo over the true cell and the counts of its reports.
        """
        matrix = self._matrix
        most = max(100, min(self._limits.drawn, _MOST_ENTRIES // len(self._table)))
        seed = int(self._limits.rng.integers(2**63))
        samples = []
        for i, prior in enumerate(self._table.T[:PRIORS]):
            rng, draws = np.random.default_rng(seed), most if i == 0 else max(100, most // 10)
            sent = matrix[:, rng.choice(len(prior), draws, p=prior)].T
            counts = rng.multinomial(self._k, sent / sent.sum(1, keepdims=True))
            share = softmax(_log_chances(counts, matrix) + safe_log(prior), axis=1)
            samples.append((share, prior))
        return samples


def compositions(total: int, parts: int) -> Index:
    """All ways to write a number as an ordered sum of so many, a row each (stars and bars).

    >>> compositions(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    ends = total + parts - 1
    bars = np.array(list(combinations(range(ends), parts - 1)), dtype=np.intp)
    bars = bars.reshape(-1, parts - 1)
    return np.diff(bars, axis=1, prepend=-1, append=ends) - 1


def _log_chances(counts: Index, matrix: Array) -> Array:
    """log prod_y M[y, x]^count of each true cell; minus infinity where it cannot be."""
    possible = counts @ (matrix == 0) == 0
    return np.where(possible, counts @ np.log(np.where(matrix > 0, matrix, 1.0)), -np.inf)


def _merged(joint: Array, labels: Any) -> Array:
    """J[report, target]: true cells added up that have the same label."""
    if labels.max() + 1 == joint.shape[1]:
        return joint
    return np.asarray(joint @ (labels[:, None] == np.arange(labels.max() + 1)).astype(np.float64))
