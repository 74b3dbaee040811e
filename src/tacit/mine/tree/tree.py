"""Tree: a grown decision tree as arrays, one entry a node; node 0 is the root.

Nodes stand in depth-first order, so a subtree is a run of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tacit.arrays import Array, Codes, Index, Mask

#: In `attribute` of a leaf, `parent` of the root, and `child` where there is no category.
NONE = -1
#: Shares of classes that differ by less than this part of the larger one are the same.
_SAME = 1e-9


def first_largest(shares: Array) -> Index:
    """The class of the largest share in each row; of equal ones, rounding aside, the first."""
    largest = shares.max(axis=1, keepdims=True)
    return np.asarray((shares >= largest - _SAME * np.abs(largest)).argmax(axis=1))


@dataclass(frozen=True, eq=False)
class Tree:
    """Splits, and what is known at every node.

    attribute: which attribute splits the node. child: the node that each of its categories leads
    to, nodes x categories. value: P(node, class), with its covariance. label_source: the node whose
    shares decide the class here, the node itself or, where its own are within noise, one above.
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
        """How many conditions lead to each node."""
        depth = np.zeros(len(self), np.intp)
        for node in range(1, len(self)):
            depth[node] = depth[self.parent[node]] + 1
        return depth

    @cached_property
    def chances(self) -> Array:
        """P(class | node) as it is predicted: the shares of the label_source, none negative."""
        shares = np.maximum(self.value[self.label_source], 0)
        total = shares.sum(axis=1, keepdims=True)
        even = np.full(shares.shape, 1 / shares.shape[1])
        return np.asarray(np.divide(shares, total, out=even, where=total > 0))

    @cached_property
    def label(self) -> Index:
        """The class of each node."""
        return first_largest(self.chances)

    def find(self, records: Codes, without: int) -> Index:
        """The leaf of each record, given by codes of all attributes but one, the target."""
        column = self.attribute - (self.attribute > without)
        node = np.zeros(len(records), np.intp)
        moving = np.arange(len(records)) if self.attribute[0] != NONE else np.zeros(0, np.intp)
        while len(moving):
            at = node[moving]
            at = self.child[at, records[moving, column[at]]]
            node[moving] = at
            moving = moving[self.attribute[at] != NONE]
        return node

    def conditions(self, node: int) -> list[tuple[int, npt.NDArray[np.intp]]]:
        """What leads to a node: attributes and the categories allowed, from the root down."""
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
        """These nodes in this order, the parent of each among them."""
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
