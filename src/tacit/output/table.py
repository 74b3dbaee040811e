"""Table: rows under column heads, shown as text, HTML, Markdown, LaTeX, CSV or a data frame."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

from tacit.errors import DataError, unknown
from tacit.output.number_text import decimals, number_of, text

if TYPE_CHECKING:
    import matplotlib.figure
    import narwhals as nw

#: What `plot` returns. matplotlib is an extra, and slow to load.
Figure: TypeAlias = "matplotlib.figure.Figure"
#: Libraries of data frames, the first that is installed by default.
BACKENDS = ("pandas", "polars", "pyarrow")

#: The two ends of an interval, as `number_text.span` writes them.
_SPAN = re.compile(r"\A(\S+) \.\. (\S+)\Z")
#: What begins a formula in a spreadsheet.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
#: Signs that Markdown, with tables and mathematics, would not show as they are.
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~$&#!])")
_LATEX = {
    "\\": r"\textbackslash{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # would be an option after a line break
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    '"': "''",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


class Markup(str):
    """A cell that is HTML already and is not escaped."""

    __slots__ = ()


@dataclass(frozen=True)
class Table:
    """Cells are text or numbers; None is an empty cell.

    `align` has a letter per column, "l" for left or "r" for right; by default, the first column is
    aligned left and the others right. A first column that is aligned left labels its rows.

    >>> print(Table(("answer", "share"), (("no", 0.25), ("yes", 0.75)), title="An example"))
    An example
    answer   share
    no      0.2500
    yes     0.7500
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]
    title: str = ""
    align: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if not self.align:
            object.__setattr__(self, "align", "l" + "r" * (len(self.heads) - 1))

    def cut(self, most: int, what: str = "row", see: str = "see to_frame()") -> Table:
        """The first rows, with a note on how many are left out and where to see them."""
        left = len(self.rows) - most
        if left <= 0:
            return self
        note = f"... {number_of(left, f'more {what}')}; {see}"
        return replace(self, rows=self.rows[:most], note=note)

    def text(self) -> str:
        """Aligned columns under the title."""
        lines = [self.heads, *([cell_text(cell) for cell in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = ["  ".join(self._padded(line, widths)).rstrip() for line in lines]
        return "\n".join([*filter(None, [self.title]), *shown, *filter(None, [self.note])])

    def html(self, cards: bool = False) -> str:
        """A table element. With `cards`, each cell names its column for narrow screens."""
        head = "".join(
            f'<th scope="col"{self._css(column)}>{html.escape(name)}</th>'
            for column, name in enumerate(self.heads)
        )
        rows = "".join(f"<tr>{self._cells(row, cards)}</tr>" for row in self.rows)
        css = ' class="cards"' if cards else ""
        title = f"<caption>{_html_lines(self.title)}</caption>" if self.title else ""
        note = f"<p>{_html_lines(self.note)}</p>" if self.note else ""
        body = f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
        return f"<table{css}>{title}{body}</table>{note}"

    def csv(self) -> str:
        """Heads and cells as CSV, numbers with all their digits.

        Text that a spreadsheet would run as a formula gets an apostrophe in front.
        """
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerows([safe_cell(cell) for cell in row] for row in (self.heads, *self.rows))
        return stream.getvalue()

    def markdown(self) -> str:
        """A table of Markdown (GitHub's) between its title and its note; labels are escaped.

        >>> print(Table(("a|b", "share"), (("*", "0.2 .. 0.3"),)).markdown())
        | a\\|b |      share |
        |:-----|-----------:|
        | \\*   | [0.2, 0.3] |
        """
        lines = [list(map(markdown_text, self.heads)), *self._bracketed(markdown_text)]
        widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
        rules = [
            ":" + "-" * (w + 1) if side == "l" else "-" * (w + 1) + ":"
            for w, side in zip(widths, self.align, strict=True)
        ]
        shown = [" | ".join(self._padded(line, widths)) for line in lines]
        table = [f"| {shown[0]} |", f"|{'|'.join(rules)}|", *(f"| {line} |" for line in shown[1:])]
        above, below = (markdown_lines(text) for text in (self.title, self.note))
        return "\n\n".join(filter(None, [above, "\n".join(table), below]))

    def latex(self) -> str:
        """A table of LaTeX with the rules of the package booktabs; labels are escaped.

        >>> print(Table(("p & q", "share"), (("50 %", -0.5),)).latex())
        \\begin{tabular}{lr}
        \\toprule
        p \\& q & share \\\\
        \\midrule
        50 \\% & $-$0.5000 \\\\
        \\bottomrule
        \\end{tabular}
        """
        lines = [" & ".join(row) for row in (map(_latex, self.heads), *self._bracketed(_latex))]
        table = [
            rf"\begin{{tabular}}{{{self.align}}}",
            r"\toprule",
            rf"{lines[0]} \\",
            r"\midrule",
            *(rf"{line} \\" for line in lines[1:]),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        if not self.title and not self.note:
            return "\n".join(table)
        caption = [rf"\caption{{{_latex(self.title)}}}"] if self.title else []
        notes = [rf"\par\footnotesize {_latex(line)}" for line in self.note.splitlines()]
        begin, end = [r"\begin{table}", r"\centering"], [r"\end{table}"]
        return "\n".join(begin + caption + table + notes + end)

    def _bracketed(self, escaped: Callable[[str], str]) -> list[list[str]]:
        """The cells as escaped text; intervals in brackets."""
        return [
            [
                _SPAN.sub(r"[\1, \2]", text) if side == "r" else text
                for text, side in zip(map(escaped, map(cell_text, row)), self.align, strict=True)
            ]
            for row in self.rows
        ]

    def _padded(self, line: Sequence[str], widths: Sequence[int]) -> list[str]:
        return [
            cell.ljust(width) if side == "l" else cell.rjust(width)
            for cell, width, side in zip(line, widths, self.align, strict=True)
        ]

    def _cells(self, row: Sequence[Any], cards: bool) -> str:
        cells = []
        for column, (head, cell) in enumerate(zip(self.heads, row, strict=True)):
            shown = cell if isinstance(cell, Markup) else html.escape(cell_text(cell))
            name = f' data-name="{html.escape(head)}"' if cards else ""
            if column == 0 and self.align[0] == "l":
                cells.append(f'<th scope="row">{shown}</th>')
            else:
                cells.append(f"<td{name}{self._css(column)}>{shown}</td>")
        return "".join(cells)

    def _css(self, column: int) -> str:
        return ' class="text"' if column and self.align[column] == "l" else ""

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return self.html()


class Columns:
    """A result with columns of numbers and labels."""

    __slots__ = ()

    columns: Callable[..., Mapping[str, Sequence[Any]]]

    def to_frame(self, *args: Any, backend: str | None = None, **kwargs: Any) -> Any:
        """The columns as a data frame of pandas, polars or pyarrow, else of what is installed.

        Other arguments are those of `columns`.
        """
        return frame_of(self.columns(*args, **kwargs), backend)


class TabularResult(Columns):
    """A result that prints as a table, as text and in a notebook."""

    __slots__ = ()

    def to_table(self, *args: Any, **kwargs: Any) -> Table:
        """The result as a person reads it."""
        raise NotImplementedError

    def shown(self) -> Table:
        """The part of the table that is printed; all of it unless it may be long."""
        return self.to_table()

    def to_markdown(self, *args: Any, **kwargs: Any) -> str:
        """The table in Markdown; arguments are those of `to_table`."""
        return self.to_table(*args, **kwargs).markdown()

    def to_latex(self, *args: Any, **kwargs: Any) -> str:
        """The table in LaTeX, for the package booktabs; arguments are those of `to_table`."""
        return self.to_table(*args, **kwargs).latex()

    def __str__(self) -> str:
        return self.shown().text()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.shown().html()


class TablesResult(Columns):
    """A result of several tables between lines of text."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready content."""
        raise NotImplementedError

    def lead(self) -> list[str]:
        """Lines above the tables."""
        return []

    def tables(self, *args: Any, **kwargs: Any) -> list[Table]:
        """The tables, in their order."""
        raise NotImplementedError

    def notes(self) -> list[str]:
        """Lines below the tables."""
        return []

    def to_json(self) -> str:
        """JSON text of `to_dict`."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def to_markdown(self, *args: Any, **kwargs: Any) -> str:
        """The text and the tables in Markdown; arguments are those of `tables`."""
        tables = self.tables(*args, **kwargs)
        return markdown_of(tables, "\n".join(self.lead()), "\n".join(self.notes()))

    def to_latex(self, *args: Any, **kwargs: Any) -> str:
        """The same in LaTeX, for the package booktabs."""
        tables = self.tables(*args, **kwargs)
        return latex_of(tables, "\n".join(self.lead()), "\n".join(self.notes()))

    def _repr_html_(self) -> str:
        texts = [
            [f"<p>{html.escape(s.strip())}</p>" for s in t] for t in (self.lead(), self.notes())
        ]
        return "".join([*texts[0], *(table.html() for table in self.tables()), *texts[1]])

    def __str__(self) -> str:
        texts = ["\n".join(self.lead()), *map(str, self.tables()), "\n".join(self.notes())]
        return "\n\n".join(filter(None, texts))

    def __repr__(self) -> str:
        return str(self)


def cell_text(value: Any) -> str:
    """A cell to read: numbers with four decimals or three digits, see `number_text.decimals`.

    >>> cell_text(0.5), cell_text(2e-5), cell_text(None), cell_text(7)
    ('0.5000', '2.00e-05', '', '7')
    """
    if value is None:
        return ""
    return decimals(value) if isinstance(value, float) else str(value)


def table_of(columns: Mapping[str, Sequence[Any]]) -> Table:
    """Columns of equal length as a table, all digits of their numbers kept for CSV."""
    return Table(list(columns), list(zip(*columns.values(), strict=True)))


def frame_of(
    columns: Mapping[str, Sequence[Any]], backend: str | nw.Implementation | None = None
) -> Any:
    """A frame of these columns, made by the library named, else the first that is installed.

    A column of mixed types becomes text, as in decode.
    """
    return native_frame({name: arrow_array(values) for name, values in columns.items()}, backend)


def native_frame(columns: dict[str, Any], backend: str | nw.Implementation | None) -> Any:
    """A frame of Arrow columns, made by the library named, else the first that is installed."""
    import narwhals as nw
    import pyarrow as pa

    if backend is None:
        backend = next(name for name in BACKENDS if find_spec(name))
    name = backend.value if isinstance(backend, nw.Implementation) else backend
    if name not in BACKENDS:
        raise DataError(unknown("backend", name, BACKENDS))
    if not find_spec(name):
        raise DataError(f"the library {name!r} is not installed")
    made_by: Any = nw.Implementation.from_string(name)
    return nw.from_arrow(pa.table(columns), backend=made_by).to_native()


def arrow_array(values: Sequence[Any]) -> Any:
    """Values as an Arrow array, None as null; as text if they mix types or exceed 64 bits."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    wide = kinds == {int} and any(abs(int(value)) >= 2**63 for value in values)
    if len(kinds) > 1 or wide:
        return pa.array([None if value is None else text(value) for value in values])
    return pa.array(values)


def markdown_of(tables: Iterable[Table], above: str = "", below: str = "") -> str:
    """Several tables in Markdown, one below the other, between lines of text."""
    shown = [markdown_lines(above), *(table.markdown() for table in tables), markdown_lines(below)]
    return "\n\n".join(filter(None, shown))


def latex_of(tables: Iterable[Table], above: str = "", below: str = "") -> str:
    """Several tables in LaTeX, one below the other, between paragraphs of text."""
    shown = [_latex_lines(above), *map(_latex_block, tables), _latex_lines(below)]
    return "\n\n".join(filter(None, shown))


def _html_lines(text: str) -> str:
    return "<br>".join(map(html.escape, text.splitlines()))


def safe_cell(cell: Any) -> Any:
    """Text that is no formula for a spreadsheet; numbers as they are.

    >>> safe_cell("=1+1"), safe_cell("yes"), safe_cell(-1)
    ("'=1+1", 'yes', -1)
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def markdown_text(text: str) -> str:
    """One line of Markdown that shows this text."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split("\n")))


def markdown_lines(text: str) -> str:
    """Paragraphs; a sign that would begin a list or a heading is escaped."""
    lines = map(markdown_text, filter(None, text.splitlines()))
    return "\n\n".join(re.sub(r"^(\d*)([-+=.)])", r"\1\\\2", line) for line in lines)


def _latex_block(table: Table) -> str:
    """A table with space around it, also if it has no caption."""
    text = table.latex()
    floats = text.startswith(r"\begin{table}")
    return text if floats else f"\\begin{{center}}\n{text}\n\\end{{center}}"


def _latex_lines(text: str) -> str:
    """A paragraph per line."""
    return "\n\n".join(map(_latex, filter(None, text.splitlines())))


def _latex(text: str) -> str:
    """One line of LaTeX that shows this text; the hyphen of a negative number is a minus."""
    parts = re.split(r"(?<![\w.-])-(?=\.?\d)", " ".join(text.split("\n")))
    return "$-$".join("".join(_LATEX.get(sign, sign) for sign in part) for part in parts)
