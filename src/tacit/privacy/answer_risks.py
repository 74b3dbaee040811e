"""What one sent answer says: how many who send it have another true answer.

    hidden(c) = P(true != c | reported = c) = 1 - M[c, c] p(c) / sum_x M[c, x] p(x)

These are the numbers that respondents are told, so they are taken at the pessimistic end. Where
reports have categories of their own, the likeliest true answer is named instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.core.design import Design
from tacit.core.schema import Attribute, Label
from tacit.privacy.prior import Prior
from tacit.privacy.risk import quotient, slack_of, upper


@dataclass(frozen=True)
class SentAnswer:
    """One reported category of an attribute.

    `hidden` is the share of those who send it whose true answer is another one, `guess` the
    likeliest true answer, right with probability `certainty`. `own` says whether the report is
    in the attribute's own categories; if not, `hidden` is 1 - certainty.
    """

    attribute: str
    reported: Label
    own: bool
    sent: float
    hidden: float
    guess: Label
    certainty: float


def answers(design: Design, prior: Prior, name: str, level: float) -> tuple[SentAnswer, ...]:
    """Every category in which an attribute is reported; those that are never sent are left out."""
    attribute = design.schema[name]
    reports, joints = joints_of(design, prior, name)
    same_categories = (reports.name, reports.categories) == (name, attribute.categories)
    cells = math.prod(design.schema[n].size for n in design.jointly_reported([name]))
    slack = slack_of(cells)
    first = next(joints)
    sent, guess = first.sum(axis=1), first.argmax(axis=1)
    column = np.arange(len(guess)) if same_categories else guess
    shares = [_shares(joint, column) for joint in chain([first], joints)]
    posterior, best = (upper(np.stack(values), level) for values in zip(*shares, strict=True))
    return tuple(
        SentAnswer(
            name,
            label,
            same_categories,
            float(sent[code]),
            max(0.0, 1 - float(posterior[code]) - slack),
            attribute.categories[guess[code]],
            min(1.0, float(best[code]) + slack),
        )
        for code, label in enumerate(reports.categories)
        if sent[code] > 0
    )


def _shares(joint: Array, column: Index) -> tuple[Array, Array]:
    """The posterior of the true category at `place` and the largest one, for each report."""
    sent, true = joint.sum(axis=1), joint[np.arange(len(column)), column]
    return quotient(true, sent), quotient(joint.max(axis=1), sent)


def joints_of(design: Design, prior: Prior, name: str) -> tuple[Attribute, Iterator[Array]]:
    """The reported attribute that tells of `name`, and J[reported, true] for each prior."""
    channel = design.channel(design.jointly_reported([name]))
    (factor,) = channel.factors
    sizes = [design.schema[n].size for n in factor.names]
    reported = [channel.reported.attributes[axis] for axis in factor.reported_axes]
    index = next((i for i, a in enumerate(reported) if a.name == name), 0)
    other = tuple(i for i in range(len(reported)) if i != index)
    matrix = factor.channel.kernel.entries.reshape(*(a.size for a in reported), *sizes).sum(
        axis=other
    )
    axis = factor.names.index(name)
    summed = tuple(1 + i for i in range(len(sizes)) if i != axis)
    tables = prior.table(factor.names).T
    return reported[index], ((matrix * t.reshape(sizes)).sum(axis=summed) for t in tables)


def of_100(share: float) -> int:
    """People of 100, rounded down; what lies within 1e-9 of a whole number is that number."""
    return math.floor(100 * share + 1e-9)


def of_100_up(share: float) -> int:
    """People of 100, rounded up, 0 if none; within 1e-9 of a whole number it is that number."""
    return max(math.ceil(100 * share - 1e-9), int(share > 0))
