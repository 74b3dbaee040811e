"""Trees as plain values: one object a node, with labels instead of codes; and back.

    {"node": 0, "class": "no", "takes_parents_class": false, "attribute": "size",
     "branches": [{"categories": ["small"], "node": 1}, {"categories": ["mid", "tall"], "node": 4}],
     "shares": [0.6, 0.4], "covariance": [[1e-4, -1e-4], [-1e-4, 1e-4]]}

`shares` are P(node, class) in the order of the target's categories, with their covariance. A leaf
has neither attribute nor branches. Nodes are numbered depth-first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.arrays import Array, Index
from tacit.errors import FileError, TacitError, unknown
from tacit.mine.tree.tree import NONE, Tree
from tacit.schema import Attribute, Schema

_ALWAYS = ("node", "class", "takes_parents_class", "shares", "covariance")
_SPLIT = ("attribute", "branches")
_BRANCH = ("categories", "node")


def nodes_of(tree: Tree, schema: Schema, target: str) -> Iterator[dict[str, Any]]:
    """The nodes of a tree as plain values, in their order."""
    classes = schema[target].categories
    for node in range(len(tree)):
        plain = {
            "node": node,
            "class": classes[tree.label[node]],
            "takes_parents_class": bool(tree.label_source[node] != node),
        }
        if tree.attribute[node] != NONE:
            attribute = schema.attributes[tree.attribute[node]]
            plain |= {
                "attribute": attribute.name,
                "branches": list(_branches_of(tree.child[node], attribute)),
            }
        plain |= {
            "shares": tree.value[node].tolist(),
            "covariance": tree.covariance[node].tolist(),
        }
        yield plain


def _branches_of(child: Index, attribute: Attribute) -> Iterator[dict[str, Any]]:
    own = child[: attribute.size]
    for node in np.unique(own):
        labels = [attribute.categories[code] for code in np.flatnonzero(own == node)]
        yield {"categories": labels, "node": int(node)}


def tree_of(nodes: object, schema: Schema, target: str, n_records: int) -> Tree:
    """The tree that plain nodes describe; an error names the node that is wrong."""
    if not isinstance(nodes, list) or not nodes:
        raise FileError("nodes must be a list of at least one node")
    read = [
        _node(plain, number, len(nodes), schema[target], schema)
        for number, plain in enumerate(nodes)
    ]
    _check_order(read)
    tree = _joined(read, max(schema.sizes), n_records)
    _check_classes(tree, nodes, schema[target])
    return tree


@dataclass(frozen=True, eq=False)
class _ParsedNode:
    attribute: int
    child: Index
    takes_parents_class: bool
    shares: Array
    covariance: Array

    @property
    def children(self) -> list[int]:
        return [int(node) for node in np.unique(self.child)]


def _node(plain: object, number: int, n: int, target: Attribute, schema: Schema) -> _ParsedNode:
    c = target.size
    try:
        fields = _fields(plain, _ALWAYS, _SPLIT)
        if type(fields["node"]) is not int or fields["node"] != number:
            raise FileError(f"nodes are numbered in order from 0, got {fields['node']!r}")
        follows = fields["takes_parents_class"]
        if not isinstance(follows, bool) or (follows and not number):
            raise FileError(
                f"takes_parents_class must be true or false, at node 0 false, got {follows!r}"
            )
        attribute, child = _split(fields, schema, target.name, range(number + 1, n))
        return _ParsedNode(
            attribute,
            child,
            follows,
            _numbers(fields["shares"], (c,), "shares"),
            _numbers(fields["covariance"], (c, c), "covariance"),
        )
    except TacitError as error:
        raise FileError(f"node {number}: {error}") from None


def _split(
    fields: Mapping[str, Any], schema: Schema, target: str, below: range
) -> tuple[int, Index]:
    """The attribute of a node and where its categories lead; NONE and nowhere at a leaf."""
    given = [key for key in _SPLIT if key in fields]
    if not given:
        return NONE, np.zeros(0, np.intp)
    if len(given) == 1:
        raise FileError("attribute and branches come together, or not at all at a leaf")
    attribute = schema[_text(fields["attribute"], "attribute")]
    if attribute.name == target:
        raise FileError(f"it is split by the target {target!r}")
    return schema.index(attribute.name), _child(fields["branches"], attribute, below)


def _child(branches: object, attribute: Attribute, below: range) -> Index:
    """The node that each category leads to, one of those that may stand below."""
    child = np.full(attribute.size, NONE)
    if not isinstance(branches, list) or len(branches) < 2:
        raise FileError("branches must be a list of two or more")
    for branch in branches:
        fields = _fields(branch, _BRANCH)
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


def _check_order(nodes: list[_ParsedNode]) -> None:
    """A walk from the root, depth-first, meets the nodes in their order, each of them once."""
    waiting, expected = [0], 0
    while waiting:
        node = waiting.pop()
        if node != expected:
            raise FileError(
                f"branches must lead to every node once, depth-first: they lead to node {node} "
                f"where node {expected} is due"
            )
        waiting.extend(reversed(nodes[node].children))
        expected += 1
    if expected < len(nodes):
        raise FileError(f"no branch leads to node {expected}")


def _joined(nodes: list[_ParsedNode], width: int, n_records: int) -> Tree:
    child = np.full((len(nodes), width), NONE)
    parent, label_source = np.full(len(nodes), NONE), np.arange(len(nodes))
    for number, node in enumerate(nodes):
        child[number, : len(node.child)] = node.child
        parent[node.children] = number
        if node.takes_parents_class:
            label_source[number] = label_source[parent[number]]
    return Tree(
        np.array([node.attribute for node in nodes]),
        parent,
        child,
        np.stack([node.shares for node in nodes]),
        np.stack([node.covariance for node in nodes]),
        label_source,
        n_records,
    )


def _check_classes(tree: Tree, nodes: Iterable[Mapping[str, Any]], target: Attribute) -> None:
    """The class that a node says is the one that its shares say."""
    for number, (plain, label) in enumerate(zip(nodes, tree.label.tolist(), strict=True)):
        if target.find(plain["class"]) != label:
            raise FileError(
                f"node {number}: its class is {plain['class']!r}, its shares say "
                f"{target.categories[label]!r}"
            )


def _numbers(values: object, shape: tuple[int, ...], what: str) -> Array:
    """Lists of finite numbers as an array of this shape."""
    try:
        found = np.array(values)
    except ValueError:  # lists of unequal length
        found = np.empty(0, object)
    if found.shape != shape or found.dtype.kind not in "if" or not np.isfinite(found).all():
        size = " x ".join(map(str, shape))
        raise FileError(f"{what} must be {size} finite numbers")
    return found.astype(np.float64)


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise FileError(f"{what} must be a text, got {value!r}")
    return value


def _fields(
    plain: object, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, Any]:
    if not isinstance(plain, dict):
        raise FileError(f"it must be an object, got {type(plain).__name__}")
    for key in plain:
        if key not in required + optional:
            raise FileError(unknown("key", key, required + optional))
    for key in required:
        if key not in plain:
            raise FileError(f"the key {key!r} is missing")
    return plain
