"""GrowingTree: a tree while it grows, one entry a node in the order they are found."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.arrays import Array, Index, Mask
from tacit.mine.tree.criteria import summed
from tacit.mine.tree.tree import NONE, Tree, first_largest
from tacit.mine.tree.tree_reports import TreeReports

#: What is known of each node.
_COLUMNS = [
    "parent",
    "depth",
    "label_source",
    "label",
    "value",
    "moment",
    "unseen",
    "attribute",
    "child",
]
#: Shares below this, and variances below this share of the second moment, are rounding.
_NOTHING, _ROUNDING = 1e-12, 1e-9


class GrowingTree:
    """What is known of the nodes so far.

    caution: how many standard errors a node's share must be above none for it to be split.
    lead: the same for a class that is not the parent's.
    """

    def __init__(self, reports: TreeReports, caution: float, lead: float) -> None:
        self.reports, self.caution, self.lead = reports, caution, lead
        k, c = max(reports.sizes), reports.sizes[reports.target]
        self.n = 0
        self.parent = np.zeros(0, np.intp)
        self.label_source, self.label = np.zeros(0, np.intp), np.zeros(0, np.intp)
        self.value, self.moment = np.zeros((0, c)), np.zeros((0, c, c))
        self.unseen, self.depth = np.zeros(0), np.zeros(0, np.intp)
        self.attribute, self.child = np.zeros(0, np.intp), np.zeros((0, k), np.intp)

    def add(
        self, parent: Index, value: Array, moment: Array | None, unseen: Array | float = 0.0
    ) -> Index:
        """New nodes: their parents, P(node, class) and its second moments; gives their numbers.

        Without second moments there is no noise: they are those of true answers. `unseen` is what
        a report more could add to them.
        """
        if moment is None:
            moment = np.maximum(value, 0)[:, :, None] * np.eye(value.shape[1])
        new = np.arange(self.n, self.n + len(parent))
        self.n += len(parent)
        for name in _COLUMNS:
            setattr(self, name, _longer(getattr(self, name), self.n))
        self.parent[new], self.value[new], self.moment[new] = parent, value, moment
        self.unseen[new] = unseen
        self.depth[new] = np.where(parent == NONE, 0, self.depth[parent] + 1)
        self.attribute[new], self.child[new] = NONE, NONE
        own = first_largest(value)
        above = np.where(parent == NONE, own, self.label[parent])
        sure = (parent == NONE) | self._leads(new, own, above)
        self.label[new] = np.where(sure, own, above)
        self.label_source[new] = np.where(sure, new, self.label_source[parent])
        return new

    def split(self, nodes: Index, attribute: Index, child: Index) -> None:
        """Nodes are split by attributes, or not (NONE), whose categories lead to these children."""
        self.attribute[nodes], self.child[nodes] = attribute, child

    def may_split(self, nodes: Index) -> Mask:
        """Whether the nodes' shares stand out from noise and are of more than one class."""
        value = self.value[nodes]
        total = summed(value, -1)
        mixed = summed((value > _NOTHING).astype(np.float64), -1) > 1
        if self.caution == 0:
            return np.asarray(mixed)
        noise = self._noise(nodes).sum(axis=(-2, -1))
        return np.asarray(mixed & (total > self.caution * np.sqrt(np.maximum(noise, 0))))

    def tree(self) -> Tree:
        """The tree, its nodes in depth-first order."""
        n = self.n
        value, moment = self.value[:n], self.moment[:n]
        covariance = (moment - value[:, :, None] * value[:, None]) / self.reports.n_records
        found = Tree(
            self.attribute[:n],
            self.parent[:n],
            self.child[:n],
            value,
            covariance,
            self.label_source[:n],
            self.reports.n_records,
        )
        return found.take(np.argsort(_depth_first(found.parent, self.depth[:n])))

    def _leads(self, nodes: Index, own: Index, above: Index) -> Mask:
        """Whether the own class leads that of the parent by more than noise."""
        value = self.value[nodes]
        if self.lead == 0:
            return np.asarray(value.max(axis=-1) > _NOTHING)
        known = summed(value, -1) > _NOTHING
        noise, each = self._noise(nodes), np.arange(len(value))
        variance = noise[each, own, own] + noise[each, above, above] - 2 * noise[each, own, above]
        ahead = value[each, own] - value[each, above]
        return np.asarray(known & (ahead >= self.lead * np.sqrt(np.maximum(variance, 0))))

    def _noise(self, nodes: Index) -> Array:
        """Covariance of P(node, class) that the disguise adds."""
        value, moment = self.value[nodes], self.moment[nodes]
        each = np.eye(value.shape[-1])
        own = moment - value[..., None] * each
        own = np.where(np.abs(own) < _ROUNDING * moment, 0.0, own)
        return (own + self.unseen[nodes][..., None, None] * each) / self.reports.n_records


def _longer(array: npt.NDArray[np.generic], n: int) -> npt.NDArray[np.generic]:
    """The array with room for n entries, twice as long if it must grow."""
    if n <= len(array):
        return array
    room = np.zeros((max(n, 2 * len(array)), *array.shape[1:]), array.dtype)
    room[: len(array)] = array
    return room


def _depth_first(parent: Index, depth: Index) -> Index:
    """The place of each node in depth-first order; siblings stand together, after their parent."""
    order = np.argsort(depth, kind="stable")
    levels = np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)
    sizes, place = np.ones(len(parent), np.intp), np.zeros(len(parent), np.intp)
    for level in levels[:0:-1]:
        np.add.at(sizes, parent[level], sizes[level])
    for level in levels[1:]:
        above, before = parent[level], np.cumsum(sizes[level]) - sizes[level]
        eldest = np.append(True, above[1:] != above[:-1])
        place[level] = place[above] + 1 + before - before[eldest][np.cumsum(eldest) - 1]
    return place
