"""Count reported records in a frame, an array or a file."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from tacit.counting.distinct import combined, merged
from tacit.counting.memory import count
from tacit.counting.patterns import PatternTable
from tacit.design import Design
from tacit.files import Origin, Progress, check_origin
from tacit.label_codes import encode
from tacit.schema import Schema


def count_records(records: Any, schema: Schema, progress: Progress | None = None) -> PatternTable:
    """The pattern table of a frame, an integer array of codes, or a CSV or Parquet file.

    A file is counted batch by batch: it takes the memory of one batch and of the distinct
    patterns, however many records there are. `progress` is called with the share that is done.
    """
    if isinstance(records, str | os.PathLike):
        from tacit.files import read_batches

        batches = read_batches(Path(records), schema, progress)
        tables = ((t.patterns, t.counts) for t in (count(codes, schema) for codes in batches))
        return PatternTable(schema, *combined(tables, partial(merged, sizes=schema.sizes)))
    return count(encode(records, schema), schema)


def count_reported(records: Any, design: Design) -> PatternTable:
    """The pattern table of reported records; refuses a file that another design made."""
    if isinstance(records, str | os.PathLike):
        check_origin(Path(records), Origin(design.fingerprint))
    return count_records(records, design.reported)
