"""CountEngine: where reported records are, and how they are counted there.

An engine gives two things, and all else follows from them:

    patterns   the distinct records with multiplicities, counted where the records are
    total      the sum over all records of a table that a function makes from a block of codes

Narrow data need only patterns: they are a small table, however many records there are. Wide data
have about as many patterns as records; they need totals (see `pair_tables`), which take the memory
of a block and of the result.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Codes
from tacit.core.schema import Schema
from tacit.errors import DataError, unknown
from tacit.records.distinct import distinct, distinct_keys
from tacit.records.memory import listed, mostly_distinct
from tacit.records.memory_limit import limited
from tacit.records.patterns import PatternTable
from tacit.records.record_keys import codes_of_keys
from tacit.records.remote_patterns import RemotePatterns, schema_bytes

#: Distinct records are fetched if they take at most this much memory.
MOST_BYTES = 1 << 32
#: Bytes per pattern for its count, and for its key while it is sorted.
_PER_PATTERN = 32
NO_RECORDS = "there are no records to count; at least one is needed"
#: A table of numbers from a block of codes, records x attributes; it must be picklable.
BlockTable = Callable[[Codes], npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class PatternsBy:
    """Patterns counted by undisguised columns as well: strata, clusters, sampling weights.

    A row of `columns`, an Arrow table, belongs to the pattern at its position; patterns may repeat.
    `in_order` says that every record is a pattern of its own, in the order of the records.
    """

    patterns: PatternTable
    columns: Any
    in_order: bool = False


class CountEngine(ABC):
    """Reported records somewhere, with the schema that they are coded by."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    @abstractmethod
    def patterns(self, names: Sequence[str] | None = None) -> PatternTable:
        """The distinct records in the order of their codes; of some attributes, if given."""

    @abstractmethod
    def patterns_by(self, columns: Sequence[str]) -> PatternsBy:
        """The same by undisguised columns as well."""

    @abstractmethod
    def blocks(self) -> Iterator[Codes]:
        """All records as blocks of codes, records x attributes, in any order; at least one."""

    def column_names(self) -> Sequence[str]:
        """The columns of the records, as far as they can be used; only attributes by default."""
        return self.schema.names

    def total(self, table: BlockTable) -> npt.NDArray[Any]:
        """The sum of table(block) over all blocks: one pass over the records."""
        found: npt.NDArray[Any] | None = None
        for block in self.blocks():
            own = table(block)
            found = own if found is None else found + own
        assert found is not None, "blocks has at least one block"
        return found

    def n_records(self) -> int | None:
        """How many records there are, if that is known without reading them."""
        return None

    def sample(self) -> Codes:
        """Some of the records."""
        return next(islice(self.blocks(), 1))

    def fitting_patterns(self) -> PatternTable:
        """The distinct records; they stay where they are if they need more than MOST_BYTES."""
        sizes, room = self.schema.sizes, MOST_BYTES // (schema_bytes(self.schema) + _PER_PATTERN)
        if math.prod(sizes) <= room or (self.n_records() or 0) <= room:
            return self.patterns()
        return RemotePatterns(self) if mostly_distinct(self.sample(), sizes) else self.patterns()

    def patterns_or_records(self) -> PatternTable:
        """The patterns if records repeat; otherwise every record as a pattern of its own.

        Records that need more than MOST_BYTES of memory, or a quarter of what a limit leaves, stay
        where they are.
        """
        if not mostly_distinct(self.sample(), self.schema.sizes):
            return self.patterns()
        blocks, room = [], limited(MOST_BYTES, 1 / 4) // schema_bytes(self.schema)
        if (self.n_records() or 0) > room:
            return RemotePatterns(self)
        for block in self.blocks():
            blocks.append(block.T)
            room -= len(block)
            if room < 0:
                return RemotePatterns(self)
        return listed(np.concatenate(blocks, axis=1).T, self.schema)


def check_by(columns: Sequence[str], known: Sequence[str]) -> None:
    """Raise if there is no such column of the records."""
    for name in columns:
        if name not in known:
            raise DataError(unknown("column", name, known, " of the records"))


def sorted_patterns(schema: Schema, patterns: Codes, counts: npt.NDArray[np.int64]) -> PatternTable:
    """The pattern table of counted records in any order, also if some repeat."""
    if not len(counts):
        raise DataError(NO_RECORDS)
    return PatternTable(schema, *distinct(patterns, schema.sizes, counts))


def patterns_of_keys(
    schema: Schema, keys: Sequence[npt.NDArray[np.int64]], counts: npt.NDArray[np.int64]
) -> PatternTable:
    """The pattern table of counted keys in any order, also if some repeat."""
    if len(keys) > 1 or not len(counts):
        return sorted_patterns(schema, codes_of_keys(keys, schema), counts)
    ordered, summed = distinct_keys(keys[0].astype(np.uint64), counts)
    return PatternTable(schema, codes_of_keys([ordered.astype(np.int64)], schema), summed)
