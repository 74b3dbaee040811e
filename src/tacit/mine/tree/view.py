"""TreeView, TreeRules: a tree with names, as text and as rules with intervals.

For a rule "if E then c", s = P(E) and x = P(E, c) are estimated from n reports. A support or
confidence p0 is inside the interval if

    support      (s - p0)^2    <=  z^2 (p0 (1 - p0) + D_EE) / n
    confidence   (x - p0 s)^2  <=  z^2 (s p0 (1 - p0) + D_cc - 2 p0 D_cE + p0^2 D_EE) / n

where D is what the disguise adds to the covariance of x and s in one report. The variance is that
under the hypothesis (Wilson, 1927), and the confidence is tested as a ratio (Fieller, 1954). So a
leaf with one class or few records has no interval of width 0, and a confidence whose support is
within noise may be anything. Estimates are first moved between their limits, closer to the truth.

If the records that chose the tree also give the estimates, their noise made the rule attractive.
z then makes the intervals of *all* rules that any tree could have hold together (Bonferroni): a
rule is a set of allowed categories for each attribute. Its size d counts the conditions: 1 for an
attribute with one category allowed, else the number of its excluded categories. With N_d rules of
size d and m intervals for each, an interval misses the truth with probability at most

    (1 - level) / ((d + 1) (d + 2) m N_d),

and the sum over all rules of all sizes is 1 - level. Nothing is assumed about how the tree was
grown or pruned.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri_exp

from tacit.core.arrays import Index
from tacit.core.schema import Label, Schema
from tacit.mine.tree.cells import NONE
from tacit.mine.tree.growth import Tree, check_max_depth
from tacit.output.number_text import UNKNOWN, decimals, number_of, span
from tacit.output.rounding import finite
from tacit.output.table import Table, TabularResult
from tacit.reconstruction.interval import Interval, check_level


class RuleNoise(NamedTuple):
    """What the disguise adds to the second moments of E and of (E, c) in one report."""

    support: float = 0.0
    both: float = 0.0
    right: float = 0.0


#: That of undisguised records.
NO_NOISE = RuleNoise()


def deviates(level: float, log_choices: float) -> float:
    """Standard errors to either side that one of exp(log_choices) intervals needs."""
    check_level(level)
    return -float(ndtri_exp(math.log1p(-level) - math.log(2) - log_choices))


def support_limits(support: float, noise: RuleNoise, n_records: int, z: float) -> Interval:
    """Limits of the support, inside [0, 1]."""
    q, s = z**2 / n_records, min(max(support, 0.0), 1.0)
    return _between_roots(1 + q, 2 * s + q, s**2 - q * max(noise.support, 0.0))


def confidence_limits(
    support: float, confidence: float, noise: RuleNoise, n_records: int, z: float
) -> Interval:
    """Limits of the confidence, inside [0, 1]; NaN if it is not known."""
    if math.isnan(confidence):
        return Interval(np.asarray(math.nan), np.asarray(math.nan))
    q, s = z**2 / n_records, support
    x = s * min(max(confidence, 0.0), 1.0)
    return _between_roots(
        s**2 + q * (s - noise.support),
        2 * x * s + q * (s - 2 * noise.both),
        x**2 - q * max(noise.right, 0.0),
    )


def _between_roots(square: float, linear: float, constant: float) -> Interval:
    """Where square p^2 - linear p + constant <= 0 within [0, 1]; everything if it is unbounded."""
    if square <= 0:
        return Interval(np.asarray(0.0), np.asarray(1.0))
    middle = linear / (2 * square)
    reach = math.sqrt(max(middle**2 - constant / square, 0.0))
    return Interval(*np.clip([middle - reach, middle + reach], 0.0, 1.0))


def size_of_rule(allowed: Sequence[int], sizes: Sequence[int]) -> int:
    """The conditions of a rule, from the numbers of allowed and of all categories.

    >>> size_of_rule([1, 2, 3], [3, 3, 3])
    2
    """
    pairs = zip(allowed, sizes, strict=True)
    return sum(min(1 if n_allowed == 1 else k - n_allowed, k - n_allowed) for n_allowed, k in pairs)


def log_choices(sizes: Sequence[int], n_classes: int, largest: int) -> list[float]:
    """Log of 1 / (share of the error that one interval gets), for rules of each size from 0 on.

    `sizes` are those of the features. With two classes the intervals of both are the same one,
    mirrored.
    """
    numbers = [1] + [0] * largest
    for k in sizes:
        subsets = [math.comb(k, j) for j in range(min(k - 1, largest + 1))]
        subsets = subsets if k > 2 else [1, 0]
        subsets[1:2] = [subsets[1] + k] if len(subsets) > 1 else []
        numbers = [
            sum(subsets[j] * numbers[d - j] for j in range(min(d, len(subsets) - 1) + 1))
            for d in range(largest + 1)
        ]
    intervals = 1 + (1 if n_classes == 2 else n_classes)
    # More conditions than there are attributes to set them on: no such rule, and no choice.
    return [
        math.log((d + 1) * (d + 2) * intervals * max(number, 1)) for d, number in enumerate(numbers)
    ]


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

    A branch names its categories, or the excluded ones if these are fewer; categories that
    conditions above have excluded are not named. Numbers after +- are standard errors; a tree
    without covariance is shown without them.

    A node E has the shares x = P(E, class) with covariance V. For its class c,

        support     s = sum_k x_k         variance  1' V 1
        confidence  r = x_c / s           variance  g' V g,  g = (e_c - r 1) / s   (delta method)

    A leaf with a single class would have no error, however few its records. So the variance of the
    confidence is at least that of m + 2 true records, one more of the class and one more of the
    others (Agresti & Coull, 1998), where 1/m = Var(s)/s^2 + 1/n; m is the number of undisguised
    records. Values are clipped to [0, 1]: this moves them closer to the truth, so intervals around
    them cover it no less often. If the support is not positive, the confidence is NaN.
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
        allowed: dict[int, Index] = {}
        for a, codes in self.tree.conditions(node):
            inside = codes[codes < self.schema.sizes[a]]
            allowed[a] = np.intersect1d(allowed[a], inside) if a in allowed else inside
        return allowed

    def branch(self, node: int) -> tuple[bool, list[Label]]:
        """Categories of the branch to a node; with False, all remaining ones except these."""
        parent = int(self.tree.parent[node])
        a = int(self.tree.attribute[parent])
        left = self.allowed(parent).get(a, np.arange(self.schema.sizes[a]))
        inside = np.isin(left, np.flatnonzero(self.tree.child[parent] == node))
        named = inside if 2 * inside.sum() <= len(left) or inside.all() else ~inside
        categories = self.schema.attributes[a].categories
        return named is inside, [categories[code] for code in left[named]]

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
        figures = self.figures(node)
        parts = [
            f"{self.target} = {self.category(node)}",
            f"confidence {percent(figures.confidence, figures.confidence_stderr)}",
            f"share {percent(figures.support, figures.support_stderr)}",
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


#: Most lines that are shown; a larger tree is cut below a depth.
MOST_LINES = 60


def tree_html(view: TreeView, summary: str) -> str:
    """The summary, and the tree as deep as the number of lines allows, at least one condition."""
    depth = view.tree.depth
    deepest = int(depth.max())
    fitting = [deep for deep in range(1, deepest + 1) if (depth <= deep).sum() <= MOST_LINES]
    shown = replace(view, max_depth=max([1, *fitting])) if deepest else view
    head = "<br>".join(escape(line) for line in summary.splitlines())
    return f"<div><p>{head}</p><ul>{_items(shown, 0)}</ul></div>"


def _items(view: TreeView, node: int) -> str:
    """The list items of a node: its own line, and those below it as a list."""
    below = "".join(_items(view, child) for child in view.children(node))
    return f"<li>{escape(view.line(node))}{f'<ul>{below}</ul>' if below else ''}</li>"


#: Rules of a printed table before it is cut.
_SHOWN = 40


@dataclass(frozen=True)
class TreeRule:
    """If all conditions hold, `attribute` is `category`.

    `conditions` has the allowed categories of each attribute. Support and confidence were estimated
    from `n_records` reported records; `log_choices` is above 0 if the same records chose the tree,
    and makes the intervals of all its rules hold together. `noise` is that of the disguise.
    `tacit.privacy.report` accepts these rules.
    """

    conditions: Mapping[str, tuple[Label, ...]]
    attribute: str
    category: Label
    support: float
    support_stderr: float
    confidence: float
    confidence_stderr: float
    n_records: int
    noise: RuleNoise = NO_NOISE
    log_choices: float = 0.0

    @property
    def chosen_by_its_records(self) -> bool:
        """Whether the records of the estimates also chose the tree."""
        return self.log_choices > 0

    def support_interval(self, level: float = 0.95) -> Interval:
        """Confidence limits of the support, inside [0, 1]."""
        z = deviates(level, self.log_choices)
        return support_limits(self.support, self.noise, self.n_records, z)

    def confidence_interval(self, level: float = 0.95) -> Interval:
        """Confidence limits of the confidence, inside [0, 1]; NaN if it is not known."""
        z = deviates(level, self.log_choices)
        return confidence_limits(self.support, self.confidence, self.noise, self.n_records, z)

    def numbers(self, level: float = 0.95) -> dict[str, float]:
        """Support and confidence, each with its standard error and limits."""
        support, confidence = self.support_interval(level), self.confidence_interval(level)
        return {
            "support": self.support,
            "support_stderr": self.support_stderr,
            "support_lower": float(support.lower),
            "support_upper": float(support.upper),
            "confidence": self.confidence,
            "confidence_stderr": self.confidence_stderr,
            "confidence_lower": float(confidence.lower),
            "confidence_upper": float(confidence.upper),
        }

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """JSON-ready; unknown numbers are None."""
        content = {
            "conditions": {name: list(labels) for name, labels in self.conditions.items()},
            "attribute": self.attribute,
            "category": self.category,
            "level": level,
            **self.numbers(level),
            "n_records": self.n_records,
            "estimated_from": self.estimated_from,
        }
        plain: dict[str, Any] = finite(content)
        return plain

    @property
    def estimated_from(self) -> str:
        """Which records gave support and confidence, in two words."""
        return "learning records" if self.chosen_by_its_records else "other records"

    def premise(self) -> str:
        """The conditions in words; empty if there are none."""
        conditions = self.conditions.items()
        return " and ".join(f"{name} = {alternatives(labels)}" for name, labels in conditions)

    def __str__(self) -> str:
        """The rule in words; +- is one standard error."""
        premise = self.premise()
        support = percent(self.support, self.support_stderr)
        confidence = percent(self.confidence, self.confidence_stderr)
        figures = f"(support {support}, confidence {confidence})"
        conclusion = f"{self.attribute} = {self.category} {figures}"
        return f"if {premise} then {conclusion}" if premise else f"always {conclusion}"


class TreeRules(TabularResult, tuple[TreeRule, ...]):
    """The rules of a tree, in the order of its leaves; prints as a table."""

    __slots__ = ()

    @property
    def known(self) -> TreeRules:
        """The rules whose confidence is known; leaves without records have none."""
        return TreeRules(rule for rule in self if not math.isnan(rule.confidence))

    def columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """The table as columns; conditions in words."""
        columns: dict[str, list[Any]] = {
            "conditions": [rule.premise() for rule in self],
            "attribute": [rule.attribute for rule in self],
            "category": [rule.category for rule in self],
        }
        numbers = [rule.numbers(level) for rule in self]
        names = numbers[0] if numbers else ()
        columns |= {name: [figures[name] for figures in numbers] for name in names}
        columns["n_records"] = [rule.n_records for rule in self]
        columns["estimated_from"] = [rule.estimated_from for rule in self]
        return columns

    def origin(self, level: float = 0.95) -> str:
        """One sentence on the records that the figures come from, and what the intervals mean."""
        if not self:
            return "no rules"
        records = number_of(self[0].n_records, "record")
        if self[0].chosen_by_its_records:
            return (
                f"Estimated from the {records} that also chose the tree: the intervals allow for "
                f"this choice, and all of them hold together with probability {100 * level:g} %."
            )
        return (
            f"Estimated from {records} that did not choose the tree: each interval holds with "
            f"probability {100 * level:g} %."
        )

    def to_dict(self, level: float = 0.95) -> list[dict[str, Any]]:
        """JSON-ready rules."""
        return [rule.to_dict(level) for rule in self]

    def to_table(self, level: float = 0.95) -> Table:
        """The rules as a table to print."""
        interval = f"{100 * level:g} % interval"
        body = []
        for rule in self:
            row = [rule.premise() or "always", f"{rule.attribute} = {rule.category}"]
            numbers = rule.numbers(level)
            for name in ("support", "confidence"):
                stderr, *limits = (numbers[f"{name}_{end}"] for end in ("stderr", "lower", "upper"))
                informative = is_informative(stderr, *limits)
                row += [decimals(numbers[name]), span(*limits)] if informative else [UNKNOWN] * 2
            body.append(row)
        heads = ("if", "then", "support", interval, "confidence", interval)
        return Table(heads, body, self.origin(level), "llrrrr")

    def shown(self) -> Table:
        return self.to_table().cut(_SHOWN, "rule")


def rules(view: TreeView, chosen_by_its_records: bool = True) -> TreeRules:
    """The rules of a tree, one per leaf; `chosen_by_its_records` as for `TreeRule`.

    A leaf E of class c is the rule "if E then c" (see `TreeView` for its figures). All conditions
    on one attribute become one list of allowed categories. A leaf that no record can reach, because
    its conditions exclude each other, gives no rule.
    """
    leaves = [(int(leaf), view.allowed(int(leaf))) for leaf in view.tree.leaves]
    leaves = [(leaf, allowed) for leaf, allowed in leaves if all(map(len, allowed.values()))]
    sizes = view.schema.sizes
    conditions = [
        size_of_rule([len(codes) for codes in allowed.values()], [sizes[a] for a in allowed])
        for _, allowed in leaves
    ]
    choices = [0.0] * (1 + max(conditions, default=0))
    if chosen_by_its_records:
        features = view.schema.without(view.target).sizes
        choices = log_choices(features, view.schema[view.target].size, len(choices) - 1)
    return TreeRules(
        _rule(view, leaf, allowed, choices[d])
        for (leaf, allowed), d in zip(leaves, conditions, strict=True)
    )


def _rule(view: TreeView, leaf: int, allowed: Mapping[int, Index], log_choices: float) -> TreeRule:
    conditions = {}
    for a, codes in allowed.items():
        attribute = view.schema.attributes[a]
        conditions[attribute.name] = tuple(attribute.categories[code] for code in codes)
    return TreeRule(
        conditions,
        view.target,
        view.category(leaf),
        *view.figures(leaf),
        view.tree.n_records,
        view.noise(leaf),
        log_choices,
    )


def is_informative(stderr: float, lower: float, upper: float) -> bool:
    """Whether a share is known better than a random one and its interval excludes some values.

    >>> is_informative(0.2, 0.1, 0.9), is_informative(0.27, 0, 1), is_informative(0.99, 0, 0.9)
    (True, False, False)
    """
    return stderr < UNINFORMATIVE and (lower > 0 or upper < 1)
