"""LyingCarriers: carriers who deny, with some probability, where they should admit.

    q_j = M_j,no (1 - pi) + M_j,yes pi t + e_no pi (1 - t)

Moshagen, Musch & Erdfelder (2012), "A stochastic lie detector", Behavior Research Methods 44,
222-231, with the channel of Mangat (1994): carriers are asked to admit, non-carriers to answer
truthfully with probability p_j only, so q_j,yes = pi t + (1 - pi)(1 - p_j). Here for any channel
of a yes/no answer. The classes are those of `Cheaters`; the assumption that all who deny are
carriers identifies the prevalence pi instead of bounds on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit.compliance.mixture_estimate import share_of_all
from tacit.compliance.noncompliance import NoncomplianceModel, safe_code
from tacit.compliance.profile_likelihood import Quantity
from tacit.compliance.sample_counts import SampleCounts
from tacit.core.arrays import Array
from tacit.core.schema import Attribute, Label
from tacit.errors import DataError


@dataclass(frozen=True)
class LyingCarriers(NoncomplianceModel):
    """Carriers report `safe`, by default the first category, with some probability.

    The distribution is that of all people; the share is that of carriers who deny.
    """

    safe: Label | None = None
    share_name: ClassVar[str] = "share of carriers who deny"
    among: ClassVar[str] = ""
    remedy: ClassVar[str] = "use two samples whose coins differ, such as two values of theta"

    def matrices(self, sample: SampleCounts, target: Attribute) -> tuple[Array, Array]:
        (reported,) = sample.channel.reported.attributes
        sizes = target.size, reported.size
        if sizes != (2, 2):
            raise DataError(
                f"{sample.place}: carriers who deny need a yes/no answer with two reports, but "
                f"{reported.name!r} has {sizes[0]} categories and {sizes[1]} reports; "
                "use Cheaters"
            )
        return sample.matrix, np.eye(2)[safe_code(self.safe, reported, sample.place)]

    def distribution(self, target: Attribute) -> list[Quantity]:
        unit = np.eye(3)
        safe = safe_code(self.safe, target, target.name)
        return [share_of_all(unit[c] if c == safe else 1 - unit[safe]) for c in range(2)]

    def share(self, target: Attribute) -> Quantity:
        unit = np.eye(3)
        return Quantity(unit[2], 1 - unit[safe_code(self.safe, target, target.name)])

    def given(self, sample: SampleCounts, target: Attribute, share: float) -> Array:
        matrix, others = self.matrices(sample, target)
        denied = (1 - share) * matrix + share * others[:, None]
        safe = safe_code(self.safe, target, sample.place)
        denied[:, safe] = matrix[:, safe]
        return denied
