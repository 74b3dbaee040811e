"""A network in which each unit depends on at most two others, from pair and triple tables.

Units are placed one by one, each with the parents that raise the likelihood of its reports most,
beyond what chance explains at a strict level. Where no unit depends on those placed, the pair or
triple of the others that depends most starts again: this finds dependence among three answers of
which no two depend on each other (exclusive or), which a tree cannot.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import prod

import numpy as np
from scipy.special import chdtri

from tacit.core.arrays import Array
from tacit.privacy.disclosure.layout import CodedReports
from tacit.privacy.disclosure.likely_tables import SmallTable, Units

#: Level of the tests; strict, because the best of many parents is taken.
LEVEL = 1e-3
#: Records that independence counts for in a table of a unit and its parents.
_PRIOR_RECORDS = 2.0


def parent_network(reports: CodedReports, tables: dict[Units, SmallTable]) -> Array:
    """The joint table of the network; `tables` has those of single units, pairs and triples."""
    layout = reports.layout
    made: Array = np.ones((1,) * len(layout.units))
    for unit, parents in _Search(tables, layout.sizes).placed():
        made = made * _conditional(reports, tables, unit, parents)
    made = np.broadcast_to(made, layout.sizes)
    return np.asarray(made / made.sum())


@lru_cache(maxsize=4096)
def _by_chance(freedom: int) -> float:
    """What a likelihood ratio of nothing exceeds rarely."""
    return float(chdtri(freedom, LEVEL))


class _Search:
    """Greedy choice of an order and of parents."""

    def __init__(self, tables: dict[Units, SmallTable], sizes: tuple[int, ...]) -> None:
        self._tables, self._sizes = tables, sizes

    def placed(self) -> list[tuple[int, Units]]:
        """Units in their order, each with its parents."""
        order: list[int] = []
        found: list[tuple[int, Units]] = []
        left = set(range(len(self._sizes)))
        while left:
            score, unit, parents = max(
                (self._best(unit, order) for unit in sorted(left)), default=(0.0, 0, ())
            )
            chosen = [(unit, parents)] if score > 0 else self._start(left)
            found += chosen
            order += [unit for unit, _ in chosen]
            left -= {unit for unit, _ in chosen}
        return found

    def _best(self, unit: int, placed: list[int]) -> tuple[float, int, Units]:
        """The best parents of a unit among those placed; a score of 0 without any."""
        ways = [*combinations(placed, 1), *combinations(placed, 2)]
        return max(((self._gain(unit, way), unit, way) for way in ways), default=(0.0, unit, ()))

    def _gain(self, unit: int, parents: Units) -> float:
        """What the parents add to the likelihood of a unit's reports, beyond chance."""
        family = tuple(sorted((unit, *parents)))
        if family not in self._tables or tuple(sorted(parents)) not in self._tables:
            return -np.inf
        ratio = self._likelihood(family) - self._likelihood(parents) - self._likelihood((unit,))
        freedom = (self._sizes[unit] - 1) * (prod(self._sizes[p] for p in parents) - 1)
        return ratio - _by_chance(freedom)

    def _likelihood(self, units: Units) -> float:
        return self._tables[tuple(sorted(units))].likelihood

    def _start(self, left: set[int]) -> list[tuple[int, Units]]:
        """The units that depend most on each other, or all that are left as independent."""
        families = [f for size in (2, 3) for f in combinations(sorted(left), size)]
        scored = [(self._excess(f), f) for f in families if f in self._tables]
        score, family = max(scored, default=(0.0, ()))
        if score <= 0:
            return [(unit, ()) for unit in sorted(left)]
        return [(unit, family[:place]) for place, unit in enumerate(family)]

    def _excess(self, family: Units) -> float:
        """By how much a family's likelihood exceeds that of independence, beyond chance."""
        ratio = self._likelihood(family) - sum(self._likelihood((u,)) for u in family)
        cells = prod(self._sizes[u] for u in family)
        return ratio - _by_chance(cells - 1 - sum(self._sizes[u] - 1 for u in family))


def _conditional(
    reports: CodedReports, tables: dict[Units, SmallTable], unit: int, parents: Units
) -> Array:
    """P(unit | parents), with an axis for every unit."""
    family = tuple(sorted((unit, *parents)))
    sizes, table, axis = reports.layout.sizes, tables[family].table, family.index(unit)
    own = tables[unit,].table.reshape([-1 if u == unit else 1 for u in family])
    each = _PRIOR_RECORDS / max(1, table.size // sizes[unit])
    n = reports.total
    given = (n * table + each * own) / (n * table.sum(axis=axis, keepdims=True) + each)
    return np.asarray(given).reshape([k if u in family else 1 for u, k in enumerate(sizes)])
