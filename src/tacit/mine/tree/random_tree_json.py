"""Random trees as plain values, a list of nodes each; and back.

    [{"attribute": "size", "children": [1, 2, 2]}, [0.9, 0.1], [0.25, 0.75]]

A split names its attribute and the node that each category leads to; a leaf is the list of its
class chances.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.core.schema import Schema
from tacit.errors import FileError, TacitError
from tacit.mine.tree.random_tree import RandomTree
from tacit.mine.tree.tree import NONE
from tacit.mine.tree.tree_json import finite_numbers

#: Chances have six decimals, so their sum is 1 up to this.
_ROUNDING = 1e-4


def plain_tree(tree: RandomTree, features: Schema) -> list[Any]:
    """The nodes of a tree as plain values."""
    chances, found = tree.chances.tolist(), []
    for node, a in enumerate(tree.attribute.tolist()):
        if a == NONE:
            found.append(chances[node])
        else:
            attribute = features.attributes[a]
            children = tree.child[node, : attribute.size].tolist()
            found.append({"attribute": attribute.name, "children": children})
    return found


def tree_from_plain(nodes: object, features: Schema, n_classes: int) -> RandomTree:
    """The tree that plain nodes describe; an error names the node that is wrong."""
    if not isinstance(nodes, list) or not nodes:
        raise FileError("a tree must be a list of at least one node")
    n = len(nodes)
    attribute, child = np.full(n, NONE), np.full((n, max(features.sizes)), NONE)
    chances = np.zeros((n, n_classes))
    for node, plain in enumerate(nodes):
        try:
            if isinstance(plain, dict):
                attribute[node] = a = _split_by(plain, features)
                size = features.sizes[a]
                child[node, :size] = _children(plain["children"], size, range(node + 1, n))
            else:
                chances[node] = _chances(plain, n_classes)
        except TacitError as error:
            raise FileError(f"node {node}: {error}") from None
    return RandomTree(attribute, child, chances)


def _split_by(plain: dict[str, Any], features: Schema) -> int:
    if set(plain) != {"attribute", "children"}:
        raise FileError(
            f"a split has 'attribute' and 'children', got {', '.join(map(repr, plain))}"
        )
    if not isinstance(plain["attribute"], str):
        raise FileError(f"attribute must be a text, got {plain['attribute']!r}")
    return features.index(plain["attribute"])


def _children(given: object, size: int, below: range) -> list[int]:
    if not isinstance(given, list) or len(given) != size:
        raise FileError(f"children must be a list of {size} nodes, one per category")
    for node in given:
        if type(node) is not int or node not in below:
            raise FileError(f"a category leads to node {node!r}; allowed: the nodes after its own")
    return given


def _chances(plain: object, n_classes: int) -> Any:
    chances = finite_numbers(plain, (n_classes,), "the chances of a leaf")
    if (chances < 0).any() or abs(chances.sum() - 1) > _ROUNDING:
        raise FileError("the chances of a leaf are negative or do not sum to 1")
    return chances
