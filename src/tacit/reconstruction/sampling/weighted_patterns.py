"""WeightedPatterns: reported patterns of a sample, with the design weights of their records."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from tacit.core.arrays import Array, Codes, Index
from tacit.core.schema import Schema
from tacit.reconstruction.sampling.sample_rows import SampleRows, joint_ranks
from tacit.records import PatternTable
from tacit.records.distinct import ordered_keys
from tacit.records.keys import column_blocks


class WeightedPatterns(PatternTable):
    """Patterns that may repeat, one per row of the sample.

    Counts are sums of design weights with a mean of 1 per record, so that shares are weighted and
    there are as many records as were sampled.
    """

    sample: SampleRows

    def __init__(self, schema: Schema, patterns: Codes, sample: SampleRows) -> None:
        super().__init__(schema, patterns, sample.weight)
        object.__setattr__(self, "sample", sample)

    @cached_property
    def n_records(self) -> int:
        """How many records were sampled."""
        return self.sample.n_records

    def rows_of(self, names: Sequence[str]) -> tuple[SampleRows, Index]:
        """The sample grouped by the joint report of some attributes, and the report of each row.

        Reports are numbered with the last name running fastest.
        """
        places = [self.schema.index(name) for name in names]
        sizes = [self.schema.sizes[place] for place in places]
        blocks = column_blocks([self.patterns[:, place] for place in places], sizes)
        return self.sample.regrouped(np.concatenate([b.astype(np.intp) for b in blocks]))

    def expanded(self) -> WeightedPatterns:
        """A row per record."""
        sample, rows = self.sample.expanded()
        return WeightedPatterns(self.schema, self.patterns[rows], sample)


def grouped(schema: Schema, codes: Codes, sample: SampleRows) -> WeightedPatterns:
    """Records joined where pattern, stratum, cluster and (without clusters) weight are the same."""
    keys = np.unique(ordered_keys(codes, schema.sizes), return_inverse=True)[1]
    first, which = joint_ranks([keys, *sample.keys()])
    return WeightedPatterns(schema, codes[first], sample.joined(first, which))


def sample_of(patterns: PatternTable) -> SampleRows | None:
    """The sample that patterns belong to; None if every record counts the same."""
    return patterns.sample if isinstance(patterns, WeightedPatterns) else None


def linear_covariance(
    patterns: PatternTable, weights: Array, true_products: Array | None = None
) -> tuple[Array, float] | None:
    """Covariance of the means of weights of reports, and its degrees of freedom, in a sample."""
    sample = sample_of(patterns)
    if sample is None:
        return None
    return sample.covariance(weights, true_products), sample.df
