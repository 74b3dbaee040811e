"""The section of the report on one paper: sentences, comparisons with published numbers, charts.

Values only; `report_page` arranges them, `report_files` draws and writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tacit.output.table import Table
from tacit.papers.study_settings import Rows, Value

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


#: x and y of a curve; a y of None is a place where no estimate exists.
Point = tuple[float, float | None]


@dataclass(frozen=True)
class Curve:
    """A line of a chart through points in any order."""

    label: str
    points: Sequence[Point]
    colour: int = 0
    dashed: bool = False
    marks: bool = True

    @property
    def ordered(self) -> list[Point]:
        """The points by rising x."""
        return sorted(self.points, key=lambda point: point[0])


@dataclass(frozen=True)
class Chart:
    """Curves over one axis; `name` names its files."""

    name: str
    title: str
    x: str
    y: str
    curves: Sequence[Curve]
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
    said: Sequence[str]
    checks: Sequence[Check] = ()
    charts: Sequence[Chart] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)
    found: str = ""


def matching(rows: Rows, **own: Value) -> Rows:
    """The rows with these values."""
    return [row for row in rows if all(row[key] == value for key, value in own.items())]


def points(rows: Rows, y: str, x: str = "theta", **own: Value) -> list[Point]:
    """Points of the rows with these values."""
    return [(float(row[x]), row[y]) for row in matching(rows, **own)]


def table_of(title: str, rows: Rows) -> Table:
    """Rows under the names of their values."""
    heads = tuple(rows[0])
    return Table(heads, [[row[name] for name in heads] for row in rows], title)
