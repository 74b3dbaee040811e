"""FewWayCounts: count tables of one, two or three columns, many at once.

Cells are counted as conjunctions of bits (`BitColumns`), except those with the last code of a
column: these follow from the tables with a column less, by subtraction.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.core.arrays import Index
from tacit.records.bit_columns import BitColumns, Counts
from tacit.records.keys import Codes


class FewWayCounts:
    """Columns of codes of the given sizes, and how often each record counts."""

    def __init__(self, columns: Sequence[Codes], sizes: Sequence[int], counts: Counts) -> None:
        answers = [(c, code) for c, k in zip(columns, sizes, strict=True) for code in range(k - 1)]
        self._bits = BitColumns(answers, counts)
        self._starts = np.cumsum([0, *(k - 1 for k in sizes)])
        self.sizes, self.n_records = tuple(sizes), self._bits.n_records
        single = self._bits.count(np.arange(len(answers))[:, None])
        parts = np.split(single, self._starts[1:-1])
        self._single = [np.append(part, self.n_records - part.sum()) for part in parts]

    def tables(self, sets: Index) -> Counts:
        """The count tables of sets of columns of equal sizes; sets are rows of columns.

        The first axis has the sets, the others one column each.
        """
        shape = tuple(self.sizes[column] for column in sets[0])
        if sets.shape[1] == 1:
            return np.stack([self._single[column] for column in sets[:, 0]])
        found = np.zeros((len(sets), *shape), np.int64)
        inner = tuple(slice(k - 1) for k in shape)
        found[:, *inner] = self._inner(sets, shape)
        for axis in range(len(shape)):
            less = self.tables(np.delete(sets, axis, axis=1))
            whole, after = (slice(None),) * (axis + 1), inner[axis + 1 :]
            known = found[(*whole, inner[axis], *after)].sum(axis=axis + 1)
            last: tuple[slice | int, ...] = (*whole, -1, *after)
            found[last] = less[whole + after] - known
        return found

    def _inner(self, sets: Index, shape: tuple[int, ...]) -> Counts:
        """Counts of the cells without any last code."""
        codes = np.indices([k - 1 for k in shape]).reshape(len(shape), -1).T
        rows = self._starts[sets][:, None] + codes
        counted = self._bits.count(rows.reshape(-1, len(shape)))
        return counted.reshape(len(sets), *(k - 1 for k in shape))
