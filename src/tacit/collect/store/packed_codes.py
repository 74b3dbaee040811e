"""Reported codes as bytes: one per attribute, or two if any has more than 256 categories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.core.schema import Schema
from tacit.errors import StoreError

if TYPE_CHECKING:
    from tacit.core.arrays import Codes

_MOST_IN_A_BYTE = 256


def code_type(reported: Schema) -> np.dtype[Any]:
    """The type of a stored code: uint8, or little-endian uint16 if any attribute needs it."""
    wide = any(len(attribute.categories) > _MOST_IN_A_BYTE for attribute in reported)
    return np.dtype("<u2" if wide else "u1")


def packed(codes: Sequence[int], reported: Schema) -> bytes:
    """The codes of one record as they are stored, in the order of the reported attributes."""
    if code_type(reported).itemsize == 1:
        return bytes(codes)
    return np.asarray(codes, "<u2").tobytes()


def unpacked(stored: Sequence[bytes], reported: Schema) -> Codes:
    """Stored records as an array of codes, records x attributes; StoreError if one does not fit."""
    kind, width = code_type(reported), len(reported)
    whole = b"".join(stored)
    if not {*map(len, stored)} <= {kind.itemsize * width}:
        raise StoreError(f"the database has a record that does not have {width} attributes")
    codes = np.frombuffer(whole, kind).reshape(len(stored), width)
    sizes = np.array([len(attribute.categories) for attribute in reported])
    if np.any(codes >= sizes):
        raise StoreError("the database has a code that is not a category of its attribute")
    return codes


def by_day(
    parts: Iterable[tuple[Sequence[str], Sequence[bytes]]], reported: Schema
) -> dict[str, Codes]:
    """Days and stored records, which come in chunks, as an array of codes per day."""
    arrays: dict[str, list[Codes]] = {}
    for days, stored in parts:
        for day in {*days}:
            own = (
                stored
                if len({*days}) == 1
                else [codes for other, codes in zip(days, stored, strict=True) if other == day]
            )
            arrays.setdefault(day, []).append(unpacked(own, reported))
    return {day: np.concatenate(arrays.pop(day)) for day in sorted(arrays)}  # pop frees the chunks
