"""ReleaseHistory: how many records each release of a survey had, and how wide its intervals were.

No time is finer than a day. A point is added when a release is made, so the history tells nothing
that its readers could not have seen on that day.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from tacit.output.json_documents import DocumentFormat, read_document
from tacit.records import read_text, write_text
from tacit.studio.line_figure import FigureCurve, LineFigure, line_figure
from tacit.studio.question_results import question_results
from tacit.studio.release import Release
from tacit.survey import Published

FORMAT = DocumentFormat("releases", "history of releases", (("design", "releases"),))


@dataclass(frozen=True)
class ReleasePoint:
    """One release: its day, its records, and half the widest interval of each question."""

    day: str
    records: int
    widths: Mapping[str, float]

    @property
    def widest(self) -> str:
        """The question with the widest interval."""
        return max(self.widths, key=self.widths.__getitem__)

    @property
    def narrowest(self) -> str:
        """The question with the narrowest interval."""
        return min(self.widths, key=self.widths.__getitem__)


def history_figures(points: Sequence[ReleasePoint]) -> list[LineFigure]:
    """Records and widest intervals of the releases, as two figures; none of a single release."""
    if len(points) < 2:
        return []
    last = len(points) - 1
    days = [(float(k), points[k].day) for k in sorted({0, last // 2, last})]
    values = {
        "records": [float(point.records) for point in points],
        "points": [100 * point.widths[point.widest] for point in points],
    }
    made = [
        line_figure(
            [FigureCurve(name, tuple(enumerate(found)))], "day of the release", name, named=days
        )
        for name, found in values.items()
    ]
    return [figure for figure in made if figure is not None]


class ReleaseHistory:
    """The releases of all surveys, as JSON files in a folder."""

    def __init__(self, folder: Path, today: Callable[[], date] = date.today) -> None:
        self._folder, self._today = folder, today

    def of(self, survey: Published) -> list[ReleasePoint]:
        """The releases of a survey, oldest first."""
        path = self._path(survey)
        if not path.exists():
            return []
        content = read_document(read_text(path), FORMAT)
        return [ReleasePoint(**point) for point in content["releases"]]

    def add(self, release: Release) -> None:
        """Add a release, unless it is the last one already."""
        points, n = self.of(release.survey), release.counts.n_records
        if points and points[-1].records == n:
            return
        widths = {result.name: result.half_width for result in question_results(release)}
        points.append(ReleasePoint(self._today().isoformat(), n, widths))
        content = {"design": release.survey.fingerprint, "releases": [*map(asdict, points)]}
        text = json.dumps(FORMAT.header | content, ensure_ascii=False, indent=1)
        write_text(self._path(release.survey), text + "\n")

    def _path(self, survey: Published) -> Path:
        return self._folder / f"{survey.survey.fingerprint}-releases.json"
