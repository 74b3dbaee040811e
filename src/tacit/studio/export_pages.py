"""Files of a survey: disguised records for other programs, their codebook, estimates."""

from __future__ import annotations

from functools import partial

import numpy as np
from starlette.responses import JSONResponse, Response

from tacit.core.imports import optional_imports
from tacit.errors import DataError, unknown
from tacit.output.table import Table, latex_of
from tacit.reconstruction.sampling.incomplete_patterns import with_missing
from tacit.studio.accounts import Role
from tacit.studio.codebook import codebook, r_script
from tacit.studio.labelled_records import LabelledRecords, csv_line
from tacit.studio.question_results import hidden_questions, question_results
from tacit.studio.site import Handler, PageVisit
from tacit.studio.survey_pages import file_response, released
from tacit.studio.survey_report import survey_report

#: What a browser is told about each kind of file.
TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".parquet": "application/vnd.apache.parquet",
    ".sav": "application/x-spss-sav",
    ".dta": "application/x-stata-dta",
}


def surveys_json(visit: PageVisit) -> Response:
    """The surveys of the account, for programs."""
    found = []
    for survey in visit.studio.surveys(visit.person):
        state = visit.studio.store.state(survey.survey.fingerprint)
        role = visit.person.role(survey.survey.fingerprint)
        words = {"slug": survey.slug, "title": survey.title, "open": state.open}
        role_name = None if role is None else role.name.lower()
        found.append({**words, "records": state.records, "role": role_name})
    return JSONResponse({"tacit": "surveys", "version": 1, "surveys": found})


def show_report(visit: PageVisit) -> Response:
    """The report of a survey as a file that can be saved and printed."""
    release = released(visit)
    text = release.once("report.html", lambda: survey_report(release))
    return file_response(text, "text/html; charset=utf-8", f"{visit.survey.slug}-report.html")


def report_pdf(visit: PageVisit) -> Response:
    """The report of a survey as PDF."""
    release = released(visit)
    with optional_imports():
        from tacit.studio.report_pdf import survey_report_pdf
    content = release.once("report.pdf", lambda: survey_report_pdf(release))
    return file_response(content, "application/pdf", f"{visit.survey.slug}-report.pdf")


def estimates_csv(visit: PageVisit) -> Response:
    """Every estimate as CSV with formula-safe cells."""
    text = csv_line(["question", "text", "answer", "share", "low", "high", "reported"])
    for result in question_results(released(visit)):
        for one in result.categories:
            reported = "" if one.reported is None else one.reported
            text += csv_line(
                [result.name, result.text, one.label, one.share, one.low, one.high, reported]
            )
    return file_response(text, TYPES[".csv"], f"{visit.survey.slug}-estimates.csv")


def estimates_json(visit: PageVisit) -> Response:
    """Every estimate as JSON."""
    release = released(visit)
    header = {"tacit": "results", "version": 1, "design": visit.survey.fingerprint}
    questions = [
        {
            "name": result.name,
            "text": result.text,
            "missing": result.missing,
            "effective": result.effective,
            "answers": [vars(one) for one in result.categories],
        }
        for result in question_results(release)
    ]
    return JSONResponse(
        {
            **header,
            "records": release.counts.n_records,
            "questions": questions,
            "hidden": [{"text": text, "why": why} for text, why in hidden_questions(release)],
            "releases": [vars(point) for point in visit.studio.history.of(visit.survey)],
        }
    )


def estimates_latex(visit: PageVisit) -> Response:
    """Every estimate as tables of LaTeX, one per question."""
    heads = ("answer", "estimate", "low", "high", "reported")
    tables = [
        Table(
            heads,
            [(one.label, one.share, one.low, one.high, one.reported) for one in result.categories],
            result.text,
        )
        for result in question_results(released(visit))
    ]
    text = latex_of(tables) + "\n"
    return file_response(text, "application/x-tex", f"{visit.survey.slug}-estimates.tex")


def records(visit: PageVisit, kind: str) -> Response:
    """The reported records of the release; their order is that of the categories."""
    counts = with_missing(released(visit).counts)
    codes = np.repeat(counts.patterns, counts.counts, axis=0)
    content = LabelledRecords(visit.survey, codes).file(kind, _labels(visit))
    visit.record("records exported", visit.survey.title)
    return file_response(content, TYPES[kind], f"{visit.survey.slug}-records{kind}")


def records_script(visit: PageVisit) -> Response:
    """An R script that reads the records; `kind` names the file it reads."""
    kind = "." + visit.request.query_params.get("kind", "csv")
    if kind not in TYPES:
        raise DataError(unknown("kind", kind[1:], [each[1:] for each in TYPES]))
    file = f"{visit.survey.slug}-records{kind}"
    text = r_script(visit.survey, file, kind, _labels(visit))
    return file_response(text, "text/plain; charset=utf-8", f"{visit.survey.slug}-records.R")


def codebook_file(visit: PageVisit) -> Response:
    """The codebook of the records."""
    text = codebook(visit.survey, released(visit).counts.n_records)
    return file_response(text, "text/markdown; charset=utf-8", f"{visit.survey.slug}-codebook.md")


def free_texts(visit: PageVisit) -> Response:
    """The free texts of a closed survey: while it is open, a new text belongs to a new record."""
    fingerprint = visit.survey.survey.fingerprint
    if not visit.survey.survey.free_texts:
        raise DataError("the survey has no free texts")
    if visit.studio.store.state(fingerprint).open:
        raise DataError(
            "free texts can be downloaded once the survey is closed: before, watching them would "
            "show which text came with which record"
        )
    text = Table(("question", "text"), visit.studio.store.texts(fingerprint)).csv()
    visit.record("free texts exported", visit.survey.title)
    return file_response(text, TYPES[".csv"], f"{visit.survey.slug}-texts.csv")


def _labels(visit: PageVisit) -> bool:
    return visit.request.query_params.get("labels") == "yes"


#: Each file of a survey with the role that it needs.
FILES: dict[str, tuple[Role, Handler]] = {
    "report.html": (Role.VIEWER, show_report),
    "report.pdf": (Role.VIEWER, report_pdf),
    "estimates.csv": (Role.VIEWER, estimates_csv),
    "estimates.json": (Role.VIEWER, estimates_json),
    "estimates.tex": (Role.VIEWER, estimates_latex),
    "codebook.md": (Role.VIEWER, codebook_file),
    "texts.csv": (Role.ANALYST, free_texts),
    "records.R": (Role.ANALYST, records_script),
    **{f"records{kind}": (Role.ANALYST, partial(records, kind=kind)) for kind in TYPES},
}
