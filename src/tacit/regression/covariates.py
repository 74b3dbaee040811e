"""Columns of a frame as a formula takes them: numbers, or categories with their order.

A truthful attribute of the design keeps the order of its categories; one whose labels are numbers
is a number. Text is sorted; a categorical column keeps its own order. Categories that no record
uses are dropped, because their coefficients could not be estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Array, Codes, Index, Mask
from tacit.core.label_codes import absent_cells, encode, with_no_answer
from tacit.core.schema import Attribute, Label, Schema
from tacit.errors import DataError, MissingAnswersError

if TYPE_CHECKING:
    import narwhals as nw


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """Numbers; NaN where a cell is missing."""

    values: npt.NDArray[Any]

    @property
    def missing(self) -> Mask:
        """Whether each cell is missing."""
        return np.asarray(np.isnan(self.values))

    def take(self, places: Mask) -> NumberColumn:
        """The column of these records."""
        return NumberColumn(self.values[places])


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """Categories, and the code of each record; -1 where a cell is missing.

    `ordered` says whether the order of the categories means something.
    """

    categories: tuple[Label, ...]
    codes: npt.NDArray[np.signedinteger[Any]]
    ordered: bool = True

    @property
    def size(self) -> int:
        """The number of categories."""
        return len(self.categories)

    @property
    def missing(self) -> Mask:
        """Whether each cell is missing."""
        return self.codes < 0

    def take(self, places: Mask) -> CategoryColumn:
        """The column of these records, without the categories that none of them uses."""
        codes = self.codes[places]
        used = np.unique(codes[codes >= 0])
        lookup = np.full(len(self.categories) + 1, -1, np.int32)
        lookup[used] = np.arange(len(used))
        names = tuple(self.categories[code] for code in used)
        return CategoryColumn(names, lookup[codes], self.ordered)


Column = NumberColumn | CategoryColumn


def plain_column(frame: nw.DataFrame[Any], name: str) -> Column:
    """A column that is no attribute of the design."""
    import pyarrow as pa

    from tacit.core import frames

    array = frames.column(frame, name)
    if frames.is_numeric(array):
        values = frames.numbers(array)
        if np.isinf(values).any():
            record = int(np.isinf(values).argmax())
            raise DataError(f"column {name!r}: infinite at record {record} (counting from 0)")
        whole = pa.types.is_integer(array.type) and not np.isnan(values).any()
        return NumberColumn(values.astype(np.int64) if whole else values)
    seen = frames.distinct(array)
    labels = sorted({value for value in seen.values if value is not None})
    if pa.types.is_dictionary(array.type):
        labels = list(dict.fromkeys(value for value in seen.values if value is not None))
    places = {label: place for place, label in enumerate(labels)}
    lookup = np.array([places.get(value, -1) for value in seen.values], np.int32)
    ordered = frames.is_ordered(array) or len(labels) < 3
    return CategoryColumn(tuple(labels), lookup[seen.positions], ordered)


def exact_column(records: Any, attribute: Attribute, schema: Schema) -> Column:
    """An attribute that is not disguised."""
    found, absent = attribute_codes(records, schema, [attribute.name])
    codes, absent = found[:, 0].astype(np.intp), absent[:, 0]
    numeric = all(type(label) in (int, float) for label in attribute.categories)
    if numeric and attribute.missing is None:
        values = np.array(attribute.categories)[codes]
        return NumberColumn(np.where(absent, np.nan, values) if absent.any() else values)
    missing = -1 if attribute.missing is None else attribute.code(attribute.missing)
    return CategoryColumn(attribute.categories, np.where(absent | (codes == missing), -1, codes))


def attribute_codes(records: Any, schema: Schema, names: Sequence[str]) -> tuple[Codes, Mask]:
    """The codes of these reported attributes, records x names, and which answers are missing."""
    if isinstance(records, np.ndarray):
        places = [schema.index(name) for name in names]
        found = encode(records, schema)[:, places]
        return found, np.zeros(found.shape, bool)
    asked = schema.subset(names)
    try:
        found = encode(records, asked)
    except MissingAnswersError:
        return absent_cells(encode(records, with_no_answer(asked)), asked)
    return found, np.zeros(found.shape, bool)


def report_cells(records: Any, schema: Schema, asked: Schema) -> Index:
    """The joint report of each record, the last attribute running fastest."""
    codes, _ = attribute_codes(records, schema, asked.names)
    columns = tuple(codes[:, place].astype(np.intp) for place in range(codes.shape[1]))
    return np.asarray(np.ravel_multi_index(columns, asked.sizes))


def numbers_of(attribute: Attribute) -> Array | None:
    """The labels of an attribute as numbers; None if they are none."""
    kinds = {type(label) for label in attribute.categories}
    numeric = kinds <= {int, float} or kinds == {bool}
    return np.array(attribute.categories, np.float64) if numeric else None


def as_categories(column: Column) -> Column:
    """A column of numbers as categories, in increasing order."""
    if isinstance(column, CategoryColumn):
        return column
    labels, codes = np.unique(column.values, return_inverse=True)
    return CategoryColumn(tuple(labels.tolist()), codes)
