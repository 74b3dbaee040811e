"""ReadFiles: CSV and Parquet files, read batch by batch and counted with NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

from tacit.arrays import Codes
from tacit.counting.count_engine import CountEngine, PatternsBy
from tacit.counting.memory import count_batches
from tacit.counting.patterns import PatternTable
from tacit.errors import DataError
from tacit.files import Progress
from tacit.files.paths import PARQUET, kind_of
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
        return count_batches(self._batches(schema), schema)

    def patterns_by(self, columns: Sequence[str]) -> PatternsBy:
        if kind_of(self.files[0]) == PARQUET and find_spec("duckdb"):
            from tacit.counting.duckdb_files import DuckDBFiles

            return DuckDBFiles(self.files, self.schema).patterns_by(columns)
        raise DataError(
            f"{self.files[0]}: counts by undisguised columns need a frame, an Ibis table, or "
            "Parquet files with DuckDB: pip install 'tacit[scale]'"
        )

    def blocks(self) -> Iterator[Codes]:
        return self._batches(self.schema)

    def n_records(self) -> int | None:
        if kind_of(self.files[0]) != PARQUET:
            return None
        from tacit.files.record_reader import records_in_parquet

        return sum(map(records_in_parquet, self.files))

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
