"""Count reported records in a frame, an array or a file."""

from __future__ import annotations

import os
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from tacit.counting.distinct import combined, merged
from tacit.counting.memory import count, count_or_list, listed, mostly_distinct
from tacit.counting.patterns import PatternTable
from tacit.design import Design
from tacit.files import Origin, Progress, check_origin
from tacit.label_codes import encode
from tacit.schema import Schema


def count_records(
    records: Any, schema: Schema, progress: Progress | None = None, distinct: bool = True
) -> PatternTable:
    """The pattern table of a frame, an integer array of codes, or a CSV or Parquet file.

    A file is counted batch by batch: it takes the memory of one batch and of the distinct
    patterns, however many records there are. `progress` is called with the share that is done.
    Unless patterns must be `distinct`, records that hardly repeat are not sorted.
    """
    if isinstance(records, str | os.PathLike):
        return _counted(Path(records), schema, progress, distinct)
    return (count if distinct else count_or_list)(encode(records, schema), schema)


def count_reported(records: Any, design: Design, distinct: bool = True) -> PatternTable:
    """The pattern table of reported records; refuses a file that another design made."""
    if isinstance(records, str | os.PathLike):
        check_origin(Path(records), Origin(design.fingerprint))
    return count_records(records, design.reported, distinct=distinct)


def _counted(path: Path, schema: Schema, progress: Progress | None, distinct: bool) -> PatternTable:
    """Count batch by batch."""
    from tacit.files import read_batches

    batches = read_batches(path, schema, progress)
    first = next(batches)
    if not distinct and mostly_distinct(first, schema.sizes):
        return listed(np.concatenate([first, *batches]), schema)
    counted = (count(codes, schema) for codes in chain([first], batches))
    tables = ((table.patterns, table.counts) for table in counted)
    return PatternTable(schema, *combined(tables, partial(merged, sizes=schema.sizes)))
