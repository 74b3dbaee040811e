"""The section of the report on one paper: sentences, comparisons with published numbers, charts.

Values only; `charts` draws them, `report_page` arranges them, `report_files` writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tacit.reproduce.study_settings import Rows
from tacit.table import Table

#: Shown at a theta that carries no information.
NO_ESTIMATE = "no estimate exists"


@dataclass(frozen=True)
class Check:
    """A published number beside ours.

    `published` is the number in the paper, None if it prints none; `reference` was measured before.
    `within` is the tolerance. `why` explains the difference.
    """

    what: str
    ours: float | None
    published: float | None = None
    reference: float | None = None
    within: float | None = None
    why: str = ""

    @property
    def difference(self) -> float | None:
        """Ours minus the published number, or minus the reference if none is published."""
        other = self.reference if self.published is None else self.published
        return None if other is None or self.ours is None else self.ours - other

    @property
    def holds(self) -> bool | None:
        """Whether ours is within tolerance; None if there is none."""
        other = self.reference if self.reference is not None else self.published
        if other is None or self.within is None or self.ours is None:
            return None
        return abs(self.ours - other) <= self.within


@dataclass(frozen=True)
class Curve:
    """A line of a chart; a y of None is a place where no estimate exists."""

    label: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    dashed: bool = False
    colour: int = 0
    marks: bool = True


@dataclass(frozen=True)
class Chart:
    """Curves over one axis; `name` names its files."""

    name: str
    title: str
    x: str
    y: str
    curves: tuple[Curve, ...]
    log: bool = False
    level: tuple[str, float] | None = None


@dataclass(frozen=True)
class Section:
    """One paper; `found` are the sentences of the summary, `said` those of its own section.

    `tables` has the name of each table's file.
    """

    name: str
    title: str
    paper: str
    said: tuple[str, ...]
    checks: tuple[Check, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)
    found: str = ""


def curve(
    label: str,
    points: Sequence[tuple[float, float | None]],
    colour: int = 0,
    dashed: bool = False,
    marks: bool = True,
) -> Curve:
    """A curve through points, sorted by x."""
    ordered = sorted(points, key=lambda point: point[0])
    x, y = tuple(p[0] for p in ordered), tuple(p[1] for p in ordered)
    return Curve(label, x, y, dashed, colour, marks)


def table_of(title: str, rows: Rows) -> Table:
    """Rows under the names of their values."""
    heads = tuple(rows[0])
    return Table(heads, [[row[name] for name in heads] for row in rows], title)
