"""NoncomplianceModel: a channel extended by a class of people who do not follow it.

    q_j = M_j a + b e_j        shares a_c of people who follow the instructions, b of the others

e_j is what the others report in sample j. The reports are a mixture of k + 1 classes, so everything
that holds for pooled samples holds here: a concave likelihood, profile-likelihood intervals,
and a check of whether the reports identify the shares.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tacit.arrays import Array
from tacit.compliance.compliance_estimate import ComplianceEstimate, compliance_tests
from tacit.compliance.mixture_estimate import mixture_estimate, share_of_all
from tacit.compliance.profile_likelihood import Quantity
from tacit.compliance.report_mixture import ReportMixture
from tacit.compliance.sample_counts import Sample, SampleCounts, mixture_of, read_samples
from tacit.errors import DataError, unknown
from tacit.reconstruction.estimate import Estimate
from tacit.schema import Attribute, Label

#: Reports that are this much more likely if exchanged, in logarithms, are probably reversed: once
#: in 1,000 surveys by chance.
LARGE_GAIN = float(np.log(1000))


class NoncomplianceModel(ABC):
    """People who follow the instructions, and one class of people who do not."""

    #: What the share is a share of, for captions.
    share_name: ClassVar[str]
    #: Whose distribution is estimated, for captions.
    among: ClassVar[str] = " among people who comply"
    #: What identifies the model, for errors.
    remedy: ClassVar[str]

    @abstractmethod
    def matrices(self, sample: SampleCounts, target: Attribute) -> tuple[Array, Array]:
        """matrix[reported, true] of people who comply, and the reports of the others."""

    def read(
        self, samples: Sequence[Sample], attribute: str | None
    ) -> tuple[list[SampleCounts], Attribute]:
        """Count the samples; also the attribute whose distribution is estimated."""
        found = read_samples(samples, attribute)
        if len(found[0].attributes) != 1:
            raise DataError("a model of non-compliance needs one attribute")
        return found, found[0].attributes[0]

    def distribution(self, target: Attribute) -> list[Quantity]:
        """The share of each category: by default among people who comply."""
        unit = np.eye(target.size + 1)
        return [Quantity(part, 1 - unit[-1]) for part in unit[:-1]]

    def share(self, target: Attribute) -> Quantity:
        """The share of people who do not comply: by default among all."""
        return share_of_all(np.eye(target.size + 1)[-1])

    def given(self, sample: SampleCounts, target: Attribute, share: float) -> Array:
        """matrix[reported, true] if this share of people does not comply."""
        matrix, others = self.matrices(sample, target)
        return (1 - share) * matrix + share * others[:, None]

    def fit(self, samples: Sequence[Sample], attribute: str | None = None) -> ComplianceEstimate:
        """Estimate distribution and share from a list of (reported records, design).

        Refused if the samples cannot identify the share; `sensitivity` shows what an assumed share
        changes.
        """
        read, target = self.read(samples, attribute)
        columns = (np.column_stack(self.matrices(sample, target)) for sample in read)
        mixture = mixture_of(read, columns)
        share, shares = self.share(target), self.distribution(target)
        if not all(quantity.identified(mixture) for quantity in (share, *shares)):
            raise DataError(
                f"these samples cannot identify the {self.share_name}: {self.remedy}; "
                "tacit.compliance.sensitivity shows the estimate for assumed shares"
            )
        distribution = mixture_estimate(mixture, shares, (target,), target.name + self.among)
        warning = _coding_warning(read, mixture)
        return ComplianceEstimate(
            replace(distribution, warning_of=lambda: warning),
            mixture_estimate(mixture, [share], (), self.share_name),
            *compliance_tests(mixture),
            *self.bounds(mixture, target),
        )

    def bounds(self, mixture: ReportMixture, target: Attribute) -> tuple[Estimate, ...]:
        """Lower and upper bounds on the shares of all people, if others may have any answer."""
        return ()


def _coding_warning(samples: Sequence[SampleCounts], mixture: ReportMixture) -> str:
    """A warning if the reports of comparisons fit far better when their categories are exchanged.

    They have the likelihood of exchanged rows of the matrices.
    """
    coins = {
        name: sample.design.group_of(name).coin
        for sample in samples
        for name in sample.channel.reported.names
        if name in sample.design.schema
    }
    reversible = [name for name, coin in coins.items() if coin.report_words]
    if not reversible:
        return ""
    exchanged = []
    for sample in samples:
        reported = sample.channel.reported
        axes = tuple(reported.index(name) for name in reversible if name in reported)
        exchanged.append(np.flip(sample.counts.reshape(reported.sizes), axes).ravel())
    other = ReportMixture(tuple(exchanged), mixture.matrices)
    gain = other.maximum[1] - mixture.maximum[1]
    if gain < LARGE_GAIN:
        return ""
    return (
        f"CODING: are the reports of {', '.join(reversible)} reversed? Coded the other way round "
        f"they fit the model far better (log-likelihood {gain:+.1f})"
    )


def safe_code(safe: Label | None, attribute: Attribute, place: str) -> int:
    """Code of the safe answer among the categories of an attribute; the first by default."""
    if safe is None:
        return 0
    texts = [str(label) for label in attribute.categories]
    if str(safe) not in texts:
        message = unknown("answer", safe, texts, f" to {attribute.name!r}")
        raise DataError(f"{place}: {message}")
    return texts.index(str(safe))
