"""Repeated participation: what k reports of one person reveal.

Memoised answers (the first report is kept and sent again) reveal what one report does. Without
it every report throws new coins, and k reports are one report through the product channel

    M_k[(y_1 .. y_k), x] = prod_i M[y_i, x],      epsilon_k = k epsilon.

The order of the reports says nothing, so only their counts matter: there are
(m + k - 1 choose k) of them, enumerated where they are few, else drawn (Monte Carlo).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import gammaln

from tacit.channel.linear import Array
from tacit.channel.numbers import sum_up
from tacit.channel.product import Factor
from tacit.design import Design, check_design
from tacit.errors import DataError
from tacit.privacy.kernels import MAX_DENSE, entries
from tacit.privacy.prior import Prior, prior_of
from tacit.privacy.risk import Figures, Risk, joint_risk, sampled, slack_of, stacked, together
from tacit.privacy.sampling import bound_on_posterior
from tacit.privacy.scopes import Limits, parts_of

#: Counts of reports times true cells that are enumerated.
_MOST_ENTRIES = 2**22


@dataclass(frozen=True)
class Repeated:
    """The figures of every scope after `reports` reports of one person, seen together.

    A scope too large to be written out has None.
    """

    reports: int
    memoised: bool
    attributes: dict[str, Figures | None]
    groups: tuple[Figures | None, ...]
    record: Figures | None
    epsilon: dict[str, float]
    record_epsilon: float

    def caption(self) -> str:
        """One line on what the figures are."""
        if self.memoised:
            return f"{self.reports} reports of one person, the first kept and sent again."
        return (
            f"What {self.reports} reports of one person, with new coins each time, reveal "
            "together. A first report that is kept and sent again reveals what one report does."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "reports": self.reports,
            "memoised": self.memoised,
            "attributes": {name: _plain(f) for name, f in self.attributes.items()},
            "groups": [_plain(figures) for figures in self.groups],
            "record": _plain(self.record),
            "epsilon": self.epsilon,
            "record_epsilon": self.record_epsilon,
        }


def _plain(figures: Figures | None) -> dict[str, Any] | None:
    return None if figures is None else figures.to_dict()


def repeated(
    design: Design,
    reports: int,
    prior: Any = None,
    *,
    memoised: bool = False,
    limits: Limits | None = None,
) -> Repeated:
    """What `reports` reports of one person reveal of each answer, each group and the record."""
    check_design(design)
    if isinstance(reports, bool) or not isinstance(reports, int) or reports < 1:
        raise DataError(f"reports must be a whole number of at least 1, got {reports!r}")
    limits = limits or Limits()
    known = prior_of(prior, design, limits.rng, limits.priors)
    k = 1 if memoised else reports
    whole = design.channel(design.schema.names)
    parts = [_risk(factors, known, k, limits) for factors in parts_of(whole.factors, known)]
    found = [part for part in parts if part is not None]
    epsilon = {n: design.channel(design.closure([n])).epsilon for n in design.schema.names}
    return Repeated(
        reports,
        memoised,
        {name: _attribute(design, known, name, k, limits) for name in design.schema.names},
        tuple(_group(design, known, group.attributes, k, limits) for group in design.groups),
        together(found).figures(limits.level) if len(found) == len(parts) else None,
        {name: sum_up([value] * k) for name, value in epsilon.items()},
        sum_up([whole.epsilon] * k),
    )


def _group(
    design: Design, prior: Prior, names: Sequence[str], k: int, limits: Limits
) -> Figures | None:
    risk = _risk(design.channel(names).factors, prior, k, limits)
    return None if risk is None else risk.figures(limits.level)


def _attribute(design: Design, prior: Prior, name: str, k: int, limits: Limits) -> Figures | None:
    """By the attribute's own reports; where a joint matrix has none for it, by its group's."""
    risk = _risk(design.channel(design.closure([name])).factors, prior, k, limits, name)
    return None if risk is None else risk.figures(limits.level)


def _risk(
    factors: Sequence[Factor], prior: Prior, k: int, limits: Limits, target: str | None = None
) -> Risk | None:
    """The risk after k reports through these groups together; None if too large."""
    if math.prod(math.prod(f.channel.true_shape) for f in factors) > MAX_DENSE:
        return None
    names = [name for factor in factors for name in factor.names]
    matrix: Array = np.ones((1, 1))
    for factor in factors:
        matrix = np.asarray(np.kron(matrix, entries(factor.channel)))
    epsilon = sum_up([factor.channel.epsilon for factor in factors] * k)
    table = prior.table(names)
    labels = np.arange(len(table))
    if target is not None:
        labels = np.indices([prior.schema[n].size for n in names])[names.index(target)].ravel()
    ways = math.comb(len(matrix) + k - 1, k)
    if ways * len(table) <= _MOST_ENTRIES:
        return _enumerated(_several(matrix, k), table, labels, slack_of(64 * k + len(table)))
    return _drawn(matrix, table[:, :1], labels, k, (epsilon, limits))


def _several(matrix: Array, k: int) -> Array:
    """M_k with the counts of reports as its rows."""
    if k == 1:
        return matrix
    m = len(matrix)
    bars = np.array(list(combinations(range(k + m - 1), m - 1)), dtype=np.int64).reshape(-1, m - 1)
    edges = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), k + m - 1)])
    counts = np.diff(edges, axis=1) - 1
    orders = gammaln(k + 1) - gammaln(counts + 1).sum(axis=1)
    possible = counts @ (matrix == 0) == 0
    return np.where(possible, np.exp(orders[:, None] + counts @ _logs(matrix)), 0.0)


def _logs(matrix: Array) -> Array:
    """Logarithms, 0 where an entry is 0: what is impossible is marked elsewhere."""
    return np.log(np.where(matrix > 0, matrix, 1.0))


def _enumerated(matrix: Array, table: Array, labels: Any, slack: float) -> Risk:
    """Exactly, one prior of the stack after the other."""
    return stacked([joint_risk(_merged(matrix * prior, labels), slack) for prior in table.T])


def _merged(joint: Array, labels: Any) -> Array:
    """J[report, target]: true cells added up that have the same label."""
    if labels.max() + 1 == joint.shape[1]:
        return joint
    return np.asarray(joint @ (labels[:, None] == np.arange(labels.max() + 1)).astype(np.float64))


def _drawn(matrix: Array, table: Array, labels: Any, k: int, chance: tuple[float, Limits]) -> Risk:
    """By Monte Carlo over the true cell and the counts of its reports."""
    epsilon, limits = chance
    prior = table[:, 0]
    draws = max(100, min(limits.drawn, _MOST_ENTRIES // len(prior)))
    true = limits.rng.choice(len(prior), draws, p=prior)
    counts = limits.rng.multinomial(k, matrix[:, true].T / matrix[:, true].T.sum(1, keepdims=True))
    weights = counts @ _logs(matrix) + np.log(np.where(prior > 0, prior, 1.0))
    possible = (counts @ (matrix == 0) == 0) & (prior > 0)
    weights = np.where(possible, weights, -np.inf)
    share = np.exp(weights - weights.max(axis=1, keepdims=True))
    share = _merged(share / share.sum(axis=1, keepdims=True), labels)
    own = _merged(prior[None], labels)[0]
    ratio = np.divide(share, own, out=np.ones_like(share), where=share > 0)
    seen = [(share**2).sum(1), share.max(1), (share * np.log2(ratio)).sum(1)]
    worst = bound_on_posterior(float(own.max()), epsilon)
    return sampled(seen, worst, float(own.max()), slack_of(64 * k + len(prior)))
