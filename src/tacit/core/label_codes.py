"""Frames of labels and arrays of codes: encode and decode.

Codes are an array, records x attributes, of the smallest unsigned type that holds the largest
attribute, in Fortran order: an attribute is contiguous in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Codes
from tacit.core.schema import Attribute, Label, Schema
from tacit.errors import DataError, MissingAnswersError, unknown
from tacit.output.number_text import text
from tacit.output.table import arrow_array, native_frame

if TYPE_CHECKING:
    import narwhals as nw
    from narwhals.typing import IntoDataFrame

    from tacit.core.frames import Distinct

# Arrow and narwhals are slow to load: functions that handle frames import them, so records that
# are arrays of codes never need them.

FROM_0 = "(counting from 0)"
UNKNOWN, ABSENT = -1, -2
_SMALL_RANGE = 1 << 10
#: The category of missing cells where they are counted.
NO_ANSWER = "(no answer)"


def code_type(schema: Schema) -> np.dtype[np.unsignedinteger[Any]]:
    """The smallest unsigned type that holds every code."""
    return np.min_scalar_type(max(schema.sizes) - 1)


def encode(records: IntoDataFrame | npt.NDArray[Any], schema: Schema, first: int = 0) -> Codes:
    """Records as codes, validated.

    A frame's columns are found by name, others are ignored; cells are labels, or numbers if
    the attribute has edges. An integer array is records x attributes and holds codes already:
    unsigned codes in range are returned as they are, without a copy. `first` is the number of
    the first record in errors, for records that come in batches.
    """
    if isinstance(records, np.ndarray):
        return _checked(records, schema, first)
    from tacit.core import frames

    frame = frames.open_frame(records)
    codes = np.empty((len(frame), len(schema)), dtype=code_type(schema), order="F")
    for column, attribute in enumerate(schema):
        codes[:, column] = _column_codes(frames.column(frame, attribute.name), attribute, first)
    return codes


def decode(
    codes: Codes,
    schema: Schema,
    backend: str | nw.Implementation | None,
    absent: npt.NDArray[np.bool_] | None = None,
) -> Any:
    """Codes as a frame of labels, one column per attribute, made by the library named.

    An attribute whose labels are all text, all booleans, all integers or all floats gives a
    column of that type; mixed labels, and integers beyond 64 bits, become text. Cells that are
    `absent` are missing.
    """
    checked = _checked(np.asarray(codes), schema)
    labels = [_labels(attribute, len(checked)) for attribute in schema]
    return native_frame(label_columns(checked, schema, labels, absent), backend)


def label_columns(
    codes: Codes, schema: Schema, labels: Sequence[Any], absent: npt.NDArray[np.bool_] | None
) -> dict[str, Any]:
    """Arrow columns with these labels, an Arrow array per attribute, in place of codes."""
    import pyarrow as pa

    masks = [None] * len(schema) if absent is None else list(absent.T)
    cells = [pa.array(column, mask=mask) for column, mask in zip(codes.T, masks, strict=True)]
    columns = zip(schema.names, labels, cells, strict=True)
    return {name: values.take(positions) for name, values, positions in columns}


def _column_codes(column: Any, attribute: Attribute, first: int) -> npt.NDArray[np.integer[Any]]:
    from tacit.core import frames

    if attribute.edges and frames.is_numeric(column):
        values = frames.numbers(column)
        bins = np.searchsorted(np.array(attribute.edges), values, side="left")
        absent = np.isnan(values)
        if absent.any():
            if attribute.missing is None:
                raise _missing_cells(absent, attribute, first)
            bins[absent] = attribute.code(attribute.missing)
        return bins
    codes = _codes_by_number(column, attribute)
    if codes is not None:
        return codes
    seen = frames.distinct(column)
    missing = ABSENT if attribute.missing is None else attribute.code(attribute.missing)
    found = [missing if value is None else attribute.find(value) for value in seen.values]
    lookup = np.array([UNKNOWN if code is None else code for code in found], dtype=np.int32)
    codes_of_records: npt.NDArray[np.int32] = lookup[seen.positions]
    if lookup.min() < 0:
        _check_cells(codes_of_records, seen, attribute, first)
    return codes_of_records


def _codes_by_number(column: Any, attribute: Attribute) -> npt.NDArray[np.integer[Any]] | None:
    """The codes of whole numbers, booleans or single characters, looked up by their number.

    This is faster than a hash. None for other columns, and if a cell has no category.
    """
    from tacit.core import frames

    label: Callable[[int], Label] = bool if frames.is_boolean(column) else int
    values = frames.whole_numbers(column)
    if values is None:
        values, label = frames.single_bytes(column), chr
    if values is None:
        return None
    low, high = int(values.min()), int(values.max())
    if high - low >= _SMALL_RANGE:
        return None
    codes_of_values = [attribute.find(label(value)) for value in range(low, high + 1)]
    if codes_of_values == list(range(low, high + 1)):
        return values
    lookup = np.array([UNKNOWN if code is None else code for code in codes_of_values], np.int32)
    unsigned = np.dtype(f"u{values.dtype.itemsize}")
    lowest = np.array(low, values.dtype).view(unsigned)
    codes: npt.NDArray[np.int32] = lookup[values.view(unsigned) - lowest]
    return None if None in codes_of_values and codes.min() < 0 else codes


def _check_cells(
    codes: npt.NDArray[np.int32], seen: Distinct, attribute: Attribute, first: int
) -> None:
    """An error for the first cell without a category; declared but unused values are none."""
    bad = codes == UNKNOWN
    if bad.any():
        record = int(bad.argmax())
        value = seen.values[seen.positions[record]]
        where = f" of attribute {attribute.name!r} at record {first + record} {FROM_0}"
        raise unknown_category(value, attribute, where)
    absent = codes == ABSENT
    if absent.any():
        raise _missing_cells(absent, attribute, first)


def unknown_category(value: object, attribute: Attribute, where: str) -> DataError:
    """The error for a cell that is no category."""
    whole = isinstance(value, str | bool | int)
    hint = "" if whole else "; bin numbers with tacit.core.schema.edges"
    return DataError(unknown("category", value, attribute.categories, where) + hint)


def _missing_cells(
    absent: npt.NDArray[np.bool_], attribute: Attribute, first: int
) -> MissingAnswersError:
    name = attribute.name
    return MissingAnswersError(
        f"attribute {name!r}: {np.count_nonzero(absent)} missing cells, the first at record "
        f"{first + int(absent.argmax())} {FROM_0}; {missing_advice(name)}"
    )


def missing_advice(name: str) -> str:
    """What to do about missing cells where records must be complete."""
    return (
        "leave these records out. A coin does not disguise missing answers, so they are no "
        f"category of one; if {name!r} is not disguised, give them a category: Attribute({name!r}, "
        "[..., 'missing'], missing='missing')"
    )


def with_no_answer(schema: Schema) -> Schema:
    """The schema with one more category per attribute, the last, for missing cells.

    Attributes that have a category for them, or the empty text as a category, stay as they are.
    """
    attributes = []
    for a in schema:
        if a.missing is None and a.find("") is None:
            label = NO_ANSWER
            while a.find(label) is not None:
                label += "_"
            a = Attribute(a.name, [*a.categories, label], label, a.edges, a.aliases)
        attributes.append(a)
    return Schema(attributes)


def absent_cells(codes: Codes, schema: Schema) -> tuple[Codes, npt.NDArray[np.bool_]]:
    """Codes by `with_no_answer(schema)` as codes by the schema, and which cells were missing.

    A missing cell gets the code 0.
    """
    absent = np.asarray(codes >= np.array(schema.sizes))
    if not absent.any():
        return codes, absent
    return np.where(absent, 0, codes).astype(code_type(schema), order="F"), absent


def _labels(attribute: Attribute, n_records: int) -> Any:
    """The labels as an Arrow array of one type, ready to be repeated for every record."""
    import pyarrow as pa

    labels = arrow_array(attribute.categories)
    # Arrow's plain strings count their bytes in 32 bits.
    longest = max(len(text(label).encode()) for label in attribute.categories)
    if pa.types.is_string(labels.type) and n_records * longest >= 2**31:
        return labels.cast(pa.large_string())
    return labels


def _checked(records: npt.NDArray[Any], schema: Schema, first: int = 0) -> Codes:
    """An array of codes, in range; copied only where its type is not unsigned."""
    if records.ndim != 2 or records.shape[1] != len(schema):
        raise DataError(
            f"codes must be an array of records x {len(schema)} attributes, "
            f"got shape {records.shape}"
        )
    if len(records) == 0:
        raise DataError("the array holds 0 records; need at least one")
    if np.ma.is_masked(records):
        raise DataError("the array has masked cells; give a frame if answers are missing")
    records = np.asarray(records)  # a matrix would stay two-dimensional in every slice
    kind, order = records.dtype.kind, records.dtype.byteorder
    if kind not in "uib":
        raise DataError(
            f"codes must be integers, got an array of {records.dtype}; encode labels from a frame"
        )
    # A negative code seen as unsigned is huge, so one maximum finds both kinds of bad code.
    unsigned = records.view(np.dtype(f"{order}u{records.dtype.itemsize}".replace("|", "")))
    if int(unsigned.max()) >= min(schema.sizes):
        largest = unsigned.max(axis=0)
        for column, attribute in enumerate(schema):
            if int(largest[column]) >= attribute.size:
                record = int((unsigned[:, column] >= attribute.size).argmax())
                raise DataError(
                    f"attribute {attribute.name!r}: code {int(records[record, column])} at record "
                    f"{first + record} {FROM_0}; allowed: 0 to {attribute.size - 1}"
                )
    if kind == "u" and records.dtype.isnative:
        return records
    return unsigned.astype(code_type(schema), order="F", copy=False)
