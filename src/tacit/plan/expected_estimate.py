"""The estimates that a survey will print if reports are as frequent as expected.

Reported counts are replaced by their expectation n M p; standard errors, intervals and comparisons
are then computed by the same code as those of a survey. An interval also depends on where the
estimate happens to be, most of all near 0 and 1, so widths are averaged over its distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from tacit.core.arrays import Array
from tacit.core.conditions import answers_of
from tacit.core.design import Design, ProductChannel
from tacit.core.schema import Attribute
from tacit.plan.assumptions import Assumptions
from tacit.reconstruction import Estimate, inversion
from tacit.reconstruction.comparisons import GroupShares
from tacit.reconstruction.interval import NO_RECORDS, ScoreTest, score_interval
from tacit.reconstruction.shares import conditional_shares
from tacit.reconstruction.tables import TableProblem, sums_of_cells

#: Places at which the distribution of an estimate is evaluated, all equally likely.
_PLACES = 24


def true_table(channel: ProductChannel, assumed: Assumptions) -> Array:
    """The joint distribution of the attributes of a channel, as independent answers."""
    margins = [assumed[name].shares for name in channel.true.names]
    return np.asarray(reduce(np.multiply.outer, margins))


def expected_shares(design: Design, name: str, assumed: Assumptions, n: int) -> Estimate:
    """The expected estimate of the shares of one attribute."""
    channel = design.channel(design.closure([name]))
    return estimate_from(channel, channel.disguised(true_table(channel, assumed)), 1, n)


def asked_width(design: Design, name: str, assumed: Assumptions, n: int, level: float) -> float:
    """Half the widest interval among those who are asked a conditional question.

    From its own reports alone; with those of the questions that it depends on it is a bit narrower.
    """
    attribute = design.schema[name]
    answers = answers_of(attribute)
    rows = np.eye(attribute.size)[[attribute.code(label) for label in answers]]
    found = expected_shares(design, name, assumed, n)
    own = sums_of_cells(found, rows, (Attribute(name, answers),), "")
    lower, upper = conditional_shares(own, 0, "").interval(level)
    return float(np.max(upper - lower) / 2)


def estimate_from(channel: ProductChannel, reported: Array, wanted: int, n: int) -> Estimate:
    """The estimate of the first attributes from these reported frequencies."""
    return inversion(TableProblem(n * reported, channel, wanted, n))


def expected_widths(estimate: Estimate, level: float) -> Array:
    """The mean half width of the interval of each category."""
    from scipy.special import ndtri  # slow to load

    score = estimate.score
    assert score is not None, "shares have a score test"
    deviates = ndtri((np.arange(_PLACES) + 0.5) / _PLACES)
    centers = estimate.value + np.multiply.outer(deviates, score.stderr(estimate.value))
    noise, skew = (np.repeat(each[:, None], _PLACES, axis=1) for each in (score.noise, score.skew))
    limits = score_interval(ScoreTest(centers, noise, skew, score.n_records), level)
    return np.asarray((limits.upper - limits.lower).mean(axis=0) / 2)


def expected_difference(
    channel: ProductChannel, table: Array, category: int, n: int
) -> tuple[Estimate, Estimate]:
    """The expected shares of a category in two groups, and their difference.

    The first attribute of `table` makes the groups: its last category is the first group, the
    others are the second, each with the same shares. The category is one of the second attribute.
    """
    joint = estimate_from(channel, channel.disguised(table), 2, n)
    rows, columns = joint.value.shape
    first, event = np.arange(rows) == rows - 1, np.arange(columns) == category
    groups, events = (np.stack([part, ~part]).astype(np.float64) for part in (first, event))
    collapse = np.kron(groups, events)
    value = np.asarray(groups @ joint.value @ events.T)
    axes = (Attribute("group", range(2)), Attribute("event", range(2)))
    covariance = collapse @ joint.covariance @ collapse.T
    quarters = Estimate.of_covariance(axes, value, covariance, n, "inversion", "")
    shares = conditional_shares(quarters, 1, "").part(np.array([0, 2]), axes[:1], "")
    if any(0 in f.true_axes and f.channel.undisguised for f in channel.factors):
        shares = shares.with_tests(_tests_of_groups(joint, category))
    return shares, GroupShares(shares, "", ("", "")).difference()


def _tests_of_groups(joint: Estimate, category: int) -> dict[int, ScoreTest]:
    """The tests of the shares of a category among the records of undisguised groups."""
    if joint.score is None or not np.any(joint.score.n_all):
        return {}
    (rows, columns), records = joint.value.shape, joint.n_records * joint.value.sum(axis=1)
    first = joint.score.part(np.array([(rows - 1) * columns + category]), ())
    largest, others = int(records[:-1].argmax()), records[:-1].sum()
    second = joint.score.part(np.array([largest * columns + category]), ())
    second = second.times(others / max(records[largest], NO_RECORDS))
    return {0: first.given(records[-1]), 1: second.given(others)}


def group_table(
    channel: ProductChannel, assumed: Assumptions, groups: Array, shares: Sequence[Array]
) -> Array:
    """P(group) P(answer | group), and the other attributes of the channel independent of both."""
    table = groups[:, None] * np.array(shares)
    others = [assumed[name].shares for name in channel.true.names[2:]]
    return np.asarray(reduce(np.multiply.outer, others, table))
