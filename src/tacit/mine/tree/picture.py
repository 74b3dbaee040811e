"""A tree drawn from left to right: where boxes and branches are, for a figure or a page.

Each end has a line of its own, and every split is at the middle of its branches (the layered
drawing of Reingold & Tilford, 1981, for ends of equal height). There is one column per depth, as
wide as its texts need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tacit.mine.tree.cells import NONE
from tacit.mine.tree.view import TreeView, alternatives

#: Longest label, in characters; longer ones are cut.
LONGEST = 30


@dataclass(frozen=True)
class Measures:
    """Widths of the texts of boxes and branches; heights of a line, an end and a split; distances.

    `pad` is between a box and its text, `turn` beside the point where a branch turns.
    """

    box_text: Callable[[str], float]
    branch_text: Callable[[str], float]
    line: float
    end: float
    split: float
    pad: float
    turn: float


def _letters(text: str) -> float:
    return 7.6 * len(text)


#: For pages, which cannot measure their texts: a letter has 7.6 pixels.
PIXELS = Measures(_letters, lambda text: _letters(text) + 16.0, 50.0, 40.0, 28.0, 8.0, 14.0)


@dataclass(frozen=True)
class TreeBox:
    """A split or an end: its left edge, middle, lines of text and, of an end, its class."""

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

    points: tuple[tuple[float, float], ...]
    text: str

    @property
    def polyline(self) -> str:
        """The points as SVG writes them."""
        return " ".join(f"{x:.0f},{y:.0f}" for x, y in self.points)


@dataclass(frozen=True)
class TreePicture:
    """All boxes, the branches to all but the first of them, and the size of the picture."""

    width: float
    height: float
    boxes: tuple[TreeBox, ...]
    branches: tuple[TreeBranch, ...]


def readable(view: TreeView, most_ends: int) -> TreeView:
    """The tree cut below the largest depth that has few enough ends, but at least 1."""
    depth, leaf = view.tree.depth, view.tree.attribute == NONE
    for level in range(int(depth.max()), 1, -1):
        if (depth == level).sum() + (leaf & (depth < level)).sum() <= most_ends:
            return replace(view, max_depth=level)
    return replace(view, max_depth=1)


def tree_nodes(
    view: TreeView, end_lines: Callable[[TreeView, int], list[str]]
) -> list[dict[str, Any]]:
    """What is drawn of each node, depth-first, as plain values; `end_lines` are those of an end."""
    shown = list(view.nodes())
    number = {node: i for i, node in enumerate(shown)}
    nodes = []
    for node in shown:
        end, branch = view.is_end(node), ""
        if node:
            has, labels = view.branch(node)
            branch = short(("" if has else "not ") + alternatives(labels))
        nodes.append(
            {
                "parent": number.get(int(view.tree.parent[node])) if node else None,
                "branch": branch,
                "lines": end_lines(view, node) if end else [short(view.attribute(node))],
                "category": view.code(node) if end else None,
                "dashed": end and view.takes_parents_class(node),
            }
        )
    return nodes


def tree_picture(nodes: list[dict[str, Any]], measures: Measures = PIXELS) -> TreePicture:
    """Where nodes are drawn (see `tree_nodes`)."""
    is_end = [node["category"] is not None for node in nodes]
    depth = [0] * len(nodes)
    children: list[list[int]] = [[] for _ in nodes]
    middle, n_ends = [0.0] * len(nodes), 0
    for i, node in enumerate(nodes):
        if node["parent"] is not None:
            depth[i] = depth[node["parent"]] + 1
            children[node["parent"]].append(i)
        if is_end[i]:
            middle[i], n_ends = measures.line * (n_ends + 0.5), n_ends + 1
    for i in reversed(range(len(nodes))):
        if not is_end[i]:
            middle[i] = (middle[children[i][0]] + middle[children[i][-1]]) / 2
    width = [max(map(measures.box_text, node["lines"])) + 2 * measures.pad for node in nodes]
    left: dict[int, float] = {}
    turn: dict[int, float] = {}
    start = 0.0
    for level in range(max(depth) + 1):
        column = [i for i in range(len(nodes)) if depth[i] == level]
        if level:
            room = max(measures.branch_text(nodes[i]["branch"]) for i in column)
            start = turn[level - 1] + room + measures.turn
        left[level] = start
        widest = max((width[i] for i in column if is_end[i]), default=0.0)
        for i in column:
            width[i] = widest if is_end[i] else width[i]
        splits = max((width[i] for i in column if not is_end[i]), default=0.0)
        turn[level] = start + splits + measures.turn
    boxes, branches = [], []
    for i, node in enumerate(nodes):
        x, y, lines = left[depth[i]], middle[i], tuple(node["lines"])
        height = measures.end if is_end[i] else measures.split
        boxes.append(TreeBox(x, y, width[i], height, lines, node["category"], node["dashed"]))
        if (parent := node["parent"]) is not None:
            bend, above = turn[depth[parent]], middle[parent]
            right = left[depth[parent]] + width[parent]
            points = ((right, above), (bend, above), (bend, y), (x, y))
            branches.append(TreeBranch(points, node["branch"]))
    edge = max(box.x + box.width for box in boxes)
    return TreePicture(edge, measures.line * n_ends, tuple(boxes), tuple(branches))


def short(text: str) -> str:
    """A label cut to its longest length."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
