"""Trees grown on a joint table of shares, and their cost-complexity sequence.

    cost of a node  = its share of records * entropy (or Gini impurity)
    price of a node = (cost(node) - cost(leaves below)) / (number of leaves below - 1)

A subtree is cut if it saves at most a given price per leaf (Breiman et al. 1984, chapter 3, with
the criterion as the cost). Branches that fewer than `least` records are expected in are leaves with
the class of their parent; a split needs two larger ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tacit.core.arrays import Array, Index, Mask
from tacit.mine.tree.growth import SplitCriterion
from tacit.mine.tree.tree import NONE, Tree

#: Gains below this are rounding errors.
_NO_GAIN = 1e-12


@dataclass(frozen=True)
class TableGrowth:
    """How to grow: the criterion, the fewest expected records of a branch, the largest depth."""

    criterion: SplitCriterion
    least: float = 10.0
    max_depth: int | None = None


@dataclass(frozen=True, eq=False)
class TableTree:
    """A tree on the rows of a table: parents before children.

    leaf: the leaf of each row. cost and price: see above; the price of a leaf is infinite.
    """

    attribute: Index
    parent: Index
    child: Index
    value: Array
    small: Mask
    leaf: Index
    price: Array

    def cut(self, price: float) -> TableTree:
        """The tree without subtrees that save at most this price per leaf."""
        at = self.price <= price
        top = np.arange(len(self.parent))
        inside = np.zeros(len(top), bool)
        for node in range(1, len(top)):
            above = self.parent[node]
            inside[node] = inside[above] or at[above]
            if inside[node]:
                top[node] = top[above]
        kept = np.flatnonzero(~inside)
        number = np.full(len(top) + 1, NONE)
        number[kept] = np.arange(len(kept))
        attribute = np.where(at, NONE, self.attribute)[kept]
        child = np.where((attribute == NONE)[:, None], NONE, number[self.child[kept]])
        return TableTree(
            attribute,
            number[self.parent[kept]],
            child,
            self.value[kept],
            self.small[kept],
            number[top[self.leaf]],
            np.where(attribute == NONE, np.inf, self.price[kept]),
        )

    def __len__(self) -> int:
        return len(self.attribute)

    def tree(self, attributes: Index, n_categories: int, n_records: int) -> Tree:
        """The same for a schema in which the features have these positions."""
        source = np.arange(len(self))
        for node in np.flatnonzero(self.small):
            source[node] = source[self.parent[node]]
        child = np.full((len(self), n_categories), NONE)
        child[:, : self.child.shape[1]] = self.child
        split = self.attribute != NONE
        attribute = np.where(split, np.append(attributes, NONE)[self.attribute], NONE)
        n_classes = self.value.shape[1]
        covariance = np.zeros((len(self), n_classes, n_classes))
        found = Tree(attribute, self.parent, child, self.value, covariance, source, n_records)
        return found.take(_depth_first(self))


def _depth_first(tree: TableTree) -> Index:
    """The nodes in depth-first order, the branch of the first category first."""
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        below = dict.fromkeys(int(c) for c in tree.child[node] if c != NONE)
        waiting += list(below)[::-1]
    return np.array(order, np.intp)


def grow_on_table(
    table: Array, codes: Index, sizes: tuple[int, ...], n_records: float, growth: TableGrowth
) -> TableTree:
    """The tree of a table, rows x classes, whose rows have these codes of the features."""
    growing = _GrowingTree(table, codes, sizes, growth, growth.least / n_records)
    depth = 0
    while len(growing.open) and depth != growth.max_depth:
        growing.split_level()
        depth += 1
    return growing.tree()


@dataclass(eq=False)
class _GrowingTree:
    """The nodes so far; `open` are those that may be split, `leaf` is the leaf of each row."""

    table: Array
    codes: Index
    sizes: tuple[int, ...]
    growth: TableGrowth
    least: float
    attribute: Index = field(default_factory=lambda: np.array([NONE]))
    parent: Index = field(default_factory=lambda: np.array([NONE]))
    open: Index = field(default_factory=lambda: np.array([0]))

    def __post_init__(self) -> None:
        self.child = np.full((1, max(self.sizes)), NONE)
        self.value = self.table.sum(axis=0)[None]
        self.leaf = np.zeros(len(self.table), np.intp)

    def split_level(self) -> None:
        """Split the open nodes that have a possible split; their children are open then."""
        n, most = len(self.attribute), max(self.sizes)
        place = np.full(n, NONE)
        place[self.open] = np.arange(len(self.open))
        rows = np.flatnonzero(place[self.leaf] != NONE)
        attribute, option = self._best(rows, place[self.leaf[rows]])
        split = attribute != NONE
        nodes, attribute, option = self.open[split], attribute[split], option[split]
        parts = self.growth.criterion.branches(np.take(self.sizes, attribute), option, most)
        n_parts = parts.max(axis=1, initial=NONE) + 1
        first = n + np.cumsum(n_parts) - n_parts
        new = int(n_parts.sum())
        self.attribute[nodes] = attribute
        self.child[nodes] = np.where(parts == NONE, NONE, first[:, None] + parts)
        moving = rows[self.attribute[self.leaf[rows]] != NONE]
        at = self.leaf[moving]
        self.leaf[moving] = self.child[at, self.codes[moving, self.attribute[at]]]
        value = _sums(self.leaf[moving] - n, self.table[moving], new)
        self.attribute = np.append(self.attribute, np.full(new, NONE))
        self.parent = np.append(self.parent, np.repeat(nodes, n_parts))
        self.child = np.concatenate([self.child, np.full((new, most), NONE)])
        self.value = np.concatenate([self.value, value])
        self.open = n + np.flatnonzero(value.sum(axis=1) >= 2 * self.least)

    def _best(self, rows: Index, node: Index) -> tuple[Index, Index]:
        """Attribute and option of the largest gain at each open node; NONE if none is possible."""
        n, table = len(self.open), self.table[rows]
        best = np.full(n, _NO_GAIN)
        attribute, option = np.full(n, NONE), np.zeros(n, np.intp)
        for a, k in enumerate(self.sizes):
            value = _sums(node * k + self.codes[rows, a], table, n * k).reshape(n, k, -1)
            gains = self.growth.criterion.gains(value)
            share = value.sum(axis=2)
            large = share >= self.least
            if gains.shape[1] == 1:
                possible = large.sum(axis=1, keepdims=True) > 1
            else:
                possible = large & (share.sum(axis=1, keepdims=True) - share >= self.least)
            gains = np.where(possible, gains, -np.inf)
            own = (gains >= gains.max(axis=1, keepdims=True) - _NO_GAIN).argmax(axis=1)
            gain = gains[np.arange(n), own]
            better = gain > best + _NO_GAIN
            best[better], attribute[better], option[better] = gain[better], a, own[better]
        return attribute, option

    def tree(self) -> TableTree:
        """The tree with the prices of its splits."""
        cost = self.growth.criterion.impurity(self.value)
        return TableTree(
            self.attribute,
            self.parent,
            self.child,
            self.value,
            self.value.sum(axis=1) < self.least,
            self.leaf,
            prices(self.attribute, self.parent, cost),
        )


def _sums(key: Index, table: Array, n: int) -> Array:
    """Rows of a table summed by key, n x classes."""
    return np.stack([np.bincount(key, column, n) for column in table.T], axis=1)


def prices(attribute: Index, parent: Index, cost: Array) -> Array:
    """The price per leaf from which on each split is cut; infinite at leaves.

    From the leaves up. `links` has the cuts below a node, cheapest first, as (price, cost that
    each adds, leaves that it removes): cuts cheaper than that of the node itself come first.
    """
    n = len(parent)
    price, below, leaves = np.full(n, np.inf), np.zeros(n), np.zeros(n, np.intp)
    links: list[list[tuple[float, float, int]]] = [[] for _ in range(n)]
    for node in range(n - 1, -1, -1):
        if attribute[node] == NONE:
            below[node], leaves[node] = cost[node], 1
        else:
            order, kept = sorted(links[node]), 0
            added, left = float(cost[node] - below[node]), int(leaves[node] - 1)
            while kept < len(order) and order[kept][0] * left < added:
                added, left = added - order[kept][1], left - order[kept][2]
                kept += 1
            price[node] = max(added / left, 0.0)
            links[node] = [*order[:kept], (float(price[node]), added, left)]
        if node:
            above = parent[node]
            below[above] += below[node]
            leaves[above] += leaves[node]
            links[above] += links[node]
            links[node] = []
    return price
