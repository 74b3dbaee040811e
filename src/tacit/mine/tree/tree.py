"""Tree: a grown decision tree as arrays, one entry per node; node 0 is the root.

Nodes are in depth-first order, so a subtree is a slice.
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
    to, nodes x categories. value: P(node, class), with its covariance. label_source: the node whose
    shares decide the class of this one: itself, or one above if its own shares are within noise.
    """

    attribute: Index
    parent: Index
    child: Index
    value: Array
    covariance: Array
    label_source: Index
    n_records: int

    def __len__(self) -> int:
        return len(self.attribute)

    @property
    def leaves(self) -> Index:
        """The nodes that are not split."""
        return np.flatnonzero(self.attribute == NONE)

    @cached_property
    def depth(self) -> Index:
        """The number of conditions that lead to each node."""
        depth = np.zeros(len(self), np.intp)
        for node in range(1, len(self)):
            depth[node] = depth[self.parent[node]] + 1
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

    def find(self, records: Codes, target: int) -> Index:
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

    def cut(self, at: Mask) -> Tree:
        """The tree with these nodes made leaves."""
        kept = np.ones(len(self), bool)
        for node in range(1, len(self)):
            parent = self.parent[node]
            kept[node] = kept[parent] and not at[parent]
        attribute = np.where(at, NONE, self.attribute)
        child = np.where((attribute == NONE)[:, None], NONE, self.child)
        return replace(self, attribute=attribute, child=child).take(np.flatnonzero(kept))

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
