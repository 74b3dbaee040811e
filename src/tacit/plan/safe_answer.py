"""The bias if some carriers always give the safe answer, whatever chance says.

A carrier is someone in the category that the plan is about. The safe answer is the report that
makes this category least likely: "no" in most designs. If a share f of carriers sends it,

    bias = f p (w(safe) - 1)

where w(safe) is the weight of that report in the estimate: for related(theta) on a yes/no question
-f p theta / (2 theta - 1). No number of respondents makes it smaller. Near theta = 1/2 that is more
than the share itself. An estimate below 0 counts as 0, so the bias is never below -p.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.design import Design
from tacit.plan.answer_privacy import joint_reports
from tacit.plan.assumptions import Assumptions
from tacit.plan.expected_estimate import estimate_from

#: Shares of carriers who do not comply that a plan shows.
SHARES = (0.05, 0.1, 0.2)


@dataclass(frozen=True)
class SafeAnswerBias:
    """The bias of the estimated share if this part of the carriers always gives the safe answer."""

    carriers: float
    bias: float


def safe_answer_biases(
    design: Design, name: str, assumed: Assumptions, n: int
) -> tuple[SafeAnswerBias, ...]:
    """The bias for each of `SHARES`; none if the plan is about all categories of the attribute."""
    own = assumed[name]
    if own.category is None:
        return ()
    channel = design.channel(design.closure([name]))
    joint = joint_reports(design, name, assumed)
    reported = joint.sum(axis=0)
    seen = np.where(reported > 0, reported, np.inf)
    safe = int(np.argmin(np.where(reported > 0, joint[own.category] / seen, np.inf)))
    found = []
    for part in SHARES:
        moved = reported - part * joint[own.category]
        moved[safe] += part * own.share
        table = moved.reshape(channel.reported.sizes)
        value = float(estimate_from(channel, table, 1, n).value[own.category])
        found.append(SafeAnswerBias(part, min(max(value, 0.0), 1.0) - own.share))
    return tuple(found)
