"""tree_html: a tree as nested lists, for notebooks; it needs no other package."""

from __future__ import annotations

from dataclasses import replace
from html import escape

from tacit.mine.tree.tree_view import TreeView

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
