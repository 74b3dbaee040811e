"""Count tables of few columns, many at once."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tacit.records.bit_columns import FewWayCounts

SIZES = (2, 3, 2, 5, 3)


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("repeated", [False, True])
def test_tables_equal_those_counted_record_by_record(number: int, repeated: bool) -> None:
    rng = np.random.default_rng(number)
    codes = np.stack([rng.integers(0, k, 300) for k in SIZES], axis=1).astype(np.uint8)
    counts = rng.integers(1, 9, 300) if repeated else np.ones(300, np.int64)
    found = FewWayCounts(list(codes.T), SIZES, counts)
    for places in combinations(range(len(SIZES)), number):
        expected = np.zeros([SIZES[p] for p in places], np.int64)
        np.add.at(expected, tuple(codes[:, p] for p in places), counts)
        np.testing.assert_array_equal(found.tables(np.array([places]))[0], expected)


def test_sets_of_one_shape_are_counted_together() -> None:
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 2, (200, 6)).astype(np.uint8)
    found = FewWayCounts(list(codes.T), (2,) * 6, np.ones(200, np.int64))
    pairs = np.array(list(combinations(range(6), 2)))
    for pair, table in zip(pairs, found.tables(pairs), strict=True):
        np.testing.assert_array_equal(table, found.tables(pair[None])[0])
        assert table[1, 1] == (codes[:, pair].all(axis=1)).sum()
