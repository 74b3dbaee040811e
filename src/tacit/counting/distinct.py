"""Distinct records by sorting, for schemas of any number of cells.

Where the cells do not fit 64 bits the attributes are taken in runs: the key of a run is joined to
the rank, among the distinct ones, of what came before. A rank keeps the order and is smaller than
the number of records, so nothing is lost and every key fits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from operator import mul

import numpy as np
import numpy.typing as npt

from tacit.counting.keys import KEY_CELLS, Codes, Unsigned, all_keys, smallest

Counts = npt.NDArray[np.int64]
Counted = tuple[Unsigned, Counts]  # keys or patterns, and how often each occurs

TURN_BLOCK = 1 << 12  # records turned from runs of records to runs of attributes in the cache


def distinct_keys(keys: Unsigned) -> Counted:
    """Distinct keys, in order, with multiplicities; sorts its argument."""
    keys.sort()
    starts = _starts(keys)
    return keys[starts], np.diff(starts, append=len(keys))


def merged_keys(tables: Sequence[Counted]) -> Counted:
    """One table of keys from several."""
    keys = np.concatenate([keys for keys, _ in tables])
    order = np.argsort(keys)
    keys = keys[order]
    starts = _starts(keys)
    counts = np.concatenate([counts for _, counts in tables])
    return keys[starts], np.add.reduceat(counts[order], starts)


def distinct(codes: Codes, sizes: Sequence[int], weights: Counts | None = None) -> Counted:
    """Distinct records, in order, with the sum of their weights (None: each counts once)."""
    keys = _ordered_keys(codes, sizes)
    order = np.argsort(keys)
    starts = _starts(keys[order])
    if weights is None:
        counts = np.diff(starts, append=len(keys))
    else:
        counts = np.add.reduceat(weights[order], starts)
    return _chosen(codes, order[starts], smallest(max(sizes))), counts


def merged(tables: Sequence[Counted], sizes: Sequence[int]) -> Counted:
    """One table of patterns from several."""
    patterns = np.concatenate([patterns.T for patterns, _ in tables], axis=1).T
    return distinct(patterns, sizes, np.concatenate([counts for _, counts in tables]))


def _starts(ordered: Unsigned) -> npt.NDArray[np.intp]:
    """Where each run of equal keys starts."""
    return np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))


def _chosen(codes: Codes, places: npt.NDArray[np.intp], dtype: npt.DTypeLike) -> Unsigned:
    """The records at these places, in Fortran order."""
    chosen = np.empty((len(places), codes.shape[1]), dtype, order="F")
    if codes.flags.c_contiguous:
        for start in range(0, len(places), TURN_BLOCK):
            block = slice(start, start + TURN_BLOCK)
            chosen[block] = codes[places[block]]
    else:
        for column, into in zip(codes.T, chosen.T, strict=True):
            into[...] = column[places]
    return chosen


def _ordered_keys(codes: Codes, sizes: Sequence[int]) -> Unsigned:
    """Keys that sort as the records do, and are equal only where these are."""
    start = _reach(sizes, KEY_CELLS)
    keys = all_keys(codes[:, :start], sizes[:start])
    while start < len(sizes):
        keys, found = _ranks(keys)
        stop = start + _reach(sizes[start:], KEY_CELLS // found)
        keys *= np.uint64(math.prod(sizes[start:stop]))
        keys += all_keys(codes[:, start:stop], sizes[start:stop])
        start = stop
    return keys


def _ranks(keys: Unsigned) -> tuple[npt.NDArray[np.uint64], int]:
    """The rank of each key among the distinct ones, and how many these are."""
    order = np.argsort(keys)
    ordered = keys[order]
    rising = np.empty(len(keys), np.uint64)
    rising[0] = 0
    np.cumsum(ordered[1:] != ordered[:-1], out=rising[1:])
    ranks = np.empty_like(rising)
    ranks[order] = rising
    return ranks, int(rising[-1]) + 1


def _reach(sizes: Sequence[int], cells: int) -> int:
    """How many of the first attributes have at most this many cells together."""
    return sum(product <= cells for product in accumulate(sizes, mul))
