"""Packed records: their bits, and counts of ones in ranges of any length."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.mine.tree.cells import (
    BitCells,
    CellSplits,
    CodeCells,
    CodeRows,
    ones_of_ranges,
    packed,
    unpacked,
)

#: One word, two, and more; also full ones.
WIDTHS = (3, 64, 65, 128, 200)


def records(n: int, d: int) -> np.ndarray:
    rng = np.random.default_rng(d)
    return (rng.random((n, d)) < rng.random(d)).astype(np.uint8)


@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_records_are_the_same_after_packing_and_unpacking(d: int, order: str) -> None:
    codes = np.asarray(records(40_000, d)[:, ::-1], order=order)
    places = list(range(d))[::-1]
    np.testing.assert_array_equal(unpacked(packed(codes, places), d), codes[:, ::-1])
    np.testing.assert_array_equal(unpacked(packed(codes, range(d)), d), codes)


@pytest.mark.parametrize("d", WIDTHS)
def test_ones_are_counted_in_ranges_of_any_length(d: int) -> None:
    """More than 255 rows are added in several pieces."""
    sizes = np.array([1, 0, 254, 255, 256, 1983, 1984, 1985, 30_000, 2, 0, 7_999])
    codes = records(int(sizes.sum()), d)
    start = np.cumsum(sizes) - sizes
    found = ones_of_ranges(packed(codes, range(d)), start, sizes)
    expected = [codes[i : i + n].sum(axis=0, dtype=int) for i, n in zip(start, sizes, strict=True)]
    np.testing.assert_array_equal(found[:, :d], expected)
    assert not found[:, d:].any()


def test_both_kinds_of_cells_have_the_same_counts() -> None:
    codes, sizes = records(5_000, 70), (2,) * 70
    bits = BitCells(packed(codes, range(70)), 70, 3, 1 / 5_000)
    coded = CodeCells(CodeRows(np.ascontiguousarray(codes.T), None), sizes, 3, 1 / 5_000)
    np.testing.assert_array_equal(bits.counts, coded.counts)
    first = splits([0, 0], [5, 69], [[0, 1], [2, -1]], kept=[0])
    second = splits([0, 1, 2], [1, 6, 68], [[0, 1], [-1, 2], [3, 4]], kept=[1, 3])
    below = [cells.below(first).below(second) for cells in (bits, coded)]
    for cells in below:
        np.testing.assert_array_equal(cells.counts, below[0].counts)
        np.testing.assert_array_equal(cells.sizes, below[0].sizes)
    inside = (codes[:, 69] == 0) & (codes[:, 68] == 1)
    np.testing.assert_array_equal(below[0].sizes[4], inside.sum())
    by_class = [codes[inside & (codes[:, 3] == c)].sum(axis=0, dtype=int) for c in (0, 1)]
    np.testing.assert_array_equal(below[0].counts[4, 1::2], np.transpose(by_class))
    np.testing.assert_array_equal(below[0].counts[-1], bits.counts[0])


def splits(
    cells: list[int], attributes: list[int], places: list[list[int]], kept: list[int]
) -> CellSplits:
    n, new = len(cells), 1 + max(map(max, places))
    both = np.tile([0, 1], (n, 1))
    return CellSplits(*map(np.array, (cells, attributes, both, places)), new, np.array(kept))
