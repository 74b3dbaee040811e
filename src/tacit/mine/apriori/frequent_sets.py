"""FrequentSets: itemsets found so far, by level, and the candidates of the next one.

A candidate has k items whose subsets of k - 1 items were all found (Agrawal & Srikant, "Fast
algorithms for mining association rules", VLDB 1994, section 2.1.1). Sets are rows of ascending
items, rows in lexicographic order. A set is looked up by the place of all items but the last, and
the last: an integer that fits a word whatever the length.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Index
from tacit.mine.apriori.item_list import ItemList


class FrequentSets:
    """The sets of length 1, 2, ... that were kept; closed downwards."""

    def __init__(self, items: ItemList) -> None:
        self.items = items
        self._levels: list[Index] = []
        self._keys: list[npt.NDArray[np.int64]] = []

    def __len__(self) -> int:
        """How many sets there are."""
        return sum(map(len, self._levels))

    def __iter__(self) -> Iterator[Index]:
        """The levels: sets of one item, of two items, ..."""
        return iter(self._levels)

    @property
    def longest(self) -> int:
        """The number of items of the longest set."""
        return len(self._levels)

    def level(self, length: int) -> Index:
        """The sets of this length."""
        return self._levels[length - 1]

    def add(self, sets: Index) -> None:
        """Add the next level: some of the candidates, in their order."""
        self._keys.append(self._key(sets))
        self._levels.append(sets)

    def places(self, sets: Index) -> Index:
        """Where each set is in its level; -1 if it was not kept."""
        length = sets.shape[1]
        if length == 0:
            return np.zeros(len(sets), np.intp)
        keys, wanted = self._keys[length - 1], self._key(sets)
        if not len(keys):
            return np.full(len(sets), -1, np.intp)
        places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[places] == wanted, places, -1)

    def candidates(self) -> Index:
        """The sets of the next level all of whose subsets were kept."""
        if not self._levels:
            return np.arange(len(self.items), dtype=np.intp)[:, None]
        left, right = self._pairs()
        last = self._levels[-1]
        ends = last[left, -1], last[right, -1]
        apart = self.items.attribute[ends[0]] != self.items.attribute[ends[1]]
        joined = np.column_stack([last[left], ends[1]])[apart]
        for place in range(joined.shape[1] - 2):
            kept = self.places(np.delete(joined, place, axis=1)) >= 0
            joined = joined[kept]
        return np.asarray(joined)

    def _pairs(self) -> tuple[Index, Index]:
        """All pairs of sets of the last level that differ in the last item only."""
        first = self._keys[-1] // len(self.items)
        places = np.arange(len(first))
        partners = np.searchsorted(first, first, side="right") - places - 1
        left = np.repeat(places, partners)
        within = np.arange(len(left)) - np.repeat(np.cumsum(partners) - partners, partners)
        return left, left + within + 1

    def _key(self, sets: Index) -> npt.NDArray[np.int64]:
        before = self.places(sets[:, :-1])
        keys = before.astype(np.int64) * len(self.items) + sets[:, -1]
        return np.where(before < 0, -1, keys)
