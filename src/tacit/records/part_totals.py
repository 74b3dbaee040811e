"""PartTotals: what executors of Spark compute.

In a file of its own, because every Python process of an executor imports it, and Ibis loads slowly.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.core.frames import integers
from tacit.core.schema import Schema
from tacit.records.count_engine import BlockTable
from tacit.records.record_keys import codes_of_keys


class PartTotals:
    """The total of a partition, as bytes; null if a record has a cell without a category."""

    def __init__(self, table: BlockTable, schema: Schema) -> None:
        self._table, self._schema = table, schema

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        found: npt.NDArray[Any] | None = None
        for batch in batches:
            if not batch.num_rows:
                continue
            if any(column.null_count for column in batch.columns):
                yield pa.record_batch([pa.array([None], pa.binary())], names=["part"])
                return
            keys = [integers(column) for column in batch.columns]
            own = self._table(codes_of_keys(keys, self._schema))
            found = own if found is None else found + own
        if found is not None:
            stream = io.BytesIO()
            np.save(stream, found)
            yield pa.record_batch([pa.array([stream.getvalue()], pa.binary())], names=["part"])
