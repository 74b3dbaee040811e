"""TreeDistribution: a joint distribution in which each node depends on one other node at most.

    P(x) = prod over roots P(x_r) * prod over others P(x_v | x_parent(v))

Probabilities of events follow by message passing (Pearl, Probabilistic Reasoning in Intelligent
Systems, 1988, chapter 4): one pass from the leaves to the roots gives P(E), a second one back gives
P(E | x_v) of every node and P(E | x_parent, x_v) of every edge. Many events go through together;
the joint table is never made.

`rooted_forest` finds the tree of largest total score (Chow & Liu, "Approximating discrete
probability distributions with dependence trees", IEEE Transactions on Information Theory 14, 1968).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.core.channel.numbers import quotient

#: The parent of a root.
ROOT = -1


@dataclass(frozen=True, eq=False)
class TreeDistribution:
    """`parents[v]` is the parent of node v, or ROOT.

    `tables[v]` is P(x_v) of a root, and else P(x_v | x_parent), parent x node.
    """

    parents: tuple[int, ...]
    tables: tuple[Array, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Categories of each node."""
        return tuple(table.shape[-1] for table in self.tables)

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Parent and child of every edge, in the order of the children."""
        return [(p, v) for v, p in enumerate(self.parents) if p != ROOT]

    @cached_property
    def children(self) -> list[list[int]]:
        """The children of each node."""
        children: list[list[int]] = [[] for _ in self.parents]
        for parent, child in self.edges:
            children[parent].append(child)
        return children

    @cached_property
    def order(self) -> list[int]:
        """Nodes, parents before their children."""
        order = self._roots
        for node in order:  # the list grows while it is read
            order.extend(self.children[node])
        return order

    @cached_property
    def margins(self) -> list[Array]:
        """P(x_v) of every node."""
        margins: list[Array] = list(self.tables)
        for v in self.order:
            if self.parents[v] != ROOT:
                margins[v] = margins[self.parents[v]] @ self.tables[v]
        return margins

    def pair(self, child: int) -> Array:
        """P(x_parent, x_child), parent x child."""
        return np.asarray(self.margins[self.parents[child]][:, None] * self.tables[child])

    @cached_property
    def _back(self) -> dict[int, Array]:
        """P(x_parent | x_child), child x parent; 0 where the child's category never occurs."""
        back = {}
        for _, v in self.edges:
            margin = self.margins[v][:, None]
            back[v] = quotient(self.pair(v).T, margin)
        return back

    def joint(self) -> Array:
        """All cells, one axis per node; for few nodes."""
        sizes = self.sizes
        table: Array = np.ones((1,) * len(sizes))
        for v in self.order:
            axes = {v} if self.parents[v] == ROOT else {v, self.parents[v]}
            ahead = self.tables[v] if self.parents[v] < v else self.tables[v].T
            table = table * ahead.reshape([k if u in axes else 1 for u, k in enumerate(sizes)])
        return np.asarray(np.broadcast_to(table, sizes))

    def probability(self, allowed: Sequence[Array]) -> Array:
        """P(E) of events; `allowed[v]` is events x categories, 1 where the event allows one."""
        below = self._below(allowed)
        return np.asarray(np.prod([below[r] @ self.tables[r] for r in self._roots], axis=0))

    def given(self, allowed: Sequence[Array]) -> tuple[list[Array], dict[int, Array]]:
        """P(E | x) of events by node and by edge.

        For each node, events x categories; for each node v with a parent, events x categories of
        the parent x categories of v.
        """
        below = self._below(allowed)
        chances = [below[r] @ self.tables[r] for r in self._roots]
        outside: dict[int, Array] = {}
        nodes, edges = list(below), {}
        for r, others in zip(self._roots, _products_of_others(chances), strict=True):
            outside[r] = np.broadcast_to(others[:, None], below[r].shape)
        for v in self.order:
            sent = [below[c] @ self.tables[c].T for c in self.children[v]]
            for c, others in zip(self.children[v], _products_of_others(sent), strict=True):
                above = outside[v] * allowed[v] * others
                edges[c] = above[:, :, None] * below[c][:, None]
                outside[c] = above @ self._back[c].T
            nodes[v] = outside[v] * below[v]
        return nodes, edges

    def _below(self, allowed: Sequence[Array]) -> list[Array]:
        """P(conditions on a node and below it | x_v), events x categories."""
        messages = [np.asarray(mask, np.float64) for mask in allowed]
        for v in reversed(self.order):
            for c in self.children[v]:
                messages[v] = messages[v] * (messages[c] @ self.tables[c].T)
        return messages

    @property
    def _roots(self) -> list[int]:
        return [v for v, parent in enumerate(self.parents) if parent == ROOT]

    def around(self, nodes: Iterable[int]) -> TreePart:
        """The smallest part of the forest that connects some nodes."""
        named, needed, parents = set(nodes), set(range(len(self.parents))), list(self.parents)
        for v in reversed(self.order):
            if v not in named and not any(c in needed for c in self.children[v]):
                needed.discard(v)
        for v in self.order:
            children = [c for c in self.children[v] if c in needed]
            if v in needed and parents[v] == ROOT and v not in named and len(children) == 1:
                needed.discard(v)
                parents[children[0]] = ROOT
        places = sorted(needed)
        tables = [self.margins[v] if parents[v] == ROOT else self.tables[v] for v in places]
        new_parents = [ROOT if parents[v] == ROOT else places.index(parents[v]) for v in places]
        return TreePart(tuple(new_parents), tuple(tables), tuple(places))

    def draws(self, n: int, rng: np.random.Generator) -> Index:
        """Records drawn from the distribution, n x nodes."""
        records = np.empty((n, len(self.parents)), np.intp, order="F")
        for v in self.order:
            size = self.sizes[v]
            ends = np.atleast_2d(self.tables[v]).cumsum(axis=1)
            ends = ends / np.maximum(ends[:, -1:], np.finfo(float).tiny)
            row = records[:, self.parents[v]] if self.parents[v] != ROOT else np.zeros(n, np.intp)
            # The rows of conditional distributions one after the other, each one unit long.
            line = (ends + np.arange(len(ends))[:, None]).ravel()
            cell = np.searchsorted(line, row + rng.random(n), side="right")
            records[:, v] = np.clip(cell - row * size, 0, size - 1)
        return records


@dataclass(frozen=True, eq=False)
class TreePart(TreeDistribution):
    """Some nodes of a forest; `nodes` are their numbers there."""

    nodes: tuple[int, ...]


def _products_of_others(factors: Sequence[Array]) -> list[Array]:
    """For each factor, the product of all others."""
    ahead = accumulate(factors[:-1], np.multiply, initial=np.ones(1))
    behind = accumulate(factors[:0:-1], np.multiply, initial=np.ones(1))
    pairs = zip(ahead, reversed(list(behind)), strict=True)
    return [before * after for before, after in pairs][: len(factors)]


def rooted_forest(scores: Array) -> tuple[int, ...]:
    """The parent of each node in the forest of largest total score, or ROOT.

    `scores[a, b]` with a < b is the score of an edge; 0 is no edge. In every tree the first
    node is the root.
    """
    from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree  # slow to load

    forest = minimum_spanning_tree(-scores)
    parents = np.full(len(scores), ROOT)
    placed: set[int] = set()
    for root in range(len(scores)):
        if root not in placed:
            order, before = breadth_first_order(forest, root, directed=False)
            placed |= set(order.tolist())
            parents[order[1:]] = before[order[1:]]
    return tuple(parents.tolist())
