"""The count table of whole records: distinct patterns with multiplicities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.core.schema import Schema
from tacit.errors import DataError, SchemaError
from tacit.records.distinct import distinct, merged
from tacit.records.keys import Unsigned, column_blocks

MARGINAL_CELLS = 1 << 27  # one gigabyte of counts


@dataclass(frozen=True, eq=False)
class PatternTable:
    """The distinct records, in the order of their codes, and how often each occurs.

    Everything that is counted or reconstructed later needs only this table:
    at most min(records, cells of the schema) patterns. `count_or_list` makes tables in which
    patterns may repeat, in any order; the same holds for them. The arrays are read-only.
    """

    schema: Schema
    patterns: Unsigned
    counts: npt.NDArray[Any]

    def __post_init__(self) -> None:
        shape = (len(self.counts), len(self.schema.names))
        if self.patterns.shape != shape:
            came = " x ".join(map(str, self.patterns.shape))
            raise DataError(
                f"patterns must be {shape[0]} x {shape[1]} as counts and schema are, got {came}"
            )
        object.__setattr__(self, "patterns", _frozen(self.patterns))
        object.__setattr__(self, "counts", _frozen(self.counts))

    def __len__(self) -> int:
        """How many patterns occur."""
        return len(self.counts)

    @cached_property
    def n_records(self) -> int:
        """How many records were counted."""
        return int(self.counts.sum())

    def marginal(self, names: Sequence[str]) -> npt.NDArray[Any]:
        """The count table of some attributes, one axis each, in the order asked.

        No names: the number of records, as an array without axes.
        """
        places = _places(self.schema, names)
        sizes = [self.schema.sizes[place] for place in places]
        cells = math.prod(sizes)
        if cells > MARGINAL_CELLS:
            raise DataError(
                f"the count table of {len(places)} attributes has {cells} cells, "
                f"at most {MARGINAL_CELLS} are allowed: ask for fewer attributes"
            )
        if not places:
            return np.array(self.n_records)
        table = np.zeros(cells, self.counts.dtype)
        start = 0
        for keys in column_blocks([self.patterns[:, place] for place in places], sizes):
            stop = start + len(keys)
            np.add.at(table, keys.astype(np.intp), self.counts[start:stop])
            start = stop
        return table.reshape(sizes)

    def subset(self, names: Sequence[str]) -> PatternTable:
        """The table of these attributes of the records, in the order asked."""
        places = _places(self.schema, names)
        schema = self.schema.subset(names)
        found = distinct(self.patterns[:, places], schema.sizes, self.counts)
        return PatternTable(schema, *found)

    def __add__(self, other: PatternTable) -> PatternTable:
        """The table of the records of both: files are counted batch by batch."""
        if self.schema != other.schema:
            raise DataError("only tables of the same schema can be added")
        parts = [(self.patterns, self.counts), (other.patterns, other.counts)]
        return PatternTable(self.schema, *merged(parts, self.schema.sizes))


def _places(schema: Schema, names: Sequence[str]) -> list[int]:
    if isinstance(names, str):
        raise SchemaError(f"names must be a list of attribute names, got the text {names!r}")
    for place, name in enumerate(names):
        if name in names[:place]:
            raise SchemaError(f"attribute {name!r} is asked for twice; each may occur once")
    return [schema.index(name) for name in names]


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
