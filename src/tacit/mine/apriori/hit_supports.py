"""Supports from counts of reported itemsets, without a pass over weights.

In most families the weight of a report depends only on which items it has (its hits). So the
moments of a set of k items need the 2^k counts of reports by hits, which follow from the counts N
of the subsets by inclusion and exclusion:

    count of hits exactly on S = sum over T with S <= T <= E of (-1)^|T - S| N(T)

All proper subsets were counted at earlier levels: each set costs one conjunction of bits. For
independent yes/no items this is MASK (Rizvi & Haritsa, "Maintaining data privacy in association
rule mining", VLDB 2002, section 4); here it serves any grouping and any number of categories.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Array, Index, Mask
from tacit.mine.apriori.frequent_sets import FrequentSets
from tacit.mine.apriori.item_list import ItemList
from tacit.mine.apriori.supports import Inside, RuleMoments, SetMoments, Supports, halves, part
from tacit.reconstruction.report_weights import ReportWeights
from tacit.records import Progress
from tacit.records.bit_columns import BitColumns

Counts = npt.NDArray[np.int64]

#: Cells of hit tables at once.
_AT_ONCE = 1 << 20


def bit_columns(reports: ReportWeights, items: ItemList) -> BitColumns:
    """A column of bits per item."""
    columns = [
        reports.group(g).answers[a] for g, a in zip(items.group, items.attribute, strict=True)
    ]
    answers = list(zip(columns, items.code.tolist(), strict=True))
    return BitColumns(answers, reports.patterns.counts)


class ExactSupports(Supports):
    """Reports are the truth: shares of records, as plain Apriori counts them."""

    def __init__(self, reports: ReportWeights, found: FrequentSets) -> None:
        self._bits, self._found = bit_columns(reports, found.items), found
        self.n_records = reports.patterns.n_records
        self._shares: list[Array] = []

    def level(self, sets: Index, tell: Progress | None = None) -> SetMoments:
        share = _counted(self._bits, sets, tell) / self.n_records
        self._last = share
        return SetMoments(share, share, share)

    def keep(self, chosen: Mask) -> None:
        self._shares.append(self._last[chosen])

    def rules(self, sets: Index, inside: Inside) -> RuleMoments:
        parts = [part(sets, chosen) for chosen in halves(inside)]
        shares = [self._shares[p.shape[1] - 1][self._found.places(p)] for p in parts]
        mean = np.stack(shares, axis=1)
        products = np.repeat(mean[:, :1], 9, axis=1).reshape(-1, 3, 3)
        for half in (1, 2):
            products[:, half, half] = mean[:, half]
        return RuleMoments.of(mean, products, mean[:, [0, 0, 0, 1]], self.n_records)


class HitSupports(Supports):
    """Weights depend on hits alone."""

    def __init__(self, reports: ReportWeights, found: FrequentSets) -> None:
        self._bits, self._found, self._items = bit_columns(reports, found.items), found, found.items
        self._reports = reports
        self.n_records = reports.patterns.n_records
        self._kept: list[Counts] = [np.array([[self.n_records]])]
        self._alone = self._single_tables()

    def level(self, sets: Index, tell: Progress | None = None) -> SetMoments:
        """Counts of the subsets of each set, then its moments by hits."""
        length = sets.shape[1]
        counts = np.empty((len(sets), *(2,) * length), np.int64)
        counts[(slice(None), *(1,) * length)] = _counted(self._bits, sets, tell)
        for place in range(length):
            below = self._kept[length - 1][self._found.places(np.delete(sets, place, axis=1))]
            missed = (slice(None), *(0 if i == place else slice(None) for i in range(length)))
            counts[missed] = below.reshape(-1, *(2,) * (length - 1))
        self._last = counts.reshape(len(sets), -1)
        moments = np.empty((3, len(sets)))
        for block in _blocks(len(sets), 2**length):
            weights = self._weights(sets[block], (True,) * length).reshape(-1, 2**length)
            counted = _by_hits(self._last[block], length).reshape(-1, 2**length)
            hits = counted.astype(np.float64)
            for power in range(3):
                hits = hits * weights
                moments[power, block] = hits.sum(axis=1)
        return SetMoments(*moments / self.n_records)

    def keep(self, chosen: Mask) -> None:
        self._kept.append(self._last[chosen])

    def rules(self, sets: Index, inside: Inside) -> RuleMoments:
        length = len(inside)
        n, places = self.n_records, self._found.places(sets)
        mean, products, cubes = (np.empty((len(sets), *shape)) for shape in ((3,), (3, 3), (4,)))
        for block in _blocks(len(sets), 2**length):
            hits = _by_hits(self._kept[length][places[block]], length)
            tables = [self._weights(sets[block], chosen) for chosen in halves(inside)]
            axes = tuple(range(1, length + 1))
            for i, own in enumerate(tables):
                mean[block, i] = (hits * own).sum(axis=axes)
                for j, other in enumerate(tables):
                    products[block, i, j] = (hits * (own * other)).sum(axis=axes)
            both, conditions, _ = tables
            for power in range(4):
                cube = both ** (3 - power) * conditions**power
                cubes[block, power] = (hits * cube).sum(axis=axes)
        return RuleMoments.of(mean / n, products / n, cubes / n, n)

    def _weights(self, sets: Index, chosen: Inside) -> Array:
        """g of the chosen items by hits, one axis per item; of length 1 where it is not chosen."""
        axes = np.flatnonzero(chosen)
        found = np.ones((len(sets), *(2 if c else 1 for c in chosen)))
        groups = self._items.group[sets[:, axes]]
        first = (groups[:, :, None] == groups[:, None, :]).argmax(axis=2)
        kinds, which = np.unique(first, axis=0, return_inverse=True)
        for number, kind in enumerate(kinds):
            rows = np.flatnonzero(which.ravel() == number)
            for leader in np.unique(kind):
                own = axes[kind == leader]
                shape = [2 if axis in own else 1 for axis in range(len(chosen))]
                found[rows] *= self._tables(sets[np.ix_(rows, own)]).reshape(-1, *shape)
        return found

    def _tables(self, sets: Index) -> Array:
        """g by hits of sets that each lie in one group."""
        if sets.shape[1] == 1:
            return self._alone[sets[:, 0]]
        found = np.empty((len(sets), 2 ** sets.shape[1]))
        groups = self._items.group[sets[:, 0]]
        for g in np.unique(groups):
            rows = np.flatnonzero(groups == g)
            found[rows] = self._group_tables(int(g), sets[rows])
        return found

    def _group_tables(self, g: int, sets: Index) -> Array:
        attributes = self._items.attribute[sets]
        return self._reports.group(g).weights.hit_tables(self._items.events(sets), attributes)

    def _single_tables(self) -> Array:
        found = np.empty((len(self._items), 2))
        for g in np.unique(self._items.group):
            own = np.flatnonzero(self._items.group == g)
            found[own] = self._group_tables(int(g), own[:, None])
        return found


def _counted(bits: BitColumns, sets: Index, tell: Progress | None) -> Counts:
    if tell is None:
        return bits.count(sets)
    return bits.count(sets, lambda done: tell(done / len(sets)))


def _by_hits(counts: Counts, length: int) -> Counts:
    """Counts of reports that hit exactly these items, from counts of those that hit at least."""
    found = counts.reshape(-1, *(2,) * length).copy()
    for axis in range(1, length + 1):
        along = np.moveaxis(found, axis, 0)
        along[0] -= along[1]
    return found


def _blocks(rows: int, cells: int) -> Iterator[slice]:
    step = max(1, _AT_ONCE // cells)
    return (slice(start, start + step) for start in range(0, rows, step))
