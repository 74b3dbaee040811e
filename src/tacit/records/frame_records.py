"""FrameRecords: a frame or an array of codes, counted with NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tacit.core.arrays import Codes
from tacit.core.label_codes import encode
from tacit.core.schema import Schema
from tacit.errors import DataError
from tacit.records.count_engine import CountEngine, PatternsBy, check_by
from tacit.records.grouped_columns import grouped
from tacit.records.memory import count, count_or_list
from tacit.records.patterns import PatternTable

BLOCK = 1 << 17  # records


class FrameRecords(CountEngine):
    """Records in memory."""

    def __init__(self, records: Any, schema: Schema) -> None:
        super().__init__(schema)
        self._records = records
        self._codes = encode(records, schema)

    def patterns(self, names: Sequence[str] | None = None) -> PatternTable:
        if names is None:
            return count(self._codes, self.schema)
        places = [self.schema.index(name) for name in names]
        return count(self._codes[:, places], self.schema.subset(names))

    def patterns_by(self, columns: Sequence[str]) -> PatternsBy:
        if isinstance(self._records, np.ndarray):
            raise DataError("an array of codes has no undisguised columns; give a frame")
        import pyarrow as pa

        from tacit.core import frames

        check_by(columns, self.column_names())
        frame = frames.open_frame(self._records)
        table = pa.table({name: frames.column(frame, name) for name in columns})
        return grouped(self._codes, self.schema, table)

    def column_names(self) -> Sequence[str]:
        if isinstance(self._records, np.ndarray):
            return self.schema.names
        from tacit.core import frames

        return list(frames.open_frame(self._records).columns)

    def blocks(self) -> Iterator[Codes]:
        for start in range(0, len(self._codes), BLOCK):
            yield self._codes[start : start + BLOCK]

    def patterns_or_records(self) -> PatternTable:
        return count_or_list(self._codes, self.schema)
