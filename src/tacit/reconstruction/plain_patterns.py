"""plain_patterns: counts of records that all count the same, for what uses no design weights."""

from __future__ import annotations

from typing import Any

from tacit.core.design import Design
from tacit.errors import DataError
from tacit.reconstruction.reconstruct import reconstruct
from tacit.reconstruction.sampling.incomplete_patterns import IncompletePatterns
from tacit.reconstruction.sampling.weighted_patterns import sample_of
from tacit.records import PatternTable


def plain_patterns(records: Any, design: Design) -> PatternTable:
    """Count reported records; raise for the pattern table of a sample."""
    return checked_plain(reconstruct(records, design).patterns)


def checked_plain(patterns: PatternTable) -> PatternTable:
    """The patterns; raise if they have design weights, strata or clusters.

    These would be taken for numbers of records, with wrong errors.
    """
    whole = patterns.whole if isinstance(patterns, IncompletePatterns) else patterns
    if sample_of(whole) is None:
        return patterns
    raise DataError(
        "the pattern table has the design weights, strata or clusters of a sample, which this does "
        "not use; give the records, or counts without them (reconstruct, tests, regression and "
        "evaluation take weights=, strata= and clusters= with the records)"
    )
