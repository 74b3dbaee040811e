"""What the first page of a survey shows: answers per day, precision, privacy, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from datetime import date, timedelta
from typing import Any
from urllib.parse import quote

from tacit.collect.store.values import SurveyState
from tacit.output.number_text import number_of
from tacit.studio.charts import Scale, scale_for
from tacit.studio.disclosure import SMALLEST_GROUP
from tacit.studio.release import FEWEST_SHOWN, Release, next_release_at
from tacit.studio.results import QuestionResult, group_warnings, question_results
from tacit.survey import Published
from tacit.survey.disclosure_bound import worst_guesses

#: More bars than this are joined: days to weeks, weeks to four weeks.
_MOST_BARS = 62
#: The height of the tallest bar and of the axis, in the picture's units.
_TALLEST, BASE = 180, 206


@dataclass(frozen=True)
class DayBar:
    """The answers of a day, a week or four weeks: its first day, position and height."""

    day: date
    n: int
    x: str
    width: str
    y: float
    height: float


@dataclass(frozen=True)
class DayFigure:
    """Answers over time as bars; positions along the axis are percentages of its width."""

    bars: tuple[DayBar, ...]
    days: int
    #: Numbers beside the vertical axis and their positions, and days below it.
    numbers: tuple[tuple[int, float], ...]
    labels: tuple[tuple[str, str], ...]

    @property
    def unit(self) -> str:
        """What a bar stands for."""
        return {1: "day", 7: "week"}.get(self.days, "four weeks")


def day_figure(counts: Mapping[str, int], last: date) -> DayFigure | None:
    """Bars of all days from the first answer to the last day; None without answers."""
    by_day = {date.fromisoformat(day): n for day, n in counts.items()}
    if not by_day:
        return None
    first, last = min(by_day), max(last, *by_day)
    span = (last - first).days + 1
    days = next((size for size in (1, 7) if span <= _MOST_BARS * size), 28)
    n_bars = -(-span // days)
    sums = [0] * n_bars
    for day, n in by_day.items():
        sums[(day - first).days // days] += n
    step = _round_step(max(sums))
    top = step * -(-max(sums) // step)
    shown = []
    for k, n in enumerate(sums):
        height = _TALLEST * n / top
        x, width = 100 * (k + 0.15) / n_bars, min(70 / n_bars, 8)
        start = first + timedelta(days * k)
        shown.append(DayBar(start, n, f"{x:.2f}%", f"{width:.2f}%", BASE - height, height))
    numbers = tuple((n, BASE - _TALLEST * n / top) for n in range(0, top + 1, step))
    every = -(-n_bars // 6)
    labels = tuple(
        (bar.x, f"{bar.day:%-d %b}")
        for k, bar in enumerate(shown)
        if k % every == 0 and k <= 0.92 * n_bars  # the text is right of the start of its bar
    )
    return DayFigure(tuple(shown), days, numbers, labels)


def _round_step(largest: int) -> int:
    """The distance of two grid lines: 1, 2 or 5 times a power of ten, for about four lines."""
    steps: Iterator[int] = (part * 10**power for power in range(12) for part in (1, 2, 5))
    return next(step for step in steps if step * 4 >= largest)


@dataclass(frozen=True)
class Task:
    """Something to do, or something that was checked and is fine."""

    kind: str
    title: str
    text: str
    action: str | None = None
    path: str | None = None


def tasks(survey: Published, state: SurveyState, release: Release | None) -> list[Task]:
    """What to do next, most urgent first, then what is fine."""
    base, invited = f"/surveys/{survey.slug}", survey.survey.access == "invited"
    urgent, fine = [], []
    if state.open and invited and not state.issued:
        text = "Only people with a one-time link may answer. Make links and send them."
        urgent.append(Task("todo", "Invite people", text, "People", f"{base}/people"))
    elif state.open and invited and state.remaining:
        text = f"Unused: {number_of(state.remaining, 'link')}."
        urgent.append(Task("todo", "Remind people", text, "People", f"{base}/people"))
    elif state.open and not state.records:
        text = "Send the address of the respondents’ page to the people you want to ask."
        urgent.append(Task("todo", "Send the address", text, "Address", f"{base}/people"))
    if release is None:
        needed = next_release_at(0) if state.open else FEWEST_SHOWN
        text = (
            f"Results appear from {needed} answers on, so that no single answer can be read from "
            "them."
            if state.open
            else f"{number_of(state.records, 'answer')} came; results need {needed}."
        )
        urgent.append(Task("todo", "Wait for answers" if state.open else "No results", text))
        return urgent
    results = question_results(release)
    misfits = [*group_warnings(release), *(r.misfit for r in results if r.misfit)]
    path = f"{base}/results"
    urgent += [Task("warn", "Answers do not fit the design", w, "Results", path) for w in misfits]
    disguised = [result for result in results if result.disguised]
    if disguised and not misfits:
        questions = number_of(len(disguised), "question")
        text = f"No sign that people ignore the rules of chance ({questions})."
        fine.append(Task("check", "Answers fit the design", text))
    if not state.open:
        urgent += _small_groups(results, release.counts.n_records, base)
        text = f"Groups with at least {SMALLEST_GROUP} people are shown."
        urgent.append(Task("todo", "Compare groups", text, "Compare", f"{base}/compare"))
        text = "Methods in words, a table and a figure per question."
        urgent.append(Task("todo", "Download the report", text, "Export", f"{base}/export"))
    else:
        text = "After closing, or now in a snapshot that you freeze."
        urgent.append(Task("todo", "Compare groups", text, "Compare", f"{base}/compare"))
    if results:
        text = f"{number_of(release.counts.n_records, 'answer')} in charts and tables."
        fine.append(Task("check", "Results are shown", text, "Results", path))
    if invited:
        fine.append(Task("check", "Every link works once", "Nobody can answer twice."))
    return urgent + fine


def _small_groups(results: list[QuestionResult], n: int, base: str) -> Iterator[Task]:
    """Answers that too few people gave to be compared, of at most two questions."""
    rows = [result.attribute for result in results if result.disguised]
    small = {
        result.name: category.label
        for result in results
        if not result.disguised and not result.asked
        for category in result.categories
        if 0 < category.share * (n - result.missing) < SMALLEST_GROUP
    }
    for name, label in list(small.items())[:2] if rows else []:
        text = f"“{label}” ({name}) has fewer than {SMALLEST_GROUP} people. Merge it to compare it."
        path = f"{base}/compare?row={quote(rows[0])}&column={quote(name)}"
        yield Task("warn", "A group is too small to show", text, "Merge", path)


@dataclass(frozen=True)
class GlanceRow:
    """An answer to a sensitive question, for the chart of all of them."""

    label: str
    answer: str
    share: float
    low: float
    high: float
    reported: float | None


def glance(survey: Published, results: list[QuestionResult]) -> tuple[list[GlanceRow], Scale]:
    """The last answer to every disguised question, such as yes, on one scale."""
    rows, conditional = [], {c.attribute for c in survey.design.conditions}
    for result in results:
        if result.disguised and not result.asked:
            last = result.categories[-2 if result.name in conditional else -1]
            rows.append(GlanceRow(result.text, *astuple(last)))
    ends = [end for row in rows for end in (row.low, row.high, row.share, row.reported or 0.0)]
    return rows, scale_for(ends or [1.0])


def privacy(survey: Published) -> dict[str, int] | None:
    """How many of 100 guesses at a disguised answer are right at worst; None without disguise."""
    if not any(group.disguised for group in survey.design.groups):
        return None
    own, _, together, _ = worst_guesses(survey.design, survey.survey.waves or 1)
    return {"own": own, "together": together}


def overview(
    survey: Published,
    state: SurveyState,
    release: Release | None,
    counts: Mapping[str, int],
    today: date,
) -> dict[str, Any]:
    """The values of the page."""
    results = [] if release is None else question_results(release)
    disguised = [result for result in results if result.disguised and not result.asked]
    rows, scale = glance(survey, results)
    last = today if state.open else date.min
    goal = survey.survey.quota or state.issued or None
    shown = 0 if release is None else release.counts.n_records
    due = next_release_at(shown) if state.open else None
    return {
        "tasks": tasks(survey, state, release),
        "days": day_figure(counts, last),
        "goal": goal,
        "widest": max(disguised, key=lambda result: result.half_width, default=None),
        "disguised": disguised,
        "guesses": privacy(survey),
        "due": due,
        "glance": rows,
        "scale": scale,
    }
