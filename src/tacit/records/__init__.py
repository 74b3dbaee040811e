"""Records in and out: files and databases, count engines and count tables, disguise as a stream.

Names are imported when they are first used: Arrow is slow to load, and a survey server reads
files but never counts.
"""

from typing import TYPE_CHECKING

from tacit.core.imports import lazy_names

if TYPE_CHECKING:
    from tacit.records.count_file import *  # noqa: F403
    from tacit.records.designs import *  # noqa: F403
    from tacit.records.disguise import *  # noqa: F403
    from tacit.records.engines import *  # noqa: F403
    from tacit.records.files import *  # noqa: F403
    from tacit.records.memory import *  # noqa: F403
    from tacit.records.memory_limit import *  # noqa: F403
    from tacit.records.paths import *  # noqa: F403
    from tacit.records.patterns import *  # noqa: F403

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tacit.records.count_file": "read_counts",
        "tacit.records.designs": (
            "Origin check_origin check_true is_database read_described read_design "
            "read_design_origin read_origin read_text"
        ),
        "tacit.records.disguise": "disguise_files disguise_spark",
        "tacit.records.engines": (
            "check_origins count_records count_reported engine_of with_columns"
        ),
        "tacit.records.files": (
            "BATCH check_apart check_figure check_out read_batches read_batches_by read_frame "
            "write_bytes write_frame write_text writing_records"
        ),
        "tacit.records.memory": "count count_codes count_or_list",
        "tacit.records.memory_limit": "limited_memory",
        "tacit.records.paths": "Progress",
        "tacit.records.patterns": (
            "CountEngine PatternTable PatternsBy answers_of count_answers pair_tables"
        ),
    },
)
