"""Frames of any library, one column at a time: its distinct values and their positions.

pandas, Polars and PyArrow are opened by narwhals; a column is then read as Arrow memory, which
all three give without a loop over records. This module does not use schemas.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Iterable, Sequence
from enum import Enum
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from narwhals.exceptions import DuplicateError

from tacit.core.arrays import Array
from tacit.errors import DataError, unknown

FRAMES = "a pandas, Polars or PyArrow frame"
#: Where a frame remembers which of its columns are disguised.
_REPORTS = "tacit_reports"
NEEDS_TRUTH = "predict() needs true answers, and these records are reports: predictions are wrong"


class ColumnKind(Enum):
    """What the cells of a column are, with the tests of Arrow that its type may pass."""

    TEXT = ("is_string", "is_large_string", "is_string_view")
    BOOLEAN = ("is_boolean",)
    INTEGER = ("is_integer",)
    FLOAT = ("is_floating",)
    DECIMAL = ("is_decimal",)
    NULL = ("is_null",)

    @property
    def numeric(self) -> bool:
        """Whether the cells are numbers; booleans are not."""
        return self in (ColumnKind.INTEGER, ColumnKind.FLOAT, ColumnKind.DECIMAL)


class Distinct(NamedTuple):
    """The distinct values of a column and, for each record, the position of its value.

    The last value is None, for missing cells (null or NaN), even if there are none. Values that a
    categorical column declares and no record uses are kept.
    """

    values: list[Any]
    positions: npt.NDArray[np.int32]


def open_frame(records: object) -> nw.DataFrame[Any]:
    """The frame as narwhals sees it; an error for anything else and for a frame of 0 records."""
    frame = _wrapped(records)
    if isinstance(frame, nw.LazyFrame):
        raise DataError(f"records are a lazy frame; collect it first: need {FRAMES}")
    if not isinstance(frame, nw.DataFrame):
        raise DataError(f"records are of type {type(records).__name__}; need {FRAMES}")
    if len(frame) == 0:
        raise DataError("the frame holds 0 records; need at least one")
    return frame


def mark_reports(frame: Any, names: Iterable[str]) -> Any:
    """The same frame, which remembers that these columns are disguised, if its library can.

    pandas keeps `attrs` through most operations, PyArrow its metadata; Polars has nothing alike.
    """
    if hasattr(frame, "attrs"):
        frame.attrs[_REPORTS] = list(names)
    elif hasattr(frame, "replace_schema_metadata"):
        metadata = (frame.schema.metadata or {}) | {_REPORTS: json.dumps(list(names))}
        return frame.replace_schema_metadata(metadata)
    return frame


def warn_about_reports(frame: Any, names: Iterable[str], message: str) -> None:
    """Warn if some of these columns are known to be disguised."""
    marked = getattr(frame, "attrs", {}).get(_REPORTS, [])
    metadata = getattr(getattr(frame, "schema", None), "metadata", None) or {}
    if _REPORTS.encode() in metadata:
        marked = json.loads(metadata[_REPORTS.encode()])
    if set(marked) & set(names):
        warnings.warn(message, UserWarning, stacklevel=3)


def check_kept(records: object, keep: Sequence[str], taken: Collection[str]) -> None:
    """Raise DataError unless these are columns of the frame and none of their names is taken."""
    named = isinstance(keep, Sequence) and all(isinstance(name, str) for name in keep)
    if isinstance(keep, str) or not named:
        raise DataError(f"keep must be a list of names of columns, got {keep!r}")
    columns = open_frame(records).columns
    for name in keep:
        if name in taken:
            raise DataError(
                f"keep: {name!r} is an attribute of the design, so it is disguised; "
                "keep names other columns"
            )
        if name not in columns:
            raise DataError(unknown("column", name, columns, " in keep"))


def with_columns(frame: Any, records: Any, names: Sequence[str]) -> Any:
    """A frame with these columns of another one of the same library, record by record."""
    columns = nw.maybe_reset_index(_wrapped(records).select(*dict.fromkeys(names)))
    return nw.concat([_wrapped(frame), columns], how="horizontal").to_native()


def check_attributes(names: Iterable[str], columns: Sequence[str]) -> None:
    """Raise if the records have no column for an attribute."""
    for name in names:
        if name not in columns:
            hint = unknown("column", name, columns)
            raise DataError(f"the records have no column for attribute {name!r}: {hint}")


def column(frame: nw.DataFrame[Any], name: str) -> Any:
    """One column as an Arrow array (chunked or not) of text, booleans or numbers.

    Nulls are allowed, also a column of nothing else. Any other type is an error: dates, lists,
    binary, intervals, columns that mix types.
    """
    check_attributes([name], frame.columns)
    series = frame.get_column(name)
    native = series.to_native()
    try:
        array = native if isinstance(native, pa.ChunkedArray) else series.to_arrow()
    except (pa.ArrowException, TypeError) as error:
        raise DataError(_wrong_type(name, f"{series.dtype} ({error})")) from None
    kind_of(array.type, name)
    if isinstance(series.dtype, nw.Enum) and not is_ordered(array):
        # Polars 1 does not mark an Enum as ordered in Arrow.
        return pa.DictionaryArray.from_arrays(array.indices, array.dictionary, ordered=True)
    return array


def kind_of(type_: Any, name: str) -> ColumnKind:
    """What the cells of a column of this Arrow type are; an error if they cannot be labels."""
    plain = type_.value_type if pa.types.is_dictionary(type_) else type_
    for kind in ColumnKind:
        if any(getattr(pa.types, test)(plain) for test in kind.value):
            return kind
    raise DataError(_wrong_type(name, str(plain)))


def is_numeric(array: Any) -> bool:
    """Whether the column holds numbers; booleans are not numbers."""
    kind, types = _value_type(array), pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def is_boolean(array: Any) -> bool:
    """Whether the column holds booleans."""
    return bool(pa.types.is_boolean(_value_type(array)))


def is_ordered(array: Any) -> bool:
    """Whether the column declares its categories in a meaningful order."""
    return bool(pa.types.is_dictionary(array.type) and array.type.ordered)


def numbers(array: Any) -> Array:
    """A numeric column as floats, missing cells as NaN."""
    plain = array.cast(_value_type(array)) if pa.types.is_dictionary(array.type) else array
    floats = plain.cast(pa.float64(), safe=False)
    return np.asarray(floats, dtype=np.float64)


def whole_numbers(array: Any) -> npt.NDArray[np.integer[Any]] | None:
    """A column of integers, or of booleans as 0 and 1, without a copy where possible.

    None for other columns, and for one with missing cells.
    """
    if not pa.types.is_integer(array.type) and not pa.types.is_boolean(array.type):
        return None
    if array.null_count:
        return None
    whole = array.cast(pa.uint8()) if pa.types.is_boolean(array.type) else array
    chunks = whole.chunks if isinstance(whole, pa.ChunkedArray) else [whole]
    parts = [_in_memory(chunk) for chunk in chunks if len(chunk)]
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.int8), *parts])


def single_bytes(array: Any) -> npt.NDArray[np.uint8] | None:
    """The bytes of a text column in which every cell is one ASCII character; None for others."""
    if array.type not in (pa.string(), pa.large_string()) or array.null_count:
        return None
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    parts = [_only_bytes(chunk) for chunk in chunks if len(chunk)]
    contents = [part for part in parts if part is not None]
    if len(contents) < len(parts):
        return None
    return contents[0] if len(contents) == 1 else np.concatenate(contents)


def _only_bytes(chunk: Any) -> npt.NDArray[np.uint8] | None:
    _, starts, content = chunk.buffers()
    kind = np.int32 if chunk.type == pa.string() else np.int64
    offsets = np.frombuffer(starts, kind)[chunk.offset : chunk.offset + len(chunk) + 1]
    if offsets[-1] - offsets[0] != len(chunk) or (np.diff(offsets) != 1).any():
        return None
    return np.frombuffer(content, np.uint8)[offsets[0] : offsets[-1]]


def integers(column: Any) -> npt.NDArray[np.int64]:
    """A column of whole numbers without missing cells, in 64 bits."""
    values = whole_numbers(column.cast(pa.int64()))
    assert values is not None, "no cell is missing"
    return values.astype(np.int64, copy=False)


def distinct(array: Any) -> Distinct:
    """The distinct values of a column by hashing, once, in compiled code."""
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
    values = encoded.dictionary.to_pylist()
    values = [None if value != value else value for value in values]  # NaN is not itself
    positions = encoded.indices.cast(pa.int32())
    if positions.null_count:
        positions = positions.fill_null(len(values))
    return Distinct([*values, None], _in_memory(positions))


def _in_memory(array: Any) -> npt.NDArray[Any]:
    """An array of numbers without nulls.

    Arrow's `to_numpy` and `fill_null` load pandas where it is installed, which takes longer than
    the records of most files.
    """
    return np.from_dlpack(array)


def _wrapped(records: object) -> Any:
    try:
        return nw.from_native(records, pass_through=True)
    except DuplicateError as error:
        raise DataError(f"the names of a frame's columns must be distinct: {error}") from None


def _value_type(array: Any) -> Any:
    return array.type.value_type if pa.types.is_dictionary(array.type) else array.type


def _wrong_type(name: str, kind: str) -> str:
    allowed = "text, categorical, boolean, integer or float"
    return f"attribute {name!r}: its column is of type {kind}; allowed: {allowed}"
