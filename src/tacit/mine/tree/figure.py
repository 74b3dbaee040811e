"""figure: a tree drawn with matplotlib (see `picture`), without a display and global state."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch
from matplotlib.textpath import text_to_path

from tacit.mine.tree import picture as drawing
from tacit.mine.tree.view import TreeView, percent
from tacit.output.number_text import number_of
from tacit.output.plot_style import GREY, INK

#: Colours of Okabe & Ito (2008); they are lightened so that text on them is readable.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#f0e442", "#56b4e9", "#e69f00")
#: Most ends that are drawn by default; more would not be readable.
MOST_ENDS = 100
#: In points, 1/72 inch: font sizes and the margin.
_SIZE, _SMALL, _MARGIN = 9.0, 8.0, 14.0


def figure(view: TreeView) -> Figure:
    """The tree as a figure, cut below `max_depth` conditions.

    Without `max_depth` it is drawn as deep as 100 ends allow, at least one condition deep. It needs
    no display and has no global state.
    """
    if view.max_depth is None:
        view = drawing.readable(view, MOST_ENDS)
    shown = list(view.nodes())
    picture = lay_out(view)
    leaves = number_of(len(view.tree.leaves), "leaf", "leaves")
    title = f"{drawing.short(view.target)}: a tree of {leaves}"
    remarks = _remarks(view, [node for node in shown if view.is_end(node)])
    longest = max(_text_width(title, _SIZE + 3), *map(_text_width, remarks))
    width = 2 * _MARGIN + max(picture.width, longest)
    head, foot = 2 * _SIZE + _MARGIN, 1.5 * _SMALL * (len(remarks) + 0.5) + _MARGIN
    height = head + picture.height + foot
    drawn = Figure(figsize=(width / 72, height / 72))
    axes = drawn.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-_MARGIN, width - _MARGIN)
    axes.set_ylim(height - head, -head)
    text: dict[str, Any] = {"color": INK, "va": "center", "parse_math": False}
    axes.text(0, -_SIZE, title, size=_SIZE + 1, weight="bold", **text)
    for i, node in enumerate(shown):
        if node:
            _draw_branch(axes, picture.branches[i - 1], view.figures(node).support, POINTS.turn)
        _draw_box(axes, picture.boxes[i], view, node)
        box = picture.boxes[i]
        axes.text(box.x + POINTS.pad, box.y, box.lines[0], size=_SIZE, **text)
    for number, remark in enumerate(remarks, start=1):
        y = height - head - foot + 1.5 * _SMALL * number
        axes.text(0, y, remark, size=_SMALL, color=GREY, va="center")
    return drawn


@lru_cache(maxsize=1024)
def _text_width(text: str, size: float = _SIZE) -> float:
    """The width of a text in points, with a reserve for other fonts."""
    font = FontProperties(family="sans-serif", size=size)
    return 1.1 * float(text_to_path.get_text_width_height_descent(text, font, False)[0])


POINTS = drawing.Measures(
    _text_width,
    partial(_text_width, size=_SMALL),
    line=25.0,
    end=17.0,
    split=17.0,
    pad=6.0,
    turn=12.0,
)


def lay_out(view: TreeView) -> drawing.TreePicture:
    """Where the nodes that are shown are drawn, in points."""
    return drawing.tree_picture(
        drawing.tree_nodes(view, lambda view, node: [_end_text(view, node)]), POINTS
    )


def _end_text(view: TreeView, node: int) -> str:
    """The class, confidence and share of an end, and how many leaves are not drawn."""
    figures = view.figures(node)
    parts = [
        drawing.short(str(view.category(node))),
        percent(figures.confidence, figures.confidence_stderr, "±"),
        f"of {percent(figures.support, figures.support_stderr, '±')}",
    ]
    below = int(view.leaves_below[node])
    return "   ".join(parts) + (f"   … {number_of(below, 'leaf', 'leaves')}" if below else "")


def _draw_branch(axes: Axes, branch: drawing.TreeBranch, support: float, turn: float) -> None:
    """The line from the parent, thicker for more records, with its categories."""
    thickness = 0.8 + 4 * support
    x, y = zip(*branch.points, strict=True)
    axes.plot(x, y, color="#b0b0b0", linewidth=thickness, solid_joinstyle="round", zorder=1)
    style: dict[str, Any] = {"color": INK, "va": "bottom", "zorder": 3, "parse_math": False}
    axes.text(x[2] + turn / 2, y[3] - thickness / 2 - 1, branch.text, size=_SMALL, **style)


def _draw_box(axes: Axes, box: drawing.TreeBox, view: TreeView, node: int) -> None:
    """A split in grey; an end in the colour of its class, stronger with more confidence."""
    fill = to_rgb("#f0f0f0")
    if box.category is not None:
        confidence = view.figures(node).confidence
        strength = 0.0 if np.isnan(confidence) else 0.1 + 0.4 * confidence**2
        colour = np.array(to_rgb(_COLOURS[box.category % len(_COLOURS)]))
        fill = tuple(1 - strength * (1 - colour))
    axes.add_patch(
        FancyBboxPatch(
            (box.x, box.y - box.height / 2),
            box.width,
            box.height,
            boxstyle=f"round,pad=0,rounding_size={box.height / 2 if box.category is None else 3}",
            facecolor=fill,
            edgecolor=GREY,
            linewidth=0.8,
            linestyle="--" if box.dashed else "-",
            zorder=2,
        )
    )


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
