"""The report of a survey: one HTML file without script, for a paper's appendix."""

from __future__ import annotations

from typing import Any

from tacit.studio.page_templates import page_templates
from tacit.studio.question_results import (
    hidden_questions,
    question_results,
    question_texts,
    result_notes,
)
from tacit.studio.release import Release
from tacit.studio.result_warnings import group_warnings
from tacit.studio.survey_methods import cited, design_sentences, methods_sentences


def survey_report(release: Release) -> str:
    """Methods, a table and a figure per question, warnings and references, as HTML."""
    template = page_templates().get_template("report.html")
    return template.render(**report_values(release), notes=result_notes)


def survey_report_html(release: Release) -> bytes:
    """The same as a file."""
    return survey_report(release).encode()


def report_values(release: Release) -> dict[str, Any]:
    """What a report says, in whatever format."""
    design, methods = design_sentences(release.survey.design), methods_sentences(release)
    return {
        "survey": release.survey,
        "language": release.survey.survey.languages[0],
        "records": release.counts.n_records,
        "design": design,
        "methods": methods,
        "references": cited([*design, *methods]),
        "results": question_results(release),
        "hidden": hidden_questions(release),
        "warnings": group_warnings(release, question_texts(release.survey)),
    }
