"""IbisRecords: a table of any Ibis backend, counted where it is (DuckDB, PostgreSQL, Spark, ...).

Spark also makes totals on its executors, which then need tacit installed; only the totals of each
partition are sent.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.core.arrays import Codes
from tacit.core.frames import integers
from tacit.core.schema import Schema
from tacit.errors import DataError, EngineError, TacitError, unknown
from tacit.records import Progress
from tacit.records.cancellation import cancellable
from tacit.records.category_values import missing_values, unknown_value
from tacit.records.count_engine import (
    NO_RECORDS,
    BlockTable,
    CountEngine,
    PatternsBy,
    check_by,
    patterns_of_keys,
)
from tacit.records.ibis_codes import (
    absent_cell,
    code_expression,
    key_expressions,
    kind_of_ibis,
)
from tacit.records.part_totals import PartTotals
from tacit.records.patterns import PatternTable
from tacit.records.record_keys import codes_of_keys

BLOCK = 1 << 17  # records


class IbisRecords(CountEngine):
    """The records of an Ibis table: columns are found by name, others are ignored."""

    def __init__(self, table: Any, schema: Schema, progress: Progress | None = None) -> None:
        super().__init__(schema)
        self._table, self._progress = table, progress
        with self._running():
            found = table.schema()
        for name in schema.names:
            if name not in found:
                hint = unknown("column", name, found.names)
                raise DataError(f"the records have no column for attribute {name!r}: {hint}")
        self._kinds = [kind_of_ibis(found[name], name) for name in schema.names]

    def patterns(self, names: Sequence[str] | None = None) -> PatternTable:
        schema = self.schema if names is None else self.schema.subset(names)
        table = self._grouped(schema, ())
        return patterns_of_keys(schema, self._keys(table), _counts(table))

    def patterns_by(self, columns: Sequence[str]) -> PatternsBy:
        check_by(columns, self.column_names())
        table = self._grouped(self.schema, columns)
        patterns = PatternTable(self.schema, self._codes(table, self.schema), _counts(table))
        return PatternsBy(
            patterns, table.select([f"by {name}" for name in columns]).rename_columns(list(columns))
        )

    def column_names(self) -> Sequence[str]:
        return list(self._table.columns)

    def blocks(self) -> Iterator[Codes]:
        with self._running():
            some = 0
            for batch in self._all_keys.to_pyarrow_batches(chunk_size=BLOCK):
                some += batch.num_rows
                if batch.num_rows:
                    yield self._codes(pa.Table.from_batches([batch]), self.schema)
            if not some:
                raise DataError(NO_RECORDS)

    def n_records(self) -> int | None:
        with self._running():
            return int(self._fetched(self._table.count()).as_py())

    def sample(self) -> Codes:
        with self._running():
            table = self._fetched(self._all_keys.limit(BLOCK))
        if not len(table):
            raise DataError(NO_RECORDS)
        return self._codes(table, self.schema)

    @cached_property
    def _all_keys(self) -> Any:
        """The keys of all attributes; it takes long to make the expression of many attributes."""
        return self._keyed(self.schema)

    def _kinds_of(self, schema: Schema) -> list[Any]:
        return [self._kinds[self.schema.index(name)] for name in schema.names]

    def _keyed(self, schema: Schema, by: Sequence[str] = ()) -> Any:
        """The keys of all records, and undisguised columns."""
        keys = key_expressions(self._table, schema, self._kinds_of(schema))
        return self._table.select(**keys, **{f"by {name}": self._table[name] for name in by})

    def _grouped(self, schema: Schema, by: Sequence[str]) -> Any:
        """How often the keys occur, as an Arrow table."""
        keyed = self._keyed(schema, by)
        with self._running():
            return self._fetched(keyed.group_by(list(keyed.columns)).agg(n=keyed.count()))

    def _fetched(self, expression: Any) -> Any:
        """The result of an expression, as Arrow; Ctrl-C cancels the query where it runs."""
        backend = self._table.get_backend()
        if backend.name == "postgres":
            cancel = backend.con.cancel_safe
        elif backend.name == "duckdb":
            cancel = backend.con.interrupt
        else:  # Spark cancels its jobs itself
            return expression.to_pyarrow()
        tell = self._progress or (lambda _: None)
        return cancellable(expression.to_pyarrow, cancel, lambda: tell(math.nan))

    def _codes(self, table: Any, schema: Schema) -> Codes:
        return codes_of_keys(self._keys(table), schema)

    def _keys(self, table: Any) -> list[npt.NDArray[np.int64]]:
        """The keys of a result; an error if a record has a cell without a category."""
        keys = [table.column(name) for name in table.column_names if name.startswith("key_")]
        if any(key.null_count for key in keys):
            self._refuse()
        return [integers(key) for key in keys]

    def _refuse(self) -> NoReturn:
        """Raise the error for a cell that has no category."""
        pairs = list(zip(self.schema, self._kinds, strict=True))
        codes = [code_expression(self._table[a.name], a, kind) for a, kind in pairs]
        with self._running():
            bad = {f"n{place}": code.isnull().sum() for place, code in enumerate(codes)}
            (found,) = self._table.aggregate(**bad).to_pyarrow().to_pylist()
            for place, (attribute, kind) in enumerate(pairs):
                if found[f"n{place}"]:
                    cell = self._table[attribute.name]
                    known = ~absent_cell(cell, kind) & codes[place].isnull()
                    some = self._table.filter(known).select(cell).limit(1).to_pyarrow().column(0)
                    if len(some):
                        raise unknown_value(some[0].as_py(), attribute)
                    raise missing_values(int(found[f"n{place}"]), attribute)
        raise EngineError("the table has cells without a category, then none; was it changed?")

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Turn what a backend raises into one line."""
        try:
            yield
        except TacitError:
            raise
        except Exception as error:
            if _is_interrupted(error):
                raise KeyboardInterrupt from None
            name = self._table.get_backend().name if hasattr(self._table, "get_backend") else "?"
            said = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise EngineError(f"{name}: the records could not be counted: {said}") from error


class SparkRecords(IbisRecords):
    """The records of a table of Spark."""

    @cached_property
    def _query(self) -> str:
        """The query of all keys, which is the same in every pass."""
        return str(self._table.get_backend().compile(self._all_keys))

    def total(self, table: BlockTable) -> npt.NDArray[Any]:
        with self._running():
            frame = self._table.get_backend()._session.sql(self._query)
            parts = frame.mapInArrow(PartTotals(table, self.schema), "part binary").collect()
        if not parts:
            raise DataError(NO_RECORDS)
        if any(part[0] is None for part in parts):
            self._refuse()
        tables = [np.load(io.BytesIO(bytes(part[0]))) for part in parts]
        return np.asarray(np.sum(tables, axis=0))


def _is_interrupted(error: BaseException | None) -> bool:
    """Whether an error hides Ctrl-C: Spark raises another one while it cancels its jobs."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _counts(table: Any) -> npt.NDArray[np.int64]:
    return integers(table.column("n"))


def table_of_spark(frame: Any) -> Any:
    """A frame of Spark as an Ibis table."""
    import ibis

    backend = ibis.pyspark.connect(frame.sparkSession)
    name = f"tacit_{id(frame)}"
    frame.createOrReplaceTempView(name)
    return backend.table(name)
