"""Keys of records, and distinct records by sorting keys.

The key of a record has its codes as the digits of a number in mixed radix:

    key = ((c_1 k_2 + c_2) k_3 + c_3) ... k_d + c_d,   0 <= c_a < k_a, k_a >= 2

so that keys sort as records do. Records go through in blocks that stay in the cache. Attributes
are first joined in parts of at most 256 cells, which is byte arithmetic; the parts are then joined
in the smallest unsigned type that holds the product so far.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from operator import mul
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Codes, Index
from tacit.core.schema import Schema
from tacit.errors import EngineError

Part = tuple[Codes, int]

BYTE_CELLS = 1 << 8
KEY_CELLS = 1 << 64  # the most cells whose keys fit a 64-bit integer
COLUMN_BLOCK = 1 << 17  # records whose keys are made at a time
SPLIT_BLOCK = 1 << 14  # keys that are split at a time


def key_blocks(codes: Codes, sizes: Sequence[int], in_order: bool = True) -> Iterator[Codes]:
    """The keys of the records, block by block; each is overwritten by the next.

    Needs prod(sizes) <= 2^64. Either memory order and any integer type will do; bytes are fastest.
    Counting does not need the records of a block in order, which is faster.
    """
    in_bytes = codes.itemsize == 1 and codes.flags.c_contiguous
    if in_bytes and 1 < len(sizes) <= 57 and set(sizes) == {2}:  # 57 bits fit at any offset
        return _bit_blocks(codes, in_order)
    return column_blocks(list(codes.T), sizes)


def column_blocks(columns: Sequence[Codes], sizes: Sequence[int]) -> Iterator[Codes]:
    """The same from one array of codes for each attribute, at least one."""
    n = len(columns[0])
    space = _Space(min(n, COLUMN_BLOCK))
    spans = _spans(sizes)
    for start in range(0, n, COLUMN_BLOCK):
        block = [column[start : start + COLUMN_BLOCK] for column in columns]
        parts = (_horner(block[a:b], sizes[a:b], space) for a, b in spans)
        yield _join(parts, len(block[0]), space)


def _bit_blocks(codes: Codes, in_order: bool) -> Iterator[Codes]:
    """Keys of yes/no records: one bit an answer, all records in a row.

    Eight records of d bits fill d bytes, so record j of every eight starts at the same bit
    d * j: eight strided reads of words, each shifted into place, give all keys.
    """
    d = codes.shape[1]
    kind = np.dtype(">u4" if d + 7 <= 32 else ">u8")
    eights = -(-min(len(codes), COLUMN_BLOCK) // 8)
    keys = np.empty((8, eights), kind.newbyteorder("="))
    starts = [divmod(d * j, 8) for j in range(8)]
    shifts = np.array([[8 * kind.itemsize - d - bit] for _, bit in starts], keys.dtype)
    padded = np.zeros(eights * d + kind.itemsize, np.uint8)
    words = [np.ndarray(eights, kind, padded, byte, (d,)) for byte, _ in starts]
    for start in range(0, len(codes), COLUMN_BLOCK):
        block = codes[start : start + COLUMN_BLOCK]
        bits = np.packbits(block.reshape(-1))
        padded[: len(bits)] = bits
        for row, word in zip(keys, words, strict=True):
            row[...] = word
        keys >>= shifts
        keys &= (1 << d) - 1
        full = len(block) == keys.size
        yield (keys if full and not in_order else keys.T).reshape(-1)[: len(block)]


def all_keys(codes: Codes, sizes: Sequence[int]) -> Codes:
    """The keys of all records at once."""
    keys = np.empty(len(codes), smallest(math.prod(sizes)))
    done = 0
    for block in key_blocks(codes, sizes):
        keys[done : done + len(block)] = block
        done += len(block)
    return keys


def split(keys: Codes, sizes: Sequence[int]) -> Codes:
    """The codes, records x attributes in Fortran order, that the keys stand for.

    Keys are first split into parts of at most 256 cells, and these with byte arithmetic. Blocks are
    so short that the memory for intermediate results is used again.
    """
    codes = np.empty((len(keys), len(sizes)), smallest(max(sizes)), order="F")
    spans = _spans(sizes)
    for start in range(0, len(keys), SPLIT_BLOCK):
        rest, block = keys[start : start + SPLIT_BLOCK], codes[start : start + SPLIT_BLOCK]
        for first, stop in reversed(spans):
            part, cells = rest, math.prod(sizes[first:stop])
            if first:
                rest, part = _divided(rest, cells)
            part = part.astype(smallest(cells))
            for i in range(stop - 1, first, -1):
                part, block[:, i] = _divided(part, sizes[i])
            block[:, first] = part
    return codes


def _divided(keys: Codes, cells: int) -> tuple[Codes, Codes]:
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
        self._arrays: dict[tuple[str, npt.DTypeLike], Codes] = {}

    def array(self, use: str, dtype: npt.DTypeLike, n: int) -> Codes:
        """The first n items of the array kept for this use and type."""
        if (use, dtype) not in self._arrays:
            self._arrays[use, dtype] = np.empty(self._capacity, dtype)
        return self._arrays[use, dtype][:n]


def _spans(sizes: Sequence[int], cells: int = BYTE_CELLS) -> list[tuple[int, int]]:
    """Cut the attributes into runs with at most so many cells, if a run has more than one."""
    spans, start = [], 0
    for stop in range(1, len(sizes) + 1):
        if stop == len(sizes) or math.prod(sizes[start : stop + 1]) > cells:
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


def _join(parts: Iterable[Part], n: int, space: _Space) -> Codes:
    """Join parts, each with its number of cells, into keys.

    Casts are copies of their own: within the arithmetic, NumPy makes them in small pieces.
    """
    cells = 1
    keys = space.array("keys", np.uint8, 0)
    for part, size in parts:
        kind = smallest(cells * size)
        wider = space.array("keys", kind, n)
        if cells == 1:
            wider[...] = part
        else:
            if wider.dtype != keys.dtype:
                wider[...] = keys
            np.multiply(wider, kind.type(size), out=wider)
            if part.dtype != kind:
                cast = space.array("cast", kind, n)
                cast[...] = part
                part = cast
            np.add(wider, part, out=wider)
        keys, cells = wider, cells * size
    return keys


# Distinct records ---------------------------------------------------------------------------

Counts = npt.NDArray[np.int64]
Counted = tuple[Codes, Counts]  # keys or patterns, and how often each occurs
Sort = Literal["quicksort", "stable"]


def distinct_keys(keys: Codes, weights: Counts | None = None, sort: Sort = "quicksort") -> Counted:
    """Distinct keys, in order, with the sum of their weights (None: each counts once)."""
    if weights is None:
        return np.unique(keys, return_counts=True)
    rows, counts = _grouped(keys, weights, sort)
    return keys[rows], counts


def distinct(
    codes: Codes, sizes: Sequence[int], weights: Counts | None = None, sort: Sort = "quicksort"
) -> Counted:
    """Distinct records, in order, with the sum of their weights (None: each counts once)."""
    rows, counts = _grouped(ordered_keys(codes, sizes), weights, sort)
    return np.asarray(codes[rows], smallest(max(sizes)), order="F"), counts


def merged_keys(tables: Sequence[Counted]) -> Counted:
    """One table of keys from several that are sorted."""
    keys, weights = (np.concatenate(column) for column in zip(*tables, strict=True))
    return distinct_keys(keys, weights, "stable")


def merged(tables: Sequence[Counted], sizes: Sequence[int]) -> Counted:
    """One table of patterns from several that are sorted."""
    patterns = np.concatenate([patterns.T for patterns, _ in tables], axis=1).T
    weights = np.concatenate([counts for _, counts in tables])
    return distinct(patterns, sizes, weights, "stable")


def combined(tables: Iterable[Counted], merge: Callable[[Sequence[Counted]], Counted]) -> Counted:
    """One table from many; tables of similar length are merged, so none is merged often."""
    stack: list[Counted] = []
    for table in tables:
        stack.append(table)
        while len(stack) > 1 and len(stack[-2][1]) <= 2 * len(stack[-1][1]):
            stack[-2:] = [merge(stack[-2:])]
    return stack[0] if len(stack) == 1 else merge(stack)


def _grouped(keys: Codes, weights: Counts | None, sort: Sort) -> tuple[Index, Counts]:
    """The row of one record per distinct key, in the order of the keys, and sums of weights.

    A stable sort (timsort) merges runs that are sorted already.
    """
    order = np.argsort(keys, kind=sort)
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    if weights is None:
        return order[starts], np.diff(starts, append=len(keys))
    return order[starts], np.add.reduceat(weights[order], starts)


def ordered_keys(codes: Codes, sizes: Sequence[int]) -> Codes:
    """Keys that sort as the records do, and are equal only where these are.

    If the cells do not fit 64 bits, the attributes are taken in runs: the key of a run is joined
    to the rank, among the distinct ones, of what came before. A rank keeps the order and is smaller
    than the number of records, so nothing is lost and every key fits.
    """
    start = _reach(sizes, KEY_CELLS)
    keys = all_keys(codes[:, :start], sizes[:start])
    while start < len(sizes):
        values, ranks = np.unique(keys, return_inverse=True)
        stop = start + _reach(sizes[start:], KEY_CELLS // len(values))
        keys = ranks.astype(np.uint64)
        keys *= np.uint64(math.prod(sizes[start:stop]))
        keys += all_keys(codes[:, start:stop], sizes[start:stop])
        start = stop
    return keys


def _reach(sizes: Sequence[int], cells: int) -> int:
    """How many of the first attributes have at most this many cells together."""
    return sum(product <= cells for product in accumulate(sizes, mul))


# Counting -----------------------------------------------------------------------------------

DENSE_CELLS = 1 << 22  # 16 MB of counts
ALWAYS_DENSE = 1 << 16
BUFFERED = 1 << 22  # records that are sorted at once


def counted(batches: Iterable[Codes], sizes: tuple[int, ...], n: float = math.inf) -> Counted:
    """The distinct records of all batches with multiplicities.

    A schema of few cells, also in comparison with `n` records, is counted cell by cell. Otherwise
    each record becomes a key at once, keys are sorted in parts whose tables are merged, and become
    codes at the end. Beside the batches and the result this takes some tens of megabytes.
    """
    cells = math.prod(sizes)
    if cells <= min(DENSE_CELLS, max(ALWAYS_DENSE, 4 * n)):
        return _by_cell(batches, sizes, np.uint32 if n < 1 << 32 else np.uint64)
    if cells <= KEY_CELLS:
        keys, counts = combined(_key_tables(batches, sizes), merged_keys)
        return split(keys, sizes), counts
    tables = (distinct(codes, sizes) for codes in batches)
    return combined(tables, partial(merged, sizes=sizes))


def _by_cell(
    batches: Iterable[Codes], sizes: tuple[int, ...], kind: type[np.unsignedinteger[Any]]
) -> Counted:
    """Add 1 to the cell of each record. Counts of a narrow kind keep the table in the cache."""
    table = np.zeros(math.prod(sizes), kind)
    index = np.empty(COLUMN_BLOCK, np.intp)
    for codes in batches:
        for keys in key_blocks(codes, sizes, in_order=False):
            index[: len(keys)] = keys
            np.add.at(table, index[: len(keys)], kind(1))
    cells = np.flatnonzero(table)
    keys = cells.astype(smallest(len(table)))
    return split(keys, sizes), table[cells].astype(np.int64)


def _key_tables(batches: Iterable[Codes], sizes: tuple[int, ...]) -> Iterator[Counted]:
    """Tables of distinct keys, each of so many records that a sort is worth it."""
    room = np.empty(BUFFERED, smallest(math.prod(sizes)))
    used = 0
    for codes in batches:
        for keys in key_blocks(codes, sizes, in_order=False):
            if used + len(keys) > BUFFERED:
                yield distinct_keys(room[:used])
                used = 0
            room[used : used + len(keys)] = keys
            used += len(keys)
    yield distinct_keys(room[:used])


# Keys that an engine groups by and sends ------------------------------------------------------

KEY_LIMIT = 1 << 63


def key_runs(sizes: Sequence[int]) -> list[range]:
    """Runs of attributes, each with fewer than 2^63 cells."""
    return [range(*span) for span in _spans(sizes, KEY_LIMIT - 1)]


def codes_of_keys(keys: Sequence[npt.NDArray[np.int64]], schema: Schema) -> Codes:
    """The codes that the keys of each run stand for, records x attributes."""
    sizes = schema.sizes
    codes = np.empty((len(keys[0]), len(sizes)), smallest(max(sizes)), order="F")
    for run, run_keys in zip(key_runs(sizes), keys, strict=True):
        run_sizes = sizes[run.start : run.stop]
        cells = math.prod(run_sizes)
        if len(run_keys) and not 0 <= int(run_keys.min()) <= int(run_keys.max()) < cells:
            raise EngineError("the engine sent a key that stands for no record")
        codes[:, run.start : run.stop] = split(run_keys.astype(smallest(cells)), run_sizes)
    return codes
