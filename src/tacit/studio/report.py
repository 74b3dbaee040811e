"""The report of a survey for a paper's appendix: its methods in words, as HTML and as PDF."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl

from tacit import __version__
from tacit.core.channel.families import Matrix, Related
from tacit.core.design import Design
from tacit.core.imports import optional_imports
from tacit.errors import DataError
from tacit.output.number_text import number_of
from tacit.output.table import Table
from tacit.studio import results
from tacit.studio.analyses import COMPARISON, Analysis, all_labels
from tacit.studio.charts import interval_text, odds_scale, percent, ratio_text, scale_for
from tacit.studio.design_text import design_sentences, survey_meta
from tacit.studio.disclosure import SMALLEST_GROUP, require_comparable
from tacit.studio.group_tables import GroupTable, comparison
from tacit.studio.recoding import Words
from tacit.studio.regression_request import request_of_form
from tacit.studio.regressions import Regression, RegressionTerm, regression
from tacit.studio.release import Release
from tacit.studio.results import CategoryResult, QuestionResult, result_notes
from tacit.survey import Published

_INTERVAL = "95 % interval"
#: A smaller p-value is not written out.
_LEAST_P = 0.001
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
    "van den Hout & van der Heijden, 2002": (
        "van den Hout, A., & van der Heijden, P. G. M. (2002). Randomized response, statistical "
        "disclosure control and misclassification: a review. International Statistical Review, "
        "70(2), 269-288."
    ),
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


def survey_report(
    release: Release, analyses: Sequence[Analysis] = (), compared: Release | None = None
) -> str:
    """Methods, a table and a figure per question, warnings and references, as HTML.

    Then comparisons and regressions of the `compared` records.
    """
    values = report_values(release, analyses, compared)
    return _rendered("report.html", **values, notes=result_notes)


def analysis_result(
    analysis: Analysis, release: Release, words: Words | None = None
) -> GroupTable | Regression:
    """The numbers of a comparison or a regression; `words` are the texts of categories.

    Pages, programs, files and reports ask here, so that one query gives the same numbers
    everywhere.
    """
    pairs = parse_qsl(analysis.query)
    if analysis.kind == COMPARISON:
        return comparison(release, dict(pairs), words)
    chosen = [value for key, value in pairs if key == "with"]
    request = request_of_form(release.survey, dict(pairs), chosen, words)
    return regression(release, request)


def analysis_section(survey: Published, release: Release | None, analysis: Analysis) -> Section:
    """A comparison or a regression in the report; or why it is not shown."""
    title = analysis.title(survey)
    try:
        result = analysis_result(analysis, require_comparable(release), all_labels(survey))
    except DataError as error:
        return Section(title, [str(error)], [], [])
    if isinstance(result, GroupTable):
        return _comparison(title, result, survey)
    return _regression(title, result)


@dataclass(frozen=True)
class Section:
    """Sentences, tables of texts and figures as SVG."""

    title: str
    texts: list[str]
    tables: list[Table]
    figures: list[str]


def _comparison(title: str, table: GroupTable, survey: Published) -> Section:
    texts = [table.finding] if table.finding else []
    if table.test is not None:
        test = table.test
        texts.append(
            f"Test of independence: chi-squared {test.statistic:.2f} with "
            f"{number_of(test.df, 'degree')} of freedom, p-value {test.shown_p}."
        )
    if table.hidden:
        texts.append(
            f"{number_of(table.hidden, 'cell')} not shown: a group or an answer has fewer than "
            f"{SMALLEST_GROUP} people, or the cell would tell the number of such a group."
        )
    if table.missing:
        texts.append(f"{number_of(table.missing, 'record')} left out.")
    shares = []
    for cell in table.cells:
        people = table.people[cell.group]
        share, limits = "not shown", ""
        if cell.share is not None and cell.low is not None and cell.high is not None:
            share, limits = percent(cell.share), interval_text(cell.low, cell.high)
        if cell.unknown:
            share, limits = "unknown", ""
        number = "-" if people is None else f"{people:,}"
        shares.append((", ".join(cell.group), number, str(cell.answer), share, limits))
    differences = [
        (
            f"{', '.join(pair.first)} against {pair.second[-1]}",
            str(pair.answer),
            f"{100 * pair.difference:+.1f} points",
            f"{100 * pair.low:+.1f} to {100 * pair.high:+.1f}",
        )
        for pair in table.comparisons
    ]
    tables = [Table(("Group", "People", "Answer", "Share", _INTERVAL), shares, "Shares")]
    if differences:
        heads = "Groups", "Answer", "Difference", _INTERVAL
        tables.append(Table(heads, differences, "Differences between groups"))
    scale = scale_for([cell.share or 0.0 for cell in table.cells], whole=True)
    disguised = survey.design.group_of(table.row).disguised
    figures = []
    for name, rows in table.panels:
        drawn = {
            "disguised": disguised,
            "categories": [row for row in rows if row["share"] is not None],
        }
        if drawn["categories"]:
            named = {"title": name, "heading": name}
            figures.append(_rendered("chart.svg", result=drawn, scale=scale, **named).strip())
    return Section(title, texts, tables, figures)


def _regression(title: str, fit: Regression) -> Section:
    texts = [f"{head} {text}" for head, text in fit.findings]
    texts += [
        "These are links, not causes. Logit by maximum likelihood through the disguise "
        f"(van den Hout & van der Heijden, 2002), from {number_of(fit.n_records, 'record')}.",
        *fit.warnings,
    ]
    ratios = [
        (
            f"{term.name}: {term.label} against {term.against}",
            term.answer,
            ratio_text(term.odds_ratio),
            f"{ratio_text(term.low)} to {ratio_text(term.high)}",
            f"{term.pvalue:.3f}" if term.pvalue >= _LEAST_P else "< .001",
        )
        for term in fit.terms
    ]
    effects = [
        (
            f"{effect.name}: {effect.label} against {effect.against}",
            effect.answer,
            f"{100 * effect.difference:+.1f} points",
            f"{100 * effect.low:+.1f} to {100 * effect.high:+.1f}",
        )
        for effect in fit.effects
    ]
    tables = [
        Table(("Predictor", "Answer", "Odds ratio", _INTERVAL, "p-value"), ratios, fit.title),
        Table(("Predictor", "Answer", "Average effect", _INTERVAL), effects, "Average effects"),
    ]
    rows = [
        {
            "label": f"{term.name}: {term.label}",
            **{key: math.log2(value) for key, value in _numbers(term).items()},
            "text": ratio_text(term.odds_ratio),
            "interval": ratios[k][3],
            "reported": None,
        }
        for k, term in enumerate(fit.terms)
    ]
    scale = odds_scale([end for term in fit.terms for end in (term.low, term.high)])
    drawn = {"disguised": True, "categories": rows}
    named = {"title": fit.title, "heading": fit.title, "head": "Odds ratio"}
    figure = _rendered("chart.svg", result=drawn, scale=scale, **named)
    return Section(title, texts, tables, [figure.strip()])


def _numbers(term: RegressionTerm) -> dict[str, float]:
    return {"share": term.odds_ratio, "low": term.low, "high": term.high}


def question_chart(release: Release, result: QuestionResult) -> str:
    """The chart of a question as SVG: the picture of reports and of downloads."""
    scale = results.result_scale(release)
    return _rendered("chart.svg", result=result, scale=scale, title=result.name).strip()


def _rendered(template: str, **values: Any) -> str:
    with optional_imports():  # a codebook needs no templates
        from tacit.studio.page_templates import page_templates
    return page_templates().get_template(template).render(**values)


def report_values(
    release: Release, analyses: Sequence[Analysis] = (), compared: Release | None = None
) -> dict[str, Any]:
    """What a report says, in whatever format."""
    design, methods = design_sentences(release.survey.design), methods_sentences(release)
    about = ", ".join(survey_meta(release.survey))
    sections = [analysis_section(release.survey, compared, analysis) for analysis in analyses]
    texts = [text for section in sections for text in section.texts]
    return {
        "survey": release.survey,
        "language": release.survey.survey.languages[0],
        "records": release.counts.n_records,
        "subtitle": f"{release.counts.n_records:,} records. {about}.",
        "design": design,
        "methods": methods,
        "references": references(release.survey.design, [*design, *methods, *texts]),
        "sections": sections,
        "results": results.question_results(release),
        "scale": results.result_scale(release),
        "hidden": results.hidden_questions(release),
        "warnings": results.group_warnings(release),
    }


def survey_report_pdf(
    release: Release, analyses: Sequence[Analysis] = (), compared: Release | None = None
) -> bytes:
    """The same as PDF.

    Texts of the survey are data of the template: nothing in them is taken for markup. The same
    records give the same file.
    """
    values = report_values(release, analyses, compared)
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
        "sections": [*map(asdict, values["sections"])],
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
