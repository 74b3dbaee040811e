from __future__ import annotations

import numpy as np
import pytest

from tacit.records.bit_columns import BitColumns


@pytest.mark.parametrize("largest", [1, 2, 300])
@pytest.mark.parametrize("patterns", [1, 63, 64, 65, 1000])
def test_conjunctions_count_records_as_often_as_their_patterns_occur(
    patterns: int, largest: int
) -> None:
    rng = np.random.default_rng(patterns * largest)
    codes = rng.integers(0, 3, (patterns, 5)).astype(np.uint8)
    counts = rng.integers(1, largest + 1, patterns)
    wanted = [2, 1, 0, 1, 2]
    bits = BitColumns([(codes[:, i], wanted[i]) for i in range(5)], counts)
    sets = np.array([[0, 1], [1, 4], [2, 3], [0, 0]])
    hits = codes == wanted
    expected = [counts[hits[:, a] & hits[:, b]].sum() for a, b in sets]
    assert bits.count(sets).tolist() == expected
    assert bits.n_records == counts.sum()


def test_progress_ends_with_the_last_set() -> None:
    told: list[int] = []
    codes = np.ones((10**6, 1), np.uint8)
    bits = BitColumns([(codes[:, 0], 1)], np.ones(10**6, np.int64))
    assert bits.count(np.zeros((20, 2), np.intp), told.append).tolist() == [10**6] * 20
    assert told == sorted(told)
    assert told[-1] == 20
