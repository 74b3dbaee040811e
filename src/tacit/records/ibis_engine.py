"""IbisRecords: a table of any Ibis backend, counted where it is (DuckDB, PostgreSQL, Spark, ...).

Spark also makes totals on its executors, which then need tacit installed; only the totals of each
partition are sent.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Codes
from tacit.core.frames import ColumnKind, check_attributes, kind_of
from tacit.core.imports import optional_imports
from tacit.core.schema import Attribute, Label, Schema
from tacit.errors import DataError, EngineError, TacitError
from tacit.records import queries
from tacit.records.keys import key_runs
from tacit.records.patterns import NO_RECORDS, BlockTable

with optional_imports():
    import ibis


BLOCK = 1 << 17  # records


class IbisRecords(queries.QueryEngine):
    """The records of an Ibis table: columns are found by name, others are ignored."""

    def __init__(self, table: Any, schema: Schema) -> None:
        super().__init__(schema)
        self._table = table
        with self._running():
            types = table.schema()
        check_attributes(schema.names, types.names)
        self._kinds = [kind_of(types[name].to_pyarrow(), name) for name in schema.names]

    def column_names(self) -> Sequence[str]:
        return list(self._table.columns)

    def blocks(self) -> Iterator[Codes]:
        with self._running():
            n_records = 0
            for batch in self._all_keys.to_pyarrow_batches(chunk_size=BLOCK):
                n_records += batch.num_rows
                if batch.num_rows:
                    yield self._codes(batch)
            if not n_records:
                raise DataError(NO_RECORDS)

    def n_records(self) -> int | None:
        with self._running():
            return int(self._fetched(self._table.count()).as_py())

    def sample(self) -> Codes:
        with self._running():
            table = self._fetched(self._all_keys.limit(BLOCK))
        if not len(table):
            raise DataError(NO_RECORDS)
        return self._codes(table)

    @cached_property
    def _all_keys(self) -> Any:
        """The keys of all attributes; it takes long to make the expression of many attributes."""
        return self._keyed(self.schema)

    def _keyed(self, schema: Schema, by: Sequence[str] = ()) -> Any:
        """The keys of all records, and undisguised columns."""
        codes = [
            code_expression(self._table[a.name], a, self._kinds[self.schema.index(a.name)])
            for a in schema
        ]
        keys = {}
        for number, run in enumerate(key_runs(schema.sizes)):
            key = codes[run.start]
            for i in run[1:]:
                key = key * ibis.literal(schema.sizes[i], "int64") + codes[i]
            keys[f"key {number}"] = key
        return self._table.select(**keys, **{f"by {name}": self._table[name] for name in by})

    def _grouped(self, schema: Schema, by: Sequence[str]) -> Any:
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
        return queries.cancellable(expression.to_pyarrow, cancel, lambda: self._progress(math.nan))

    def _uncoded(self) -> Iterator[tuple[Attribute, int, Any]]:
        pairs = list(zip(self.schema, self._kinds, strict=True))
        codes = [code_expression(self._table[a.name], a, kind) for a, kind in pairs]
        with self._running():
            nulls = {f"n{i}": code.isnull().sum() for i, code in enumerate(codes)}
            (n_bad,) = self._table.aggregate(**nulls).to_pyarrow().to_pylist()
            for i, (attribute, kind) in enumerate(pairs):
                if n_bad[f"n{i}"]:
                    cell = self._table[attribute.name]
                    unlisted = ~absent_cell(cell, kind) & codes[i].isnull()
                    values = self._table.filter(unlisted).select(cell).limit(1).to_pyarrow()
                    value = values.column(0)[0].as_py() if len(values) else None
                    yield attribute, int(n_bad[f"n{i}"]), value

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
            reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise EngineError(f"{name}: the records could not be counted: {reason}") from error


class SparkRecords(IbisRecords):
    """The records of a table of Spark."""

    @cached_property
    def _query(self) -> str:
        """The query of all keys, which is the same in every pass."""
        return str(self._table.get_backend().compile(self._all_keys))

    def total(self, table: BlockTable) -> npt.NDArray[Any]:
        with self._running():
            frame = self._table.get_backend()._session.sql(self._query)
            totals = partial(queries.part_totals, table, self.schema)
            parts = frame.mapInArrow(totals, "part binary").collect()
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


def table_of_spark(frame: Any) -> Any:
    """A frame of Spark as an Ibis table."""
    import ibis

    backend = ibis.pyspark.connect(frame.sparkSession)
    name = f"tacit_{id(frame)}"
    frame.createOrReplaceTempView(name)
    return backend.table(name)


#: What cells are compared as.
_TYPES = {
    ColumnKind.TEXT: "string",
    ColumnKind.BOOLEAN: "boolean",
    ColumnKind.INTEGER: "int64",
    ColumnKind.FLOAT: "float64",
    ColumnKind.DECIMAL: "int64",
}

# Codes as expressions ------------------------------------------------------------------------


def code_expression(cell: Any, attribute: Attribute, kind: ColumnKind) -> Any:
    """The code of an attribute in a column of this kind, as a 64-bit integer."""
    if attribute.edges and kind.numeric:
        number = cell.cast("float64")
        above, below = ibis.literal(1, "int64"), ibis.literal(0, "int64")
        code = sum(ibis.ifelse(number > edge, above, below) for edge in attribute.edges)
    else:
        code = _looked_up(cell, kind, queries.category_values(attribute, kind))
    missing = ibis.null("int64")
    if attribute.missing is not None:
        missing = ibis.literal(attribute.code(attribute.missing), "int64")
    return ibis.ifelse(absent_cell(cell, kind), missing, code)


def absent_cell(cell: Any, kind: ColumnKind) -> Any:
    """Whether a cell is missing."""
    return cell.isnull() | cell.isnan() if kind == ColumnKind.FLOAT else cell.isnull()


def _looked_up(cell: Any, kind: ColumnKind, values: dict[Label, int]) -> Any:
    """The code of a value; null if it is none of these."""
    nothing = ibis.null("int64")
    if not values or kind == ColumnKind.NULL:
        return nothing
    value = cell.cast(_TYPES[kind])
    cell = (
        ibis.ifelse(cell == cell.floor(), value, nothing) if kind == ColumnKind.DECIMAL else value
    )
    first = queries.consecutive(values)
    if first is not None and kind != ColumnKind.FLOAT:
        inside = cell.between(first, first + len(values) - 1)
        return ibis.ifelse(inside, cell - ibis.literal(first, "int64"), nothing)
    if kind == ColumnKind.FLOAT:  # some backends take 0.5 for a decimal, in no array of floats
        codes = ((cell == value, ibis.literal(code, "int64")) for value, code in values.items())
        return ibis.cases(*codes, else_=nothing)
    labels = ibis.literal(list(values), f"array<{_TYPES[kind]}>")
    index = labels.index(cell).cast("int64").nullif(-1)
    in_order = list(values.values())
    if in_order == list(range(len(in_order))):
        return index
    return ibis.ifelse(index.isnull(), nothing, ibis.literal(in_order, "array<int64>")[index])
