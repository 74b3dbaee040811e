"""What notebooks show: a table with escaped labels for every value that people look at."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, matrix, reconstruct, related, truthful
from tacit.compliance import Cheaters, pool
from tacit.mine import DecisionTree
from tacit.output.table import Table
from tacit.privacy import report
from tacit.regression import logit

EVIL = "<script>alert(1)</script> & co"
SCHEMA = Schema(
    [Attribute("a<b>", [EVIL, "b"]), Attribute("c", ["no", "yes"]), Attribute("d", range(20))]
)
DESIGN = Design(
    SCHEMA,
    [Group(["a<b>"], related("0.8")), Group(["c"], related("0.9")), Group(["d"], truthful())],
)
RNG = np.random.default_rng(8)
CODES = np.column_stack([RNG.integers(0, size, 800) for size in SCHEMA.sizes])
ONE = Design(Schema([SCHEMA["a<b>"]]), [DESIGN.groups[0]])
OTHER = Design(ONE.schema, [Group(["a<b>"], related("0.6"))])
SAMPLES = [(CODES[:, :1], ONE), (CODES[:300, :1], OTHER)]


class _Tags(HTMLParser):
    """The tags in a page, which must be closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _values() -> dict[str, Any]:
    rec = reconstruct(CODES, DESIGN)
    between = {"d": [0, 1]}, {"d": [2]}
    return {
        "design": DESIGN,
        "reconstruction": rec,
        "table": rec.table(["a<b>", "c"]),
        "estimate": rec.probability({"a<b>": EVIL}),
        "comparison": rec.ratio({"a<b>": EVIL}, between=between),
        "test": rec.independence(["a<b>", "c"]),
        "regression": logit("c", CODES, DESIGN, covariates={EVIL: np.ones(800)}),
        "pool": pool(SAMPLES),
        "compliance": Cheaters("b").fit(SAMPLES),
        "tree": DecisionTree(DESIGN, "c", max_depth=2).fit(CODES),
        "report": report(ONE),
    }


@pytest.mark.slow
def test_every_value_is_shown_with_its_labels_escaped() -> None:
    for name, value in _values().items():
        shown = value._repr_html_()
        tags = _Tags()
        tags.feed(shown)
        assert tags.open == [], name
        allowed = {"table", "caption", "thead", "tbody", "tr", "th", "td", "p", "br"}
        assert tags.seen <= allowed | {"div", "ul", "li"}, name
        if name not in ("test", "tree"):  # these need not name the label
            assert "alert(1)" in shown, name
        assert "table" in tags.seen or name == "tree"


def test_a_design_shows_coins_and_epsilon() -> None:
    text = str(DESIGN.to_table())
    assert "Design: 3 attributes in 3 groups" in text
    assert re.search(r"^c +no, yes +2 +related\(theta=9/10\) +2\.20$", text, re.MULTILINE)
    assert "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, and 8 more" in text
    assert "infinite" in text
    assert DESIGN.fingerprint in text


def test_a_reconstruction_shows_each_attribute_and_what_cannot_be_known() -> None:
    rec = reconstruct(CODES, DESIGN)
    table = rec.table(["c"])
    row = next(line for line in str(rec).splitlines() if line.startswith("c          yes"))
    assert f"{CODES[:, 1].mean():.4f}" in row
    assert f"{table.value[1]:.4f}" in row
    assert repr(rec) == "<Reconstruction of 3 attributes from 800 reported records>"
    blind = Design(ONE.schema, [Group(["a<b>"], related("0.5"))])
    assert str(reconstruct(CODES[:, :1], blind)).count("unknown") == 8
    other = Design(ONE.schema, [Group(["a<b>"], matrix([[0.6, 0.1], [0.3, 0.2], [0.1, 0.7]]))])
    assert "unknown" in str(reconstruct(CODES[:, :1], other))  # the reports have other categories


def test_lines_of_titles_and_notes_are_kept() -> None:
    shown = Table(("a", "b"), [("x", 1)], title="one\n<two>", note="three\nfour").html()
    assert "<caption>one<br>&lt;two&gt;</caption>" in shown
    assert "<p>three<br>four</p>" in shown
