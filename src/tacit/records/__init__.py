"""Records in and out: files and databases, count engines and count tables, disguise as a stream.

Names are imported when they are first used: Arrow is slow to load, and a survey server reads
files but never counts.
"""

from typing import TYPE_CHECKING

from tacit.core.imports import lazy_names

if TYPE_CHECKING:
    from tacit.records.count_engine import CountEngine, PatternsBy
    from tacit.records.counts import count_records, count_reported
    from tacit.records.designs import (
        is_database,
        read_described,
        read_design,
        read_design_origin,
        read_text,
    )
    from tacit.records.engine_choice import engine_of
    from tacit.records.memory import count, count_or_list
    from tacit.records.origin import Origin, check_origin, check_true, read_origin
    from tacit.records.pair_tables import pair_tables
    from tacit.records.paths import Progress
    from tacit.records.patterns import PatternTable
    from tacit.records.plain_columns import with_columns
    from tacit.records.record_reader import BATCH, read_batches, read_batches_by, read_frame
    from tacit.records.record_writer import (
        check_apart,
        check_figure,
        check_out,
        write_bytes,
        write_frame,
        write_text,
        writing_records,
    )

__all__ = [
    "BATCH",
    "CountEngine",
    "Origin",
    "PatternTable",
    "PatternsBy",
    "Progress",
    "check_apart",
    "check_figure",
    "check_origin",
    "check_out",
    "check_true",
    "count",
    "count_or_list",
    "count_records",
    "count_reported",
    "engine_of",
    "is_database",
    "pair_tables",
    "read_batches",
    "read_batches_by",
    "read_described",
    "read_design",
    "read_design_origin",
    "read_frame",
    "read_origin",
    "read_text",
    "with_columns",
    "write_bytes",
    "write_frame",
    "write_text",
    "writing_records",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tacit.records.count_engine": "CountEngine PatternsBy",
        "tacit.records.counts": "count_records count_reported",
        "tacit.records.designs": (
            "is_database read_described read_design read_design_origin read_text"
        ),
        "tacit.records.engine_choice": "engine_of",
        "tacit.records.memory": "count count_or_list",
        "tacit.records.origin": "Origin check_origin check_true read_origin",
        "tacit.records.pair_tables": "pair_tables",
        "tacit.records.paths": "Progress",
        "tacit.records.patterns": "PatternTable",
        "tacit.records.plain_columns": "with_columns",
        "tacit.records.record_reader": "BATCH read_batches read_batches_by read_frame",
        "tacit.records.record_writer": (
            "check_apart check_figure check_out write_bytes write_frame write_text writing_records"
        ),
    },
)
