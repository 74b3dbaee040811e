"""Shares among the reports themselves, to be shown beside what is estimated from them.

Only where an attribute is reported in its own categories; a matrix may have other reports.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel.weights import Events
from tacit.core.conditions import answers_of
from tacit.core.design import Design
from tacit.core.schema import Attribute
from tacit.errors import SchemaError
from tacit.output.number_text import decimals, number_of, span
from tacit.output.table import Table, TabularResult
from tacit.reconstruction.estimate import Estimate, linear_estimate
from tacit.reconstruction.events import Condition, events_of
from tacit.reconstruction.interval import Interval, ScoreTest
from tacit.reconstruction.report_weights import ReportWeights, event_weights
from tacit.reconstruction.sampling.incomplete_patterns import IncompletePatterns
from tacit.reconstruction.sampling.weighted_patterns import sample_of
from tacit.reconstruction.tables import has_zeros, reported_alike, sums_of_cells
from tacit.records import PatternTable


def reported_within(joint: Array | None, given: int) -> Array | None:
    """The last axes of a reported table given the first ones."""
    if joint is None:
        return None
    totals = joint.sum(axis=tuple(range(given, joint.ndim)), keepdims=True)
    return np.asarray(joint / np.where(totals > 0, totals, np.nan))


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


# Conditional shares P(A | B) = P(A and B) / P(B), from the unbiased joint table.
#
# influence of a report:  (g_AB - r g_B) / P(B),    r = P(A | B)
#
# Both shares are estimated: taking P(B) as known is wrong. Standard errors are by the delta
# method.
# Limits are not: a value r0 is tested by P(A and B) - r0 P(B), whose mean is 0 if it is true,
# with
# the variance that r0 implies (Fieller, 1954; Wilson, 1927),
#
# n Var = P(B) r0 (1 - r0) + noise,    noise = mean of (g_AB - r0 g_B)^2 - its part without noise
#
# so an interval lies in [0, 1] and is never empty; it is all of [0, 1] if P(B) could be 0.
# Without
# disguise it is the exact interval among the records of B.
#
# If all conditions of B are on undisguised attributes, the records of B are known, and the test
# is
# that of the share among them (see `score_test`), also if they are few.


def conditional_shares(
    table: Estimate, given: int, name: str, undisguised: bool = False
) -> Estimate:
    """The last axes of a joint table given the first ones; the table keeps its attributes.

    Where the estimate of P(B) is not positive, the share is not a number and its interval is all
    of [0, 1]. `undisguised` says that the first axes are.
    """
    if table.simple is not None:
        return _sampled_shares(table, table.simple, given, name, undisguised)
    shape = table.value.shape
    groups = math.prod(shape[:given])
    joint = table.value.reshape(groups, -1)
    total = joint.sum(axis=1, keepdims=True)
    total = np.where(total > 0, total, np.nan)
    value = joint / total
    covariance = table.covariance
    spread = _spreads(covariance, groups)
    variance = (spread[0] - 2 * value * spread[1] + value**2 * spread[2]) / total**2
    found = replace(
        table,
        value=value.reshape(shape),
        stderr=np.sqrt(np.maximum(variance, 0)).reshape(shape),
        covariance_of=partial(_covariance, value, total, covariance),
        score_of=None,
        interval_of=None,
        reported_of=partial(_reported, table, given),
        name=name,
    )
    if undisguised and table.score is not None and np.any(table.score.n_all):
        records = table.n_records * np.nan_to_num(total) * np.ones(joint.shape)
        return found.with_score(table.score.given(records.reshape(shape)))
    return found.with_score(_score(joint, total, spread, table.n_records, shape))


def _reported(table: Estimate, given: int) -> Array | None:
    return reported_within(table.reported, given)


def _sampled_shares(
    table: Estimate, simple: Estimate, given: int, name: str, undisguised: bool
) -> Estimate:
    """The shares with the errors of a sample."""
    found = conditional_shares(simple, given, name, undisguised)
    groups = math.prod(table.value.shape[:given])
    total = table.value.reshape(groups, -1).sum(axis=1, keepdims=True)
    total = np.where(total > 0, total, np.nan)
    covariance = _covariance(found.value.reshape(groups, -1), total, table.covariance)
    sampled = found.of_sample(covariance, table.df)
    sampled = replace(sampled, n_left_out=table.n_left_out)
    return replace(sampled, fit_of=table.fit_of, warning_of=table.warning_of)


def _spreads(covariance: Array, groups: int) -> tuple[Array, Array, Array]:
    """Variance of each share, its covariance with that of its group, variance of the latter."""
    each = np.arange(groups)
    cells = covariance.reshape(groups, -1, groups, covariance.shape[0] // groups)
    own = cells[each, :, each, :]  # groups x cells x cells
    return (
        np.diagonal(own, axis1=1, axis2=2),
        own.sum(axis=2),
        own.sum(axis=(1, 2))[:, None],
    )


def _covariance(value: Array, total: Array, joint: Array) -> Array:
    slopes = _slopes(value, total)
    return np.asarray(slopes @ joint @ slopes.T)


def _slopes(value: Array, total: Array) -> Array:
    """Derivatives of the conditional shares by the joint ones."""
    groups, cells = value.shape
    slopes = np.zeros((groups, cells, groups, cells))
    each = np.arange(groups)
    slopes[each, :, each, :] = (np.eye(cells) - value[:, :, None]) / total[:, :, None]
    return slopes.reshape(groups * cells, -1)


def _score(
    joint: Array,
    total: Array,
    spread: tuple[Array, Array, Array],
    n_records: int,
    shape: tuple[int, ...],
) -> ScoreTest:
    """The test of every share, as if from the records of its group; see the module."""
    known = np.nan_to_num(total, nan=1.0)
    first = n_records * spread[0] + joint**2 - joint
    mixed = n_records * spread[1] + joint * known - joint
    second = np.broadcast_to(n_records * spread[2] + known**2 - known, joint.shape)
    noise = np.stack([first, -2 * mixed, second]) / known
    # Sums of rounded numbers: without disguise there is no noise at all.
    noise = np.where(np.abs(noise) < 1e-9, 0.0, noise)
    unknown = np.isnan(total) & np.ones(joint.shape, bool)
    noise[0][unknown] = np.inf
    center = np.where(unknown, 0.5, joint / known)
    records = np.broadcast_to(np.maximum(n_records * known, 1e-9), joint.shape)
    return ScoreTest(
        center.reshape(shape),
        noise.reshape(3, *shape),
        np.zeros((3, *shape)),
        records.reshape(shape),
    )


# Probabilities of several events together, and the answers of those who were asked a question.
#
# An event is a mean of weights of reports, whatever its number of attributes. Where conditions
# between questions exclude combinations of its answers, it is a sum of cells of the `restricted`
# table instead, which uses that knowledge.
#
# Questions tied by conditions, a chain, are estimated together: any table of some of them is a
# margin
# of the estimate of all, so that a share is the same wherever it is shown.


#: The estimated joint table of some attributes.
TableOf = Callable[[Sequence[str]], Estimate]


def joint_probabilities(
    reports: ReportWeights,
    table: TableOf,
    conditions: list[Condition],
    axes: tuple[Attribute, ...],
    parts: bool = False,
    zeros: bool = False,
) -> Estimate:
    """Probabilities of conditions; with `parts`, that of every second less the one before.

    With `zeros`, they are sums of cells of the table, which has cells that cannot occur.
    """
    design, patterns = reports.design, reports.patterns
    steps = np.eye(max(2, len(conditions)), len(conditions))  # an attribute has two categories
    if parts:
        steps[range(1, len(steps), 2), range(0, len(steps), 2)] = -1
    names = list(dict.fromkeys(name for c in conditions for name in c.names))
    if zeros:
        cells = np.stack([_cells(design, names, condition) for condition in conditions])
        return sums_of_cells(table(names), steps @ cells, axes, "")
    weights = condition_weights(reports, design, conditions) @ steps.T
    sample, products = sample_of(patterns), None
    if sample is not None and sample.fraction.any():
        products = condition_products(reports, design, conditions)
        products = np.asarray(steps @ products @ steps.T)
    return linear_estimate(
        [(weights, patterns.counts)], "", axes, sample=sample, true_products=products
    )


def _cells(design: Design, names: Sequence[str], condition: Condition) -> Array:
    """1 for each cell of the table of `names` that meets a condition, flattened."""
    sizes = [design.schema[name].size for name in names]
    allowed = [
        np.isin(np.arange(size), condition.codes.get(name, range(size)))
        for name, size in zip(names, sizes, strict=True)
    ]
    return np.asarray(reduce(np.multiply.outer, allowed), np.float64).ravel()


def asked_answers(design: Design, table: TableOf, name: str, answered: Collection[str]) -> Estimate:
    """The distribution of the answers among those to whom a conditional question applies.

    It uses the answers that the condition is about: people who gave others were not asked.
    """
    attribute = design.schema[name]
    condition = next((c for c in design.conditions if c.attribute == name), None)
    if condition is None:
        raise SchemaError(f"{name!r} is asked of everybody; use table([{name!r}])")
    names = [name, *condition.names]
    joint = table(names if has_zeros(design, names, answered) else [name])
    answers = answers_of(attribute)
    rows = np.eye(attribute.size)[[attribute.code(label) for label in answers]]
    sums: Array = np.kron(rows, np.ones(joint.value.size // attribute.size)).astype(np.float64)
    found = sums_of_cells(joint, sums, (Attribute(name, answers),), "")
    return conditional_shares(found, 0, f"P({name} | asked)")


def condition_products(
    reports: ReportWeights, design: Design, conditions: Sequence[Condition]
) -> Array:
    """Weights of every pattern for both of two conditions, patterns x conditions x conditions."""
    n = len(conditions)
    found = np.zeros((len(reports.patterns), n, n))
    for i, j in itertools.combinations_with_replacement(range(n), 2):
        first, second = conditions[i], conditions[j]
        shared = set(first.codes) & set(second.codes)
        if all(set(first.codes[name]) & set(second.codes[name]) for name in shared):
            own = condition_weights(reports, design, [first & second])[:, 0]
            found[:, i, j] = found[:, j, i] = own
    return found


def condition_weights(
    reports: ReportWeights, design: Design, conditions: Sequence[Condition]
) -> Array:
    """Weights of every pattern for several conditions, patterns x conditions."""
    names = dict.fromkeys(name for c in conditions for name in c.codes)
    design.channel(design.closure(tuple(names))).require_reconstructable()
    return event_weights(reports, events_of(design, conditions))


# ShareBounds: what is known about a share without assumptions on missing answers.
#
# lower = mean of a g,    upper = mean of (a g + 1 - a),    a = 1 if there is an answer, else 0
#
# The people who did not answer may all have the event, or none of them (Manski, 1989). Both
# bounds
# are means over all records, with errors of their own. The interval reaches from the lower limit
# of
# the lower bound to the upper limit of the upper one: it covers the share with at least its
# level.


_AXIS = Attribute("bound", ["lower", "upper"])


@dataclass(frozen=True, eq=False, repr=False)
class ShareBounds(TabularResult):
    """The least and the largest share that the records allow, as an estimate of two numbers."""

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


def share_bounds(
    patterns: PatternTable,
    reports: ReportWeights,
    event: Events,
    name: str,
    answered_names: tuple[str, ...],
) -> ShareBounds:
    """Bounds of the probability of one event; `reports` are those with an answer."""
    own = event_weights(reports, event)[:, 0]
    whole, answered = patterns, np.ones(len(own), bool)
    if isinstance(patterns, IncompletePatterns):
        whole, answered = patterns.whole, patterns.answered(answered_names)
    g = np.zeros(len(answered))
    g[answered] = own[answered] if len(own) == len(answered) else own
    weights = np.stack([g, np.where(answered, g, 1.0)], axis=1)
    products = np.stack([weights[:, [0, 0]], weights], axis=1)
    found = linear_estimate(
        [(weights, whole.counts)],
        name,
        (_AXIS,),
        probability=True,
        sample=sample_of(whole),
        true_products=products,
    )
    return ShareBounds(found, whole.n_records - reports.patterns.n_records)
