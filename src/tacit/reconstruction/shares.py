"""Shares of true records that meet conditions: jointly, given each other, and within bounds.

An event is a mean of weights of reports, whatever its number of attributes. Where conditions
between questions exclude combinations of its answers, it is a sum of cells of the `restricted`
table instead, which uses that knowledge.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.design import Design
from tacit.core.schema import Attribute
from tacit.output.number_text import decimals, number_of, span
from tacit.output.table import Figure, Table, TabularResult
from tacit.reconstruction.estimate import Estimate, linear_estimate
from tacit.reconstruction.events import Condition, events_of
from tacit.reconstruction.interval import Interval, ScoreTest
from tacit.reconstruction.report_weights import ReportWeights, event_weights
from tacit.reconstruction.tables import reported_alike
from tacit.records import PatternTable


def condition_cells(design: Design, names: Sequence[str], condition: Condition) -> Array:
    """1 for each cell of the table of `names` that meets a condition, flattened."""
    sizes = {name: design.schema[name].size for name in names}
    allowed = [np.isin(range(k), condition.codes.get(name, range(k))) for name, k in sizes.items()]
    return np.asarray(reduce(np.multiply.outer, allowed), np.float64).ravel()


def condition_weights(reports: ReportWeights, conditions: Sequence[Condition]) -> Array:
    """Weights of every pattern for several conditions, patterns x conditions."""
    names, design = dict.fromkeys(name for c in conditions for name in c.codes), reports.design
    design.channel(design.jointly_reported(tuple(names))).require_reconstructable()
    return event_weights(reports, events_of(design, conditions))


def sums_of_conditions(
    reports: ReportWeights, conditions: list[Condition], sums: Array, axes: tuple[Attribute, ...]
) -> Estimate:
    """Linear functions of the probabilities of conditions, a row each, as a table of these axes."""
    sample, products = reports.patterns.sample, None
    if sample is not None and sample.fraction.any():
        products = np.asarray(sums @ _condition_products(reports, conditions) @ sums.T)
    blocks = [(condition_weights(reports, conditions) @ sums.T, reports.patterns.counts)]
    return linear_estimate(blocks, "", axes, sample=sample, true_products=products)


def _condition_products(reports: ReportWeights, conditions: Sequence[Condition]) -> Array:
    """Weights of every pattern for both of two conditions, patterns x conditions x conditions."""
    n = len(conditions)
    products = np.zeros((len(reports.patterns), n, n))
    for i, j in itertools.combinations_with_replacement(range(n), 2):
        first, second = conditions[i], conditions[j]
        shared = set(first.codes) & set(second.codes)
        if all(set(first.codes[name]) & set(second.codes[name]) for name in shared):
            weights = condition_weights(reports, [first & second])[:, 0]
            products[:, i, j] = products[:, j, i] = weights
    return products


def conditional_shares(
    table: Estimate, given: int, name: str, undisguised: bool = False
) -> Estimate:
    """The last axes of a joint table given the first ones: P(A | B) = P(A and B) / P(B).

        influence of a report:  (g_AB - r g_B) / P(B),    r = P(A | B)

    Both shares are estimated: taking P(B) as known is wrong. Standard errors are by the delta
    method. Limits are not: a value r0 is tested by P(A and B) - r0 P(B), whose mean is 0 if it is
    true, with the variance that r0 implies (Fieller, 1954; Wilson, 1927),

        n Var = P(B) r0 (1 - r0) + noise,
        noise = mean of (g_AB - r0 g_B)^2 - its part without noise

    so an interval lies in [0, 1] and is never empty; it is all of [0, 1] if P(B) could be 0.
    Without disguise it is the exact interval among the records of B. If the first axes are
    `undisguised`, the records of B are known, and the test is that of the share among them (see
    `ScoreTest`), also if they are few.

    The table keeps its attributes. Where the estimate of P(B) is not positive, the share is not a
    number and its interval is all of [0, 1].
    """
    shape, groups = table.value.shape, math.prod(table.value.shape[:given])
    joint = table.value.reshape(groups, -1)
    total = joint.sum(axis=1, keepdims=True)
    total = np.where(total > 0, total, np.nan)
    if table.simple is not None:
        simple = conditional_shares(table.simple, given, name, undisguised)
        covariance = _covariance(simple.value.reshape(groups, -1), total, table.covariance)
        source = {n: getattr(table, n) for n in ("n_left_out", "fit_of", "warning_of")}
        return replace(simple.of_sample(covariance, table.df), **source)
    value, covariance = joint / total, table.covariance
    spread = _spreads(covariance, groups)
    variance = (spread[0] - 2 * value * spread[1] + value**2 * spread[2]) / total**2
    shares = replace(
        table,
        value=value.reshape(shape),
        stderr=np.sqrt(np.maximum(variance, 0)).reshape(shape),
        covariance_of=partial(_covariance, value, total, covariance),
        score_of=None,
        interval_of=None,
        name=name,
        reported_of=partial(_reported_within, table, given),
    )
    if undisguised and table.score is not None and np.any(table.score.n_all):
        records = table.n_records * np.nan_to_num(total) * np.ones(joint.shape)
        return shares.with_score(table.score.given(records.reshape(shape)))
    score = _score(joint, total, spread, table.n_records)
    return shares.with_score(score.part(np.arange(joint.size), shape))


def _reported_within(table: Estimate, given: int) -> Array | None:
    """The last axes of the reported table given the first ones."""
    joint = table.reported
    if joint is None:
        return None
    totals = joint.sum(axis=tuple(range(given, joint.ndim)), keepdims=True)
    return np.asarray(joint / np.where(totals > 0, totals, np.nan))


def _spreads(covariance: Array, groups: int) -> tuple[Array, Array, Array]:
    """Variance of each share, its covariance with that of its group, variance of the latter."""
    group = np.arange(groups)
    cells = covariance.reshape(groups, -1, groups, covariance.shape[0] // groups)
    within = cells[group, :, group, :]  # groups x cells x cells
    return (
        np.diagonal(within, axis1=1, axis2=2),
        within.sum(axis=2),
        within.sum(axis=(1, 2))[:, None],
    )


def _covariance(value: Array, total: Array, joint: Array) -> Array:
    """Covariance of the conditional shares, by their derivatives by the joint ones."""
    groups, cells = value.shape
    by_group = np.zeros((groups, cells, groups, cells))
    group = np.arange(groups)
    by_group[group, :, group, :] = (np.eye(cells) - value[:, :, None]) / total[:, :, None]
    slopes = by_group.reshape(groups * cells, -1)
    return np.asarray(slopes @ joint @ slopes.T)


def _score(joint: Array, total: Array, spread: tuple[Array, ...], n_records: int) -> ScoreTest:
    """The test of every share, as if from the records of its group."""
    share = np.nan_to_num(total, nan=1.0)
    first = n_records * spread[0] + joint**2 - joint
    mixed = n_records * spread[1] + joint * share - joint
    second = np.broadcast_to(n_records * spread[2] + share**2 - share, joint.shape)
    noise = np.stack([first, -2 * mixed, second]) / share
    # Sums of rounded numbers: without disguise there is no noise at all.
    noise = np.where(np.abs(noise) < 1e-9, 0.0, noise)
    unknown = np.isnan(total) & np.ones(joint.shape, bool)
    noise[0][unknown] = np.inf
    center = np.where(unknown, 0.5, joint / share)
    records = np.broadcast_to(np.maximum(n_records * share, 1e-9), joint.shape)
    return ScoreTest(center, noise, np.zeros_like(noise), records)


def reported_share(
    patterns: PatternTable, design: Design, event: Condition, group: Condition | None
) -> Array | None:
    """The share of reports that meet an event, among those of a group."""
    inside = np.ones(len(patterns), bool)
    for condition in (group, event):
        if condition is None:
            continue
        if not reported_alike(design.schema, design.reported, condition.names):
            return None
        if condition is event:
            base = patterns.counts[inside].sum()
        for name, codes in condition.codes.items():
            inside &= np.isin(patterns.patterns[:, patterns.schema.index(name)], codes)
    return np.asarray(patterns.counts[inside].sum() / base) if base > 0 else None


@dataclass(frozen=True, eq=False, repr=False)
class ShareBounds(TabularResult):
    """What is known about a share without assumptions on missing answers.

        lower = mean of a g,   upper = mean of (a g + 1 - a),   a = 1 if there is an answer, else 0

    The people who did not answer may all have the event, or none of them (Manski, 1989). Both
    bounds are means over all records, with errors; `estimate` has both. The interval reaches from
    the lower limit of the lower bound to the upper limit of the upper one: it covers the share with
    at least its level.
    """

    estimate: Estimate
    n_missing: int

    @property
    def lower(self) -> Estimate:
        """The share if nobody without an answer has the event."""
        return self.estimate.part(np.array([0]), (), f"lower bound of {self.estimate.name}")

    @property
    def upper(self) -> Estimate:
        """The share if everybody without an answer has the event."""
        return self.estimate.part(np.array([1]), (), f"upper bound of {self.estimate.name}")

    def interval(self, level: float = 0.95) -> Interval:
        """Confidence limits of the share, whatever the missing answers are."""
        low, high = self.estimate.interval(level)
        return Interval(np.asarray(low[0]), np.asarray(high[1]))

    def plot(self, level: float = 0.95) -> Figure:
        """Both bounds with their intervals; needs the extra `plot`."""
        return self.estimate.plot(level)

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """JSON-ready bounds."""
        interval = [float(limit) for limit in self.interval(level)]
        return self.estimate.to_dict(level) | {"n_missing": self.n_missing, "interval": interval}

    def to_table(self, level: float = 0.95) -> Table:
        """The bounds as a person reads them."""
        low, high = (decimals(value) for value in self.estimate.value.tolist())
        heads = ("lower bound", "upper bound", f"{100 * level:g} % interval")
        limits = (float(limit) for limit in self.interval(level))
        records = number_of(self.estimate.n_records, "reported record")
        title = f"{self.estimate.name} from {records}, {self.n_missing:,} without an answer"
        return Table(heads, [(low, high, span(*limits))], title, "rrr")
