"""Weights of reports for events: g(y; E) is the product of the weights of the groups of y.

Groups are prepared when an event first needs them and kept, so that any number of events can be
asked from the same reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial, reduce
from operator import mul

import numpy as np

from tacit.core.arrays import Array, Codes, Index
from tacit.core.channel.weights import Events, GroupWeights, States
from tacit.core.design import Design
from tacit.reconstruction.estimate import Estimate, linear_estimate
from tacit.reconstruction.interval import KnownMoments, ScoreTest, event_moments
from tacit.reconstruction.left_inverse import left_inverse
from tacit.records import PatternTable
from tacit.records.keys import column_blocks


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
            self._groups[g] = self._prepared(g)
        return self._groups[g]

    def weights(self, g: int) -> GroupWeights:
        """How the reports of one group weigh."""
        factor = self.factors[g]
        return factor.channel.weights(factor.true_axes, partial(self.inverse, g))

    def _prepared(self, g: int) -> GroupReports:
        factor, patterns, weights = self.factors[g], self.patterns.patterns, self.weights(g)
        columns = [patterns[:, axis] for axis in factor.reported_axes]
        if weights.by_attribute:
            nothing = np.zeros(len(patterns), np.intp)
            return GroupReports(weights, dict(zip(factor.true_axes, columns, strict=True)), nothing)
        keys = column_blocks(columns, factor.channel.reported_shape)
        return GroupReports(weights, {}, np.concatenate([k.astype(np.intp) for k in keys]))

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


def event_probability(reports: ReportWeights, event: Events, name: str) -> Estimate:
    """P(E) of one event, with an interval inside [0, 1]."""
    counts, weights = reports.patterns.counts, event_weights(reports, event)
    mean = linear_estimate([(weights, counts)], name)
    if not any(reports.conditioned(event)):
        return mean  # certain, whatever was reported
    share = mean.with_score(_score(reports, event, weights[:, 0], mean))
    sample = reports.patterns.sample
    if sample is None:
        return share
    return share.of_sample(sample.covariance(weights), sample.df, sample.weight_effect)


def _score(reports: ReportWeights, event: Events, weights: Array, estimate: Estimate) -> ScoreTest:
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
