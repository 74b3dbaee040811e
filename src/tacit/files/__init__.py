"""Files in and out: records as CSV or Parquet, designs and models as JSON.

Records come in as batches of validated codes and leave as labels, so a file may be larger than
memory. The suffix says what a file is: .csv, .csv.gz or .parquet.
"""

from typing import TYPE_CHECKING

from tacit.files.designs import (
    is_database,
    read_described,
    read_design,
    read_design_origin,
    read_text,
)
from tacit.files.origin import Origin, check_origin, check_true, read_origin
from tacit.files.paths import Progress
from tacit.lazy_names import lazy_names

if TYPE_CHECKING:
    from tacit.files.record_reader import BATCH, read_batches, read_batches_by, read_frame
    from tacit.files.record_writer import (
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
    "Origin",
    "Progress",
    "check_apart",
    "check_figure",
    "check_origin",
    "check_out",
    "check_true",
    "is_database",
    "read_batches",
    "read_batches_by",
    "read_described",
    "read_design",
    "read_design_origin",
    "read_frame",
    "read_origin",
    "read_text",
    "write_bytes",
    "write_frame",
    "write_text",
    "writing_records",
]

# Arrow is slow to load.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tacit.files.record_reader": "BATCH read_batches read_batches_by read_frame",
        "tacit.files.record_writer": (
            "check_apart check_figure check_out write_bytes write_frame write_text writing_records"
        ),
    },
)
