"""SampleCounts: the reports of one sample about one attribute or a few, with their channel."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.compliance.report_mixture import ReportMixture
from tacit.core.arrays import Array
from tacit.core.design import Design, ProductChannel, check_design
from tacit.core.schema import Attribute
from tacit.errors import DataError, TacitError, unknown
from tacit.reconstruction.plain_patterns import checked_plain
from tacit.reconstruction.reconstruct import Reconstruction, reconstruct
from tacit.reconstruction.sampling.incomplete_patterns import IncompletePatterns

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
    place: str
    n_left_out: int = 0

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes that are estimated."""
        return self.channel.true.attributes

    @property
    def matrix(self) -> Array:
        """matrix[reported, true]."""
        return self.channel.matrix


def read_samples(samples: Any, attributes: Sequence[str] | str | None) -> list[SampleCounts]:
    """Count each sample; the attributes must have the same categories in all of them."""
    pairs = sample_pairs(samples)
    names = _names(attributes, pairs[0][1])
    found = [
        read_sample(data, design, names, f"sample {number}")
        for number, (data, design) in enumerate(pairs, start=1)
    ]
    for name in names:
        check_same(found, name)
    return found


def sample_pairs(samples: Any) -> list[Sample]:
    """The list of pairs (reported records, design), checked."""
    listed = list(samples) if isinstance(samples, list | tuple) else []
    if not listed or not all(isinstance(item, tuple | list) and len(item) == 2 for item in listed):
        raise DataError("samples must be a list of pairs (reported records, design)")
    for number, (_, design) in enumerate(listed, start=1):
        try:
            check_design(design)
        except TacitError as error:
            raise type(error)(f"sample {number}: {error}") from None
    return [(data, design) for data, design in listed]


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
                f"{sample.place}: {name!r} has the categories {list(other.categories)}, "
                f"but {list(first.categories)} in {having[0].place}; all samples need the same"
            )
    return first


def read_sample(data: Any, design: Design, names: Sequence[str], place: str) -> SampleCounts:
    """The counts of these attributes in one sample."""
    for name in names:
        if name not in design.schema:
            message = unknown("attribute", name, design.schema.names)
            raise DataError(f"{place}: {message}")
    whole = design.closure(names)
    if len(whole) != len(names):
        raise DataError(
            f"{place}: one matrix disguises {', '.join(whole)} together; name all of them"
        )
    channel = design.channel(names)
    if max(math.prod(channel.true.sizes), math.prod(channel.reported.sizes)) > _MOST_CELLS:
        raise DataError(f"{', '.join(names)}: more than {_MOST_CELLS:,} joint categories")
    try:
        given = isinstance(data, Reconstruction)
        patterns = checked_plain(data.patterns if given else reconstruct(data, design).patterns)
    except TacitError as error:
        raise type(error)(f"{place}: {error}") from None
    if given and data.design != design:
        raise DataError(f"{place}: the reconstruction has another design")
    reports = channel.reported.names
    known = patterns.complete(reports) if isinstance(patterns, IncompletePatterns) else patterns
    counts = known.marginal(reports).astype(np.float64).ravel()
    missing = patterns.n_records - known.n_records
    return SampleCounts(counts, channel, design, place, missing)


def mixture_of(samples: Sequence[SampleCounts], matrices: Iterable[Array]) -> ReportMixture:
    """The reports of the samples, with the matrix of each."""
    missing = sum(sample.n_left_out for sample in samples)
    return ReportMixture(tuple(sample.counts for sample in samples), tuple(matrices), missing)


def _names(attributes: Sequence[str] | str | None, design: Design) -> tuple[str, ...]:
    if isinstance(attributes, str):
        return (attributes,)
    if attributes is not None:
        return tuple(attributes)
    if len(design.schema.names) > 1:
        known = ", ".join(design.schema.names)
        raise DataError(f"the design has several attributes; name the one to estimate: {known}")
    return tuple(design.schema.names)
