"""The privacy of one planned answer: epsilon, odds, and what a report can make others believe.

J[x, y] = P(true answer x, report y),    posterior = J[x, y] / sum_x J[x, y]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.core.arrays import Array
from tacit.core.design import Design
from tacit.errors import DataError
from tacit.plan.assumptions import Assumption, Assumptions, check_number, check_share
from tacit.plan.expected_estimate import true_table
from tacit.privacy.risk import joint_risk, slack_of

#: A channel with more entries is refused; it would not fit in memory.
MOST_ENTRIES = 2**24


@dataclass(frozen=True)
class AnswerPrivacy:
    """Figures of someone who sees the report of one question alone.

    epsilon: local differential privacy. odds: a report multiplies the odds between two answers by
    at most this. worst_posterior: the largest probability of any answer after a report.
    suspicion: the same of the category that the plan is about; None if it is about all.
    """

    epsilon: float
    odds: float
    worst_posterior: float
    suspicion: float | None


@dataclass(frozen=True)
class PrivacyWish:
    """Upper bounds; None is no bound."""

    epsilon: float | None = None
    odds: float | None = None
    worst_posterior: float | None = None

    def __post_init__(self) -> None:
        for name, least in (("epsilon", 0.0), ("odds", 1.0)):
            value = getattr(self, name)
            if value is not None and not check_number(value, name) > least:
                raise DataError(f"{name} must be above {least:g}, got {value!r}")
        if self.worst_posterior is not None:
            check_share(self.worst_posterior, "worst_posterior")

    def __bool__(self) -> bool:
        return bool(self.named)

    @property
    def named(self) -> dict[str, float]:
        """The bounds that are given."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def check(self, assumed: Assumption) -> None:
        """Raise if no disguise at all keeps the bound on the worst posterior."""
        largest = float(assumed.shares.max())
        if self.worst_posterior is not None and self.worst_posterior < largest - 1e-12:
            raise DataError(
                f"worst_posterior must be at least {largest:g}: that is the assumed share of the "
                f"most common answer to {assumed.attribute.name!r}, known without any report"
            )

    def missed(self, found: AnswerPrivacy) -> str | None:
        """The name of a bound that is not kept."""
        for name, bound in self.named.items():
            if getattr(found, name) > bound * (1 + 1e-12):
                return name
        return None


def answer_privacy(design: Design, name: str, assumed: Assumptions) -> AnswerPrivacy:
    """The privacy of one attribute under the assumed distribution."""
    channel = design.channel(design.closure([name]))
    joint = joint_reports(design, name, assumed)
    risk = joint_risk(joint[:, :, None], slack_of(sum(joint.shape)))
    own = assumed[name]
    suspicion = None
    if own.category is not None:
        shares = joint.sum(axis=0)
        seen = shares > 0
        suspicion = float((joint[own.category, seen] / shares[seen]).max())
    return AnswerPrivacy(
        channel.epsilon,
        _odds(channel.ratio),
        risk.figures().worst_posterior,
        suspicion,
    )


def joint_reports(design: Design, name: str, assumed: Assumptions) -> Array:
    """P(true answer, report) of one attribute; a report of a joint matrix is that of its group."""
    channel = design.channel(design.closure([name]))
    size = math.prod(channel.true.sizes) * math.prod(channel.reported.sizes)
    if size > MOST_ENTRIES:
        raise DataError(
            f"the channel of {name!r} has {size:,} entries, more than the {MOST_ENTRIES:,} that a "
            "plan can hold; offer fewer categories"
        )
    cells = true_table(channel, assumed)
    weighted = channel.matrix * cells.ravel()
    return np.asarray(weighted.reshape(len(weighted), cells.shape[0], -1).sum(axis=2).T)


def _odds(ratio: Fraction | None) -> float:
    return math.inf if ratio is None else float(ratio)
