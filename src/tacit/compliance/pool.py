"""pool: one distribution from several samples under different designs, by maximum likelihood.

    q_j = M_j p        for every sample j, with the same p

A truthful sample has M_j = I. If the distribution u of an unrelated question is not known,
q_j = theta_j p + (1 - theta_j) u, and two samples with different theta, or one and a truthful
sample, identify both (Greenberg et al., 1969). p and u are then the margins of one mixture of
k * k pairs of answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from tacit.compliance.mixture import MixtureResult, ReportMixture, share_of_all
from tacit.core.arrays import Array
from tacit.core.channel.families import Unrelated
from tacit.core.design import Design, ProductChannel, check_design
from tacit.core.schema import Attribute
from tacit.errors import DataError, TacitError, unknown
from tacit.output.number_text import number_of
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.hypothesis_test import HypothesisTest
from tacit.reconstruction.reconstruct import Reconstruction, reconstruct

#: More joint categories than this are refused.
_MOST_CELLS = 1024

#: Reported records and the design that disguised them.
Sample = tuple[Any, Design]


@dataclass(frozen=True, eq=False)
class SampleCounts:
    """Counts of the reports of one sample, flattened, and the channel they came through.

    `n_left_out` records had no answer.
    """

    counts: Array
    channel: ProductChannel
    design: Design
    label: str
    n_left_out: int = 0
    #: The attributes that are estimated, and matrix[reported, true].
    attributes = property(attrgetter("channel.true.attributes"))
    matrix = property(attrgetter("channel.matrix"))


def read_samples(
    samples: Any, attributes: Sequence[str] | str | None, anchor: str | None = None
) -> list[SampleCounts]:
    """Count each sample; the attributes must have the same categories in all of them.

    A sample may ask these questions, the `anchor` question, or both.
    """
    pairs = list(samples) if isinstance(samples, list | tuple) else []
    if not pairs or not all(isinstance(item, tuple | list) and len(item) == 2 for item in pairs):
        raise DataError("samples must be a list of pairs (reported records, design)")
    for number, (_, design) in enumerate(pairs, start=1):
        try:
            check_design(design)
        except TacitError as error:
            raise type(error)(f"sample {number}: {error}") from None
    names = [attributes] if isinstance(attributes, str) else attributes
    if names is None:
        names = [name for name in pairs[0][1].schema.names if name != anchor]
        if len(names) != 1:
            raise DataError(
                f"the design has several attributes; name the one to estimate: {', '.join(names)}"
            )
    questions = [*names, *([] if anchor is None else [anchor])]
    counts = []
    for number, (reported, design) in enumerate(pairs, start=1):
        asked = [name for name in questions if anchor is None or name in design.schema]
        counts.append(read_sample(reported, design, asked or names, f"sample {number}"))
    for name in questions:
        check_same(counts, name)
    return counts


def check_same(samples: Sequence[SampleCounts], name: str) -> Attribute:
    """The attribute of this name; an error if its categories differ between samples."""
    having = [sample for sample in samples if name in sample.channel.true]
    if not having:
        raise DataError(f"no sample has the attribute {name!r}")
    first = having[0].channel.true[name]
    for sample in having[1:]:
        other = sample.channel.true[name]
        if first != other:
            raise DataError(
                f"{sample.label}: {name!r} has the categories {list(other.categories)}, "
                f"but {list(first.categories)} in {having[0].label}; all samples need the same"
            )
    return first


def read_sample(reported: Any, design: Design, names: Sequence[str], label: str) -> SampleCounts:
    """The counts of these attributes in one sample."""
    for name in names:
        if name not in design.schema:
            message = unknown("attribute", name, design.schema.names)
            raise DataError(f"{label}: {message}")
    whole = design.jointly_reported(names)
    if len(whole) != len(names):
        raise DataError(
            f"{label}: one matrix disguises {', '.join(whole)} together; name all of them"
        )
    channel = design.channel(names)
    if max(math.prod(channel.true.sizes), math.prod(channel.reported.sizes)) > _MOST_CELLS:
        raise DataError(f"{', '.join(names)}: more than {_MOST_CELLS:,} joint categories")
    try:
        given = isinstance(reported, Reconstruction)
        records = reported if given else reconstruct(reported, design)
        patterns = records.patterns.refuse(weights=True)
    except TacitError as error:
        raise type(error)(f"{label}: {error}") from None
    if given and reported.design != design:
        raise DataError(f"{label}: the reconstruction has another design")
    complete = patterns.complete(channel.reported.names)
    counts = complete.marginal(channel.reported.names).astype(np.float64).ravel()
    return SampleCounts(counts, channel, design, label, patterns.n_records - complete.n_records)


def mixture_of(samples: Sequence[SampleCounts], matrices: Iterable[Array]) -> ReportMixture:
    """The reports of the samples, with the matrix of each."""
    missing = sum(sample.n_left_out for sample in samples)
    return ReportMixture(tuple(sample.counts for sample in samples), tuple(matrices), missing)


#: An unrelated question of more categories than this must have a known distribution.
_MOST_UNKNOWN = 32


@dataclass(frozen=True, eq=False, repr=False)
class Pooled(MixtureResult):
    """The distribution estimated from all samples, and the test that they agree.

    `unrelated` is the estimated distribution of an unrelated question of unknown prevalence.
    """

    agreement: HypothesisTest
    unrelated: Estimate | None = None


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
    estimated = read[0].attributes
    n_cells = int(np.prod([a.size for a in estimated]))
    if unknown_question:
        mixture, answers, drawn = _unknown(read, n_cells)
        refusal = (
            "these samples cannot identify an unrelated question of unknown prevalence; use two "
            "samples with different theta, or a truthful sample beside"
        )
    else:
        mixture = mixture_of(read, (sample.matrix for sample in read))
        answers, drawn = np.eye(n_cells), None
        refusal = (
            "these samples cannot identify the distribution: their channels lose the same "
            "differences between categories; add a sample under another design"
        )
    if not all(mixture.identified(part) for part in answers):
        raise DataError(refusal)
    name = f"{', '.join(a.name for a in estimated)} in {number_of(len(read), 'sample')}"
    estimate = mixture.estimate(list(map(share_of_all, answers)), estimated, name)
    unrelated = None
    if drawn is not None:
        question = Attribute("unrelated question", estimated[0].categories)
        unrelated = mixture.estimate(list(map(share_of_all, drawn)), (question,), question.name)
    return Pooled(estimate, mixture.maximum[1], samples_agree(mixture), unrelated)


def _unknown(samples: list[SampleCounts], cells: int) -> tuple[ReportMixture, Array, Array]:
    """The mixture of pairs (answer, answer to the unrelated question), and both margins."""
    if len(samples[0].attributes) > 1 or cells > _MOST_UNKNOWN:
        raise DataError(
            "an unrelated question of unknown prevalence needs one attribute with at most "
            f"{_MOST_UNKNOWN} categories"
        )
    unit = np.eye(cells)
    answers, drawn = np.repeat(unit, cells, axis=1), np.tile(unit, cells)
    name = samples[0].attributes[0].name
    coins = [sample.design.group_of(name).coin for sample in samples]
    if not any(isinstance(coin, Unrelated) for coin in coins):
        raise DataError(f"no sample disguises {name!r} with unrelated()")
    matrices = [sample.matrix @ answers for sample in samples]
    for number, coin in enumerate(coins):
        if isinstance(coin, Unrelated):
            matrices[number] = float(coin.theta) * answers + float(1 - coin.theta) * drawn
    return mixture_of(samples, matrices), answers, drawn


def samples_agree(mixture: ReportMixture) -> HypothesisTest:
    """One distribution for all samples against a distribution of its own for each."""
    single = [
        ReportMixture((n,), (k,)) for n, k in zip(mixture.counts, mixture.matrices, strict=True)
    ]
    gain = sum(sample.maximum[1] for sample in single) - mixture.maximum[1]
    df = sum(sample.rank - 1 for sample in single) - (mixture.rank - 1)
    return mixture.test("the samples agree", gain, df)
