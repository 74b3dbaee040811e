"""What one sent answer says: how many who send it have another true answer.

    hidden(c) = P(true != c | reported = c) = 1 - M[c, c] p(c) / sum_x M[c, x] p(x)

These are the numbers that respondents are told, so they are taken at the pessimistic end. Where
reports have categories of their own, the likeliest true answer is named instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.attribute import Attribute, Label
from tacit.channel.linear import Array
from tacit.design import Design
from tacit.privacy.kernels import entries
from tacit.privacy.prior import Prior
from tacit.privacy.risk import slack_of


@dataclass(frozen=True)
class Answer:
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

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dict(vars(self))


def answers(design: Design, prior: Prior, name: str, level: float) -> tuple[Answer, ...]:
    """Every category in which an attribute is reported; those that are never sent are left out."""
    attribute = design.schema[name]
    reports, joint = _joint(design, prior, name)
    sent = joint.sum(axis=1)
    cells = math.prod(design.schema[n].size for n in design.closure([name]))
    slack = slack_of(cells)
    own = (reports.name, reports.categories) == (name, attribute.categories)
    found = []
    for code, label in enumerate(reports.categories):
        if sent[code, 0] <= 0:
            continue
        share = joint[code] / np.maximum(sent[code], 1e-300)
        guess = int(share[:, 0].argmax())
        place = code if own else guess
        found.append(
            Answer(
                name,
                label,
                own,
                float(sent[code, 0]),
                max(0.0, 1 - _high(share[place], level) - slack),
                attribute.categories[guess],
                min(1.0, _high(share.max(axis=0), level) + slack),
            )
        )
    return tuple(found)


def _high(values: Array, level: float) -> float:
    """The upper end over the stack of priors, not below the first."""
    return float(max(values[0], np.quantile(values, (1 + level) / 2, method="higher")))


def _joint(design: Design, prior: Prior, name: str) -> tuple[Attribute, Array]:
    """The reported attribute that tells of `name`, and J[reported, true, prior]."""
    channel = design.channel(design.closure([name]))
    (factor,) = channel.factors
    table = prior.table(factor.names)
    cells = entries(factor.channel)[:, :, None] * table
    sizes = [design.schema[n].size for n in factor.names]
    reported = [channel.reported.attributes[axis] for axis in factor.reported_axes]
    place = next((i for i, a in enumerate(reported) if a.name == name), 0)
    cells = cells.reshape(*(a.size for a in reported), *sizes, table.shape[1])
    target = len(reported) + factor.names.index(name)
    summed = tuple(i for i in range(cells.ndim - 1) if i not in (place, target))
    return reported[place], cells.sum(axis=summed)


def of_100(share: float) -> int:
    """People of 100, rounded down; what lies within 1e-9 of a whole number is that number."""
    return math.floor(100 * share + 1e-9)


def of_100_up(share: float) -> int:
    """People of 100, rounded up; what lies within 1e-9 of a whole number is that number."""
    return math.ceil(100 * share - 1e-9)
