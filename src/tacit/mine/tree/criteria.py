"""Criteria: the gain of a split, and its branches.

    entropy   ID3, one branch per category      H(S) - sum_v |S_v|/|S| H(S_v)
    gini      CART, one category or the others  G(S) - |S_v|/|S| G(S_v) - |S_o|/|S| G(S_o)

H = - sum_c Q_c log2 Q_c and G = 1 - sum_c Q_c^2 (Du & Zhan 2003, section 4.2; Breiman et al. 1984).
Shares here are of all records, so gains are |S| times as large; their order at a node is the same.
Negative shares count as 0, those of S too: its impurity is that of its own shares, the same for all
attributes. A split that is not possible has the gain minus infinity.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np

from tacit.core.arrays import Array, Index, Mask
from tacit.mine.tree.tree import NONE


class BestMoments(NamedTuple):
    """Moments of the splits (see `ClassTables.moments`), and those of the nodes, `whole`."""

    own: Array
    cross: Array
    whole: Array


@dataclass(eq=False)
class BestSplits:
    """The best split of each node so far, padded to the largest number of categories.

    `option` is the category to split by, for criteria that need one. `moments` is None without
    noise.
    """

    gain: Array
    attribute: Index
    option: Index
    value: Array
    moments: BestMoments | None = None


#: Smaller than any share, but its logarithm is finite.
_TINY = float(np.finfo(np.float64).tiny)


class SplitCriterion(ABC):
    """A way to split nodes; its options are the splits that an attribute allows."""

    name: str

    @abstractmethod
    def impurity(self, table: Array) -> Array:
        """|S| times the impurity of class shares, along the last axis."""

    @abstractmethod
    def gains(self, table: Array) -> Array:
        """Gain of each option from P(E, v, c), nodes x options."""

    @abstractmethod
    def options(self, categories: Mask) -> Mask:
        """Whether each option is significant, given whether each category is."""

    @abstractmethod
    def branches(self, sizes: Index, option: Index, most: int) -> Index:
        """The branch of each category, nodes x `most` categories; NONE if it does not exist."""

    @abstractmethod
    def children(self, split: BestSplits) -> tuple[Array, Array | None]:
        """P(E, b, c) of the branches and their second moments, nodes x branches x classes."""


class EntropyCriterion(SplitCriterion):
    """ID3: one branch per category."""

    name = "entropy"

    def impurity(self, table: Array) -> Array:
        total = summed(table, -1)[..., None]
        share = np.maximum(table, _TINY) / np.maximum(total, _TINY)
        return np.asarray(-summed(table * np.log2(share), -1))

    def gains(self, table: Array) -> Array:
        own, whole = np.maximum(table, 0), np.maximum(summed(table, 1), 0)
        gain = self.impurity(whole) - summed(self.impurity(own), 1)
        possible = np.count_nonzero(summed(own, -1) > 0, axis=1) > 1
        return np.where(possible, gain, -np.inf)[:, None]

    def options(self, categories: Mask) -> Mask:
        return np.asarray(categories.any(axis=1, keepdims=True))

    def branches(self, sizes: Index, option: Index, most: int) -> Index:
        categories = np.arange(most)
        return np.where(categories < sizes[:, None], categories, NONE)

    def children(self, split: BestSplits) -> tuple[Array, Array | None]:
        return split.value, None if split.moments is None else split.moments.own


class GiniCriterion(SplitCriterion):
    """CART: one category against the others, as on one-hot data."""

    name = "gini"

    def impurity(self, table: Array) -> Array:
        total = summed(table, -1)
        return np.asarray(total - summed(table**2, -1) / np.where(total > 0, total, 1.0))

    def gains(self, table: Array) -> Array:
        both = summed(table, 1)[:, None]
        own, others = np.maximum(table, 0), np.maximum(both - table, 0)
        gain = self.impurity(np.maximum(both, 0)) - self.impurity(own) - self.impurity(others)
        possible = (summed(own, -1) > 0) & (summed(others, -1) > 0)
        return np.where(possible, gain, -np.inf)

    def options(self, categories: Mask) -> Mask:
        return categories

    def branches(self, sizes: Index, option: Index, most: int) -> Index:
        categories = np.arange(most)
        return np.where(categories < sizes[:, None], categories != option[:, None], NONE)

    def children(self, split: BestSplits) -> tuple[Array, Array | None]:
        each = np.arange(len(split.option)), split.option
        value = split.value[each]
        both = np.stack([value, split.value.sum(axis=1) - value], axis=1)
        if split.moments is None:
            return both, None
        own, cross = split.moments.own[each], split.moments.cross[each]
        others = split.moments.whole - cross - cross.swapaxes(1, 2) + own
        return both, np.stack([own, others], axis=1)


CRITERIA: dict[str, SplitCriterion] = {
    each.name: each for each in (EntropyCriterion(), GiniCriterion())
}


def summed(table: Array, axis: int) -> Array:
    """The sum along the second or the last axis, by planes: faster than many short sums."""
    planes = (table[:, i] if axis == 1 else table[..., i] for i in range(table.shape[axis]))
    return np.asarray(reduce(np.add, planes))
