"""Distinct records by sorting, for schemas of any number of cells.

Where the cells do not fit 64 bits the attributes are taken in runs: the key of a run is joined to
the rank, among the distinct ones, of what came before. A rank keeps the order and is smaller than
the number of records, so nothing is lost and every key fits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from operator import mul
from typing import Literal

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Index
from tacit.records.keys import KEY_CELLS, Codes, Unsigned, all_keys, smallest

Counts = npt.NDArray[np.int64]
Counted = tuple[Unsigned, Counts]  # keys or patterns, and how often each occurs

TURN_BLOCK = 1 << 12  # records turned from runs of records to runs of attributes in the cache


def distinct_keys(keys: Unsigned, weights: Counts | None = None) -> Counted:
    """Distinct keys, in order, with the sum of their weights (None: each counts once)."""
    if weights is None:
        return np.unique(keys, return_counts=True)
    places, counts = _grouped(keys, weights)
    return keys[places], counts


def distinct(codes: Codes, sizes: Sequence[int], weights: Counts | None = None) -> Counted:
    """Distinct records, in order, with the sum of their weights (None: each counts once)."""
    places, counts = _grouped(ordered_keys(codes, sizes), weights)
    return _chosen(codes, places, smallest(max(sizes))), counts


def merged_keys(tables: Sequence[Counted]) -> Counted:
    """One table of keys from several that are sorted."""
    keys, weights = (np.concatenate(column) for column in zip(*tables, strict=True))
    places, counts = _grouped(keys, weights, "stable")
    return keys[places], counts


def merged(tables: Sequence[Counted], sizes: Sequence[int]) -> Counted:
    """One table of patterns from several that are sorted."""
    patterns = np.concatenate([patterns.T for patterns, _ in tables], axis=1).T
    weights = np.concatenate([counts for _, counts in tables])
    places, counts = _grouped(ordered_keys(patterns, sizes), weights, "stable")
    return _chosen(patterns, places, smallest(max(sizes))), counts


def combined(tables: Iterable[Counted], merge: Callable[[Sequence[Counted]], Counted]) -> Counted:
    """One table from many; tables of similar length are merged, so none is merged often."""
    kept: list[Counted] = []
    for table in tables:
        kept.append(table)
        while len(kept) > 1 and len(kept[-2][1]) <= 2 * len(kept[-1][1]):
            kept[-2:] = [merge(kept[-2:])]
    return kept[0] if len(kept) == 1 else merge(kept)


def _grouped(
    keys: Unsigned, weights: Counts | None, sort: Literal["quicksort", "stable"] = "quicksort"
) -> tuple[Index, Counts]:
    """The place of one record per distinct key, in the order of the keys, and sums of weights.

    A stable sort (timsort) merges runs that are sorted already.
    """
    order = np.argsort(keys, kind=sort)
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    if weights is None:
        return order[starts], np.diff(starts, append=len(keys))
    return order[starts], np.add.reduceat(weights[order], starts)


def _chosen(codes: Codes, places: Index, dtype: npt.DTypeLike) -> Unsigned:
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


def ordered_keys(codes: Codes, sizes: Sequence[int]) -> Unsigned:
    """Keys that sort as the records do, and are equal only where these are."""
    start = _reach(sizes, KEY_CELLS)
    keys = all_keys(codes[:, :start], sizes[:start])
    while start < len(sizes):
        found, ranks = np.unique(keys, return_inverse=True)
        stop = start + _reach(sizes[start:], KEY_CELLS // len(found))
        keys = ranks.astype(np.uint64)
        keys *= np.uint64(math.prod(sizes[start:stop]))
        keys += all_keys(codes[:, start:stop], sizes[start:stop])
        start = stop
    return keys


def _reach(sizes: Sequence[int], cells: int) -> int:
    """How many of the first attributes have at most this many cells together."""
    return sum(product <= cells for product in accumulate(sizes, mul))
