"""ReadFiles: CSV and Parquet files, read batch by batch and counted with NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from tacit.arrays import Codes
from tacit.counting.count_engine import CountEngine, PatternsBy, check_by
from tacit.counting.distinct import combined, merged
from tacit.counting.memory import count, listed
from tacit.counting.patterns import PatternTable
from tacit.files import Progress
from tacit.schema import Schema


class ReadFiles(CountEngine):
    """Files that are read one after the other; it takes the memory of one batch.

    `progress` is called with the share that is done.
    """

    def __init__(
        self, files: Sequence[Path], schema: Schema, progress: Progress | None = None
    ) -> None:
        super().__init__(schema)
        self.files = list(files)
        self._progress = progress

    def patterns(self, names: Sequence[str] | None = None) -> PatternTable:
        schema = self.schema if names is None else self.schema.subset(names)
        counted = (count(codes, schema) for codes in self._batches(schema))
        tables = ((table.patterns, table.counts) for table in counted)
        return PatternTable(schema, *combined(tables, partial(merged, sizes=schema.sizes)))

    def patterns_by(self, columns: Sequence[str]) -> PatternsBy:
        """Every record as a pattern of its own; these take the memory of all records."""
        import pyarrow as pa

        from tacit.files import read_frame

        frames = [read_frame(path) for path in self.files]
        for frame in frames:
            check_by(columns, frame.column_names)
        codes = np.concatenate([block.T for block in self.blocks()], axis=1).T
        table = pa.concat_tables(
            [frame.select(list(columns)) for frame in frames], promote_options="permissive"
        )
        return PatternsBy(listed(codes, self.schema), table, in_order=True)

    def blocks(self) -> Iterator[Codes]:
        return self._batches(self.schema)

    def _batches(self, schema: Schema) -> Iterator[Codes]:
        from tacit.files import read_batches

        parts = (read_batches(path, schema, self._of(i)) for i, path in enumerate(self.files))
        return chain.from_iterable(parts)

    def _of(self, place: int) -> Progress | None:
        """The progress of one file as that of all."""
        if self._progress is None:
            return None
        tell, n = self._progress, len(self.files)
        return lambda done: tell((place + done) / n)
