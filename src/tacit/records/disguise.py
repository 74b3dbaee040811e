"""Disguise true records as a stream: files to a file, or a Spark frame to a Spark frame.

Files take the memory of a batch, however many records there are. The result is a temporary file
until it is complete. With a seed, every SEED_BLOCK records have a child of it, so the reports do
not depend on the size of batches, and blocks could be drawn in any order.

On Spark, every partition has a child of one seed, so the reports are the same for any number of
executors and any size of Arrow batches, as long as the partitions hold the same records in the same
order. Spark evaluates a frame again for every action, and a partition again if its executor is
lost: then the same reports must come out, because two different reports of a person disclose more
than one. Therefore executors draw from the seed or, without one, from a key of the driver's
entropy.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tacit.core.arrays import Codes
from tacit.core.conditions import filled
from tacit.core.design import Design, check_design
from tacit.core.disguise import BLOCK, Disguiser, absent_reports
from tacit.core.exact_draws import Source, entropy, keyed_source, seeded_source
from tacit.core.imports import optional_imports
from tacit.core.label_codes import absent_cells, decode, encode, with_no_answer
from tacit.core.schema import Schema
from tacit.errors import DataError, MissingAnswersError
from tacit.records import Origin, Progress, check_out, check_true, read_batches, writing_records
from tacit.records.files import rebatched
from tacit.records.paths import record_files

#: Records that share a child of the seed; batches of `read_batches` divide it.
SEED_BLOCK = 1 << 18
KEY_BYTES = 32


class WrittenReports(NamedTuple):
    """How many records were written, and how many of their reports are missing."""

    records: int
    missing: int


def disguise_files(
    records: str | Path,
    design: Design,
    out: str | Path,
    seed: int | None = None,
    *,
    origin: Origin | None = None,
    progress: Progress | None = None,
) -> WrittenReports:
    """Write reported records for true ones. Missing answers stay missing: no coin disguises them.

    `records` is a file (.csv, .csv.gz, .parquet), a glob or a directory of files of one kind,
    which are read in the order of their names. `seed` None draws from the operating system's
    entropy: use it for answers of real people. `origin` names the design in the result.
    """
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise DataError(f"the seed must be an integer from 0, or None; got {seed!r}")
    files = record_files(records)
    check_out(out, *files)
    for path in files:
        check_true(path, "disguise true ones")
    named = Origin(design.fingerprint) if origin is None else origin

    def written(schema: Schema) -> WrittenReports:
        source: Source = entropy
        disguiser, n_records, n_missing = Disguiser(design), 0, 0
        with writing_records(out, design.reported, origin=named) as write:
            for batch in read_batches(records, schema, progress):
                codes, absent = absent_cells(batch, design.schema)
                codes, left = filled(codes, design.conditions, design.schema, absent, n_records)
                hidden = None if left is None or not left.any() else absent_reports(left, design)
                block, rest = divmod(n_records, SEED_BLOCK)
                if seed is not None and rest == 0:  # the first as `disguise` draws a frame
                    source = seeded_source(seed, *([block] if block else []))
                write(disguiser.draw(codes, source), absent=hidden)
                n_records += len(codes)
                n_missing += 0 if hidden is None else int(hidden.sum())
        return WrittenReports(n_records, n_missing)

    try:
        return written(design.schema)
    except MissingAnswersError:  # begin again, with a category for them
        return written(with_no_answer(design.schema))


def disguise_spark(frame: Any, design: Design, seed: int | None = None) -> Any:
    """Reported records for the true records of a Spark frame, drawn on the executors.

    `seed` is for simulation only; None draws from a new key of the operating system's entropy.
    Other columns are left out. The executors need tacit installed. A cell without a category
    fails the action with an error that names the partition and the record.
    """
    with optional_imports():
        from pyspark.sql.functions import spark_partition_id
        from pyspark.sql.pandas.types import from_arrow_schema
    from tacit.core.frames import check_attributes

    check_design(design)
    if not hasattr(frame, "mapInArrow"):
        raise DataError(f"records are of type {type(frame).__name__}; need a Spark frame")
    check_attributes(design.schema.names, frame.columns)
    free = "partition"
    while free in map(str.lower, design.schema.names):  # Spark ignores case
        free += "_"
    number = spark_partition_id().alias(free)
    cells = [frame["`" + name.replace("`", "``") + "`"] for name in design.schema.names]
    root = os.urandom(KEY_BYTES) if seed is None else seed
    example = decode(np.zeros((1, len(design.reported)), np.uint8), design.reported, "pyarrow")
    return frame.select(*cells, number).mapInArrow(
        partial(_disguise_part, design.to_json(), root), from_arrow_schema(example.schema)
    )


def _disguise_part(design_file: str, root: int | bytes, batches: Iterator[Any]) -> Iterator[Any]:
    """Disguise a partition; the last column of its batches is the number of the partition."""
    design = Design.from_json(design_file)
    full = (batch for batch in batches if batch.num_rows)
    first = next(full, None)
    if first is None:
        return
    part = int(first.column(first.num_columns - 1)[0].as_py())
    source = keyed_source(root, part) if isinstance(root, bytes) else seeded_source(root, part)
    disguiser = Disguiser(design)
    for codes in rebatched(_encoded(chain([first], full), design, part), BLOCK):
        reported = disguiser.draw(codes, source)
        yield from decode(reported, design.reported, "pyarrow").to_batches()


def _encoded(batches: Iterable[Any], design: Design, part: int) -> Iterator[Codes]:
    """Codes of Arrow batches; errors count records from the start of the partition."""
    import pyarrow as pa

    done = 0
    for batch in batches:
        try:
            codes = encode(pa.Table.from_batches([batch]), design.schema, first=done)
            yield filled(codes, design.conditions, design.schema, first=done)[0]
        except DataError as error:
            raise DataError(f"partition {part}: {error}") from None
        done += batch.num_rows
