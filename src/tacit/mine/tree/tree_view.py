"""TreeView: a tree with the names of its attributes and categories, as text and for other outputs.

A branch names its categories, or the excluded ones if these are fewer; categories that conditions
above have excluded are not named. Numbers after +- are standard errors; a tree without covariance
is shown without them.

A node E has the shares x = P(E, class) with covariance V. For its class c,

    support     s = sum_k x_k         variance  1' V 1
    confidence  r = x_c / s           variance  g' V g,  g = (e_c - r 1) / s   (delta method)

A leaf with a single class would have no error, however few its records. So the variance of the
confidence is at least that of m + 2 true records, one more of the class and one more of the others
(Agresti & Coull, 1998), where 1/m = Var(s)/s^2 + 1/n; m is the number of undisguised records.
Values are clipped to [0, 1]: this moves them closer to the truth, so intervals around them cover it
no less often. If the support is not positive, the confidence is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tacit.core.arrays import Index
from tacit.core.attribute import Attribute, Label
from tacit.core.schema import Schema
from tacit.mine.tree.rule_intervals import RuleNoise
from tacit.mine.tree.tree import NONE, Tree, check_max_depth
from tacit.output.number_text import UNKNOWN, number_of
from tacit.reconstruction.estimate import free_names

#: Shares below this are rounding errors.
_NOTHING = 1e-12
#: So are differences below this share of what is subtracted.
_ROUNDING = 1e-9
#: The standard deviation of the uniform distribution: with such an error, a share is unknown.
UNINFORMATIVE = 1 / math.sqrt(12)


class NodeFigures(NamedTuple):
    """Support and confidence of the class of a node, with their standard errors."""

    support: float
    support_stderr: float
    confidence: float
    confidence_stderr: float


@dataclass(frozen=True, eq=False)
class TreeView:
    """A tree, its schema and target.

    label: the class of each node, if another tree decides it: the one that was grown, when the
    shares are estimated from other reports. max_depth: nodes at this depth are shown as leaves.
    """

    tree: Tree
    schema: Schema
    target: str
    label: Index | None = None
    max_depth: int | None = None

    def __post_init__(self) -> None:
        check_max_depth(self.max_depth)

    def is_end(self, node: int) -> bool:
        """Whether nothing is shown below a node."""
        deep = self.max_depth is not None and self.tree.depth[node] >= self.max_depth
        return bool(deep or self.tree.attribute[node] == NONE)

    def children(self, node: int) -> list[int]:
        """The children of a node that are shown, in their order."""
        children = self.tree.child[node]
        return [] if self.is_end(node) else np.unique(children[children != NONE]).tolist()

    def nodes(self) -> Iterator[int]:
        """The nodes that are shown, in depth-first order."""
        waiting = [0]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += self.children(node)[::-1]

    @cached_property
    def leaves_below(self) -> Index:
        """The number of leaves below each node; 0 for a leaf."""
        leaf = self.tree.attribute == NONE
        count = leaf.astype(np.intp)
        for node in range(len(self.tree) - 1, 0, -1):
            count[self.tree.parent[node]] += count[node]
        return np.where(leaf, 0, count)

    def attribute(self, node: int) -> str:
        """The attribute that splits a node."""
        return self.schema.attributes[int(self.tree.attribute[node])].name

    def allowed(self, node: int) -> dict[int, Index]:
        """The categories of each attribute that the conditions above a node allow."""
        found: dict[int, Index] = {}
        for a, codes in self.tree.conditions(node):
            inside = codes[codes < self.schema.sizes[a]]
            found[a] = np.intersect1d(found[a], inside) if a in found else inside
        return found

    def branch(self, node: int) -> tuple[bool, list[Label]]:
        """Categories of the branch to a node; with False, all remaining ones except these."""
        parent = int(self.tree.parent[node])
        a = int(self.tree.attribute[parent])
        left = self.allowed(parent).get(a, np.arange(self.schema.sizes[a]))
        own = np.isin(left, np.flatnonzero(self.tree.child[parent] == node))
        named = own if 2 * own.sum() <= len(left) or own.all() else ~own
        categories = self.schema.attributes[a].categories
        return named is own, [categories[code] for code in left[named]]

    def code(self, node: int) -> int:
        """The class of a node, as a code."""
        return int((self.tree.label if self.label is None else self.label)[node])

    def category(self, node: int) -> Label:
        """The class of a node."""
        return self.schema[self.target].categories[self.code(node)]

    def takes_parents_class(self, node: int) -> bool:
        """Whether a node takes the class of a node above, because its own is within noise."""
        return bool(self.tree.label_source[node] != node)

    def figures(self, node: int) -> NodeFigures:
        """Support and confidence of the class of a node."""
        value, covariance = self.tree.value[node], self.tree.covariance[node]
        support, spread = float(value.sum()), max(float(covariance.sum()), 0.0)
        if support <= _NOTHING:
            return NodeFigures(0.0, math.sqrt(spread), math.nan, math.nan)
        code = self.code(node)
        confidence = float(value[code]) / support
        slope = (np.eye(len(value))[code] - confidence) / support
        clipped = min(max(confidence, 0.0), 1.0)
        m = 1 / (spread / support**2 + 1 / self.tree.n_records)
        share = (m * clipped + 1) / (m + 2)
        variance = np.maximum(slope @ covariance @ slope, share * (1 - share) / (m + 2))
        return NodeFigures(min(support, 1.0), math.sqrt(spread), clipped, math.sqrt(variance))

    def noise(self, node: int) -> RuleNoise:
        """What the disguise adds to the second moments of a node and its class."""
        value, code = self.tree.value[node], self.code(node)
        moment = self.tree.covariance[node] * self.tree.n_records + np.outer(value, value)
        added = moment - np.diag(value)
        added = np.where(np.abs(added) < _ROUNDING * np.abs(moment), 0.0, added)
        whole, both, right = added.sum(), added[code].sum(), added[code, code]
        return RuleNoise(float(whole), float(both), float(right))

    def text(self) -> str:
        """The tree as indented lines, one per branch."""
        if self.is_end(0):
            return self.line(0)
        indents = "    " * int(self.tree.depth.max())
        lines = ((4 * int(self.tree.depth[node]) - 4, self.line(node)) for node in self.nodes())
        return "\n".join(indents[:indent] + line for indent, line in lines if indent >= 0)

    def line(self, node: int) -> str:
        """The condition of a branch, and at an end the class with its figures."""
        line = "every record"
        if node:
            has, labels = self.branch(node)
            name = self.attribute(int(self.tree.parent[node]))
            line = f"{name} {'=' if has else 'not'} {alternatives(labels)}"
        return f"{line}: {self._end_text(node)}" if self.is_end(node) else line

    def _end_text(self, node: int) -> str:
        """Class, confidence and share at an end, and what is not shown."""
        found = self.figures(node)
        parts = [
            f"{self.target} = {self.category(node)}",
            f"confidence {percent(found.confidence, found.confidence_stderr)}",
            f"share {percent(found.support, found.support_stderr)}",
        ]
        if self.takes_parents_class(node):
            parts.append("class of its parent (its own is within noise)")
        if self.leaves_below[node]:
            parts.append(f"... {number_of(int(self.leaves_below[node]), 'leaf', 'leaves')} below")
        return ", ".join(parts)

    def summary(self, notes: Sequence[str] = ()) -> str:
        """The number of records and leaves, P(class), and notes."""
        tree, categories = self.tree, self.schema[self.target].categories
        stderr = np.sqrt(np.maximum(np.diagonal(tree.covariance[0]), 0))
        shares = [
            f"{label} {percent(float(share), float(error))}"
            for label, share, error in zip(categories, tree.value[0], stderr, strict=False)
        ]
        size = "1 leaf: every record gets the same class"
        if len(tree) > 1:
            deepest = number_of(int(tree.depth.max()), "condition")
            size = f"{len(tree.leaves):,} leaves, at most {deepest} to one"
        return "\n".join(
            [
                f"Decision tree for {self.target} from {number_of(tree.n_records, 'record')}",
                size,
                f"P({self.target}): {', '.join(shares)}",
                *(f"Note: {note}" for note in notes),
            ]
        )


def percent(value: float, stderr: float, plus_minus: str = "+-") -> str:
    """A share in percent with its standard error, with up to two digits that the error justifies.

    Unknown if the error is at least that of a random share.

    >>> percent(0.1234, 0.0049), percent(0.7123, 0.031), percent(0.7123, math.nan)
    ('12.3 % +- 0.5', '71 % +- 3', '71.2 %')
    >>> percent(0, 0.99)
    'unknown'
    """
    if math.isnan(value) or stderr >= UNINFORMATIVE:
        return UNKNOWN
    if math.isnan(stderr):
        return f"{100 * value:.1f} %"
    digits = min(max(-math.floor(math.log10(100 * stderr)), 0), 2) if stderr > 0 else 0
    return f"{100 * value:.{digits}f} % {plus_minus} {100 * stderr:.{digits}f}"


def alternatives(labels: Iterable[object]) -> str:
    """Labels as alternatives.

    >>> alternatives(["a", "b"])
    'a or b'
    """
    return " or ".join(map(str, labels))


def whole_schema(features: Schema, target: str, classes: Iterable[Any], position: int) -> Schema:
    """The features with the target at its position."""
    attributes = list(features.attributes)
    attributes.insert(position, Attribute(target, classes))
    return Schema(attributes)


def plain_schema(
    sizes: Sequence[int], names: Sequence[str] | None, target: str | None, classes: Iterable[Any]
) -> tuple[Schema, str]:
    """A schema for true records that came without one, and the name of its target, the last.

    Features without names are x0, x1, ..., and their categories are the codes. If there is only
    one class, the schema has "other" as a second one, which no record has.
    """
    own = [f"x{i}" for i in range(len(sizes))] if names is None else [str(name) for name in names]
    name = free_names([target or "class"], own)[target or "class"]
    features = Schema([Attribute(n, range(max(k, 2))) for n, k in zip(own, sizes, strict=True)])
    labels = list(classes)
    both = labels if len(labels) > 1 else [*labels, "other"]
    return whole_schema(features, name, both, len(sizes)), name
