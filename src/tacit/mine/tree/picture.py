"""figure: a tree drawn from left to right, without a display and without global state.

Each end has a line of its own, and every split is at the middle of its branches (the layered
drawing of Reingold & Tilford, 1981, for ends of equal height). Coordinates are points, 1/72 inch,
so that texts can be measured and get the room they need.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch
from matplotlib.textpath import text_to_path

from tacit.core.arrays import Array
from tacit.mine.tree.tree import NONE, Tree
from tacit.mine.tree.view import TreeView, alternatives, percent
from tacit.output.number_text import number_of
from tacit.output.plot_style import GREY, INK

#: Colours of Okabe & Ito (2008); they are lightened so that text on them is readable.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#f0e442", "#56b4e9", "#e69f00")
#: Most ends that are drawn by default; more would not be readable.
MOST_ENDS = 100
#: In points: font sizes, heights of a line and a box, and distances.
_SIZE, _SMALL, _LINE, _HEIGHT, _PAD, _TURN, _MARGIN = 9.0, 8.0, 25.0, 17.0, 6.0, 12.0, 14.0
#: Longest label, in characters; longer ones are cut.
_LONGEST = 30


@dataclass(frozen=True, eq=False)
class TreeLayout:
    """The boxes of nodes: their left edges, widths and vertical middles.

    `shown` has the nodes in depth-first order; entries of other nodes are NaN.
    """

    shown: list[int]
    left: Array
    width: Array
    middle: Array

    @property
    def right(self) -> float:
        """The right edge of all boxes."""
        return float(np.nanmax(self.left + self.width))


def figure(view: TreeView) -> Figure:
    """The tree as a figure, cut below `max_depth` conditions.

    Without `max_depth` it is drawn as deep as 100 ends allow, at least one condition deep.
    """
    if view.max_depth is None:
        view = replace(view, max_depth=_readable_depth(view.tree))
    layout = lay_out(view)
    ends = [node for node in layout.shown if view.is_end(node)]
    leaves = number_of(len(view.tree.leaves), "leaf", "leaves")
    title, remarks = f"{short(view.target)}: a tree of {leaves}", _remarks(view, ends)
    longest = max(width_of(title, _SIZE + 3), *map(width_of, remarks))
    width = 2 * _MARGIN + max(layout.right, longest)
    head, foot = 2 * _SIZE + _MARGIN, 1.5 * _SMALL * (len(remarks) + 0.5) + _MARGIN
    height = head + _LINE * len(ends) + foot
    drawn = Figure(figsize=(width / 72, height / 72))
    axes = drawn.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-_MARGIN, width - _MARGIN)
    axes.set_ylim(height - head, -head)
    axes.text(0, -_SIZE, title, size=_SIZE + 1, color=INK, va="center", weight="bold")
    for node in layout.shown:
        if node:
            _draw_branch(axes, view, layout, node)
        _draw_box(axes, view, layout, node)
    for number, remark in enumerate(remarks, start=1):
        y = height - head - foot + 1.5 * _SMALL * number
        axes.text(0, y, remark, size=_SMALL, color=GREY, va="center")
    return drawn


def lay_out(view: TreeView) -> TreeLayout:
    """The layout, with one column per depth, as wide as its texts need."""
    left, width, middle = (np.full(len(view.tree), np.nan) for _ in range(3))
    shown = list(view.nodes())
    lines = 0
    for node in shown:
        width[node] = width_of(box_text(view, node)) + 2 * _PAD
        if view.is_end(node):
            middle[node], lines = _LINE * (lines + 0.5), lines + 1
    for node in reversed(shown):
        if not view.is_end(node):
            children = view.children(node)
            middle[node] = (middle[children[0]] + middle[children[-1]]) / 2
    depth, start = view.tree.depth, 0.0
    for level in range(int(depth[shown].max()) + 1):
        column = [node for node in shown if depth[node] == level]
        if level:
            room = max(width_of(branch_text(view, node), _SMALL) for node in column)
            start += 2 * _TURN + room
        left[column] = start
        ends = [node for node in column if view.is_end(node)]
        width[ends] = max(width[ends], default=0.0)
        start += max((width[node] for node in column if not view.is_end(node)), default=0.0)
    return TreeLayout(shown, left, width, middle)


def box_text(view: TreeView, node: int) -> str:
    """The attribute of a split; the class, confidence and share of an end."""
    if not view.is_end(node):
        return short(view.attribute(node))
    found = view.figures(node)
    parts = [
        short(str(view.category(node))),
        percent(found.confidence, found.confidence_stderr, "±"),
        f"of {percent(found.support, found.support_stderr, '±')}",
    ]
    below = int(view.leaves_below[node])
    return "   ".join(parts) + (f"   … {number_of(below, 'leaf', 'leaves')}" if below else "")


def branch_text(view: TreeView, node: int) -> str:
    """The categories of the branch to a node."""
    has, labels = view.branch(node)
    return short(("" if has else "not ") + alternatives(labels))


def short(text: str) -> str:
    """A label cut to its longest length; `$` is escaped, because it starts mathematics."""
    cut = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return cut.replace("$", r"\$")


@lru_cache(maxsize=1024)
def width_of(text: str, size: float = _SIZE) -> float:
    """The width of a text in points, with a reserve for other fonts."""
    plain, font = text.replace(r"\$", "$"), FontProperties(family="sans-serif", size=size)
    return 1.1 * float(text_to_path.get_text_width_height_descent(plain, font, False)[0])


def _readable_depth(tree: Tree) -> int:
    """The largest depth that has few enough ends, but at least 1."""
    depth, leaf = tree.depth, tree.attribute == NONE
    for level in range(int(depth.max()), 1, -1):
        if (depth == level).sum() + (leaf & (depth < level)).sum() <= MOST_ENDS:
            return level
    return 1


def _draw_branch(axes: Axes, view: TreeView, layout: TreeLayout, node: int) -> None:
    """The line from the parent, thicker for more records, with its categories."""
    parent = int(view.tree.parent[node])
    right, y, depth = layout.left + layout.width, layout.middle, view.tree.depth
    same_depth = [n for n in layout.shown if depth[n] == depth[parent] and not view.is_end(n)]
    turn = float(right[same_depth].max()) + _TURN  # the same for all splits of a depth
    thickness = 0.8 + 4 * view.figures(node).support
    axes.plot(
        [right[parent], turn, turn, layout.left[node]],
        [y[parent], y[parent], y[node], y[node]],
        color="#b0b0b0",
        linewidth=thickness,
        solid_joinstyle="round",
        zorder=1,
    )
    place = (turn + _TURN / 2, y[node] - thickness / 2 - 1)
    axes.text(*place, branch_text(view, node), size=_SMALL, color=INK, va="bottom", zorder=3)


def _draw_box(axes: Axes, view: TreeView, layout: TreeLayout, node: int) -> None:
    """A split in grey; an end in the colour of its class, stronger with more confidence."""
    end, x, y = view.is_end(node), layout.left[node], layout.middle[node]
    box = FancyBboxPatch(
        (x, y - _HEIGHT / 2),
        layout.width[node],
        _HEIGHT,
        boxstyle=f"round,pad=0,rounding_size={_HEIGHT / 2 if not end else 3}",
        facecolor=_fill(view, node) if end else "#f0f0f0",
        edgecolor=GREY,
        linewidth=0.8,
        linestyle="--" if end and view.takes_parents_class(node) else "-",
        zorder=2,
    )
    axes.add_patch(box)
    axes.text(x + _PAD, y, box_text(view, node), size=_SIZE, color=INK, va="center")


def _fill(view: TreeView, node: int) -> tuple[float, float, float]:
    """The colour of a class, lighter with less confidence; white if that is unknown."""
    confidence = view.figures(node).confidence
    strength = 0.0 if np.isnan(confidence) else 0.1 + 0.4 * confidence**2
    colour = np.array(to_rgb(_COLOURS[view.code(node) % len(_COLOURS)]))
    red, green, blue = 1 - strength * (1 - colour)
    return float(red), float(green), float(blue)


def _remarks(view: TreeView, ends: list[int]) -> list[str]:
    """How to read the figure."""
    known = not np.isnan(view.tree.covariance).any()
    errors = " ± one standard error" if known else ""
    records = number_of(view.tree.n_records, "record")
    remarks = [f"In a leaf: class, confidence, and share of {records} in all{errors}."]
    if any(view.takes_parents_class(node) for node in ends):
        remarks.append("Dashed: its own class is within noise, so it takes its parent's class.")
    if any(view.leaves_below[node] for node in ends):
        remarks.append("…: leaves that are not drawn.")
    return remarks
