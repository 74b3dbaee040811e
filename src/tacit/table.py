"""Table: rows under column heads, shown as text, as HTML or as CSV."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tacit.number_text import number_of

#: Numbers closer to 0 are shown with an exponent.
_SMALL = 1e-3


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

    def cut(self, most: int, what: str = "row") -> Table:
        """The first rows, with a note on how many are left out."""
        left = len(self.rows) - most
        if left <= 0:
            return self
        note = f"... {number_of(left, f'more {what}')}; see to_frame()"
        return replace(self, rows=self.rows[:most], note=note)

    def text(self) -> str:
        """Aligned columns under the title."""
        lines = [self.heads, *([cell_text(cell) for cell in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = [
            "  ".join(
                cell.ljust(width) if side == "l" else cell.rjust(width)
                for cell, width, side in zip(line, widths, self.align, strict=True)
            ).rstrip()
            for line in lines
        ]
        return "\n".join([*filter(None, [self.title]), *shown, *filter(None, [self.note])])

    def html(self, cards: bool = False) -> str:
        """A table element. With `cards`, each cell names its column for narrow screens."""
        head = "".join(
            f'<th scope="col"{self._css(place)}>{html.escape(name)}</th>'
            for place, name in enumerate(self.heads)
        )
        rows = "".join(f"<tr>{self._cells(row, cards)}</tr>" for row in self.rows)
        css = ' class="cards"' if cards else ""
        title = f"<caption>{html.escape(self.title)}</caption>" if self.title else ""
        note = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return (
            f"<table{css}>{title}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}"
        )

    def csv(self) -> str:
        """Heads and cells as CSV, numbers with all their digits."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.heads)
        writer.writerows(self.rows)
        return stream.getvalue()

    def _cells(self, row: Sequence[Any], cards: bool) -> str:
        cells = []
        for place, (head, cell) in enumerate(zip(self.heads, row, strict=True)):
            shown = cell if isinstance(cell, Markup) else html.escape(cell_text(cell))
            name = f' data-name="{html.escape(head)}"' if cards else ""
            if place == 0 and self.align[0] == "l":
                cells.append(f'<th scope="row">{shown}</th>')
            else:
                cells.append(f"<td{name}{self._css(place)}>{shown}</td>")
        return "".join(cells)

    def _css(self, place: int) -> str:
        return ' class="text"' if place and self.align[place] == "l" else ""

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return self.html()


class TabularResult:
    """A result that prints as a table, as text and in a notebook."""

    __slots__ = ()

    def to_table(self, *args: Any, **kwargs: Any) -> Table:
        """The result as a person reads it."""
        raise NotImplementedError

    def shown(self) -> Table:
        """The part of the table that is printed; all of it unless it may be long."""
        return self.to_table()

    def __str__(self) -> str:
        return self.shown().text()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.shown().html()


def cell_text(value: Any) -> str:
    """A cell to read: numbers with four digits.

    >>> cell_text(0.5), cell_text(2e-5), cell_text(None), cell_text(7)
    ('0.5000', '2.00e-05', '', '7')
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4f}" if value == 0 or abs(value) >= _SMALL else f"{value:.2e}"
    return str(value)
