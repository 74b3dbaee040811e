"""Trees in notebooks."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np

from tacit import Attribute, Design, Group, Schema, disguise, related
from tacit.mine import DecisionTree
from tacit.mine.tree.view import MOST_LINES

SCHEMA = Schema(
    [
        Attribute("a<b", ["no", "yes"]),
        Attribute("size", ["small", "mid", "tall"]),
        Attribute("ill", ["no", "yes"]),
    ]
)
DESIGN = Design(SCHEMA, [Group(SCHEMA.names, related(0.9))])


class Items(HTMLParser):
    """Counts list items and checks that elements are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.items = self.deepest = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "br":
            self.open.append(tag)
        self.items += tag == "li"
        self.deepest = max(self.deepest, self.open.count("ul"))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(html: str) -> Items:
    items = Items()
    items.feed(html)
    assert not items.open
    return items


def test_a_fitted_tree_shows_as_nested_lists_and_escapes_names() -> None:
    rng = np.random.default_rng(1)
    ill = rng.random(5000) < 0.5
    answer = rng.random(5000) < np.where(ill, 0.8, 0.2)
    size = np.where(ill ^ answer, 2, rng.integers(0, 2, 5000))
    true = np.stack([answer, size, ill], axis=1).astype(np.uint8)
    model = DecisionTree(DESIGN, "ill").fit(disguise(true, DESIGN, rng))
    html = model._repr_html_()
    found = parsed(html)
    assert found.items == len(model.tree_)
    assert found.deepest == model.get_depth() + 1
    assert "a&lt;b = " in html
    assert "a<b" not in html


def test_a_large_tree_is_cut_below_a_depth() -> None:
    rng = np.random.default_rng(2)
    features = rng.integers(0, 4, (4000, 5))
    model = DecisionTree().fit(features, rng.integers(0, 2, 4000))
    assert len(model.tree_) > 1000
    found = parsed(model._repr_html_())
    assert 1 < found.items <= MOST_LINES
    assert "below" in model._repr_html_()


def test_a_tree_that_is_not_fitted_shows_the_diagram_of_scikit_learn() -> None:
    assert "sk-" in DecisionTree(DESIGN, "ill")._repr_html_()
