"""Events: as users write them, the weights of reports for them, and their shares.

An event is a mean of weights of reports, whatever its number of attributes: g(y; E) is the product
of the weights of the groups of y. Groups are prepared when an event first needs them and kept, so
that any number of events can be asked from the same reports.

Where conditions between questions exclude combinations of its answers, it is a sum of cells of the
`restricted` table instead, which uses that knowledge.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import mul
from typing import Any

import numpy as np

from tacit.core.arrays import Array, Codes, Index
from tacit.core.channel.weights import Events, GroupWeights, States
from tacit.core.design import Design
from tacit.core.schema import Attribute, Schema
from tacit.errors import SchemaError, unknown
from tacit.output.number_text import decimals, number_of, span
from tacit.output.table import Figure, Table, TabularResult
from tacit.reconstruction.estimate import Estimate, linear_estimate
from tacit.reconstruction.interval import Interval, KnownMoments, ScoreTest, event_moments
from tacit.reconstruction.tables import left_inverse, reported_alike
from tacit.records import PatternTable
from tacit.records.keys import column_blocks


def event_codes(
    event: Mapping[str, Any], schema: Schema, what: str = "event"
) -> dict[int, list[int]]:
    """The allowed codes of each attribute that an event names; a list allows any of its labels."""
    if not isinstance(event, Mapping) or not event:
        raise SchemaError(
            f"the {what} names no attribute: give a mapping such as "
            f"{{'smokes': 'yes'}}, got {event!r}"
        )
    allowed = {name: _listed(labels) for name, labels in event.items()}
    codes = {schema.index(n): list(map(schema[n].code, labels)) for n, labels in allowed.items()}
    for name, labels in allowed.items():
        if not labels:
            raise SchemaError(f"the {what} allows no category of {name!r}; give at least one")
    return codes


def event_text(event: Mapping[str, Any]) -> str:
    """The conditions of an event, as in "smokes = yes, income = mid or high"."""
    return ", ".join(f"{n} = {' or '.join(map(str, _listed(c)))}" for n, c in event.items())


def _listed(labels: Any) -> list[Any]:
    return list(labels) if isinstance(labels, list | tuple | set | frozenset) else [labels]


@dataclass(frozen=True, eq=False)
class Condition:
    """Allowed codes by the attribute's name, and the event in words."""

    codes: Mapping[str, tuple[int, ...]]
    text: str

    @property
    def names(self) -> list[str]:
        """The attributes that it names."""
        return list(self.codes)

    def __and__(self, other: Condition) -> Condition:
        """Both together; an attribute that both name must be allowed by both."""
        joint = dict(self.codes)
        for name, codes in other.codes.items():
            joint[name] = tuple(c for c in joint.get(name, codes) if c in codes)
            if not joint[name]:
                raise SchemaError(
                    f"{self.text} and {other.text} exclude each other: no category of {name!r} "
                    "meets both"
                )
        return Condition(joint, f"{self.text}, {other.text}")


def check_known(design: Design, names: Any) -> None:
    """Raise if a name is no attribute; the error says how columns are used."""
    for name in names if isinstance(names, Mapping | list | tuple) else ():
        if name not in design.schema:
            message = unknown("attribute", name, design.schema.names)
            raise SchemaError(f"{message}; a column is given to reconstruct, as columns=[{name!r}]")


def condition_of(design: Design, event: Any, what: str = "event") -> Condition:
    """Check an event: a mapping from attributes to a category, or to a list of categories."""
    check_known(design, event)
    codes = event_codes(event, design.schema, what)
    names = [design.schema.names[index] for index in codes]
    design.channel(design.jointly_reported(names)).require_reconstructable()
    return Condition(dict(zip(names, map(tuple, codes.values()), strict=True)), event_text(event))


def events_of(design: Design, conditions: Sequence[Condition]) -> Events:
    """The events of several conditions."""
    schema = design.schema
    events = [
        Events.conjunction(schema.sizes, {schema.index(n): codes for n, codes in c.codes.items()})
        for c in conditions
    ]
    return Events(schema.sizes, np.concatenate([event.allowed for event in events]))


@dataclass(frozen=True, eq=False)
class GroupReports:
    """The reports of one group.

    `answers` has the reported codes of each attribute, if the group reports them one by one;
    otherwise `cells` has its joint reports.
    """

    weights: GroupWeights
    answers: dict[int, Codes]
    cells: Index

    def states(self, event: Events) -> States:
        """The state of each report after all conditions of one event."""
        states = self.weights.start(self.cells)
        for a, answers in self.answers.items():
            allowed = event.allowed[0, event.span(a)]
            if not allowed.all():
                states = self.weights.step(states, a, allowed[answers])
        return states


class ReportWeights:
    """The reports in a pattern table of a design, prepared group by group."""

    def __init__(self, patterns: PatternTable, design: Design) -> None:
        self.patterns, self.design = patterns, design
        self.factors = design.channel(design.schema.names).factors
        self._groups: dict[int, GroupReports] = {}

    def group(self, g: int) -> GroupReports:
        """The reports of one group."""
        if g not in self._groups:
            factor, weights = self.factors[g], self.weights(g)
            columns = [self.patterns.patterns[:, axis] for axis in factor.reported_axes]
            if weights.by_attribute:
                answers = dict(zip(factor.true_axes, columns, strict=True))
                cells = np.zeros(len(self.patterns), np.intp)
            else:
                answers, keys = {}, column_blocks(columns, factor.channel.reported_shape)
                cells = np.concatenate([k.astype(np.intp) for k in keys])
            self._groups[g] = GroupReports(weights, answers, cells)
        return self._groups[g]

    def weights(self, g: int) -> GroupWeights:
        """How the reports of one group weigh."""
        factor = self.factors[g]
        return factor.channel.weights(factor.true_axes, partial(self.inverse, g))

    def inverse(self, g: int) -> Array:
        """W of one group, all entries."""
        factor, n = self.factors[g], self.patterns.n_records
        names = [self.patterns.schema.names[axis] for axis in factor.reported_axes]
        return left_inverse(
            factor.channel, lambda: self.patterns.marginal(names).ravel() / n, n
        ).matrix()

    def conditioned(self, event: Events) -> Iterator[GroupReports]:
        """The groups on which an event has conditions."""
        for g, factor in enumerate(self.factors):
            if not all(event.allowed[0, event.span(a)].all() for a in factor.true_axes):
                yield self.group(g)


def event_weights(reports: ReportWeights, events: Events) -> Array:
    """g(y; E) of every pattern, patterns x events."""
    weights = np.ones((len(reports.patterns), len(events)))
    for e in range(len(events)):
        event = events.take(slice(e, e + 1))
        for group in reports.conditioned(event):
            weights[:, e] *= group.weights.weights(event, group.states(event))[0]
    return weights


def event_probability(reports: ReportWeights, condition: Condition) -> Estimate:
    """P(E) of one event, with an interval inside [0, 1]."""
    event = events_of(reports.design, [condition])
    counts, weights = reports.patterns.counts, event_weights(reports, event)
    mean = linear_estimate([(weights, counts)], f"P({condition.text})")
    if not any(reports.conditioned(event)):
        return mean  # certain, whatever was reported
    share = mean.with_score(_event_score(reports, event, weights[:, 0], mean))
    sample = reports.patterns.sample
    if sample is None:
        return share
    return share.of_sample(sample.covariance(weights), sample.df, sample.weight_effect)


def _event_score(
    reports: ReportWeights, event: Events, weights: Array, estimate: Estimate
) -> ScoreTest:
    """The test of one event, among the reports that meet its undisguised conditions."""
    groups = list(reports.conditioned(event))
    plain = [group for group in groups if group.weights.moments(event).undisguised]
    disguised = [group for group in groups if group not in plain]
    if not plain or not disguised:
        plain, disguised = [], groups
    shares = reports.patterns.counts / reports.patterns.n_records
    for group in plain:
        shares = shares * group.weights.weights(event, group.states(event))[0]
    second, third = (_moments(disguised, event, shares, weights, estimate, p) for p in (2, 3))
    share = shares.sum() if plain else None
    return ScoreTest.of(estimate.value, estimate.n_records, second, third, share)


def _moments(
    groups: list[GroupReports],
    event: Events,
    shares: Array,
    weights: Array,
    estimate: Estimate,
    power: int,
) -> KnownMoments:
    """A power of the weights for one event: its mean, and what is known inside and outside."""
    moments = reduce(mul, (group.weights.moments(event, power) for group in groups))
    inside = shares
    if moments.inside[0] < moments.inside[1]:
        for group in groups:
            inside = inside * group.weights.inside_weights(event, group.states(event), power)[0]
    mean = float(shares @ weights**power)
    return event_moments(mean, float(estimate.value), moments, float(inside.sum()))


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
    return ScoreTest(center, noise, np.zeros_like(noise), np.maximum(n_records * share, 1e-9))


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
