"""Count reported records, wherever they are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tacit.core.design import Design
from tacit.core.schema import Schema
from tacit.records import Origin, Progress, check_origin
from tacit.records.engine_choice import engine_of, is_counts, is_url
from tacit.records.patterns import PatternTable
from tacit.records.record_files import ARROW, record_files


def count_records(
    records: Any, schema: Schema, progress: Progress | None = None, distinct: bool = True
) -> PatternTable:
    """The pattern table of records: a frame, codes, files, or what an engine holds.

    `records` is a data frame, an integer array of codes, the path of a CSV, Parquet or Arrow file,
    a glob, a directory, an Ibis table, a Spark frame or postgresql://USER@HOST/NAME#TABLE. Files
    take the memory of one batch and of the distinct patterns, however many records there are.
    `progress` is called with the share that is done. Unless patterns must be `distinct`, records
    that hardly repeat are not sorted.
    """
    engine = engine_of(records, schema, progress)
    return engine.fitting_patterns() if distinct else engine.patterns_or_records()


def count_reported(
    records: Any, design: Design, distinct: bool = True, schema: Schema | None = None
) -> PatternTable:
    """The pattern table of reported records; refuses files that another design made.

    `records` may also be the path of a count file. `schema` is given if it is not the design's.
    """
    if is_counts(records):
        from tacit.records.count_file import counts_of_design  # Arrow is slow to start

        return counts_of_design(Path(records), design.fingerprint)
    check_origins(records, design)
    engine = engine_of(records, schema or design.reported, design=design.fingerprint)
    return engine.fitting_patterns() if distinct else engine.patterns_or_records()


def check_origins(records: Any, design: Design) -> None:
    """Raise if a file holds reports of another design."""
    if isinstance(records, str | os.PathLike) and not is_url(records):
        for path in record_files(records):
            if path.suffix not in ARROW:
                check_origin(path, Origin(design.fingerprint))
