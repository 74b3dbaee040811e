"""pool: one distribution from several samples under different designs, by maximum likelihood.

    q_j = M_j p        for every sample j, with the same p

A truthful sample has M_j = I. If the distribution u of an unrelated question is not known,
q_j = theta_j p + (1 - theta_j) u, and two samples with different theta, or one and a truthful
sample, identify both (Greenberg et al., 1969). p and u are then the margins of one mixture of
k * k pairs of answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.compliance.mixture_estimate import mixture_estimate, share_of_all
from tacit.compliance.mixture_result import MixtureResult, interior_test
from tacit.compliance.report_mixture import ReportMixture
from tacit.compliance.sample_counts import Sample, SampleCounts, mixture_of, read_samples
from tacit.core.arrays import Array
from tacit.core.channel.keep_or_draw import Unrelated
from tacit.core.schema import Attribute
from tacit.errors import DataError
from tacit.output.number_text import number_of
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.hypothesis_test import HypothesisTest

#: An unrelated question of more categories than this must have a known distribution.
_MOST_UNKNOWN = 32


@dataclass(frozen=True, eq=False, repr=False)
class Pooled(MixtureResult):
    """The distribution estimated from all samples, and the test that they agree.

    `unrelated` is the estimated distribution of an unrelated question of unknown prevalence.
    """

    estimate: Estimate
    agreement: HypothesisTest
    log_likelihood: float
    unrelated: Estimate | None = None

    @property
    def estimates(self) -> list[Estimate]:
        """The distribution, and that of the unrelated question if it was estimated."""
        return [self.estimate] if self.unrelated is None else [self.estimate, self.unrelated]

    @property
    def tests(self) -> list[HypothesisTest]:
        """That the samples agree."""
        return [self.agreement]

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """JSON-ready result."""
        known = {} if self.unrelated is None else {"unrelated": self.unrelated.to_dict(level)}
        return {
            "distribution": self.estimate.to_dict(level),
            **known,
            "agreement": self.agreement.to_dict(),
            "log_likelihood": self.log_likelihood,
        }


def pool(
    samples: Sequence[Sample],
    attributes: Sequence[str] | str | None = None,
    unknown_question: bool = False,
) -> Pooled:
    """Estimate one distribution from several samples: a list of (reported records, design).

    Records are given as to `reconstruct`. `attributes` may be left out if designs have one
    attribute; it must have the same categories in all samples. With `unknown_question`, what the
    designs state about the distribution of unrelated questions is ignored and estimated, too.
    """
    read = read_samples(samples, attributes)
    found = read[0].attributes
    cells = int(np.prod([a.size for a in found]))
    if unknown_question:
        mixture, asked, drawn = _unknown(read, cells)
    else:
        mixture = mixture_of(read, (sample.matrix for sample in read))
        asked, drawn = np.eye(cells), None
    if not all(mixture.identified(part) for part in asked):
        raise DataError(_refusal(unknown_question))
    estimate = _table(mixture, asked, found, _name(found, len(read)))
    agreement = samples_agree(mixture)
    unrelated = None
    if drawn is not None:
        question = Attribute("unrelated question", found[0].categories)
        unrelated = _table(mixture, drawn, (question,), "unrelated question")
    return Pooled(estimate, agreement, mixture.maximum[1], unrelated)


def _table(
    mixture: ReportMixture, parts: Array, attributes: tuple[Attribute, ...], name: str
) -> Estimate:
    return mixture_estimate(mixture, [share_of_all(part) for part in parts], attributes, name)


def _name(attributes: tuple[Attribute, ...], samples: int) -> str:
    names = ", ".join(a.name for a in attributes)
    return f"{names} in {number_of(samples, 'sample')}"


def _unknown(samples: list[SampleCounts], cells: int) -> tuple[ReportMixture, Array, Array]:
    """The mixture of pairs (answer, answer to the unrelated question), and both margins."""
    if len(samples[0].attributes) > 1 or cells > _MOST_UNKNOWN:
        raise DataError(
            "an unrelated question of unknown prevalence needs one attribute with at most "
            f"{_MOST_UNKNOWN} categories"
        )
    unit = np.eye(cells)
    asked: Array = np.repeat(unit, cells, axis=1)
    drawn: Array = np.tile(unit, cells)
    (name,) = (a.name for a in samples[0].attributes)
    coins = [sample.design.group_of(name).coin for sample in samples]
    if not any(isinstance(coin, Unrelated) for coin in coins):
        raise DataError(f"no sample disguises {name!r} with unrelated()")
    matrices = [
        float(coin.theta) * asked + float(1 - coin.theta) * drawn
        if isinstance(coin, Unrelated)
        else sample.matrix @ asked
        for coin, sample in zip(coins, samples, strict=True)
    ]
    return mixture_of(samples, matrices), asked, drawn


def _refusal(unknown_question: bool) -> str:
    if unknown_question:
        return (
            "these samples cannot identify an unrelated question of unknown prevalence; use two "
            "samples with different theta, or a truthful sample beside"
        )
    return (
        "these samples cannot identify the distribution: their channels lose the same differences "
        "between categories; add a sample under another design"
    )


def samples_agree(mixture: ReportMixture) -> HypothesisTest:
    """One distribution for all samples against a distribution of its own for each."""
    single = [
        ReportMixture((n,), (k,)) for n, k in zip(mixture.counts, mixture.matrices, strict=True)
    ]
    gain = sum(each.maximum[1] for each in single) - mixture.maximum[1]
    df = sum(each.rank - 1 for each in single) - (mixture.rank - 1)
    return interior_test("the samples agree", gain, df, mixture.n_records)
