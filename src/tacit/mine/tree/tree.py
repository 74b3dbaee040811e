"""Tree: a grown decision tree as arrays, one entry per node; node 0 is the root.

Parents come before their children, and siblings are in the order of their numbers. Decision trees
are depth-first, trees of a forest are by level.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tacit.core.arrays import Array, Codes, Index, Mask
from tacit.errors import DataError

#: `attribute` of a leaf, `parent` of the root, `child` of a category that does not exist.
NONE = -1
#: Class shares are equal if they differ by less than this part of the larger one.
_SAME = 1e-9
#: Costs below this are rounding errors.
_NO_COST = 1e-12


def first_largest(shares: Array) -> Index:
    """The class with the largest share in each row; the first of those equal up to rounding."""
    largest = shares.max(axis=1, keepdims=True)
    return np.asarray((shares >= largest - _SAME * np.abs(largest)).argmax(axis=1))


def check_max_depth(max_depth: Any) -> None:
    """Raise DataError unless this is a whole number from 0 up, or None."""
    whole = isinstance(max_depth, numbers.Integral) and not isinstance(max_depth, bool)
    if max_depth is not None and (not whole or max_depth < 0):
        raise DataError(f"max_depth must be a whole number from 0 up, or None, got {max_depth!r}")


@dataclass(frozen=True, eq=False)
class Tree:
    """The splits and class shares of all nodes.

    attribute: the attribute that splits the node. child: the node that each of its categories leads
    to, nodes x categories. value: P(node, class), with its covariance; in a forest, the predicted
    P(class | node). label_source: the node whose shares decide the class of this one: itself, or
    one above if its own shares are within noise.
    """

    attribute: Index
    parent: Index
    child: Index
    value: Array
    covariance: Array
    label_source: Index
    n_records: int

    @classmethod
    def of_chances(cls, attribute: Index, child: Index, chances: Array) -> Tree:
        """A tree of a forest, with the predicted chances of its nodes."""
        n, n_classes = chances.shape
        parent, (nodes, categories) = np.full(n, NONE), np.nonzero(child != NONE)
        parent[child[nodes, categories]] = nodes
        covariance = np.zeros((n, n_classes, n_classes))
        return cls(attribute, parent, child, chances, covariance, np.arange(n), n_records=1)

    def __len__(self) -> int:
        return len(self.attribute)

    @property
    def leaves(self) -> Index:
        """The nodes that are not split."""
        return np.flatnonzero(self.attribute == NONE)

    @cached_property
    def depth(self) -> Index:
        """The number of conditions that lead to each node."""
        depth, above = np.zeros(len(self), np.intp), self.parent
        while (inside := above != NONE).any():
            depth += inside
            above = np.where(inside, self.parent[above], NONE)
        return depth

    @cached_property
    def chances(self) -> Array:
        """The predicted P(class | node): the shares of the label source, none negative."""
        shares = np.maximum(self.value[self.label_source], 0)
        total = shares.sum(axis=1, keepdims=True)
        even = np.full(shares.shape, 1 / shares.shape[1])
        return np.asarray(np.divide(shares, total, out=even, where=total > 0))

    @cached_property
    def label(self) -> Index:
        """The class of each node."""
        return first_largest(self.chances)

    def find(self, records: Codes | Index, target: int) -> Index:
        """The leaf of each record; records have codes of all attributes except the target."""
        column = self.attribute - (self.attribute > target)
        node = np.zeros(len(records), np.intp)
        moving = np.arange(len(records)) if self.attribute[0] != NONE else np.zeros(0, np.intp)
        while len(moving):
            at = node[moving]
            at = self.child[at, records[moving, column[at]]]
            node[moving] = at
            moving = moving[self.attribute[at] != NONE]
        return node

    def conditions(self, node: int) -> list[tuple[int, Index]]:
        """Attributes and allowed categories on the way to a node, from the root down."""
        path = []
        while node:
            parent = int(self.parent[node])
            path.append((int(self.attribute[parent]), np.flatnonzero(self.child[parent] == node)))
            node = parent
        return path[::-1]

    def prices(self, cost: Array) -> Array:
        """The price per leaf from which on each split is cut; infinite at leaves.

            price of a node = (cost(node) - cost(leaves below)) / (number of leaves below - 1)

        The node with the smallest price is cut first (cost-complexity: Breiman et al. 1984, chapter
        3). From the leaves up: `links` has the cuts below a node, cheapest first, as (price, cost
        that each adds, leaves that it removes); cuts cheaper than that of the node come first.
        """
        n = len(self)
        price, cost_below, leaves = np.full(n, np.inf), np.zeros(n), np.zeros(n, np.intp)
        links: list[list[tuple[float, float, int]]] = [[] for _ in range(n)]
        for node in range(n - 1, -1, -1):
            if self.attribute[node] == NONE:
                cost_below[node], leaves[node] = cost[node], 1
            else:
                order, cheaper = sorted(links[node]), 0
                added, saved = float(cost[node] - cost_below[node]), int(leaves[node] - 1)
                while cheaper < len(order) and order[cheaper][0] * saved < added:
                    added, saved = added - order[cheaper][1], saved - order[cheaper][2]
                    cheaper += 1
                price[node] = added / saved if added > _NO_COST else 0.0
                links[node] = [*order[:cheaper], (float(price[node]), added, saved)]
            if node:
                above = self.parent[node]
                cost_below[above] += cost_below[node]
                leaves[above] += leaves[node]
                links[above] += links[node]
                links[node] = []
        return price

    def cut(self, at: Mask) -> Tree:
        """The tree with these nodes made leaves."""
        remains = np.ones(len(self), bool)
        for node in range(1, len(self)):
            parent = self.parent[node]
            remains[node] = remains[parent] and not at[parent]
        attribute = np.where(at, NONE, self.attribute)
        child = np.where((attribute == NONE)[:, None], NONE, self.child)
        return replace(self, attribute=attribute, child=child).take(np.flatnonzero(remains))

    def depth_first(self) -> Tree:
        """The same tree in depth-first order, so that a subtree is a slice."""
        order = np.argsort(self.depth, kind="stable")
        levels = np.split(order, np.flatnonzero(np.diff(self.depth[order])) + 1)
        sizes, position = np.ones(len(self), np.intp), np.zeros(len(self), np.intp)
        for level in levels[:0:-1]:
            np.add.at(sizes, self.parent[level], sizes[level])
        for level in levels[1:]:
            above, before = self.parent[level], np.cumsum(sizes[level]) - sizes[level]
            first = np.append(True, above[1:] != above[:-1])
            position[level] = position[above] + 1 + before - before[first][np.cumsum(first) - 1]
        return self.take(np.argsort(position))

    def take(self, nodes: Index) -> Tree:
        """The tree of these nodes in this order, which must include their parents."""
        number = np.full(len(self) + 1, NONE)
        number[nodes] = np.arange(len(nodes))
        return Tree(
            self.attribute[nodes],
            number[self.parent[nodes]],
            number[self.child[nodes]],
            self.value[nodes],
            self.covariance[nodes],
            number[self.label_source[nodes]],
            self.n_records,
        )
