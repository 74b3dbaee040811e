"""The report of a survey as PDF, set by Typst from the same values as the HTML report."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

from tacit.core.imports import optional_imports
from tacit.errors import DataError
from tacit.studio.question_results import CategoryResult, QuestionResult, result_notes
from tacit.studio.release import Release
from tacit.studio.survey_report import report_values

with optional_imports():
    import typst

_LANGUAGE = re.compile("[a-z]{2,3}")


def survey_report_pdf(release: Release) -> bytes:
    """Methods, a table and a figure per question, warnings and references, as PDF.

    Texts of the survey are data of the template: nothing in them is taken for markup. The same
    records give the same file.
    """
    values = report_values(release)
    results: list[QuestionResult] = values["results"]
    content = {
        "title": values["survey"].title,
        "language": _language(values["language"]),
        "subtitle": f"{values['records']:,} records; {values['survey'].survey.terms}.",
        "warnings": [
            *values["warnings"],
            *(f"{result.name}: {result.misfit}" for result in results if result.misfit),
        ],
        **{name: values[name] for name in ("methods", "design", "references", "hidden")},
        "results": [_question(result, values["records"]) for result in results],
    }
    return _compiled(json.dumps(content))


def _compiled(data: str) -> bytes:
    """An accessible PDF (PDF/UA), unless no font of this machine has one of its characters."""
    template = files("tacit.studio").joinpath("templates", "report.typ").read_bytes()
    standards: tuple[Any, ...] = (["ua-1"], [])
    for standard in standards:
        try:
            made: bytes = typst.compile(template, sys_inputs={"data": data}, pdf_standards=standard)
        except typst.TypstError as error:
            found = str(error)
        else:
            return made
    raise DataError(f"the report cannot be set as PDF: {found}; use HTML")


def _question(result: QuestionResult, records: int) -> dict[str, Any]:
    return {
        "text": result.text,
        "misfit": result.misfit,
        "caption": f"{result.name}: estimated shares of the true answers with 95 % intervals, and "
        "shares of the reports",
        "categories": [_category(one) for one in result.categories],
        "notes": result_notes(result, records),
    }


def _category(one: CategoryResult) -> dict[str, Any]:
    shown = {
        "estimate": f"{100 * one.share:.1f} %",
        "interval": f"{100 * one.low:.1f} to {100 * one.high:.1f} %",
        "reported": "-" if one.reported is None else f"{100 * one.reported:.1f} %",
    }
    return {**vars(one), "shown": shown}


def _language(tag: str) -> str:
    """The language of a tag such as pt-br, as Typst knows it."""
    found = _LANGUAGE.match(tag.lower())
    return found[0] if found else "en"
