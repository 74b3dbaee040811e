"""RemotePatterns: records that stay where they are, because they do not fit in memory.

They answer what can be counted in a pass over the records: marginals, patterns of some attributes,
totals of blocks. What needs every pattern at once is an error that says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import numpy.typing as npt

from tacit.core.schema import Schema
from tacit.errors import DataError
from tacit.records.patterns import PatternTable

if TYPE_CHECKING:
    from tacit.records.count_engine import CountEngine
    from tacit.records.pair_tables import PairTables


class RemotePatterns(PatternTable):
    """The pattern table of an engine, of which only parts are fetched."""

    engine: CountEngine

    def __init__(self, engine: CountEngine) -> None:
        object.__setattr__(self, "engine", engine)
        object.__setattr__(self, "schema", engine.schema)

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse `patterns` and `counts`, which a table in memory has."""
        if name in ("patterns", "counts"):
            raise self._too_many()
        raise AttributeError(name)

    def __len__(self) -> NoReturn:
        raise self._too_many()

    def _too_many(self) -> DataError:
        known = self.engine.n_records()
        many = "the" if known is None else f"{known:,}"
        return DataError(
            f"{len(self.schema)} attributes of {many} distinct records do not fit in memory, which "
            "this needs; give fewer attributes or fewer records, or choose a method that needs "
            "only tables: DecisionTree(caution=2), naive Bayes from pairs"
        )

    def __bool__(self) -> bool:
        return True

    @cached_property
    def n_records(self) -> int:
        """How many records there are."""
        return self.pairs.n_records

    @cached_property
    def pairs(self) -> PairTables:
        """The tables of all pairs, counted in one pass."""
        from tacit.records.pair_tables import pair_tables

        return pair_tables(self.engine)

    def marginal(self, names: Sequence[str]) -> npt.NDArray[np.int64]:
        if len(names) == 1:
            return np.diagonal(self.pairs.table(names[0], names[0])).copy()
        if len(names) == 2 and names[0] != names[1]:
            return self.pairs.table(names[0], names[1])
        return self.subset(names).marginal(names)

    def subset(self, names: Sequence[str]) -> PatternTable:
        return self.engine.patterns(names)

    def __add__(self, other: PatternTable) -> NoReturn:
        raise DataError("records that do not fit in memory cannot be added; count them together")


def schema_bytes(schema: Schema) -> int:
    """The bytes that one record takes in memory."""
    return len(schema) * np.min_scalar_type(max(schema.sizes) - 1).itemsize
