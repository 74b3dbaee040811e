"""One integer for a record: its codes as the digits of a number in mixed radix.

    key = ((c_1 k_2 + c_2) k_3 + c_3) ... k_d + c_d,   0 <= c_a < k_a, k_a >= 2

so that keys sort as records do. Records go through in blocks that stay in the cache. Attributes
are first joined in parts of at most 256 cells, which is byte arithmetic; the parts are then joined
in the smallest unsigned type that holds the product so far.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.integer[Any]]
Unsigned = npt.NDArray[np.unsignedinteger[Any]]
Part = tuple[Unsigned, int]

BYTE_CELLS = 1 << 8
KEY_CELLS = 1 << 64  # the most cells whose keys fit a 64-bit integer
COLUMN_BLOCK = 1 << 17  # records at a time when an attribute is one run of memory
RECORD_BLOCK = 1 << 14  # the same when a record is


def key_blocks(codes: Codes, sizes: Sequence[int], in_order: bool = True) -> Iterator[Unsigned]:
    """The keys of the records, block by block; each is overwritten by the next.

    Needs prod(sizes) <= 2^64. Either memory order and any integer type will do; bytes are fastest.
    Counting does not need the records of a block in order, which is faster.
    """
    in_bytes = codes.itemsize == 1 and codes.flags.c_contiguous
    if in_bytes and 1 < len(sizes) <= 57 and set(sizes) == {2}:  # 57 bits fit at any offset
        return _bit_blocks(codes, in_order)
    by_record = codes.shape[1] > 1 and codes.strides[1] == codes.itemsize
    if by_record and max(sizes) <= BYTE_CELLS:
        return _record_blocks(codes, sizes)
    return column_blocks(list(codes.T), sizes)


def column_blocks(columns: Sequence[Codes], sizes: Sequence[int]) -> Iterator[Unsigned]:
    """The same from one array of codes for each attribute, at least one."""
    n = len(columns[0])
    space = _Space(min(n, COLUMN_BLOCK))
    spans = _spans(sizes, len(sizes))
    for start in range(0, n, COLUMN_BLOCK):
        block = [column[start : start + COLUMN_BLOCK] for column in columns]
        parts = (_horner(block[a:b], sizes[a:b], space) for a, b in spans)
        yield _join(parts, len(block[0]), space)


def _bit_blocks(codes: Codes, in_order: bool) -> Iterator[Unsigned]:
    """Keys of yes/no records: one bit an answer, all records in a row.

    Eight records of d bits fill d bytes, so record j of every eight starts at the same bit
    d * j: eight strided reads of words, each shifted into place, give all keys.
    """
    d = codes.shape[1]
    word = np.dtype(">u4" if d + 7 <= 32 else ">u8")
    eights = -(-min(len(codes), COLUMN_BLOCK) // 8)
    keys = np.empty((8, eights), word.newbyteorder("="))
    starts = [divmod(d * j, 8) for j in range(8)]
    shifts = np.array([[8 * word.itemsize - d - bit] for _, bit in starts], keys.dtype)
    padded = np.zeros(eights * d + word.itemsize, np.uint8)
    words = [np.ndarray(eights, word, padded, byte, (d,)) for byte, _ in starts]
    for start in range(0, len(codes), COLUMN_BLOCK):
        block = codes[start : start + COLUMN_BLOCK]
        bits = np.packbits(block.reshape(-1))
        padded[: len(bits)] = bits
        for own, read in zip(keys, words, strict=True):
            own[...] = read
        keys >>= shifts
        keys &= (1 << d) - 1
        full = len(block) == keys.size
        yield (keys if full and not in_order else keys.T).reshape(-1)[: len(block)]


def _record_blocks(codes: Codes, sizes: Sequence[int]) -> Iterator[Unsigned]:
    """Keys of records that are runs of bytes: a part is read from memory as one word."""
    space = _Space(min(len(codes), RECORD_BLOCK))
    widest = min(8, 1 << (len(sizes).bit_length() - 1))
    words = [_Word.of(span, sizes) for span in _spans(sizes, widest)]
    for start in range(0, len(codes), RECORD_BLOCK):
        block = codes[start : start + RECORD_BLOCK].astype(np.uint8, copy=False)
        parts = ((word.read(block, space), word.cells) for word in words)
        yield _join(parts, len(block), space)


def all_keys(codes: Codes, sizes: Sequence[int]) -> Unsigned:
    """The keys of all records at once."""
    keys = np.empty(len(codes), smallest(math.prod(sizes)))
    done = 0
    for block in key_blocks(codes, sizes):
        keys[done : done + len(block)] = block
        done += len(block)
    return keys


def split(keys: Unsigned, sizes: Sequence[int]) -> Unsigned:
    """The codes, records x attributes in Fortran order, that the keys stand for.

    Keys are first split into parts of at most 256 cells, and these with byte arithmetic. Blocks are
    so short that the memory for intermediate results is used again.
    """
    codes = np.empty((len(keys), len(sizes)), smallest(max(sizes)), order="F")
    spans = _spans(sizes, len(sizes))
    for start in range(0, len(keys), RECORD_BLOCK):
        block = slice(start, start + RECORD_BLOCK)
        _split_block(keys[block], sizes, spans, codes[block])
    return codes


def _split_block(
    keys: Unsigned, sizes: Sequence[int], spans: Sequence[tuple[int, int]], codes: Unsigned
) -> None:
    for start, stop in reversed(spans[1:]):
        cells = math.prod(sizes[start:stop])
        keys, part = _divided(keys, cells)
        _split_part(part.astype(smallest(cells)), sizes[start:stop], codes[:, start:stop])
    stop = spans[0][1]
    _split_part(keys.astype(smallest(math.prod(sizes[:stop]))), sizes[:stop], codes[:, :stop])


def _split_part(part: Unsigned, sizes: Sequence[int], codes: Unsigned) -> None:
    for place in range(len(sizes) - 1, 0, -1):
        part, codes[:, place] = _divided(part, sizes[place])
    codes[:, 0] = part


def _divided(keys: Unsigned, cells: int) -> tuple[Unsigned, Unsigned]:
    """Quotient and remainder."""
    size = keys.dtype.type(cells)
    above = keys // size
    return above, keys - above * size


def smallest(cells: int) -> np.dtype[np.unsignedinteger[Any]]:
    """The smallest unsigned type that holds 0 .. cells - 1."""
    return np.min_scalar_type(cells - 1)


class _Space:
    """Working arrays that are used again for every block."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._arrays: dict[tuple[str, npt.DTypeLike], Unsigned] = {}

    def array(self, use: str, dtype: npt.DTypeLike, n: int) -> Unsigned:
        """The first n items of the array kept for this use and type."""
        if (use, dtype) not in self._arrays:
            self._arrays[use, dtype] = np.empty(self._capacity, dtype)
        return self._arrays[use, dtype][:n]


def _spans(sizes: Sequence[int], widest: int) -> list[tuple[int, int]]:
    """Cut the attributes into runs of at most `widest` with at most 256 cells, if more than one."""
    spans, start = [], 0
    for stop in range(1, len(sizes) + 1):
        full = stop - start == widest
        if full or math.prod(sizes[start : stop + 1]) > BYTE_CELLS or stop == len(sizes):
            spans.append((start, stop))
            start = stop
    return spans


def _horner(columns: Sequence[Codes], sizes: Sequence[int], space: _Space) -> Part:
    """The joint codes of a few attributes."""
    cells = math.prod(sizes)
    out = space.array("part", smallest(cells), len(columns[0]))
    out[...] = columns[0]
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        if size == 2:
            np.add(out, out, out=out)  # faster than a product
        else:
            np.multiply(out, size, out=out)
        np.add(out, column, out=out, dtype=out.dtype, casting="unsafe")
    return out, cells


@dataclass(frozen=True)
class _Word:
    """The joint codes of a few neighbouring attributes, from a word by one multiplication.

    In a word of w bytes b_0 b_1 ..., lowest first, the product with sum_i r_i 256^(w-1-i) has
    sum_i b_i r_i as its highest byte. With radices r_i that do not increase, every lower byte is
    sum_i b_i r_(i+s) <= sum_i b_i r_i <= 255: nothing is carried. Bytes after the last attribute
    meet only r = 0; those before the first are shifted out.
    """

    first: int
    width: int
    shift: int
    factor: int
    cells: int

    @classmethod
    def of(cls, span: tuple[int, int], sizes: Sequence[int]) -> _Word:
        """The word for attributes start .. stop - 1, of at most 256 cells."""
        start, stop = span
        width = 1 << (stop - start - 1).bit_length()
        first = min(start, len(sizes) - width)
        radices = [math.prod(sizes[place + 1 : stop]) for place in range(start, stop)]
        factor = sum(r << 8 * (width - 1 - i) for i, r in enumerate(radices))
        return cls(first, width, 8 * (start - first), factor, math.prod(sizes[start:stop]))

    def read(self, block: Unsigned, space: _Space) -> Unsigned:
        """The joint codes of a block of records of bytes."""
        out = space.array("part", np.uint8, len(block))
        if self.width == 1:
            out[...] = block[:, self.first]
            return out
        kind = f"<u{self.width}"
        word = space.array("word", kind, len(block))
        word[...] = block[:, self.first : self.first + self.width].view(kind)[:, 0]
        if self.shift:
            np.right_shift(word, self.shift, out=word)
        np.multiply(word, self.factor, out=word)
        out[...] = word.view(np.uint8)[self.width - 1 :: self.width]
        return out


def _join(parts: Iterable[Part], n: int, space: _Space) -> Unsigned:
    """Join parts, each with its number of cells, into keys.

    Casts are copies of their own: within the arithmetic, NumPy makes them in small pieces.
    """
    cells = 1
    keys = space.array("keys", np.uint8, 0)
    for part, size in parts:
        kind = smallest(cells * size)
        wider, own = space.array("keys", kind, n), part
        if cells == 1:
            wider[...] = part
        else:
            if wider.dtype != keys.dtype:
                wider[...] = keys
            np.multiply(wider, kind.type(size), out=wider)
            if part.dtype != kind:
                own = space.array("cast", kind, n)
                own[...] = part
            np.add(wider, own, out=wider)
        keys, cells = wider, cells * size
    return keys
