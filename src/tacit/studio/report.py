"""The report of a survey for a paper's appendix: its methods in words, as HTML and as PDF."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

from tacit import __version__
from tacit.core.channel.families import Matrix, Related
from tacit.core.design import Design
from tacit.core.imports import optional_imports
from tacit.errors import DataError
from tacit.output.number_text import number_of
from tacit.studio import results
from tacit.studio.design_text import design_sentences, survey_meta
from tacit.studio.release import Release
from tacit.studio.results import CategoryResult, QuestionResult, result_notes

#: References of the methods, by how a text cites them; those of other families are at their coins.
REFERENCES = {
    "Clopper & Pearson, 1934": (
        "Clopper, C. J., & Pearson, E. S. (1934). The use of confidence or fiducial limits "
        "illustrated in the case of the binomial. Biometrika, 26(4), 404-413."
    ),
    "Huang & Du, 2008": Matrix.reference,
    "Susko, 2013": (
        "Susko, E. (2013). Likelihood ratio tests with boundary constraints using data-dependent "
        "degrees of freedom. Biometrika, 100(4), 1019-1023."
    ),
    "Theil, 1971": "Theil, H. (1971). Principles of econometrics. Wiley.",
    "Warner, 1965": Related.reference,
    "Wilson, 1927": (
        "Wilson, E. B. (1927). Probable inference, the law of succession, and statistical "
        "inference. Journal of the American Statistical Association, 22(158), 209-212."
    ),
}


def methods_sentences(release: Release) -> list[str]:
    """The records, the estimator, the intervals and the test of fit."""
    records, missing = number_of(release.counts.n_records, "reported record"), ""
    if any(question.optional for question in release.survey.survey.questions):
        missing = (
            " Respondents could decline to answer optional questions; such answers were stored as "
            "missing, without disguise, and each table is from the records that have all its "
            "answers."
        )
    return [
        "Answers were disguised by randomized response (Warner, 1965) before they were sent: only "
        "reported answers were stored, and nobody but the respondent knows the true one.",
        f"The design was published to respondents; its fingerprint (SHA-256) is "
        f"{release.survey.fingerprint}, that of the questionnaire "
        f"{release.survey.survey.fingerprint}.",
        f"Results are from {records}.{missing}",
        "Shares of the true answers were estimated by inverting the known probabilities of the "
        "disguise (Huang & Du, 2008, eq. 2), by generalised least squares where there are more "
        "reports than possible answers. The estimate is unbiased, so that it may fall "
        "below 0 or exceed 100 % by chance.",
        "Intervals have 95 % confidence, for each share alone. They contain every share that the "
        "estimate does not reject: by the exact binomial distribution where reports have one "
        "(Clopper & Pearson, 1934), otherwise by a score test that takes the variance at the "
        "hypothetical share (Wilson, 1927) and adds the noise of the disguise.",
        "A likelihood-ratio test (Susko, 2013) checked whether the reports could come from the "
        "design; a p-value below .001 is reported as a misfit.",
        f"Computed by tacit {__version__}.",
    ]


def references(design: Design, texts: list[str]) -> list[str]:
    """The sources of the design's families and of what these texts cite, in alphabetical order."""
    whole = " ".join(texts)
    cited = {full for short, full in REFERENCES.items() if short in whole}
    return sorted(cited | {group.coin.reference for group in design.groups} - {""})


def survey_report(release: Release) -> str:
    """Methods, a table and a figure per question, warnings and references, as HTML."""
    return _rendered("report.html", **report_values(release), notes=result_notes)


def question_chart(release: Release, result: QuestionResult) -> str:
    """The chart of a question as SVG: the picture of reports and of downloads."""
    scale = results.result_scale(release)
    return _rendered("chart.svg", result=result, scale=scale, title=result.name).strip()


def _rendered(template: str, **values: Any) -> str:
    with optional_imports():  # a codebook needs no templates
        from tacit.studio.page_templates import page_templates
    return page_templates().get_template(template).render(**values)


def report_values(release: Release) -> dict[str, Any]:
    """What a report says, in whatever format."""
    design, methods = design_sentences(release.survey.design), methods_sentences(release)
    about = ", ".join(survey_meta(release.survey))
    return {
        "survey": release.survey,
        "language": release.survey.survey.languages[0],
        "records": release.counts.n_records,
        "subtitle": f"{release.counts.n_records:,} records. {about}.",
        "design": design,
        "methods": methods,
        "references": references(release.survey.design, [*design, *methods]),
        "results": results.question_results(release),
        "scale": results.result_scale(release),
        "hidden": results.hidden_questions(release),
        "warnings": results.group_warnings(release),
    }


def survey_report_pdf(release: Release) -> bytes:
    """Methods, a table and a figure per question, warnings and references, as PDF.

    Texts of the survey are data of the template: nothing in them is taken for markup. The same
    records give the same file.
    """
    values = report_values(release)
    language = re.match("[a-z]{2,3}", values["language"].lower())  # of a tag such as pt-br
    questions: list[QuestionResult] = values["results"]
    content = {
        "title": values["survey"].title,
        "language": language[0] if language else "en",
        "warnings": [
            *values["warnings"],
            *(f"{result.name}: {result.misfit}" for result in questions if result.misfit),
        ],
        **{name: values[name] for name in ("subtitle", "methods", "design")},
        **{name: values[name] for name in ("references", "hidden")},
        "results": [
            _question(result, values["records"]) | {"figure": question_chart(release, result)}
            for result in questions
        ],
    }
    return _compiled(json.dumps(content))


def _compiled(data: str) -> bytes:
    """An accessible PDF (PDF/UA), unless no font of this machine has one of its characters."""
    with optional_imports():
        import typst
    template = files("tacit.studio").joinpath("templates", "report.typ").read_bytes()
    standards: tuple[Any, ...] = (["ua-1"], [])
    for standard in standards:
        try:
            pdf: bytes = typst.compile(template, sys_inputs={"data": data}, pdf_standards=standard)
        except typst.TypstError as error:
            reason = str(error)
        else:
            return pdf
    raise DataError(f"the report cannot be set as PDF: {reason}; use HTML")


def _question(result: QuestionResult, records: int) -> dict[str, Any]:
    return {
        "text": result.text,
        "misfit": result.misfit,
        "caption": f"{result.name}: estimated shares of the true answers with 95 % intervals, and "
        "shares of the reports",
        "categories": [{"label": c.label, "shown": _shown(c)} for c in result.categories],
        "notes": result_notes(result, records),
    }


def _shown(category: CategoryResult) -> dict[str, str]:
    reported = category.reported
    return {
        "estimate": f"{100 * category.share:.1f} %",
        "interval": f"{100 * category.low:.1f} to {100 * category.high:.1f} %",
        "reported": "-" if reported is None else f"{100 * reported:.1f} %",
    }
