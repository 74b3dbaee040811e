"""A decision tree as a picture: what its nodes say, and where boxes and branches are drawn.

It is drawn from left to right: each end has a line of its own, and every split is at the middle of
its branches (Reingold & Tilford, 1981, for ends of equal height). Texts are measured in letters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tacit.mine.tree.tree import NONE
from tacit.mine.tree.view import TreeView, alternatives, percent
from tacit.output.number_text import number_of
from tacit.studio.disclosure import SMALLEST_GROUP

#: Most ends that are drawn, and the longest text in letters.
MOST_ENDS, LONGEST = 60, 32
#: In pixels: the width of a letter, the heights of a box and of a line, distances.
_LETTER, _BOX, _LINE, _PAD, _TURN = 7.6, 40.0, 50.0, 8.0, 14.0


@dataclass(frozen=True)
class TreeBox:
    """A split or an end: its place, its lines of text and, of an end, the number of its class."""

    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    category: int | None
    dashed: bool


@dataclass(frozen=True)
class TreeBranch:
    """A line from a split to what follows it, with the answers that lead there."""

    points: str
    x: float
    y: float
    text: str


@dataclass(frozen=True)
class TreePicture:
    """All boxes and branches, and the size of the picture."""

    width: float
    height: float
    boxes: tuple[TreeBox, ...]
    branches: tuple[TreeBranch, ...]


def tree_nodes(view: TreeView, n_people: int) -> list[dict[str, Any]]:
    """What is drawn of each node, depth-first, as plain values.

    Ends that are estimated to have fewer than 20 of `n_people` have no figures.
    """
    view = replace(view, max_depth=_readable_depth(view))
    shown = list(view.nodes())
    position = {node: i for i, node in enumerate(shown)}
    return [
        {
            "parent": position.get(int(view.tree.parent[node])) if node else None,
            "branch": _branch(view, node) if node else "",
            "lines": _lines(view, node, n_people),
            "category": view.code(node) if view.is_end(node) else None,
            "dashed": view.is_end(node) and view.takes_parents_class(node),
        }
        for node in shown
    ]


def tree_picture(nodes: list[dict[str, Any]]) -> TreePicture:
    """The layout, with one column per depth, as wide as its texts need."""
    depth = _depths(nodes)
    middle = _middles(nodes)
    widths = [_width(node["lines"]) for node in nodes]
    left, turn, start = {}, {}, 0.0
    for level in range(max(depth) + 1):
        level_nodes = [i for i, deep in enumerate(depth) if deep == level]
        left[level] = start
        splits = [widths[i] for i in level_nodes if nodes[i]["category"] is None]
        turn[level] = start + max(splits, default=0.0) + _TURN
        below = [_width([node["branch"]]) for i, node in enumerate(nodes) if depth[i] == level + 1]
        start = turn[level] + max(below, default=0.0) + _TURN
    boxes, branches = [], []
    for i, node in enumerate(nodes):
        x, y = left[depth[i]], middle[i]
        height = _BOX if node["category"] is not None else _BOX * 0.7
        boxes.append(
            TreeBox(x, y, widths[i], height, tuple(node["lines"]), node["category"], node["dashed"])
        )
        if node["parent"] is not None:
            parent = node["parent"]
            bend, from_x = turn[depth[parent]], left[depth[parent]] + widths[parent]
            points = f"{from_x:.0f},{middle[parent]:.0f} {bend:.0f},{middle[parent]:.0f} "
            points += f"{bend:.0f},{y:.0f} {x:.0f},{y:.0f}"
            branches.append(TreeBranch(points, bend + _TURN / 2, y - 5, node["branch"]))
    width = max(box.x + box.width for box in boxes)
    ends = sum(node["category"] is not None for node in nodes)
    return TreePicture(width + 2, ends * _LINE, tuple(boxes), tuple(branches))


def _depths(nodes: list[dict[str, Any]]) -> list[int]:
    depth: list[int] = []
    for node in nodes:
        depth.append(0 if node["parent"] is None else depth[node["parent"]] + 1)
    return depth


def _middles(nodes: list[dict[str, Any]]) -> list[float]:
    """The vertical middle of each node."""
    middle = [0.0] * len(nodes)
    children: dict[int, list[int]] = {}
    ends = 0
    for i, node in enumerate(nodes):
        children.setdefault(node["parent"], []).append(i)
        if node["category"] is not None:
            middle[i], ends = _LINE * (ends + 0.5), ends + 1
    for i in range(len(nodes) - 1, -1, -1):
        if nodes[i]["category"] is None:
            middle[i] = (middle[children[i][0]] + middle[children[i][-1]]) / 2
    return middle


def _width(lines: list[str]) -> float:
    return _LETTER * max(map(len, lines)) + 2 * _PAD


def _branch(view: TreeView, node: int) -> str:
    has, labels = view.branch(node)
    return short(("" if has else "not ") + alternatives(labels))


def _lines(view: TreeView, node: int, n_people: int) -> list[str]:
    """The attribute of a split; the class of an end, how often it is right, and its share."""
    if not view.is_end(node):
        return [short(view.attribute(node))]
    figures, label = view.figures(node), short(str(view.category(node)))
    if figures.support * n_people < SMALLEST_GROUP:
        return [label, "too few people for figures"]
    right = percent(figures.confidence, figures.confidence_stderr, "±")
    share = percent(figures.support, figures.support_stderr, "±")
    below = int(view.leaves_below[node])
    more = f", {number_of(below, 'leaf', 'leaves')} below" if below else ""
    return [label, f"right for {right}, of {share}{more}"]


def short(text: str) -> str:
    """A text cut to its longest length."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _readable_depth(view: TreeView) -> int:
    """The largest depth with few enough ends, at least 1."""
    depth, leaf = view.tree.depth, view.tree.attribute == NONE
    for level in range(int(depth.max()), 1, -1):
        if (depth == level).sum() + (leaf & (depth < level)).sum() <= MOST_ENDS:
            return level
    return 1
