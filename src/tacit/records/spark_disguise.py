"""disguise_spark: a Spark frame of true records to a Spark frame of reported records.

Every partition has a child of one seed, so the reports are the same for any number of executors and
any size of Arrow batches, as long as the partitions hold the same records in the same order. Spark
evaluates a frame again for every action, and a partition again if its executor is lost: then the
same reports must come out, because two different reports of a person disclose more than one.
Therefore executors draw from the seed or, without one, from a key of the driver's entropy.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from tacit.core.arrays import Codes
from tacit.core.conditions import filled
from tacit.core.design import Design, check_design
from tacit.core.disguise import BLOCK, Disguiser
from tacit.core.exact_draws import Source, keyed_source, seeded_source
from tacit.core.imports import optional_imports
from tacit.core.label_codes import decode, encode
from tacit.errors import DataError, unknown
from tacit.records.record_reader import rebatched

KEY_BYTES = 32


def disguise_spark(frame: Any, design: Design, seed: int | None = None) -> Any:
    """Reported records for the true records of a Spark frame, drawn on the executors.

    `seed` is for simulation only; None draws from a new key of the operating system's entropy.
    Other columns are left out. The executors need tacit installed. A cell without a category
    fails the action with an error that names the partition and the record.
    """
    with optional_imports():
        from pyspark.sql.functions import spark_partition_id
        from pyspark.sql.pandas.types import from_arrow_schema
    check_design(design)
    if not hasattr(frame, "mapInArrow"):
        raise DataError(f"records are of type {type(frame).__name__}; need a Spark frame")
    for name in design.schema.names:
        if name not in frame.columns:
            hint = unknown("column", name, frame.columns)
            raise DataError(f"the records have no column for attribute {name!r}: {hint}")
    number = spark_partition_id().alias(_free_name(design.schema.names))
    cells = [frame["`" + name.replace("`", "``") + "`"] for name in design.schema.names]
    root = os.urandom(KEY_BYTES) if seed is None else seed
    example = decode(np.zeros((1, len(design.reported)), np.uint8), design.reported, "pyarrow")
    return frame.select(*cells, number).mapInArrow(
        _PartDisguise(design.to_json(), root), from_arrow_schema(example.schema)
    )


class _PartDisguise:
    """Disguises a partition; the last column of its batches is the number of the partition."""

    def __init__(self, design: str, root: int | bytes) -> None:
        self._design, self._root = design, root

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        design = Design.from_json(self._design)
        full = (batch for batch in batches if batch.num_rows)
        first = next(full, None)
        if first is None:
            return
        part = int(first.column(first.num_columns - 1)[0].as_py())
        disguiser, source = Disguiser(design), self._source(part)
        encoded = _encoded(chain([first], full), design, part)
        for codes in rebatched(encoded, BLOCK):
            reported = disguiser.draw(codes, source)
            yield from decode(reported, design.reported, "pyarrow").to_batches()

    def _source(self, part: int) -> Source:
        if isinstance(self._root, bytes):
            return keyed_source(self._root, part)
        return seeded_source(self._root, part)


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


def _free_name(names: Sequence[str]) -> str:
    """The name of a column that is none of these; Spark ignores case."""
    name = "partition"
    while name in map(str.lower, names):
        name += "_"
    return name
