"""Comparisons and regressions that somebody chose, by the queries of their pages."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from tacit.errors import DataError, unknown
from tacit.output.json_documents import DocumentFormat, read_document
from tacit.records import read_text, write_text
from tacit.survey import Published

COMPARISON, REGRESSION = "comparison", "regression"
#: Characters of a query, and analyses in a report.
LONGEST_QUERY, MOST_ANALYSES = 4000, 40
FORMAT = DocumentFormat("report", "contents of a report", (("analyses",),))


@dataclass(frozen=True)
class Analysis:
    """A comparison or a regression: the query is that of its page."""

    kind: str
    query: str

    def __post_init__(self) -> None:
        if self.kind not in (COMPARISON, REGRESSION):
            raise DataError(unknown("kind", self.kind, (COMPARISON, REGRESSION)))
        if len(self.query) > LONGEST_QUERY:
            raise DataError(f"the query has more than {LONGEST_QUERY:,} characters")
        filled = [(key, value) for key, value in parse_qsl(self.query) if value.strip()]
        object.__setattr__(self, "query", urlencode(filled))

    def title(self, survey: Published) -> str:
        """What it is about, in the questions' own words."""
        texts, pairs = survey.question_texts, parse_qsl(self.query)
        fields = dict(pairs)
        first, second = ("row", "column") if self.kind == COMPARISON else ("outcome", "with")
        names = [value for key, value in pairs if key in (second, "layer")]
        others = " and ".join(f"“{texts.get(name, name)}”" for name in names)
        between = "in the groups of" if self.kind == COMPARISON else "explained by"
        return f"“{texts.get(fields.get(first, ''), '')}” {between} {others}"


def all_labels(survey: Published) -> dict[str, dict[str, str]]:
    """The texts of the categories of all attributes."""
    return {name: survey.labels(name) for name in survey.design.schema.names}


class ReportContents:
    """The analyses in the report of each survey, as JSON files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock = folder, threading.Lock()

    def of(self, survey: Published) -> tuple[Analysis, ...]:
        """The analyses, in the order in which they were added."""
        path = self._path(survey)
        if not path.exists():
            return ()
        content = read_document(read_text(path), FORMAT)
        return tuple(Analysis(**analysis) for analysis in content["analyses"])

    def add(self, survey: Published, analysis: Analysis) -> None:
        """Add an analysis at the end, unless it is there."""
        with self._lock:
            analyses = self.of(survey)
            if len(analyses) >= MOST_ANALYSES:
                raise DataError(f"a report has at most {MOST_ANALYSES} analyses; remove one first")
            if analysis not in analyses:
                self._write(survey, (*analyses, analysis))

    def remove(self, survey: Published, number: int) -> None:
        """Remove the analysis at a place, counted from 1."""
        with self._lock:
            analyses = self.of(survey)
            if not 1 <= number <= len(analyses):
                raise DataError(f"the report has no analysis number {number}")
            self._write(survey, analyses[: number - 1] + analyses[number:])

    def _write(self, survey: Published, analyses: tuple[Analysis, ...]) -> None:
        content = FORMAT.header | {"analyses": [*map(asdict, analyses)]}
        write_text(self._path(survey), json.dumps(content, ensure_ascii=False, indent=1) + "\n")

    def _path(self, survey: Published) -> Path:
        return self._folder / f"{survey.survey.fingerprint}-report.json"
