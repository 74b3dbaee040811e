"""Count the reported records of a sample, wherever they are, with their design weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.core.design import Design
from tacit.core.label_codes import encode
from tacit.core.schema import Schema
from tacit.errors import DataError
from tacit.reconstruction.sampling.sample_columns import SampleData, Sampling
from tacit.reconstruction.sampling.weighted_patterns import WeightedPatterns, grouped
from tacit.records import PatternTable, engine_of
from tacit.records.counts import check_origins
from tacit.records.engine_choice import is_counts, is_remote, is_url


def count_sampled(
    reported: Any, design: Design, sampling: Sampling, schema: Schema | None = None
) -> WeightedPatterns:
    """Patterns with sums of weights by stratum and cluster; `schema` if not the design's."""
    sampling.check(design)
    schema = design.reported if schema is None else schema
    if isinstance(reported, PatternTable) or is_counts(reported):
        raise DataError(
            "counts have no sampling weights, strata or clusters; give the reported records"
        )
    if isinstance(reported, np.ndarray):
        codes = encode(reported, schema)
        return grouped(schema, codes, SampleData(sampling, {}, None, len(codes)).rows())
    if isinstance(reported, str) or hasattr(reported, "__fspath__") or is_remote(reported):
        return _counted(reported, design, sampling, schema)
    from tacit.core import frames

    codes = encode(reported, schema)
    frame = frames.open_frame(reported)
    named = [name for name in sampling.columns if name in frame.columns]
    table = dict.fromkeys(frame.columns) | {name: frames.column(frame, name) for name in named}
    return grouped(schema, codes, SampleData(sampling, table, None, len(codes)).rows())


def _counted(reported: Any, design: Design, sampling: Sampling, schema: Schema) -> WeightedPatterns:
    """The same through an engine, which counts by the columns of the sampling design."""
    if not is_remote(reported) and not is_url(reported):
        check_origins(reported, design)
    engine = engine_of(reported, schema, design=design.fingerprint)
    found = engine.patterns_by(sampling.columns)
    table = {name: found.columns.column(name) for name in sampling.columns}
    listed = bool((found.patterns.counts == 1).all()) and found.in_order
    number = None if listed else found.patterns.counts
    data = SampleData(sampling, table, number, len(found.patterns))
    return grouped(schema, found.patterns.patterns, data.rows())
