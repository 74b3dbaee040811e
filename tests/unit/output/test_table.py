"""Tables in Markdown, LaTeX and CSV: labels look as they are, whatever signs they have."""

from __future__ import annotations

import csv
import html
import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tacit import Attribute, Design, Group, Schema, reconstruct, related
from tacit.compliance import Cheaters, pool, sensitivity
from tacit.output.table import Table, latex_of, markdown_of, table_of
from tacit.privacy import report
from tacit.regression import logit

SIGNS = st.text(st.sampled_from("ab -.0#*_`~|<>[](){}\\$&%^\"'!+=:;@/äß€"), min_size=1, max_size=12)
NASTY = ["50 % & more", "a_b|c", "<b>bold</b>", "*x*", "[y](z)", "`q`", "# one", "$1^2~{}\\", '"q"']
COMMANDS = {
    r"\textbackslash{}": "\\",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    "{[}": "[",
    "$-$": "-",
    "''": '"',
    **{f"\\{sign}": sign for sign in "&%$#_{}"},
}


def _cells(page: str) -> list[str]:
    """The cells of a Markdown table, as another program shows them."""
    shown = MarkdownIt("gfm-like", {"linkify": False}).render(page)
    found = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", shown, re.DOTALL)
    assert not re.search(r"<(?!/?(table|thead|tbody|tr|th|td|p)\b)", shown), shown
    return [html.unescape(cell) for cell in found]


def _read(latex: str) -> str:
    """LaTeX text as it is printed."""
    pattern = "|".join(re.escape(command) for command in COMMANDS)
    return re.sub(pattern, lambda found: COMMANDS[found[0]], latex)


@given(st.lists(SIGNS, min_size=2, max_size=4))
def test_any_label_survives_markdown(labels: list[str]) -> None:
    page = Table(["label", "share"], [(label, 0.5) for label in labels], title=labels[0]).markdown()
    cells = _cells(page)
    assert cells[2::2] == [label.strip() for label in labels]
    assert MarkdownIt("gfm-like", {"linkify": False}).render(page).startswith("<p>") == bool(
        labels[0].strip()
    )


class _HtmlCells(HTMLParser):
    """The text of the cells of an HTML table, and the names that they have on narrow screens."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.names: list[str | None] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in {"table", "caption", "thead", "tbody", "tr", "th", "td", "p", "br"}
        assert {name for name, _ in attrs} <= {"class", "scope", "data-name"}
        if tag in {"th", "td"}:
            self.cells.append("")
            self.names.append(dict(attrs).get("data-name"))

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


@given(st.lists(SIGNS, min_size=2, max_size=4))
def test_any_head_and_any_label_survives_html(labels: list[str]) -> None:
    table = Table(labels, [labels[::-1]])
    assert _HtmlCells(table.html()).cells == [*labels, *labels[::-1]]
    cards = _HtmlCells(table.html(cards=True))
    assert cards.cells == [*labels, *labels[::-1]]
    assert cards.names[len(labels) + 1 :] == labels[1:]


@given(st.lists(SIGNS.filter(lambda text: "'" not in text), min_size=1, max_size=4))
def test_any_label_survives_latex(labels: list[str]) -> None:
    lines = Table(["label", "share"], [(label, 0.5) for label in labels]).latex().splitlines()
    rows = [line.removesuffix(r" \\") for line in lines[4:-2]]
    assert [_read(row.rpartition(" & ")[0]) for row in rows] == labels
    for row in rows:  # no sign keeps its special meaning
        plain = re.sub("|".join(map(re.escape, COMMANDS)), "", row.rpartition(" & ")[0])
        assert not set(plain) & set("\\{}$&#^_~%")


def test_numbers_and_intervals_look_right() -> None:
    table = Table(
        ("a", "estimate", "interval"),
        [("x", -0.25, "-0.5000 .. 0.1000"), ("1 .. 2", None, "unbounded .. 0.5000")],
        title="A title\nin two lines",
        note="A note\nand another",
    )
    assert "[-0.5000, 0.1000]" in table.markdown()
    assert "| 1 .. 2 |" in table.markdown()  # a label, not an interval
    latex = table.latex()
    assert r"x & $-$0.2500 & [$-$0.5000, 0.1000] \\" in latex
    assert r"\caption{A title in two lines}" in latex
    assert latex.count(r"\par\footnotesize ") == 2
    assert table.markdown().startswith("A title\n\nin two lines\n\n|")


def test_csv_has_no_formulas_and_all_digits() -> None:
    cells = ["=1+1", "+x", "-y", "@z", "plain", -0.1 - 0.2, 7]
    text = Table(["=head", "n"], [(cell, 1) for cell in cells]).csv()
    rows = list(csv.reader(io.StringIO(text)))
    assert [row[0] for row in rows] == [
        "'=head",
        *("'=1+1", "'+x", "'-y", "'@z", "plain", repr(-0.1 - 0.2), "7"),
    ]
    assert table_of({"a": [1, 2], "b": ["x", "y"]}).csv() == "a,b\n1,x\n2,y\n"


DESIGN = Design(
    Schema([Attribute("a_b", NASTY), Attribute("p|q", ["no", "yes"])]),
    [Group(["a_b"], related("0.8")), Group(["p|q"], related("0.7"))],
)


@pytest.fixture(scope="module")
def codes() -> np.ndarray:
    rng = np.random.default_rng(4)
    return np.column_stack([rng.integers(0, len(NASTY), 900), rng.integers(0, 2, 900)])


def test_every_result_can_be_pasted_into_a_paper(codes: np.ndarray) -> None:
    rec = reconstruct(codes, DESIGN)
    one = Design(Schema([DESIGN.schema["p|q"]]), [DESIGN.groups[1]])
    other = Design(one.schema, [Group(["p|q"], related("0.9"))])
    samples = [(codes[:, 1:], one), (codes[:500, 1:], other)]
    between = {"a_b": NASTY[0]}, {"a_b": NASTY[1:]}
    results = [
        rec.table(["a_b"]),
        rec.difference({"p|q": "yes"}, between=between),
        rec.goodness_of_fit(["p|q"], [0.5, 0.5]),
        logit("p|q", codes, DESIGN, covariates={"one_1": np.ones(900)}),
        pool(samples),
        Cheaters("no").fit(samples),
        sensitivity(*samples[0], Cheaters("no"), [0, 0.1]),
        report(one),
    ]
    for result in results:
        markdown, latex = result.to_markdown(), result.to_latex()
        assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") >= 1
        assert not re.search(r"(?<!\\)_", latex)
        assert _cells(markdown)
    assert _cells(rec.table(["a_b"]).to_markdown())[4::4] == NASTY


def test_several_tables_are_one_below_the_other() -> None:
    table = Table(("a", "b"), [("x", 1)])
    assert markdown_of([table, table]).count("\n\n") == 1
    assert latex_of([table, table]).count(r"\end{tabular}") == 2
