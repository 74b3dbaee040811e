"""WeightSupports: supports for any design, from the weights of reports themselves."""

from __future__ import annotations

from functools import lru_cache, reduce
from itertools import groupby
from operator import mul

import numpy as np

from tacit.core.arrays import Array, Index, Mask
from tacit.mine.apriori.frequent_sets import FrequentSets
from tacit.mine.apriori.hit_supports import ExactSupports, HitSupports
from tacit.mine.apriori.supports import Inside, RuleMoments, SetMoments, Supports, halves, part
from tacit.reconstruction.report_weights import ReportWeights
from tacit.records import Progress

#: Bytes of weights that are kept for further sets.
_KEPT = 1 << 28


def supports_of(reports: ReportWeights, found: FrequentSets) -> Supports:
    """The fastest class that serves these reports."""
    weights = [reports.group(int(g)).weights for g in np.unique(found.items.group)]
    if not all(group.by_attribute for group in weights):
        return WeightSupports(reports, found)
    if all(group.exact for group in weights):
        return ExactSupports(reports, found)
    return HitSupports(reports, found)


class WeightSupports(Supports):
    """Weights of every pattern, item by item; the items of one group together."""

    def __init__(self, reports: ReportWeights, found: FrequentSets) -> None:
        self._reports, self._items = reports, found.items
        self._counts = reports.patterns.counts.astype(np.float64)
        self.n_records = reports.patterns.n_records
        kept = max(16, _KEPT // self._counts.nbytes)
        self._group_weights = lru_cache(maxsize=kept)(self._of_group)

    def level(self, sets: Index, tell: Progress | None = None) -> SetMoments:
        found = np.empty((3, len(sets)))
        for place, itemset in enumerate(sets.tolist()):
            g = self._weights(itemset)
            weighted, squares = self._counts * g, g * g
            found[:, place] = weighted.sum(), weighted @ g, weighted @ squares
            if tell is not None:
                tell((place + 1) / len(sets))
        return SetMoments(*found / self.n_records)

    def keep(self, chosen: Mask) -> None:
        """Nothing: every set is computed from the reports."""

    def rules(self, sets: Index, inside: Inside) -> RuleMoments:
        n = self.n_records
        mean, products, cubes = (np.empty((len(sets), *shape)) for shape in ((3,), (3, 3), (4,)))
        parts = [part(sets, chosen).tolist() for chosen in halves(inside)]
        for place, itemsets in enumerate(zip(*parts, strict=True)):
            g = np.stack([self._weights(itemset) for itemset in itemsets])
            weighted, squares = g * self._counts, g[:2] ** 2
            mean[place] = g @ self._counts
            products[place] = weighted @ g.T
            cubes[place] = (squares @ weighted[:2].T).ravel()
        return RuleMoments.of(mean / n, products / n, cubes / n, n)

    def _weights(self, itemset: list[int]) -> Array:
        """g of every pattern."""
        by_group = sorted(itemset, key=self._items.group.__getitem__)
        parts = groupby(by_group, key=self._items.group.__getitem__)
        return reduce(mul, (self._group_weights(tuple(own)) for _, own in parts))

    def _of_group(self, itemset: tuple[int, ...]) -> Array:
        """g of every pattern for items of one group."""
        event = self._items.events(np.array([itemset]))
        group = self._reports.group(int(self._items.group[itemset[0]]))
        return np.asarray(group.weights.weights(event, group.states(event))[0])
