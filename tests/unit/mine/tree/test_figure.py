"""The tree as a figure: nothing overlaps, nothing is left out without saying so."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patches import FancyBboxPatch

from tacit import Attribute, Schema
from tacit.errors import DataError
from tacit.mine.tree.figure import MOST_ENDS, figure, lay_out
from tacit.mine.tree.growth import NONE, Tree
from tacit.mine.tree.picture import short
from tacit.mine.tree.view import TreeView
from tacit.output.plot_style import svg

LABELS = ("<=50K", ">50K", "not said")


def schema_of(k: int, n_attributes: int) -> Schema:
    names = [f"attribute {i} $x$ & <y>" for i in range(n_attributes)]
    attributes = [Attribute(name, [f"category {c}" * (c + 1) for c in range(k)]) for name in names]
    return Schema([*attributes, Attribute("income", LABELS)])


def tree_of(k: int, n_attributes: int, n_splits: int, seed: int = 0) -> Tree:
    """A random tree: each split is of a random leaf that has attributes left."""
    rng = np.random.default_rng(seed)
    attribute, parent, child, depth = [NONE], [NONE], [[NONE] * max(k, 3)], [0]
    for _ in range(n_splits):
        open_ = [i for i, a in enumerate(attribute) if a == NONE and depth[i] < n_attributes]
        node = int(rng.choice(open_))
        attribute[node] = depth[node]
        for category in range(k):
            child[node][category] = len(attribute)
            attribute.append(NONE)
            parent.append(node)
            child.append([NONE] * max(k, 3))
            depth.append(depth[node] + 1)
    n = len(attribute)
    value = rng.gamma(1.0, size=(n, 3)) / n
    spread = np.array([np.diag(v) - np.outer(v, v) for v in value]) / 1000
    label_source = np.where(rng.random(n) < 0.2, np.maximum(parent, 0), np.arange(n))
    found = Tree(
        np.array(attribute), np.array(parent), np.array(child), value, spread, label_source, 1000
    )
    return found.take(np.array(_walk(found)))


def _walk(tree: Tree) -> list[int]:
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += [int(c) for c in tree.child[node] if c != NONE][::-1]
    return order


SHAPES = {
    "5 leaves, binary": (2, 4, 4),
    "60 leaves, binary": (2, 12, 59),
    "61 leaves, of 5 categories": (5, 5, 15),
    "one split": (3, 1, 1),
}


def drawn(found: Any) -> tuple[list[Any], list[Any], Any]:
    """Boxes, texts and the edges of the figure, in pixels."""
    canvas = FigureCanvasAgg(found)
    canvas.draw()
    renderer = canvas.get_renderer()
    (axes,) = found.axes
    boxes = [p.get_window_extent() for p in axes.patches if isinstance(p, FancyBboxPatch)]
    return boxes, [t.get_window_extent(renderer) for t in axes.texts], found.bbox


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.slow
def test_boxes_and_texts_do_not_overlap_and_stay_inside(shape: str) -> None:
    k, n_attributes, n_splits = SHAPES[shape]
    tree = tree_of(k, n_attributes, n_splits)
    boxes, texts, edges = drawn(figure(TreeView(tree, schema_of(k, n_attributes), "income")))
    assert len(boxes) == len(tree)
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)
    for one, other in itertools.combinations(texts, 2):
        assert not one.overlaps(other)
    for each in (*boxes, *texts):
        assert each.x0 >= edges.x0
        assert each.x1 <= edges.x1
        assert each.y0 >= edges.y0
        assert each.y1 <= edges.y1


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.slow
def test_a_box_holds_its_text(shape: str) -> None:
    k, n_attributes, n_splits = SHAPES[shape]
    found = figure(
        TreeView(tree_of(k, n_attributes, n_splits), schema_of(k, n_attributes), "income")
    )
    boxes, texts, _ = drawn(found)
    held = [
        sum(b.x0 <= t.x0 and t.x1 <= b.x1 and b.y0 <= t.y0 and t.y1 <= b.y1 for t in texts)
        for b in boxes
    ]
    assert held == [1] * len(boxes)


def test_a_split_stands_at_the_middle_of_its_branches() -> None:
    tree = tree_of(2, 12, 59)
    view = TreeView(tree, schema_of(2, 12), "income")
    middle = {node: box.y for node, box in zip(view.nodes(), lay_out(view).boxes, strict=True)}
    for node in np.flatnonzero(tree.attribute != NONE):
        children = [middle[child] for child in view.children(int(node))]
        assert middle[node] == (children[0] + children[-1]) / 2


def texts_of(found: Any) -> list[str]:
    (axes,) = found.axes
    return [text.get_text() for text in axes.texts]


def test_what_is_cut_is_said() -> None:
    tree = tree_of(2, 12, 59)
    cut = texts_of(figure(TreeView(tree, schema_of(2, 12), "income", max_depth=2)))
    below = [int(t.split("… ")[1].split()[0]) for t in cut if "… " in t]
    shown = int(((tree.depth < 2) & (tree.attribute == NONE)).sum())
    shown += int(((tree.depth == 2) & (tree.attribute == NONE)).sum())
    assert sum(below) + shown == len(tree.leaves)
    assert "…: leaves that are not drawn." in cut
    whole = texts_of(figure(TreeView(tree, schema_of(2, 12), "income")))
    assert "…: leaves that are not drawn." not in whole


def test_a_large_tree_is_cut_to_what_can_be_read() -> None:
    tree = tree_of(5, 6, 200)
    found = texts_of(figure(TreeView(tree, schema_of(5, 6), "income")))
    assert "…: leaves that are not drawn." in found
    assert sum(" % " in text and "   " in text for text in found) <= MOST_ENDS


def test_leaves_within_noise_are_dashed() -> None:
    tree = tree_of(2, 4, 4)
    (axes,) = figure(TreeView(tree, schema_of(2, 4), "income")).axes
    dashed = sum(patch.get_linestyle() in ("--", "dashed") for patch in axes.patches)
    assert dashed == int((tree.label_source[tree.leaves] != tree.leaves).sum())
    assert dashed > 0


def test_a_tree_of_one_leaf_is_one_box() -> None:
    tree = tree_of(2, 2, 0)
    boxes, _, _ = drawn(figure(TreeView(tree, schema_of(2, 2), "income")))
    assert len(boxes) == 1


def test_the_svg_is_the_same_every_time_and_has_no_date() -> None:
    tree, schema = tree_of(3, 4, 8), schema_of(3, 4)
    first, second = (svg(figure(TreeView(tree, schema, "income"))) for _ in range(2))
    assert first == second
    assert "date" not in first.lower()
    words = "".join(ET.fromstring(first).itertext())
    assert "attribute 0 $x$ & <y>" in words
    assert "attribute 0 $x$ & <y>" not in first


def test_a_label_is_shortened_and_not_read_as_mathematics() -> None:
    assert short("a" * 40) == "a" * 29 + "…"
    (axes,) = figure(TreeView(tree_of(2, 2, 1), schema_of(2, 2), "income")).axes
    texts = [text for text in axes.texts if "$x$" in text.get_text()]
    assert texts
    assert not any(text.get_parse_math() for text in texts)


def test_a_depth_that_is_none_is_an_error() -> None:
    with pytest.raises(DataError, match="max_depth must be a whole number from 0 up, or None"):
        figure(TreeView(tree_of(2, 2, 1), schema_of(2, 2), "income", max_depth=-1))


def test_a_tree_that_knows_no_errors_is_drawn_without() -> None:
    tree = tree_of(2, 4, 4)
    plain = Tree(
        tree.attribute,
        tree.parent,
        tree.child,
        tree.value,
        np.full_like(tree.covariance, np.nan),
        tree.label_source,
        tree.n_records,
    )
    assert "±" not in "".join(texts_of(figure(TreeView(plain, schema_of(2, 4), "income"))))
