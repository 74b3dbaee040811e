"""text: a tree in words, one line a branch, with the share and confidence of every leaf.

A branch names its categories, or those it leaves out where these are fewer; categories that
conditions above have excluded are not named. What +- stands before is one standard error; trees
that know no covariance are shown without.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit.arrays import Index
from tacit.attribute import Attribute, Label
from tacit.errors import DataError
from tacit.mine.tree.tree import NONE, Tree
from tacit.mine.tree.tree_rules import allowed, figures, joined, percent
from tacit.number_text import number_of
from tacit.reconstruction.estimate import free_names
from tacit.schema import Schema

#: Spaces a condition is indented by.
_STEP = "    "


@dataclass(frozen=True, eq=False)
class TreeView:
    """A tree with the names of what is in it, for every way to show it.

    label: the class of each node, where another tree than this one decides it (see `rules`).
    max_depth: nodes this many conditions down are shown as ends, whatever is below.
    """

    tree: Tree
    schema: Schema
    target: str
    label: Index
    max_depth: int | None = None

    @classmethod
    def of(
        cls,
        tree: Tree,
        schema: Schema,
        target: str,
        label: Index | None = None,
        max_depth: int | None = None,
    ) -> TreeView:
        """The view, its depth checked."""
        whole = isinstance(max_depth, numbers.Integral) and not isinstance(max_depth, bool)
        if max_depth is not None and (not whole or max_depth < 0):
            raise DataError(
                f"max_depth must be a whole number from 0 up, or None, got {max_depth!r}"
            )
        return cls(tree, schema, target, tree.label if label is None else label, max_depth)

    def ends(self, node: int) -> bool:
        """Whether nothing is shown below a node."""
        deep = self.max_depth is not None and self.tree.depth[node] >= self.max_depth
        return bool(deep or self.tree.attribute[node] == NONE)

    def children(self, node: int) -> list[int]:
        """The nodes right below, in their order; none of an end."""
        children = self.tree.child[node]
        return [] if self.ends(node) else np.unique(children[children != NONE]).tolist()

    @cached_property
    def leaves_below(self) -> Index:
        """How many leaves are below each node; none of a leaf."""
        count = (self.tree.attribute == NONE).astype(np.intp)
        for node in range(len(self.tree) - 1, 0, -1):
            count[self.tree.parent[node]] += count[node]
        return np.where(self.tree.attribute == NONE, 0, count)

    def attribute(self, node: int) -> str:
        """The attribute that splits a node."""
        return self.schema.attributes[int(self.tree.attribute[node])].name

    def branch(self, node: int) -> tuple[bool, list[Label]]:
        """Whether the branch to a node has these categories, or all others that are left."""
        parent = int(self.tree.parent[node])
        place = int(self.tree.attribute[parent])
        size = self.schema.sizes[place]
        left = allowed(self.tree, self.schema, parent).get(place, np.arange(size))
        own = np.isin(left, np.flatnonzero(self.tree.child[parent] == node))
        named = own if 2 * own.sum() <= len(left) or own.all() else ~own
        categories = self.schema.attributes[place].categories
        return named is own, [categories[code] for code in left[named]]

    def category(self, node: int) -> Label:
        """The class of a node."""
        return self.schema[self.target].categories[int(self.label[node])]

    def takes_parents_class(self, node: int) -> bool:
        """Whether a node takes the class of one above, its own shares being within noise."""
        return bool(self.tree.label_source[node] != node)

    def figures(self, node: int) -> tuple[float, float, float, float]:
        """Share and confidence of a node, each followed by its standard error."""
        return figures(self.tree, node, int(self.label[node]))


def text(
    tree: Tree,
    schema: Schema,
    target: str,
    label: Index | None = None,
    max_depth: int | None = None,
) -> str:
    """The tree as indented lines, cut below `max_depth` conditions.

    `label` is the class of each node, where another tree than this one decides it (see `rules`).
    """
    view = TreeView.of(tree, schema, target, label, max_depth)
    if view.ends(0):
        return f"every record: {_told(view, 0)}"
    return "\n".join(_lines(view))


def _lines(view: TreeView) -> Iterator[str]:
    """One line a node but the root, in depth-first order."""
    waiting = view.children(0)[::-1]
    while waiting:
        node = waiting.pop()
        parent = int(view.tree.parent[node])
        has, labels = view.branch(node)
        line = f"{view.attribute(parent)} {'=' if has else 'not'} {joined(labels)}"
        indent = _STEP * int(view.tree.depth[parent])
        yield indent + (f"{line}: {_told(view, node)}" if view.ends(node) else line)
        waiting += view.children(node)[::-1]


def _told(view: TreeView, node: int) -> str:
    """What is known at an end: class, confidence, share, and what is not shown."""
    support, support_stderr, confidence, confidence_stderr = view.figures(node)
    told = [
        f"{view.target} = {view.category(node)}",
        f"confidence {percent(confidence, confidence_stderr)}",
        f"share {percent(support, support_stderr)}",
    ]
    if view.takes_parents_class(node):
        told.append("class of its parent, its own within noise")
    if view.leaves_below[node]:
        told.append(f"... {number_of(int(view.leaves_below[node]), 'leaf', 'leaves')} below")
    return ", ".join(told)


def summary(tree: Tree, schema: Schema, target: str, notes: Sequence[str] = ()) -> str:
    """What a person should know first: size, number of records, P(class), and notes."""
    stderr = np.sqrt(np.maximum(np.diagonal(tree.covariance[0]), 0))
    shares = [
        f"{label} {percent(float(share), float(error))}"
        for label, share, error in zip(
            schema[target].categories, tree.value[0], stderr, strict=False
        )
    ]
    return "\n".join(
        [
            f"Decision tree for {target} from {number_of(tree.n_records, 'record')}",
            "1 leaf: every record gets the same class"
            if len(tree) == 1
            else f"{len(tree.leaves):,} leaves, at most "
            f"{number_of(int(tree.depth.max()), 'condition')} to one",
            f"P({target}): {', '.join(shares)}",
            *(f"Note: {note}" for note in notes),
        ]
    )


def whole_schema(features: Schema, target: str, classes: Iterable[Any], place: int) -> Schema:
    """The schema that a tree's places count in: the features with the target among them."""
    attributes = list(features.attributes)
    attributes.insert(place, Attribute(target, classes))
    return Schema(attributes)


def plain_schema(
    sizes: Sequence[int], names: Sequence[str] | None, target: str | None, classes: Iterable[Any]
) -> tuple[Schema, str]:
    """A schema for true records that came without one, and the name of its target, the last.

    Features are x0, x1, ... where they have no names, their categories the codes; one class alone
    is shown against "other", which no record has.
    """
    own = [f"x{i}" for i in range(len(sizes))] if names is None else [str(name) for name in names]
    name = free_names([target or "class"], own)[target or "class"]
    features = Schema([Attribute(n, range(max(k, 2))) for n, k in zip(own, sizes, strict=True)])
    labels = list(classes)
    both = labels if len(labels) > 1 else [*labels, "other"]
    return whole_schema(features, name, both, len(sizes)), name
