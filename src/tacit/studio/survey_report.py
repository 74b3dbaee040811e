"""The report of a survey: one HTML file without script, for a paper's appendix."""

from __future__ import annotations

from tacit.studio.page_templates import page_templates
from tacit.studio.question_results import question_results
from tacit.studio.release import Release
from tacit.studio.survey_methods import cited, design_sentences, methods_sentences


def survey_report(release: Release) -> str:
    """Methods, a table and a figure per question, warnings and references, as HTML."""
    design, methods = design_sentences(release.survey.design), methods_sentences(release)
    return (
        page_templates()
        .get_template("report.html")
        .render(
            survey=release.survey,
            language=release.survey.survey.languages[0],
            records=release.counts.n_records,
            design=design,
            methods=methods,
            references=cited([*design, *methods]),
            results=question_results(release),
        )
    )
