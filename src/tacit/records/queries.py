"""QueryEngine: what the engines share that count by a query (DuckDB, PostgreSQL, Spark, ...).

A query computes the keys of records (see `key_runs`). Labels are compared by their text (see
`tacit.core.schema`): 1, 1.0 and "1" are the same label. An engine compares values of one type:
here are the values of that type whose text is a category. This module loads fast, because every
Python process of a Spark executor imports it.
"""

from __future__ import annotations

import io
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import pairwise
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.core.arrays import Codes
from tacit.core.frames import ColumnKind, integers
from tacit.core.label_codes import missing_advice, unknown_category
from tacit.core.schema import Attribute, Label, Schema
from tacit.errors import EngineError, MissingAnswersError
from tacit.output.number_text import text
from tacit.records import patterns
from tacit.records.keys import codes_of_keys
from tacit.records.patterns import BlockTable, CountEngine, PatternsBy, PatternTable

Result = TypeVar("Result")

#: Seconds between two looks at the progress.
PERIOD = 0.1
_INT64 = 1 << 63


class QueryEngine(CountEngine):
    """An engine that groups records by their keys, in columns "key 0", "key 1" and so on.

    The key of a record with a cell without a category is null: nothing is counted as something
    else.
    """

    @abstractmethod
    def _grouped(self, schema: Schema, by: Sequence[str]) -> Any:
        """An Arrow table of keys and columns "by NAME", with the count "n"; rows may repeat."""

    @abstractmethod
    def _uncoded(self) -> Iterator[tuple[Attribute, int, Any]]:
        """Attributes with cells that have no category, how many, and a value if one is there."""

    def _refuse(self) -> NoReturn:
        """Raise the error for a cell that has no category; the engine does not know its place."""
        for attribute, n, value in self._uncoded():
            name = attribute.name
            if value is not None:
                raise unknown_category(value, attribute, f" of attribute {name!r}")
            raise MissingAnswersError(
                f"attribute {name!r}: {n} missing cells; {missing_advice(name)}"
            )
        raise EngineError("there were cells without a category, then none; was something changed?")

    def patterns(self, names: Sequence[str] | None = None) -> PatternTable:
        schema = self.schema if names is None else self.schema.subset(names)
        table = self._grouped(schema, ())
        return patterns.patterns_of_keys(schema, self._keys(table), integers(table.column("n")))

    def patterns_by(self, columns: Sequence[str]) -> PatternsBy:
        patterns.check_by(columns, self.column_names())
        table = self._grouped(self.schema, columns)
        counted = PatternTable(self.schema, self._codes(table), integers(table.column("n")))
        values = table.select([f"by {name}" for name in columns])
        return PatternsBy(counted, values.rename_columns(list(columns)))

    def _codes(self, table: Any) -> Codes:
        """The codes of all attributes in a table or batch of keys."""
        return codes_of_keys(self._keys(table), self.schema)

    def _keys(self, table: Any) -> list[npt.NDArray[np.int64]]:
        keys = [table.column(name) for name in table.schema.names if name.startswith("key ")]
        if any(key.null_count for key in keys):
            self._refuse()
        return [integers(key) for key in keys]


def category_values(attribute: Attribute, kind: ColumnKind) -> dict[Label, int]:
    """The values of a column of this kind that are categories, each with its code."""
    values = ((_value(label, kind), code) for label, code in attribute.codes.items())
    return {value: code for value, code in values if value is not None}


def consecutive(values: dict[Label, int]) -> int | None:
    """The integer of code 0, if the values are consecutive integers in the order of their codes."""
    ordered = sorted(values, key=lambda value: values[value])
    if not ordered or list(values.values()) != list(range(len(values))):
        return None
    if any(type(value) is not int for value in ordered):
        return None
    whole = [int(value) for value in ordered]
    return whole[0] if all(b == a + 1 for a, b in pairwise(whole)) else None


def _value(label: str, kind: ColumnKind) -> Label | None:
    """The value of this kind whose text is the label; None if there is none."""
    if kind == ColumnKind.TEXT:
        return label
    if kind == ColumnKind.BOOLEAN:
        return {"True": True, "False": False}.get(label)
    try:
        number = float(label) if kind == ColumnKind.FLOAT else int(label)
    except ValueError:
        return None
    if not math.isfinite(number) or (isinstance(number, int) and abs(number) >= _INT64):
        return None
    return number if text(number) == label else None


def cancellable(
    work: Callable[[], Result],
    cancel: Callable[[], object],
    look: Callable[[], object] = lambda: None,
) -> Result:
    """The result of `work`; `cancel` must make it return soon, `look` is called now and then.

    Compiled code of an engine does not see signals. So it works in a thread while the calling
    thread waits: an exception there, such as Ctrl-C or an exceeded memory limit, cancels the query,
    waits for its end and goes on.
    """
    with ThreadPoolExecutor(1, "engine") as pool:
        running = pool.submit(work)
        try:
            while not wait([running], PERIOD).done:
                look()
        except BaseException:
            while not wait([running], PERIOD).done:  # a query may start after it was cancelled
                with suppress(Exception):
                    cancel()
            raise
        return running.result()


def part_totals(table: BlockTable, schema: Schema, batches: Iterator[Any]) -> Iterator[Any]:
    """What an executor of Spark computes: the total of a partition, as bytes.

    It is null if a record has a cell without a category.
    """
    total: npt.NDArray[Any] | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        if any(column.null_count for column in batch.columns):
            yield pa.record_batch([pa.array([None], pa.binary())], names=["part"])
            return
        keys = [integers(column) for column in batch.columns]
        block = table(codes_of_keys(keys, schema))
        total = block if total is None else total + block
    if total is not None:
        stream = io.BytesIO()
        np.save(stream, total)
        yield pa.record_batch([pa.array([stream.getvalue()], pa.binary())], names=["part"])
