"""Cheaters: people who always give the safe answer, whatever the coin says.

    q_j = M_j a + b e_safe,    sum a + b = 1

Clark & Desharnais (1998), "Honest answers to embarrassing questions: detecting cheating in the
randomized response model", Psychological Methods 3, 160-168. Two samples with different coins
identify honest carriers, honest non-carriers and cheaters; here for any channels and any number of
categories. What cheaters would answer is not known: the share of a category among all people lies
between a_c and a_c + b.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit.compliance.mixture_estimate import mixture_estimate, share_of_all
from tacit.compliance.noncompliance import NoncomplianceModel, safe_code
from tacit.compliance.report_mixture import ReportMixture
from tacit.compliance.sample_counts import SampleCounts
from tacit.core.arrays import Array
from tacit.core.schema import Attribute, Label
from tacit.reconstruction.estimate import Estimate


@dataclass(frozen=True)
class Cheaters(NoncomplianceModel):
    """A share of people reports `safe`, by default the first category, whatever is true.

    The distribution is that of the people who comply.
    """

    safe: Label | None = None
    share_name: ClassVar[str] = "share of cheaters"
    remedy: ClassVar[str] = "use two samples whose coins differ, such as two values of theta"

    def matrices(self, sample: SampleCounts, target: Attribute) -> tuple[Array, Array]:
        (reported,) = sample.channel.reported.attributes
        return sample.matrix, np.eye(reported.size)[safe_code(self.safe, reported, sample.place)]

    def bounds(self, mixture: ReportMixture, target: Attribute) -> tuple[Estimate, ...]:
        unit = np.eye(target.size + 1)
        honest = unit[:-1]
        return tuple(
            mixture_estimate(mixture, list(map(share_of_all, parts)), (target,), name)
            for parts, name in (
                (honest, f"{target.name} among all people, at least"),
                (honest + unit[-1], f"{target.name} among all people, at most"),
            )
        )
