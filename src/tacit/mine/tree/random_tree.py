"""grow_random_tree: a tree on weighted records in which every node may use some attributes only.

Each node draws `tries` attributes at random and gets the best split among them; if none of these is
possible, among the others (Breiman, "Random forests", Machine Learning 45, 2001, as scikit-learn
implements it). A branch needs `least` records. All nodes of a level are split together: one sum
over the records per attribute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Array, Codes, Index, Mask
from tacit.mine.tree.growth import SplitCriterion
from tacit.mine.tree.tree import NONE

#: Gains below this share of a record are rounding errors.
_NO_GAIN = 1e-9
#: Decimals of predicted chances.
_DECIMALS = 6
#: Records of its parent that are added to every node.
_ADDED = 1.0


@dataclass(frozen=True)
class RandomGrowth:
    """How to grow: attributes tried at a node, fewest records of a branch, largest depth."""

    criterion: SplitCriterion
    tries: int
    least: float = 1.0
    max_depth: int | None = None


@dataclass(frozen=True, eq=False)
class WeightedRecords:
    """True records: `keys` has code * classes + class of each feature, features x records."""

    keys: npt.NDArray[np.int32]
    weights: Array
    sizes: tuple[int, ...]
    n_classes: int

    @classmethod
    def of(
        cls,
        features: Codes | Index,
        classes: Codes | Index,
        weights: Array,
        sizes: tuple[int, ...],
        n_classes: int,
    ) -> Self:
        """Features are records x attributes; records without weight are left out."""
        kept = np.flatnonzero(weights > 0)
        own = classes[kept].astype(np.int32)
        keys = np.empty((len(sizes), len(kept)), np.int32)
        for a in range(len(sizes)):
            np.multiply(features[kept, a], n_classes, out=keys[a], casting="unsafe")
            keys[a] += own
        return cls(keys, weights[kept], sizes, n_classes)


@dataclass(frozen=True, eq=False)
class RandomTree:
    """A grown tree: node 0 is the root; `attribute` numbers the features, NONE at a leaf.

    child: nodes x categories. chances: P(class | node).
    """

    attribute: Index
    child: Index
    chances: Array

    @classmethod
    def rounded(cls, attribute: Index, child: Index, chances: Array) -> Self:
        """The tree with rounded chances: a saved forest stays short and predicts the same."""
        return cls(attribute, child, np.round(chances, _DECIMALS))

    def __len__(self) -> int:
        return len(self.attribute)

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return int((self.attribute == NONE).sum())

    def find(self, records: Codes | Index) -> Index:
        """The leaf of each record."""
        node = np.zeros(len(records), np.intp)
        moving = np.arange(len(records)) if self.attribute[0] != NONE else np.zeros(0, np.intp)
        while len(moving):
            at = node[moving]
            at = self.child[at, records[moving, self.attribute[at]]]
            node[moving] = at
            moving = moving[self.attribute[at] != NONE]
        return node


def grow_random_tree(
    records: WeightedRecords, growth: RandomGrowth, rng: np.random.Generator
) -> tuple[RandomTree, Array]:
    """The tree of these records, and what the splits by each feature reduce the impurity by."""
    growing = _GrowingRandomTree(records, growth, rng)
    depth = 0
    while len(growing.open) and depth != growth.max_depth:
        growing.split_level()
        depth += 1
    return growing.tree(), growing.gains


@dataclass(eq=False)
class _Best:
    """The best split of each open node so far."""

    gain: Array
    attribute: Index
    option: Index
    value: Array

    @classmethod
    def none(cls, n: int, width: int, n_classes: int) -> Self:
        """No split at any of n nodes."""
        attribute = np.full(n, NONE)
        option = np.zeros(n, np.intp)
        return cls(np.full(n, _NO_GAIN), attribute, option, np.zeros((n, width, n_classes)))


class _GrowingRandomTree:
    """The nodes so far; `rows` are the records at `open` nodes, `at` the place of their node."""

    def __init__(
        self, records: WeightedRecords, growth: RandomGrowth, rng: np.random.Generator
    ) -> None:
        self.records, self.growth, self.rng = records, growth, rng
        self.width, n_classes = max(records.sizes), records.n_classes
        classes = records.keys[0] % n_classes
        value = np.bincount(classes, records.weights, n_classes)
        self.chances = value[None] / value.sum()
        self.attribute, self.child = np.array([NONE]), np.full((1, self.width), NONE)
        self.n, self.open = 1, np.zeros(1, np.intp)
        self.gains = np.zeros(len(records.sizes))
        self.keys, self.weights = records.keys, records.weights
        self.at = np.zeros(len(self.weights), np.intp)

    def split_level(self) -> None:
        """Split the open nodes that have a possible split; their large children are open then."""
        best, criterion = self._best(), self.growth.criterion
        split = np.flatnonzero(best.attribute != NONE)
        attribute = best.attribute[split]
        np.add.at(self.gains, attribute, best.gain[split])
        sizes = np.take(self.records.sizes, attribute)
        parts = criterion.branches(sizes, best.option[split], self.width)
        n_parts = parts.max(axis=1, initial=NONE) + 1
        first = self.n + np.cumsum(n_parts) - n_parts
        new = int(n_parts.sum())
        children = np.where(parts == NONE, NONE, first[:, None] + parts)
        self.attribute[self.open[split]], self.child[self.open[split]] = attribute, children
        value = np.zeros((new, self.records.n_classes))
        owner, category = np.nonzero(parts != NONE)
        np.add.at(value, children[owner, category] - self.n, best.value[split][owner, category])
        above = self.chances[np.repeat(self.open[split], n_parts)]
        own = (value + _ADDED * above) / (value.sum(axis=1, keepdims=True) + _ADDED)
        self._move(split, attribute, children, value)
        self.attribute = np.append(self.attribute, np.full(new, NONE))
        self.child = np.concatenate([self.child, np.full((new, self.width), NONE)])
        self.chances = np.concatenate([self.chances, own])
        self.n += new

    def _move(self, split: Index, attribute: Index, children: Index, value: Array) -> None:
        """The rows of the children that may be split."""
        total = value.sum(axis=1)
        mixed = np.count_nonzero(value > 0, axis=1) > 1
        may_split = mixed & (total >= 2 * self.growth.least)
        place = np.full(len(self.open), NONE)
        place[split] = np.arange(len(split))
        mine = place[self.at]
        kept = np.flatnonzero(mine != NONE)
        mine = mine[kept]
        code = self.keys[attribute[mine], kept] // self.records.n_classes
        child = children[mine, code] - self.n
        number = np.full(len(value), NONE)
        number[may_split] = np.arange(int(may_split.sum()))
        at = number[child]
        inside = np.flatnonzero(at != NONE)
        rows = kept[inside]
        self.at, self.weights = at[inside], self.weights[rows]
        self.keys = self.keys[:, rows]
        self.open = self.n + np.flatnonzero(may_split)

    def _best(self) -> _Best:
        """The best split of each open node, among attributes drawn for it."""
        n, d = len(self.open), len(self.records.sizes)
        best = _Best.none(n, self.width, self.records.n_classes)
        tries = min(self.growth.tries, d)
        tried = np.ones((n, d), bool)
        if tries < d:
            drawn = self.rng.random((n, d))
            tried = drawn <= np.partition(drawn, tries - 1, axis=1)[:, [tries - 1]]
        self._improve(best, tried)
        stuck = best.attribute == NONE
        if tries < d and stuck.any():
            self._improve(best, stuck[:, None] & ~tried)
        return best

    def _improve(self, best: _Best, tried: Mask) -> None:
        """Take the best split of each node by the attributes to try, if it is better."""
        least, n_classes = self.growth.least, self.records.n_classes
        for a, k in enumerate(self.records.sizes):
            nodes = np.flatnonzero(tried[:, a])
            if not len(nodes):
                continue
            value = self._sums(a, k * n_classes, nodes, tried[:, a])
            value = value.reshape(len(nodes), k, n_classes)
            gains, share = self.growth.criterion.gains(value), value.sum(axis=2)
            if gains.shape[1] == 1:
                possible = np.count_nonzero(share >= least, axis=1)[:, None] > 1
            else:
                possible = (share >= least) & (share.sum(axis=1, keepdims=True) - share >= least)
            gains = np.where(possible, gains, -np.inf)
            option = (gains >= gains.max(axis=1, keepdims=True) - _NO_GAIN).argmax(axis=1)
            gain = gains[np.arange(len(nodes)), option]
            better = np.flatnonzero(gain > best.gain[nodes] + _NO_GAIN)
            own = nodes[better]
            best.gain[own], best.attribute[own] = gain[better], a
            best.option[own] = option[better]
            best.value[own] = 0
            best.value[own, :k] = value[better]

    def _sums(self, a: int, width: int, nodes: Index, tried: Mask) -> Array:
        """The weights of some nodes by category and class."""
        if len(nodes) == len(self.open):
            key = self.at * width + self.keys[a]
            return np.asarray(np.bincount(key, self.weights, len(nodes) * width), np.float64)
        place = np.full(len(self.open), NONE)
        place[nodes] = np.arange(len(nodes))
        rows = np.flatnonzero(tried[self.at])
        key = place[self.at[rows]] * width + self.keys[a, rows]
        return np.asarray(np.bincount(key, self.weights[rows], len(nodes) * width), np.float64)

    def tree(self) -> RandomTree:
        """The tree as it is."""
        return RandomTree.rounded(self.attribute, self.child, self.chances)


def mean_chances(trees: list[RandomTree], records: Codes | Index, weights: Array) -> Array:
    """P(class | record), the weighted mean over the trees."""
    total = np.zeros((len(records), trees[0].chances.shape[1]))
    for tree, weight in zip(trees, weights, strict=True):
        total += weight * tree.chances[tree.find(records)]
    return np.asarray(total / total.sum(axis=1, keepdims=True))
