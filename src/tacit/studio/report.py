"""What a paper says about a survey's methods: design, estimator, intervals, with references."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from tacit import __version__
from tacit.core.conditions import QuestionCondition
from tacit.core.design import Design, Group
from tacit.core.imports import optional_imports
from tacit.errors import DataError
from tacit.output.number_text import number_of
from tacit.reconstruction.tables import chains, estimable_together
from tacit.studio.page_templates import page_templates
from tacit.studio.release import Release
from tacit.studio.results import (
    CategoryResult,
    QuestionResult,
    group_warnings,
    hidden_questions,
    question_results,
    question_texts,
    result_notes,
)

#: A matrix with more entries is not written out.
MOST_ENTRIES = 100
REFERENCES = {
    "Agrawal, Srikant & Thomas, 2005": "Agrawal, R., Srikant, R., & Thomas, D. (2005). Privacy "
    "preserving OLAP. Proceedings of ACM SIGMOD, 251-262.",
    "Agrawal & Haritsa, 2005": "Agrawal, S., & Haritsa, J. R. (2005). A framework for "
    "high-accuracy privacy-preserving mining. Proceedings of ICDE, 193-204.",
    "Boruch, 1971": "Boruch, R. F. (1971). Assuring confidentiality of responses in social "
    "research: A note on strategies. The American Sociologist, 6(4), 308-311.",
    "Christofides, 2003": "Christofides, T. C. (2003). A generalized randomized response "
    "technique. Metrika, 57, 195-200.",
    "Clopper & Pearson, 1934": "Clopper, C. J., & Pearson, E. S. (1934). The use of confidence or "
    "fiducial limits illustrated in the case of the binomial. Biometrika, 26(4), 404-413.",
    "Greenberg et al., 1969": "Greenberg, B. G., Abul-Ela, A.-L. A., Simmons, W. R., & Horvitz, "
    "D. G. (1969). The unrelated question randomized response model: Theoretical framework. "
    "Journal of the American Statistical Association, 64(326), 520-539.",
    "Huang & Du, 2008": "Huang, Z., & Du, W. (2008). OptRR: Optimizing randomized response schemes "
    "for privacy-preserving data mining. Proceedings of ICDE, 705-714.",
    "Kuk, 1990": "Kuk, A. Y. C. (1990). Asking sensitive questions indirectly. Biometrika, 77(2), "
    "436-438.",
    "Mangat, 1994": "Mangat, N. S. (1994). An improved randomized response strategy. Journal of "
    "the Royal Statistical Society B, 56(1), 93-95.",
    "Mangat & Singh, 1990": "Mangat, N. S., & Singh, R. (1990). An alternative randomized response "
    "procedure. Biometrika, 77(2), 439-442.",
    "Susko, 2013": "Susko, E. (2013). Likelihood ratio tests with boundary constraints using "
    "data-dependent degrees of freedom. Biometrika, 100(4), 1019-1023.",
    "Theil, 1971": "Theil, H. (1971). Principles of econometrics. Wiley.",
    "Warner, 1965": "Warner, S. L. (1965). Randomized response: A survey technique for eliminating "
    "evasive answer bias. Journal of the American Statistical Association, 60(309), 63-69.",
    "Wilson, 1927": "Wilson, E. B. (1927). Probable inference, the law of succession, and "
    "statistical inference. Journal of the American Statistical Association, 22(158), 209-212.",
    "Yu, Tian & Tang, 2008": "Yu, J.-W., Tian, G.-L., & Tang, M.-L. (2008). Two new models for "
    "survey sampling with sensitive characteristic: Design and analysis. Metrika, 67, 251-263.",
}


def design_sentences(design: Design) -> list[str]:
    """How each group of questions is disguised, with every parameter."""
    groups = [_group_sentence(design, group) for group in design.groups]
    conditions = [_condition_sentence(design, condition) for condition in design.conditions]
    return [*groups, *conditions, *(_chain_sentence(design, names) for names in chains(design))]


def _condition_sentence(design: Design, condition: QuestionCondition) -> str:
    hidden = design.group_of(condition.attribute).coin.family != "truthful"
    disguised = ", which was disguised like an answer" if hidden else ""
    return (
        f"{condition.attribute} was asked if {condition}. The respondent's device decided; for "
        f"others it filled in “does not apply”{disguised}."
    )


def _chain_sentence(design: Design, names: tuple[str, ...]) -> str:
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    if estimable_together(design.channel(names)):
        return (
            f"{listed} were estimated together, by restricted least squares on the combinations of "
            "answers that can occur (Theil, 1971). Every share and table of these questions is a "
            "margin of this one estimate."
        )
    return (
        f"{listed} have too many combinations of answers, or too much disguise, to be estimated "
        "together. Each table was estimated from its own questions, by restricted least squares on "
        "the combinations that can occur (Theil, 1971); so one share can differ between two tables."
    )


def methods_sentences(release: Release) -> list[str]:
    """The records, the estimator, the intervals and the test of fit."""
    records = number_of(release.counts.n_records, "reported record")
    return [
        "Answers were disguised by randomized response (Warner, 1965) before they were sent: only "
        "reported answers were stored, and nobody but the respondent knows the true one.",
        f"The design was published to respondents; its fingerprint (SHA-256) is "
        f"{release.survey.fingerprint}, that of the questionnaire "
        f"{release.survey.survey.fingerprint}.",
        f"Results are from {records}.{_missing_sentence(release)}",
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


def _missing_sentence(release: Release) -> str:
    if not any(question.optional for question in release.survey.survey.questions):
        return ""
    return (
        " Respondents could decline to answer optional questions; such answers were stored as "
        "missing, without disguise, and each table is from the records that have all its answers."
    )


def cited(texts: list[str]) -> list[str]:
    """The references that these texts cite, in alphabetical order."""
    whole = " ".join(texts)
    return [full for short, full in sorted(REFERENCES.items()) if short in whole]


def _group_sentence(design: Design, group: Group) -> str:
    given = group.coin.to_dict()
    family = str(given["family"])
    names = ", ".join(group.attributes)
    several = len(group.attributes) > 1 and family != "matrix"
    together = " One draw decides for all of these questions together." if several else ""
    coding = ""
    if group.coin.report_words:
        coding = f" A report is {group.coin.report_meaning(design.attributes_of(group))}."
    return f"{names}: {FAMILY_WORDS[family](given)}{together}{coding}"


def _listed(shares: Any) -> str:
    """Probabilities of one distribution, or of one per question."""
    if isinstance(shares, Mapping):
        return "; ".join(f"{name}: {_listed(each)}" for name, each in shares.items())
    if any(isinstance(share, list) for share in shares):
        return "; ".join(_listed(each) for each in shares)
    return ", ".join(map(str, shares))


def _shown_matrix(rows: list[list[str]]) -> str:
    if len(rows) * len(rows[0]) > MOST_ENTRIES:
        return ", which is part of the published survey"
    return f", with the rows {_listed(rows)}"


#: What each family does with an answer, in words.
FAMILY_WORDS: dict[str, Callable[[dict[str, Any]], str]] = {
    "truthful": lambda given: "not disguised.",
    "related": lambda given: (
        f"with probability {given['theta']} the true answer was reported, otherwise another one, "
        "each other answer with the same probability (Warner, 1965)."
    ),
    "unrelated": lambda given: (
        f"with probability {given['theta']} the sensitive question was answered, otherwise an "
        f"unrelated one whose answers have the known probabilities {_listed(given['personal'])} "
        "(Greenberg et al., 1969)."
    ),
    "forced": lambda given: (
        f"with probability {given['theta']} the true answer was reported, otherwise one that "
        f"chance decided, with the probabilities {_listed(given['forced'])} (Boruch, 1971)."
    ),
    "crosswise": lambda given: (
        "respondents reported only whether their answer is the same as that to an innocent "
        f"question with known share {given['p']} (Yu, Tian & Tang, 2008)."
    ),
    "triangular": lambda given: (
        "respondents reported only whether their answer, or that to an innocent question with "
        f"known share {given['p']}, or both are yes (Yu, Tian & Tang, 2008)."
    ),
    "mangat": lambda given: (
        f"a true yes was always reported as yes; a true no as no with probability {given['p']}, "
        "otherwise as yes (Mangat, 1994)."
    ),
    "mangat_singh": lambda given: (
        f"with probability {given['truth']} the true answer was reported; otherwise a second draw "
        f"decided: the true answer with probability {given['p']}, else another one "
        "(Mangat & Singh, 1990)."
    ),
    "kuk": lambda given: (
        f"respondents reported the number of red cards among {given['cards']} drawn with "
        f"replacement, from a deck with a share {given['red_yes']} of red cards if their answer is "
        f"yes, from one with {given['red_no']} if it is no (Kuk, 1990)."
    ),
    "christofides": lambda given: (
        "respondents drew a number with the known probabilities "
        f"{_listed(given['distribution'])} and reported it if their answer is no, or the number "
        "counted from the other end if it is yes (Christofides, 2003)."
    ),
    "uniform_perturbation": lambda given: (
        f"with probability {given['q']} the true answer was reported, otherwise any answer with "
        "the same probability, the true one included (Agrawal, Srikant & Thomas, 2005)."
    ),
    "frapp": lambda given: (
        f"the true answer was {given['lambda']} times as likely to be reported as any other "
        "(Agrawal & Haritsa, 2005)."
    ),
    "matrix": lambda given: (
        "reports were drawn by a published matrix of probabilities with a row per report and a "
        f"column per true answer{_shown_matrix(given['matrix'])} (Huang & Du, 2008)."
    ),
}


# The report of a survey: one HTML file without script, for a paper's appendix.


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


# The report of a survey as PDF, set by Typst from the same values as the HTML report.


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
