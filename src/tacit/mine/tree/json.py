"""Trees as plain values: one object per node, with labels instead of codes; and back.

    {"node": 0, "class": "no", "takes_parents_class": false, "attribute": "size",
     "branches": [{"categories": ["small"], "node": 1}, {"categories": ["mid", "tall"], "node": 4}],
     "shares": [0.6, 0.4], "covariance": [[1e-4, -1e-4], [-1e-4, 1e-4]]}

`shares` are P(node, class) in the order of the target's categories, with their covariance. A leaf
has neither attribute nor branches. Nodes are numbered depth-first.

A tree of a forest is shorter: a split names the node that each category leads to, and a leaf is the
list of its class chances.

    [{"attribute": "size", "children": [1, 2, 2]}, [0.9, 0.1], [0.25, 0.75]]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.core.schema import Attribute, Schema
from tacit.errors import FileError, TacitError, unknown
from tacit.mine.tree.cells import NONE
from tacit.mine.tree.growth import Tree

_REQUIRED = ("node", "class", "takes_parents_class", "shares", "covariance")
_SPLIT = ("attribute", "branches")


def nodes_of(tree: Tree, schema: Schema, target: str) -> Iterator[dict[str, Any]]:
    """The nodes of a tree as plain values, in their order."""
    classes = schema[target].categories
    for node in range(len(tree)):
        split = {}
        if tree.attribute[node] != NONE:
            attribute = schema.attributes[tree.attribute[node]]
            child = tree.child[node, : attribute.size]
            branches = [
                {
                    "categories": [attribute.categories[k] for k in np.flatnonzero(child == below)],
                    "node": int(below),
                }
                for below in np.unique(child)
            ]
            split = {"attribute": attribute.name, "branches": branches}
        yield {
            "node": node,
            "class": classes[tree.label[node]],
            "takes_parents_class": bool(tree.label_source[node] != node),
            **split,
            "shares": tree.value[node].tolist(),
            "covariance": tree.covariance[node].tolist(),
        }


def tree_of(nodes: object, schema: Schema, target: str, n_records: int) -> Tree:
    """The tree that plain nodes describe; an error names the node that is wrong."""
    if not isinstance(nodes, list) or not nodes:
        raise FileError("nodes must be a list of at least one node")
    n, n_classes = len(nodes), schema[target].size
    attribute, child = np.full(n, NONE), np.full((n, max(schema.sizes)), NONE)
    value, covariance = np.zeros((n, n_classes)), np.zeros((n, n_classes, n_classes))
    for number, plain in enumerate(nodes):
        try:
            fields = _node_fields(plain, number)
            if "attribute" in fields:
                attribute[number] = a = _attribute(fields["attribute"], schema)
                if schema.names[a] == target:
                    raise FileError(f"it is split by the target {target!r}")
                branches = _branches(fields["branches"], schema.attributes[a], range(number + 1, n))
                child[number, : len(branches)] = branches
            value[number] = finite_numbers(fields["shares"], (n_classes,), "shares")
            shape = (n_classes, n_classes)
            covariance[number] = finite_numbers(fields["covariance"], shape, "covariance")
        except TacitError as error:
            raise FileError(f"node {number}: {error}") from None
    children = [np.unique(row[row != NONE]) for row in child]
    _check_order(children)
    parent, label_source = np.full(n, NONE), np.arange(n)
    for number, plain in enumerate(nodes):
        parent[children[number]] = number
        if plain["takes_parents_class"]:
            label_source[number] = label_source[parent[number]]
    tree = Tree(attribute, parent, child, value, covariance, label_source, n_records)
    for number, (plain, label) in enumerate(zip(nodes, tree.label.tolist(), strict=True)):
        if schema[target].find(plain["class"]) != label:
            raise FileError(
                f"node {number}: its class is {plain['class']!r}, but its shares give "
                f"{schema[target].categories[label]!r}"
            )
    return tree


def _node_fields(plain: object, number: int) -> Mapping[str, Any]:
    fields = _fields(plain, _REQUIRED, _SPLIT)
    if type(fields["node"]) is not int or fields["node"] != number:
        raise FileError(f"nodes are numbered in order from 0, got {fields['node']!r}")
    inherits = fields["takes_parents_class"]
    if not isinstance(inherits, bool) or (inherits and not number):
        raise FileError(
            f"takes_parents_class must be true or false, at node 0 false, got {inherits!r}"
        )
    if ("attribute" in fields) != ("branches" in fields):
        raise FileError("attribute and branches come together; a leaf has neither")
    return fields


def _attribute(name: object, schema: Schema) -> int:
    if not isinstance(name, str):
        raise FileError(f"attribute must be a text, got {name!r}")
    return schema.index(name)


def _branches(branches: object, attribute: Attribute, below: range) -> Index:
    """The node that each category leads to, one of those in `below`."""
    child = np.full(attribute.size, NONE)
    if not isinstance(branches, list) or len(branches) < 2:
        raise FileError("branches must be a list of two or more")
    for branch in branches:
        fields = _fields(branch, ("categories", "node"))
        node, labels = fields["node"], fields["categories"]
        if type(node) is not int or not isinstance(labels, list) or not labels:
            raise FileError("a branch has a list of categories and the number of a node")
        if node not in below:
            raise FileError(f"a branch leads to node {node}; allowed: the nodes after its own")
        for label in labels:
            code = attribute.code(label)
            if child[code] != NONE:
                raise FileError(f"category {label!r} of {attribute.name!r} is in two branches")
            child[code] = node
    if (child == NONE).any():
        left = attribute.categories[int(np.flatnonzero(child == NONE)[0])]
        raise FileError(f"category {left!r} of {attribute.name!r} is in no branch")
    return child


def _check_order(children: list[Index]) -> None:
    """Check that a depth-first walk from the root visits all nodes, once each, in their order."""
    waiting, expected = [0], 0
    while waiting:
        node = waiting.pop()
        if node != expected:
            raise FileError(
                f"branches must lead to every node once, depth-first: they lead to node {node} "
                f"instead of node {expected}"
            )
        waiting.extend(children[node][::-1].tolist())
        expected += 1
    if expected < len(children):
        raise FileError(f"no branch leads to node {expected}")


def finite_numbers(values: object, shape: tuple[int, ...], what: str) -> Array:
    """Lists of finite numbers as an array of this shape."""
    try:
        array = np.array(values)
    except ValueError:  # lists of unequal length
        array = np.empty(0, object)
    if array.shape != shape or array.dtype.kind not in "if" or not np.isfinite(array).all():
        raise FileError(f"{what} must be {' x '.join(map(str, shape))} finite numbers")
    return array.astype(np.float64)


def _fields(
    plain: object, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> Mapping[str, Any]:
    """The object, if it has the required keys and no unknown ones."""
    if not isinstance(plain, dict):
        raise FileError(f"it must be an object, got {type(plain).__name__}")
    for key in plain:
        if key not in required + optional:
            raise FileError(unknown("key", key, required + optional))
    for key in required:
        if key not in plain:
            raise FileError(f"the key {key!r} is missing")
    return plain


#: Chances have six decimals, so their sum is 1 up to this.
_ROUNDING = 1e-4


def forest_nodes(tree: Tree, features: Schema) -> list[Any]:
    """The nodes of a tree of a forest as plain values."""
    chances, nodes = tree.value.tolist(), []
    for node, a in enumerate(tree.attribute.tolist()):
        if a == NONE:
            nodes.append(chances[node])
        else:
            attribute = features.attributes[a]
            children = tree.child[node, : attribute.size].tolist()
            nodes.append({"attribute": attribute.name, "children": children})
    return nodes


def forest_tree(nodes: object, features: Schema, n_classes: int) -> Tree:
    """The tree that plain nodes describe; an error names the node that is wrong."""
    if not isinstance(nodes, list) or not nodes:
        raise FileError("a tree must be a list of at least one node")
    n = len(nodes)
    attribute, child = np.full(n, NONE), np.full((n, max(features.sizes)), NONE)
    chances = np.zeros((n, n_classes))
    for node, plain in enumerate(nodes):
        try:
            if isinstance(plain, dict):
                if set(plain) != {"attribute", "children"}:
                    keys = ", ".join(map(repr, plain))
                    raise FileError(f"a split has 'attribute' and 'children', got {keys}")
                attribute[node] = a = _attribute(plain["attribute"], features)
                size = features.sizes[a]
                child[node, :size] = _children(plain["children"], size, range(node + 1, n))
            else:
                leaf = finite_numbers(plain, (n_classes,), "the chances of a leaf")
                if (leaf < 0).any() or abs(leaf.sum() - 1) > _ROUNDING:
                    raise FileError("the chances of a leaf are negative or do not sum to 1")
                chances[node] = leaf
        except TacitError as error:
            raise FileError(f"node {node}: {error}") from None
    return Tree.of_chances(attribute, child, chances)


def _children(given: object, size: int, below: range) -> list[int]:
    if not isinstance(given, list) or len(given) != size:
        raise FileError(f"children must be a list of {size} nodes, one per category")
    for node in given:
        if type(node) is not int or node not in below:
            raise FileError(f"a category leads to node {node!r}; allowed: the nodes after its own")
    return given
