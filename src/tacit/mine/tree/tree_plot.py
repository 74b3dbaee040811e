"""figure: a tree drawn from left to right, without a display and without global state.

Ends are stacked, one line each, and every split stands at the middle of its branches (the layered
drawing of Reingold & Tilford, 1981, where all ends have the same height). Coordinates are points,
1/72 inch, so that what is written can be measured and given its room.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch
from matplotlib.textpath import text_to_path

from tacit.arrays import Array, Index
from tacit.mine.tree.tree import NONE, Tree
from tacit.mine.tree.tree_rules import joined, percent
from tacit.mine.tree.tree_text import TreeView
from tacit.number_text import number_of
from tacit.privacy.privacy_plots import GREY, INK
from tacit.schema import Schema

#: Colours of Okabe & Ito (2008), made light so that ink is read on them.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#f0e442", "#56b4e9", "#e69f00")
#: Ends drawn where no depth is asked for; more would not be read.
MOST_ENDS = 100
#: In points: what is written, a line, a box, and the room around things.
_SIZE, _SMALL, _LINE, _HEIGHT, _PAD, _TURN, _MARGIN = 9.0, 8.0, 25.0, 17.0, 6.0, 12.0, 14.0
#: Characters of a label before it is cut.
_LONGEST = 30


@dataclass(frozen=True, eq=False)
class TreeLayout:
    """Where nodes stand: the left edge and the width of their boxes, and the middle of each line.

    `shown` are the nodes in depth-first order; entries of others are NaN.
    """

    shown: list[int]
    left: Array
    width: Array
    middle: Array

    @property
    def right(self) -> float:
        """The right edge of all boxes."""
        return float(np.nanmax(self.left + self.width))


def figure(
    tree: Tree,
    schema: Schema,
    target: str,
    label: Index | None = None,
    max_depth: int | None = None,
) -> Figure:
    """The tree as a figure, cut below `max_depth` conditions.

    Without `max_depth` it is drawn as deep as 100 ends allow, but one condition at least. `label`
    is the class of each node, where another tree than this one decides it (see `rules`).
    """
    depth = _deepest(tree) if max_depth is None else max_depth
    view = TreeView.of(tree, schema, target, label, depth)
    layout = laid_out(view)
    title, remarks = _title(view), _remarks(view, layout)
    written = max(width_of(title, _SIZE + 3), *map(width_of, remarks))
    width = 2 * _MARGIN + max(layout.right, written)
    head, foot = 2 * _SIZE + _MARGIN, 1.5 * _SMALL * (len(remarks) + 0.5) + _MARGIN
    height = head + _LINE * len(_ends(view, layout)) + foot
    drawn = Figure(figsize=(width / 72, height / 72))
    axes = drawn.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-_MARGIN, width - _MARGIN)
    axes.set_ylim(height - head, -head)
    axes.text(0, -_SIZE, title, size=_SIZE + 1, color=INK, va="center", weight="bold")
    for node in layout.shown:
        _draw_branch(axes, view, layout, node)
        _draw_box(axes, view, layout, node)
    for place, remark in enumerate(remarks):
        y = height - head - foot + 1.5 * _SMALL * (1 + place)
        axes.text(0, y, remark, size=_SMALL, color=GREY, va="center")
    return drawn


def laid_out(view: TreeView) -> TreeLayout:
    """Where everything stands; a column a depth, as wide as what is written in it."""
    n = len(view.tree)
    left, width, middle = (np.full(n, np.nan) for _ in range(3))
    shown = _shown(view)
    lines = 0
    for node in shown:
        width[node] = width_of(box_text(view, node)) + 2 * _PAD
        if view.ends(node):
            middle[node], lines = _LINE * (lines + 0.5), lines + 1
    for node in reversed(shown):
        if not view.ends(node):
            children = view.children(node)
            middle[node] = (middle[children[0]] + middle[children[-1]]) / 2
    depth, start = view.tree.depth, 0.0
    for level in range(int(depth[shown].max()) + 1):
        column = [node for node in shown if depth[node] == level]
        if level:
            room = max(width_of(branch_text(view, node), _SMALL) for node in column)
            start += 2 * _TURN + room
        left[column] = start
        ends = [node for node in column if view.ends(node)]
        width[ends] = max(width[ends], default=0.0)
        start += max((width[node] for node in column if not view.ends(node)), default=0.0)
    return TreeLayout(shown, left, width, middle)


def box_text(view: TreeView, node: int) -> str:
    """What stands in a box: the attribute of a split, the class of an end and its figures."""
    if not view.ends(node):
        return short(view.attribute(node))
    share, share_stderr, confidence, confidence_stderr = view.figures(node)
    told = [
        short(str(view.category(node))),
        percent(confidence, confidence_stderr, "±"),
        f"of {percent(share, share_stderr, '±')}",
    ]
    below = int(view.leaves_below[node])
    return "   ".join(told) + (f"   … {number_of(below, 'leaf', 'leaves')}" if below else "")


def branch_text(view: TreeView, node: int) -> str:
    """What stands on the branch to a node: its categories."""
    has, labels = view.branch(node)
    return short(("" if has else "not ") + joined(labels))


def short(text: str) -> str:
    """A label that leaves room for others, and is not read as mathematics."""
    cut = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return cut.replace("$", r"\$")


@lru_cache(maxsize=1024)
def width_of(text: str, size: float = _SIZE) -> float:
    """The width of a text in points, with some room for another font."""
    plain, font = text.replace(r"\$", "$"), FontProperties(family="sans-serif", size=size)
    return 1.1 * float(text_to_path.get_text_width_height_descent(plain, font, False)[0])


def _deepest(tree: Tree) -> int:
    """The most conditions at which not too many ends are drawn, one at least."""
    depth, leaf = tree.depth, tree.attribute == NONE
    for level in range(int(depth.max()), 1, -1):
        if (depth == level).sum() + (leaf & (depth < level)).sum() <= MOST_ENDS:
            return level
    return 1


def _shown(view: TreeView) -> list[int]:
    """The nodes that are drawn, depth first."""
    shown, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        shown.append(node)
        waiting += view.children(node)[::-1]
    return shown


def _ends(view: TreeView, layout: TreeLayout) -> list[int]:
    return [node for node in layout.shown if view.ends(node)]


def _draw_branch(axes: Axes, view: TreeView, layout: TreeLayout, node: int) -> None:
    """The line from the parent, thicker where more records go, and its categories."""
    if node == 0:
        return
    parent = int(view.tree.parent[node])
    start, end, y = layout.left[parent] + layout.width[parent], layout.left[node], layout.middle
    turn = _turn(view, layout, parent)
    thick = 0.8 + 4 * view.figures(node)[0]
    axes.plot(
        [start, turn, turn, end],
        [y[parent], y[parent], y[node], y[node]],
        color="#b0b0b0",
        linewidth=thick,
        solid_joinstyle="round",
        zorder=1,
    )
    place = (turn + _TURN / 2, y[node] - thick / 2 - 1)
    axes.text(*place, branch_text(view, node), size=_SMALL, color=INK, va="bottom", zorder=3)


def _turn(view: TreeView, layout: TreeLayout, parent: int) -> float:
    """Where the branches of a split part: the same place for all splits of a depth."""
    same = [n for n in layout.shown if view.tree.depth[n] == view.tree.depth[parent]]
    splits = [n for n in same if not view.ends(n)]
    return float(max(layout.left[n] + layout.width[n] for n in splits)) + _TURN


def _draw_box(axes: Axes, view: TreeView, layout: TreeLayout, node: int) -> None:
    """A split in grey; an end in the colour of its class, stronger with more confidence."""
    end, x, y, width = view.ends(node), layout.left[node], layout.middle[node], layout.width[node]
    box = FancyBboxPatch(
        (x, y - _HEIGHT / 2),
        width,
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
    """The colour of a class, lighter where it is less sure; white where that is not known."""
    confidence = view.figures(node)[2]
    strength = 0.0 if np.isnan(confidence) else 0.1 + 0.4 * confidence**2
    colour = np.array(to_rgb(_COLOURS[int(view.label[node]) % len(_COLOURS)]))
    red, green, blue = 1 - strength * (1 - colour)
    return float(red), float(green), float(blue)


def _title(view: TreeView) -> str:
    return f"{short(view.target)}: a tree of {number_of(len(view.tree.leaves), 'leaf', 'leaves')}"


def _remarks(view: TreeView, layout: TreeLayout) -> list[str]:
    """How to read what is drawn."""
    ends = _ends(view, layout)
    known = not np.isnan(view.tree.covariance).any()
    errors = " ± one standard error" if known else ""
    remarks = [
        "In a leaf: class, confidence, and share of "
        f"{number_of(view.tree.n_records, 'record')} in all{errors}."
    ]
    if any(view.takes_parents_class(node) for node in ends):
        remarks.append("Dashed: its own class is within noise, that of its parent is taken.")
    if any(view.leaves_below[node] for node in ends):
        remarks.append("…: leaves that are not drawn.")
    return remarks
