"""Pages for surveys: the list, results, tables of groups, links, closing, files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from typing import Any, TypeVar

import numpy as np
from starlette.responses import Response

from tacit.errors import DataError, unknown
from tacit.output.table import Table, latex_of
from tacit.studio import results
from tacit.studio.accounts import Role
from tacit.studio.design_text import DAY, survey_meta
from tacit.studio.drafts import Draft
from tacit.studio.overview import overview
from tacit.studio.record_files import (
    LabelledRecords,
    codebook,
    python_script,
    r_script,
    stata_script,
)
from tacit.studio.release import FEWEST_SHOWN, Release, next_release_at
from tacit.studio.report import question_chart, survey_report, survey_report_pdf
from tacit.studio.results import question_results
from tacit.studio.site import Answer, PageRoute, PageVisit, Right
from tacit.survey import Published
from tacit.survey.fields import text_in
from tacit.survey.questions import Question

T = TypeVar("T")

MOST_LINKS = 100_000
MakeFile = Callable[[Release], str | bytes]
#: Where surveys are: an address without spaces, quotes or commas, which would end a cell of CSV.
_BASE = re.compile(r"""https?://[^\s"',]+""")


def show_surveys(visit: PageVisit) -> Response:
    """The surveys and drafts of the account, with their states and progress.

    A draft that was published is listed among the drafts only.
    """
    listed = [survey_row(visit, survey) for survey in visit.studio.surveys(visit.person)]
    listed = [*listed, *map(draft_row, visit.studio.own_drafts(visit.person))]
    query = visit.request.query_params
    chosen, sought = query.get("state", ""), query.get("q", "").strip()
    return visit.page(
        "surveys.html",
        listed=listed,
        rows=[
            row
            for row in listed
            if (chosen == row["state"] or not (chosen or row["done"]))
            and sought.lower() in row["title"].lower()
        ],
        numbers=Counter(
            [*(row["state"] for row in listed), *("" for row in listed if not row["done"])]
        ),
        chosen=chosen,
        sought=sought,
        first=next_release_at(0),
    )


def survey_row(visit: PageVisit, survey: Published) -> dict[str, Any]:
    """A survey in the list."""
    state = visit.studio.store.state(survey.survey.fingerprint)
    goal = state.issued or survey.survey.quota
    points = visit.studio.history.of(survey)
    needed = next_release_at(0) if state.open else FEWEST_SHOWN
    has_results = state.records >= needed
    goal_text = f"of {goal:,}" if goal else ""
    if not has_results:
        waiting = f"results from {needed} on" if state.open else "too few for results"
        goal, goal_text = goal or needed, " · ".join(filter(None, (goal_text, waiting)))
    access, *_, questions = survey_meta(survey)
    word = "open" if state.open else "closed"
    return {
        "title": survey.title,
        "done": False,
        "path": f"/surveys/{survey.slug}",
        "then": "/results" if has_results else "",
        "action": "Results" if has_results else "Overview",
        "state": word,
        "word": word.capitalize(),
        "meta": f"{questions} · {access.lower()}",
        "records": state.records,
        "goal_text": goal_text,
        "progress": state.records / goal if goal else None,
        "changed": f"{date.fromisoformat(points[-1].day):{DAY}}" if points else "",
    }


def draft_row(draft: Draft) -> dict[str, Any]:
    """A draft in the list."""
    return {
        "title": draft.title,
        "done": draft.published is not None,
        "path": f"/drafts/{draft.id}",
        "then": "",
        "action": "Edit",
        "state": "draft",
        "word": "Draft, published" if draft.published else "Draft",
        "meta": f"saved by {draft.changed_by}",
        "records": None,
        "goal_text": "",
        "progress": None,
        "changed": f"{date.fromisoformat(draft.saved_at[:10]):{DAY}}",
    }


def show_overview(visit: PageVisit) -> Response:
    """Answers, precision, privacy, and what to do next."""
    values = visit.survey_values()
    counts = visit.studio.releases.day_counts(visit.survey, values["state"].records)
    today = visit.studio.releases.today()
    page = overview(visit.survey, values["state"], values["release"], counts, today)
    return visit.page("overview.html", **values, **page)


def show_questions(visit: PageVisit) -> Response:
    """What is asked, and how each answer is disguised."""
    language, terms = visit.survey.survey.languages[0], visit.survey.survey
    questions = []
    for number, question in enumerate(terms.questions, 1):
        group = visit.survey.design.group_of(question.attributes[0].name)
        answers = [terms.label(question, answer, language) for answer in question.answers]
        content = {
            "name": question.name,
            "text": text_in(question.text, language),
            "answers": answers,
            "optional": question.optional,
            "asked_if": condition_text(question),
            "disguised": group.disguised,
            "how": group.coin.methods_text,
        }
        questions.append((number, content))
    values = visit.survey_values() | {"sections": by_section(visit.survey, questions)}
    return visit.page("questions.html", **values)


def condition_text(question: Question) -> str:
    """Which answers to other questions somebody gives who is asked this one; empty for all."""
    conditions = (question.asked_if or {}).items()
    return ", ".join(f"{name}: {' or '.join(answers)}" for name, answers in conditions)


def show_results(visit: PageVisit) -> Response:
    """The results of each question, all on one scale."""
    values = visit.survey_values() | {"results": []}
    release = values["release"]
    if release is not None:
        points, shown = visit.studio.history.of(visit.survey), question_results(release)
        asked = {
            attribute.name: (number, question)
            for number, question in enumerate(visit.survey.survey.questions, 1)
            for attribute in question.attributes
        }
        values |= {
            "results": shown,
            "sections": by_section(
                visit.survey, [(asked[result.attribute][0], result) for result in shown]
            ),
            "optional": {name for name, (_, question) in asked.items() if question.optional},
            "asked_if": {name: condition_text(question) for name, (_, question) in asked.items()},
            "comparable": visit.studio.releases.comparable(visit.survey) is not None,
            "result_scale": results.result_scale(release),
            "notes": results.result_notes,
            "hidden": results.hidden_questions(release),
            "warnings": results.group_warnings(release),
            "points": points,
            "figures": results.history_figures(points),
        }
    return visit.page("results.html", **values)


def by_section(
    survey: Published, items: Sequence[tuple[int, T]]
) -> list[tuple[str, list[tuple[int, T]]]]:
    """Items with the numbers of their questions, under the headings of the survey."""
    language = survey.survey.languages[0]
    titles = {s.first: text_in(s.title, language) for s in survey.survey.sections or ()}
    parts: list[tuple[str, list[tuple[int, T]]]] = [("", [])]
    for number, item in items:
        question = survey.survey.questions[number - 1].name
        if question in titles and (not parts[-1][1] or parts[-1][0] != titles[question]):
            parts.append((titles[question], []))
        parts[-1][1].append((number, item))
    return [part for part in parts if part[1]]


def show_export(visit: PageVisit) -> Response:
    """Reports, estimates and records as files."""
    analyses = visit.studio.contents.of(visit.survey)
    listed = [(analysis, analysis.title(visit.survey)) for analysis in analyses]
    return visit.page("export.html", **visit.survey_values(), listed=listed)


def show_settings(visit: PageVisit) -> Response:
    """Duplicate, freeze a snapshot, close, delete."""
    snapshot = visit.studio.releases.snapshot(visit.survey)
    return visit.page("settings.html", **visit.survey_values(), snapshot=snapshot)


def frozen_snapshot(visit: PageVisit) -> None:
    """Open comparisons and models before closing, from the records that are shown now; once."""
    visit.require_tick("tick the box to freeze a snapshot; it cannot be undone")
    snapshot = visit.studio.releases.freeze(visit.survey)
    visit.record("snapshot frozen", f"{visit.survey.title}: {snapshot.counts.n_records} records")


def invite(visit: PageVisit) -> Response:
    """One-time links as a file; they are shown only here."""
    links = new_links(visit, visit.text("n"), visit.text("base"))
    return visit.file("".join(f"{link}\n" for link in ["link", *links]), "links.csv")


def close_survey(visit: PageVisit) -> None:
    """Close a survey for good; `confirm` must be its title."""
    visit.require_title("type the title of the survey to close it; it cannot be opened again")
    visit.studio.store.close_survey(visit.key)
    visit.record("survey closed", visit.survey.title)


def new_links(visit: PageVisit, number: str, base: str) -> list[str]:
    """New one-time links to an invited survey at an address."""
    if visit.survey.survey.access != "invited":
        raise DataError("the survey is open to anyone; links need access: invited")
    if not number.isascii() or not number.isdigit() or not 1 <= int(number[:9]) <= MOST_LINKS:
        raise DataError(f"the number of links is a whole number from 1 to {MOST_LINKS:,}")
    if not _BASE.fullmatch(base.strip()) or not base.isprintable():
        raise DataError("name the address of the surveys, such as https://survey.example.org")
    tokens = visit.studio.store.invite(visit.key, int(number))
    visit.record("links made", f"{visit.survey.title}: {number}")
    return [f"{base.strip().rstrip('/')}/s/{visit.survey.slug}/#{token}" for token in tokens]


def show_new(visit: PageVisit) -> Response:
    """How to begin a survey."""
    return visit.page("new.html")


def released(visit: PageVisit) -> Release:
    """The release of the survey of a page; an error if there is none yet."""
    release = visit.studio.releases.newest(visit.survey)
    if release is None:
        raise DataError(
            f"results are shown from {next_release_at(0)} records on, or from {FEWEST_SHOWN} once "
            "the survey is closed"
        )
    return release


# Files --------------------------------------------------------------------------------------------

RECORD_KINDS = (".csv", ".parquet", ".sav", ".dta")


def surveys_json(visit: PageVisit) -> Answer:
    """The surveys of the account, for programs."""
    surveys = [survey_head(visit, survey) for survey in visit.studio.surveys(visit.person)]
    return {"tacit": "surveys", "version": 1, "surveys": surveys}


def survey_head(visit: PageVisit, survey: Published) -> dict[str, Any]:
    """What lists say of a survey."""
    state = visit.studio.store.state(survey.survey.fingerprint)
    role = visit.person.role(survey.survey.fingerprint)
    head = {"slug": survey.slug, "title": survey.title, "open": state.open}
    return {**head, "records": state.records, "role": role and role.name.lower()}


def estimates_json(visit: PageVisit) -> Answer:
    """Every estimate as JSON."""
    release = released(visit)
    return {
        "tacit": "results",
        "version": 1,
        "design": visit.survey.fingerprint,
        "records": release.counts.n_records,
        "questions": [result.to_dict() for result in question_results(release)],
        "hidden": [{"text": text, "why": why} for text, why in results.hidden_questions(release)],
        "releases": [vars(point) for point in visit.studio.history.of(visit.survey)],
    }


def release_file(visit: PageVisit, name: str, make: MakeFile) -> Response:
    """A file that is made from a release."""
    release = released(visit)
    return visit.file(release.once(name, lambda: make(release)), name)


def report_file(visit: PageVisit, name: str, make: Callable[..., str | bytes]) -> Response:
    """The report, with the comparisons and regressions that were put into it."""
    release, analyses = released(visit), visit.studio.contents.of(visit.survey)
    compared = visit.studio.releases.comparable(visit.survey)
    report = release.once((name, analyses), lambda: make(release, analyses, compared))
    return visit.file(report, name)


def estimates_csv(release: Release) -> str:
    """Every estimate as CSV with formula-safe cells."""
    rows = [
        (result.name, result.text, *row)
        for result in question_results(release)
        for row in result.to_table().rows
    ]
    heads = ("question", "text", "answer", "share", "low", "high", "reported")
    return Table(heads, rows).csv()


def estimates_latex(release: Release) -> str:
    """Every estimate as tables of LaTeX, one per question."""
    return latex_of(result.to_table() for result in question_results(release)) + "\n"


def release_codebook(release: Release) -> str:
    """The codebook of the records."""
    return codebook(release.survey, release.counts.n_records)


def records(visit: PageVisit, kind: str) -> Response:
    """The reported records of the release; their order is that of the categories."""
    counts = released(visit).counts.with_no_answer()
    codes = np.repeat(counts.patterns, counts.counts, axis=0)
    content = LabelledRecords(visit.survey, codes).file(kind, _labels(visit))
    visit.record("records exported", visit.survey.title)
    return visit.file(content, f"records{kind}")


def records_script(visit: PageVisit) -> Response:
    """An R script that reads the records; `kind` names the file it reads."""
    kind = "." + visit.request.query_params.get("kind", "csv")
    if kind not in RECORD_KINDS:
        raise DataError(unknown("kind", kind[1:], [suffix[1:] for suffix in RECORD_KINDS]))
    file = f"{visit.survey.slug}-records{kind}"
    return visit.file(r_script(visit.survey, file, kind, _labels(visit)), "records.R")


def starter_script(visit: PageVisit, make: Callable[[Published], str], name: str) -> Response:
    """A script that estimates from the downloaded records."""
    return visit.file(make(visit.survey), name)


def chart_file(visit: PageVisit) -> Response:
    """The chart of a question as SVG; `NAME (asked)` is that of those to whom it applies."""
    release, name = released(visit), visit.request.path_params["question"]
    by_name = {result.name: result for result in question_results(release)}
    if name not in by_name:
        raise DataError(unknown("question", name, by_name))
    return visit.file(question_chart(release, by_name[name]), "chart.svg")


def design_file(visit: PageVisit) -> Response:
    """The design that respondents were promised, for `tacit` and other programs."""
    return visit.file(visit.survey.design.to_json(), "design.json")


def free_texts(visit: PageVisit) -> Response:
    """The free texts of a closed survey: while it is open, a new text belongs to a new record."""
    if not visit.survey.survey.free_texts:
        raise DataError("the survey has no free texts")
    if visit.studio.store.state(visit.key).open:
        raise DataError(
            "free texts can be downloaded once the survey is closed: before, watching them would "
            "show which text came with which record"
        )
    text = Table(("question", "text"), visit.studio.store.texts(visit.key)).csv()
    visit.record("free texts exported", visit.survey.title)
    return visit.file(text, "texts.csv")


def _labels(visit: PageVisit) -> bool:
    return visit.request.query_params.get("labels") == "yes"


#: Files that are made from a release.
RELEASE_FILES: dict[str, MakeFile] = {
    "estimates.csv": estimates_csv,
    "estimates.tex": estimates_latex,
    "codebook.md": release_codebook,
}
_SURVEY = "/surveys/{survey}"
_COMPARE = f"{_SURVEY}/compare"
#: The pages of this module with the rights that they need.
ROUTES = (
    PageRoute("GET", "/", Right.PERSON, show_surveys),
    PageRoute("GET", "/new", Right.PERSON, show_new),
    PageRoute("GET", _SURVEY, Role.VIEWER, show_overview),
    PageRoute("GET", f"{_SURVEY}/questions", Role.VIEWER, show_questions),
    PageRoute("GET", f"{_SURVEY}/results", Role.VIEWER, show_results),
    PageRoute("GET", f"{_SURVEY}/export", Role.VIEWER, show_export),
    PageRoute("GET", f"{_SURVEY}/settings", Role.OWNER, show_settings),
    PageRoute("POST", f"{_SURVEY}/close", Role.OWNER, close_survey, then=_SURVEY),
    PageRoute("POST", f"{_SURVEY}/snapshot", Role.OWNER, frozen_snapshot, then=_COMPARE),
    PageRoute("POST", f"{_SURVEY}/invite", Role.OWNER, invite),
    PageRoute("GET", "/surveys.json", Right.SIGNED_IN, surveys_json),
    *(
        PageRoute("GET", f"{_SURVEY}/{file}", Role.VIEWER, partial(release_file, name=file, make=m))
        for file, m in RELEASE_FILES.items()
    ),
    *(
        PageRoute("GET", f"{_SURVEY}/{file}", Role.VIEWER, partial(report_file, name=file, make=m))
        for file, m in (("report.html", survey_report), ("report.pdf", survey_report_pdf))
    ),
    PageRoute("GET", f"{_SURVEY}/estimates.json", Role.VIEWER, estimates_json),
    PageRoute("GET", f"{_SURVEY}/design.json", Role.VIEWER, design_file),
    PageRoute("GET", f"{_SURVEY}/charts/{{question}}.svg", Role.VIEWER, chart_file),
    PageRoute("GET", f"{_SURVEY}/texts.csv", Role.ANALYST, free_texts),
    PageRoute("GET", f"{_SURVEY}/records.R", Role.ANALYST, records_script),
    *(
        PageRoute(
            "GET", f"{_SURVEY}/{name}", Role.ANALYST, partial(starter_script, make=make, name=name)
        )
        for name, make in (("records.py", python_script), ("records.do", stata_script))
    ),
    *(
        PageRoute("GET", f"{_SURVEY}/records{kind}", Role.ANALYST, partial(records, kind=kind))
        for kind in RECORD_KINDS
    ),
)
