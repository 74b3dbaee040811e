"""The results of a survey as values for pages, exports and the API: shares, warnings, history."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.design import Group
from tacit.output.json_documents import DocumentFormat, read_document
from tacit.output.number_text import number_of
from tacit.output.table import Table
from tacit.plan.expected import PlannedQuestion, assume_all
from tacit.reconstruction import Estimate, Reconstruction, simplex
from tacit.records import read_text, write_text
from tacit.studio.charts import Scale, rounded, scale_for
from tacit.studio.disclosure import shown_estimates, table_cells, why_hidden
from tacit.studio.line_figure import LineFigure, line_figure
from tacit.studio.release import HELD_BACK, Release, next_release_at
from tacit.survey import Published

#: Behind the name of a question: among those to whom it applies.
_ASKED = " (asked)"


@dataclass(frozen=True)
class CategoryResult:
    """One answer: its text, its estimated share and interval, and the share of reports."""

    label: str
    share: float
    low: float
    high: float
    reported: float | None

    @property
    def outside(self) -> bool:
        """Whether the unbiased estimate is not a possible share."""
        return not 0 <= self.share <= 1


@dataclass(frozen=True)
class QuestionResult:
    """One question with its answers.

    `effective` is the number of undisguised answers with the same standard errors. `possible` are
    the nearest shares between 0 and 1, if an estimate lies outside.
    """

    name: str
    text: str
    categories: tuple[CategoryResult, ...]
    misfit: str | None
    effective: float
    disguised: bool = True
    possible: tuple[float, ...] = ()
    safe_answers: str | None = None
    #: Records without an answer, which the shares leave out.
    missing: int = 0
    #: Whether these are the answers of those to whom a conditional question applies.
    asked: bool = False

    @property
    def attribute(self) -> str:
        """The attribute that was asked for."""
        return self.name.removesuffix(_ASKED) if self.asked else self.name

    @property
    def outside(self) -> bool:
        """Whether an estimate is not a possible share."""
        return any(category.outside for category in self.categories)

    @property
    def half_width(self) -> float:
        """Half the width of the widest interval."""
        return max(category.high - category.low for category in self.categories) / 2

    def to_table(self) -> Table:
        """A row per answer: its share, the interval, and the share of the reports."""
        rows = [astuple(category) for category in self.categories]
        return Table(("answer", "estimate", "low", "high", "reported"), rows, self.text)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "name": self.name,
            "text": self.text,
            "missing": self.missing,
            "effective": self.effective,
            "answers": [asdict(category) for category in self.categories],
        }


def question_results(release: Release) -> list[QuestionResult]:
    """Every question that is shown; conditional ones also among those to whom they apply."""
    return release.once("questions", lambda: [*_results(release)])


def result_scale(release: Release) -> Scale:
    """The scale of all charts of a release: from 0 to 100 %, and as far as its estimates go."""
    categories = [c for result in question_results(release) for c in result.categories]
    return scale_for([category.share for category in categories], whole=True)


def hidden_questions(release: Release) -> list[tuple[str, str]]:
    """The texts of the questions that are not shown, and why."""
    texts = release.survey.question_texts.items()
    return [(text, why) for name, text in texts if (why := why_hidden(release, name)) is not None]


def _results(release: Release) -> Iterator[QuestionResult]:
    for name, text in release.survey.question_texts.items():
        if why_hidden(release, name) is None:
            whole = _result(release, name, text)
            yield whole
            yield from _asked(release, whole)


def _estimates(release: Release) -> Reconstruction:
    return release.once("estimates", lambda: shown_estimates(release))


def _asked(release: Release, whole: QuestionResult) -> list[QuestionResult]:
    """The answers of those to whom a conditional question applies."""
    conditions = {c.attribute: c for c in release.survey.design.conditions}
    if whole.name not in conditions:
        return []
    estimate = _estimates(release).asked(whole.name)
    if not np.isfinite(estimate.value).all():
        return []
    asked = replace(
        whole,
        name=whole.name + _ASKED,
        asked=True,
        text=f"{whole.text} Of those to whom it applies ({conditions[whole.name]})",
        categories=_categories(release, whole.name, estimate, [None] * np.size(estimate.value)),
        effective=effective_respondents(estimate),
        possible=tuple(_possible(np.ravel(estimate.value)).tolist()),
        safe_answers=None,
    )
    return [asked]


def _categories(
    release: Release, name: str, estimate: Estimate, reported: Sequence[float | None]
) -> tuple[CategoryResult, ...]:
    texts = release.survey.labels(name)
    numbers = (np.ravel(part).tolist() for part in (estimate.value, *estimate.interval()))
    rows = zip(estimate.cells(), *numbers, reported, strict=True)
    return tuple(CategoryResult(texts[str(label)], *row) for (label,), *row in rows)


def result_notes(result: QuestionResult, records: int) -> list[str]:
    """What to know beside the estimates of a question from so many records."""
    notes = []
    if result.missing:
        notes.append(f"{result.missing:,} without an answer left out.")
    if result.disguised:
        number = f"{result.effective:,.0f}" if result.effective >= 1 else "fewer than one"
        ones = "answer" if number in ("1", "fewer than one") else "answers"
        many = number_of(records - result.missing, "disguised answer")
        notes.append(f"{many} are as exact as {number} undisguised {ones}.")
    if rounded([category.share for category in result.categories]):
        notes.append("Rounded: the shares that are shown do not add up to 100 %.")
    if result.outside:
        shares = [
            f"{category.label} {100 * share:.1f} %"
            for category, share in zip(result.categories, result.possible, strict=True)
        ]
        notes.append(
            "An estimate below 0 or above 100 % comes from chance: the disguise adds noise, and "
            "the estimate subtracts the mean of the noise, so that it is right on average. It is "
            "shown as it is, because moving it would make it wrong on average. The interval "
            "contains the shares that the reports are compatible with. The nearest possible "
            f"shares are: {', '.join(shares)}."
        )
    return notes + ([] if result.safe_answers is None else [result.safe_answers])


def effective_respondents(estimate: Estimate) -> float:
    """How many undisguised answers would give the same standard errors.

        n = sum of p (1 - p) / sum of squared standard errors

    over the categories, with shares moved to the nearest possible ones; p (1 - p) / se^2 if there
    are two. 0 if everybody seems to give the same answer: then any number has a smaller error.
    """
    shares = _possible(np.asarray(estimate.value).ravel())
    variance = float(np.sum(np.asarray(estimate.stderr) ** 2))
    return float(np.sum(shares * (1 - shares))) / variance if variance > 0 else 0.0


def _possible(shares: Array) -> Array:
    """Shares from 0 to 1 that sum to 1, near these."""
    clipped = np.clip(shares, 0, None)
    return np.asarray(clipped / clipped.sum())


def _result(release: Release, name: str, text: str) -> QuestionResult:
    estimate = _estimates(release).table([name])
    categories = _categories(release, name, estimate, _reported(release, name))
    outside = any(category.outside for category in categories)
    possible = _estimates(release).table([name], simplex).value if outside else ()
    return QuestionResult(
        name,
        text,
        categories,
        misfit_text(estimate),
        effective_respondents(estimate),
        release.survey.design.group_of(name).disguised,
        tuple(float(share) for share in np.ravel(possible)),
        safe_answer_text(release, name, categories[-1].label, estimate),
        estimate.n_left_out,
    )


def _reported(release: Release, name: str) -> list[float | None]:
    """The shares of the reports, if reports have the same categories as answers."""
    true, schema = release.survey.design.schema[name], release.counts.schema
    if name not in schema.names or schema[name].categories != true.categories:
        return [None] * true.size
    counts = release.counts.complete([name]).marginal([name])
    return [float(share) for share in counts / max(1, counts.sum())]


def waiting_text(release: Release | None, records: int) -> str:
    """How many records are shown, and when more will be."""
    if release is None:
        needed = next_release_at(0)
        return f"There are no results yet: {number_of(records, 'record')} so far, {needed} needed."
    shown = release.counts.n_records
    if not release.open:
        late = records - shown
        unseen = f" {late:,} that came later are not shown." if late else ""
        return f"Results of {number_of(shown, 'record')}.{unseen}"
    left = max(0, next_release_at(shown) - records)
    return (
        f"Results of {number_of(shown, 'record')}. {records - shown:,} more are not shown yet: "
        f"results are updated in batches that leave out {HELD_BACK} records, so that no single "
        f"answer can be read from a change. The next update needs "
        f"{number_of(left, 'more record')}; once the survey is closed, all records are shown."
    )


# Warnings -----------------------------------------------------------------------------------------

#: A fit with a smaller p-value is a warning.
SMALLEST_P = 0.001
#: The joint fit of a group is tested up to this many cells.
_MOST_CELLS = 256
_HARDLY = (
    "hardly fit the design (p < .001). Some people may not have followed the instructions, or the "
    "records come from another survey."
)


def misfit_text(estimate: Estimate) -> str | None:
    """A warning if the reports contradict the design."""
    fit = estimate.fit
    return None if fit is None or fit.pvalue >= SMALLEST_P else f"These reports {_HARDLY}"


def group_warnings(release: Release) -> list[str]:
    """Warnings about answers that were disguised together, of which each may fit alone."""
    return release.once("groups", lambda: [*_group_warnings(release)])


def _group_warnings(release: Release) -> Iterator[str]:
    texts = release.survey.question_texts
    for group in release.survey.design.groups:
        if _joint_misfit(release, group):
            listed = "; ".join(f"\u201c{texts[name]}\u201d" for name in group.attributes)
            yield f"The reports of {listed}, taken together, {_HARDLY}"


def safe_answer_text(release: Release, name: str, label: str, estimate: Estimate) -> str | None:
    """A warning if the bias of safe answers may exceed the interval of the second answer.

    For disguised questions with two answers: who should report the second one, and gives the safe
    answer instead, is missing from the estimate.
    """
    design, shares = release.survey.design, np.asarray(estimate.value).ravel()
    if len(shares) != 2 or not design.group_of(name).disguised:
        return None
    low, high = (np.ravel(limit) for limit in estimate.interval())
    planned = float(high[1] - low[1]) / 2
    assumed = assume_all(design, {name: float(np.clip(shares[1], 0, 1))})
    for bias_of in PlannedQuestion(design, name, assumed).biases(estimate.n_records):
        if abs(bias_of.bias) > planned:
            carriers, bias = 100 * bias_of.carriers, 100 * bias_of.bias
            people = f"{carriers:g} % of the people whose answer is \u201c{label}\u201d"
            moved = f"{abs(bias):.1f} points too {'low' if bias < 0 else 'high'}"
            return (
                f"If {people} always gave the safe answer, the estimate would be {moved}: more "
                f"than the interval of ± {100 * planned:.1f} points allows for, and more records "
                "would not help."
            )
    return None


def _joint_misfit(release: Release, group: Group) -> bool:
    names = list(group.attributes)
    cells = table_cells(release, names)
    if len(names) < 2 or cells > _MOST_CELLS or not group.disguised:
        return False
    return misfit_text(release.reconstruction.table(names)) is not None


# Earlier releases ---------------------------------------------------------------------------------

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


def history_figures(points: Sequence[ReleasePoint]) -> list[LineFigure | None]:
    """Records and widest intervals of the releases, as two figures; none of a single release."""
    if len(points) < 2:
        return []
    last = len(points) - 1
    days = [(float(k), points[k].day) for k in sorted({0, last // 2, last})]
    records = [(k, float(point.records)) for k, point in enumerate(points)]
    widths = [(k, 100 * point.widths[point.widest]) for k, point in enumerate(points)]
    return [
        line_figure({name: curve}, "day of the release", name, named=days)
        for name, curve in (("records", records), ("points", widths))
    ]


class ReleaseHistory:
    """How many records each release of a survey had, and how wide its intervals were.

    JSON files in a folder. No time is finer than a day. A point is added when a release is made, so
    the history reveals nothing that its readers could not have seen on that day.
    """

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
