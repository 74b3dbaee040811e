"""Pages for surveys: the list, results, tables of groups, links, closing, files."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from starlette.responses import Response

from tacit.errors import DataError, SurveyError, unknown
from tacit.output.table import Table, latex_of
from tacit.studio import results
from tacit.studio.accounts import Role
from tacit.studio.disclosure import AT_CLOSING, SMALLEST_GROUP
from tacit.studio.group_tables import group_table
from tacit.studio.record_files import LabelledRecords, codebook, r_script
from tacit.studio.release import FEWEST_SHOWN, Release, next_release_at
from tacit.studio.report import survey_report, survey_report_pdf
from tacit.studio.results import question_results, question_texts
from tacit.studio.site import Answer, PageRoute, PageVisit, Right
from tacit.survey import Published, survey_from_text

MOST_LINKS = 100_000
MakeFile = Callable[[Release], str | bytes]
#: Where surveys are: an address without spaces, quotes or commas, which would end a cell of CSV.
_BASE = re.compile(r"""https?://[^\s"',]+""")


def show_surveys(visit: PageVisit) -> Response:
    """The surveys of the account, with their numbers of records."""
    surveys = visit.studio.surveys(visit.person)
    states = [visit.studio.store.state(survey.survey.fingerprint) for survey in surveys]
    return visit.page("surveys.html", surveys=list(zip(surveys, states, strict=True)))


def show_results(visit: PageVisit) -> Response:
    """The state of a survey and the results of each question."""
    release, values = newest_release(visit)
    values |= {"results": [], "fewest": FEWEST_SHOWN, "first": next_release_at(0)}
    if release is not None:
        points = visit.studio.history.of(visit.survey)
        values |= {
            "results": question_results(release),
            "notes": results.result_notes,
            "hidden": results.hidden_questions(release),
            "release": release,
            "snapshot": visit.studio.releases.snapshot(visit.survey),
            "warnings": results.group_warnings(release),
            "points": points,
            "figures": results.history_figures(points),
        }
    return visit.page("results.html", **values)


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
    """The form for the text of a survey file."""
    return visit.page("new.html", text="", problems=[], checked=None)


def new(visit: PageVisit) -> Response | Published:
    """Check the text of a survey file; publish it if that was asked for."""
    text = visit.text("text")
    try:
        checked = Published(survey_from_text(text))
    except SurveyError as error:
        problems = list(error.problems)
        return visit.page("new.html", 400, text=text, problems=problems, checked=None)
    if visit.form.get("action") != "publish":
        return visit.page("new.html", text=text, problems=[], checked=checked)
    visit.register(checked, "this survey is published already, word for word")
    visit.record("survey published", checked.title)
    return checked


def newest_release(visit: PageVisit) -> tuple[Release | None, dict[str, Any]]:
    """The release of the survey of a page, and what each page about it shows."""
    release = visit.studio.releases.newest(visit.survey)
    state = visit.studio.store.state(visit.key)
    return release, {
        "state": state,
        "shown": 0 if release is None else release.counts.n_records,
        "note": results.waiting_text(release, state.records),
    }


def released(visit: PageVisit) -> Release:
    """The release of the survey of a page; an error if there is none yet."""
    release = visit.studio.releases.newest(visit.survey)
    if release is None:
        raise DataError(
            f"results are shown from {next_release_at(0)} records on, or from {FEWEST_SHOWN} once "
            "the survey is closed"
        )
    return release


def show_table(visit: PageVisit) -> Response:
    """Answers to one question in the groups of another, also within the layers of a third."""
    newest, values = newest_release(visit)
    release = visit.studio.releases.comparable(visit.survey)
    chosen = {key: visit.request.query_params.get(key, "") for key in ("row", "column", "layer")}
    values |= {
        **chosen,
        "questions": question_texts(visit.survey),
        "table": None,
        "smallest": SMALLEST_GROUP,
        "release": release,
        "newest": newest,
        "later": AT_CLOSING,
    }
    if release is not None and any(chosen.values()):
        if not chosen["row"] or not chosen["column"]:
            raise DataError("choose a question for the answers and one for the groups")
        by = [chosen["layer"], chosen["column"]] if chosen["layer"] else [chosen["column"]]
        values["table"] = group_table(release, chosen["row"], by)
        asked = (chosen["row"], *by)
        values["words"] = {name: results.labels(visit.survey, name) for name in asked}
    return visit.page("table.html", **values)


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
    "report.html": survey_report,
    "report.pdf": survey_report_pdf,
    "estimates.csv": estimates_csv,
    "estimates.tex": estimates_latex,
    "codebook.md": release_codebook,
}
_SURVEY = "/surveys/{survey}"
#: The pages of this module with the rights that they need.
ROUTES = (
    PageRoute("GET", "/", Right.PERSON, show_surveys),
    PageRoute("GET", "/new", Right.ADMINISTRATOR, show_new),
    PageRoute("POST", "/new", Right.ADMINISTRATOR, new, then="/surveys/{made.slug}"),
    PageRoute("GET", _SURVEY, Role.VIEWER, show_results),
    PageRoute("GET", f"{_SURVEY}/table", Role.VIEWER, show_table),
    PageRoute("POST", f"{_SURVEY}/close", Role.OWNER, close_survey, then=_SURVEY),
    PageRoute("POST", f"{_SURVEY}/snapshot", Role.OWNER, frozen_snapshot, then=f"{_SURVEY}/table"),
    PageRoute("POST", f"{_SURVEY}/invite", Role.OWNER, invite),
    PageRoute("GET", "/surveys.json", Right.SIGNED_IN, surveys_json),
    *(
        PageRoute("GET", f"{_SURVEY}/{file}", Role.VIEWER, partial(release_file, name=file, make=m))
        for file, m in RELEASE_FILES.items()
    ),
    PageRoute("GET", f"{_SURVEY}/estimates.json", Role.VIEWER, estimates_json),
    PageRoute("GET", f"{_SURVEY}/texts.csv", Role.ANALYST, free_texts),
    PageRoute("GET", f"{_SURVEY}/records.R", Role.ANALYST, records_script),
    *(
        PageRoute("GET", f"{_SURVEY}/records{kind}", Role.ANALYST, partial(records, kind=kind))
        for kind in RECORD_KINDS
    ),
)
