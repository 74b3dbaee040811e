"""Pages of comparisons and regressions, their files, and which of them the report contains."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

import numpy as np
from starlette.datastructures import QueryParams
from starlette.responses import Response

from tacit.core.design import Design
from tacit.errors import DataError
from tacit.studio.accounts import Role
from tacit.studio.analyses import COMPARISON, REGRESSION, Analysis, all_labels
from tacit.studio.charts import odds_scale, scale_for
from tacit.studio.disclosure import AT_CLOSING, SMALLEST_GROUP, shown_estimates, why_hidden
from tacit.studio.group_tables import GroupTable
from tacit.studio.merge_offers import MergeOffer, merge_offer
from tacit.studio.recoding import recodings_of_form
from tacit.studio.regression_code import python_code, r_code
from tacit.studio.regression_request import KINDS
from tacit.studio.regressions import Regression
from tacit.studio.release import Release
from tacit.studio.report import analysis_result
from tacit.studio.site import Answer, PageRoute, PageVisit


def asked(visit: PageVisit, kind: str) -> Analysis:
    """The analysis of the query of an address."""
    return Analysis(kind, visit.request.url.query)


def show_compare(visit: PageVisit) -> Response:
    """Answers to one question in the groups of another, also within the layers of a third."""
    values = visit.survey_values()
    texts, release = visit.survey.question_texts, visit.studio.releases.comparable(visit.survey)
    fields = visit.request.query_params
    chosen = {key: fields.get(key, "") for key in ("row", "column", "layer")}
    chosen_by_form = bool(chosen["column"] or chosen["layer"])
    if not chosen_by_form:
        chosen |= _first_comparison(visit.survey.design, chosen["row"])
    values |= {
        **chosen,
        "texts": texts,
        "named": [(name, f"{name}: {text[:60]}") for name, text in texts.items()],
        "table": None,
        "offer": None,
        "smallest": SMALLEST_GROUP,
        "newest": values["release"],
        "release": release,
        "later": AT_CLOSING,
    }
    if release is not None and chosen_by_form:
        values |= _compared(visit, release, fields)
    return visit.page("compare.html", **values)


def _compared(visit: PageVisit, release: Release, fields: QueryParams) -> dict[str, Any]:
    """What the page says of a table; a reference group that is merged away is the first again."""
    every, design = all_labels(visit.survey), visit.survey.design
    words = {n: every[n] for n in (fields.get(k) for k in ("row", "column", "layer")) if n in every}
    recodings = recodings_of_form(design.schema, words, fields, words)
    column = recodings.get(fields.get("column", ""))
    references = [] if column is None else [*column.labels]
    reference = (column and column.label_of(fields.get("reference", ""))) or ""
    pairs = [(key, value) for key, value in fields.multi_items() if key != "reference"]
    analysis = Analysis(COMPARISON, urlencode([*pairs, ("reference", reference)]))
    table = analysis_result(analysis, release, every)
    assert isinstance(table, GroupTable)
    ends = [end for pair in table.comparisons for end in (pair.low, pair.high)]
    offered: dict[str, Any] = {}
    if table.hidden:
        offered = _offered(visit, merge_offer(release, [*table.by, table.row], recodings))
    return offered | {
        "table": table,
        "analysis": analysis,
        "words": words,
        "fields": fields,
        "people": {name: group_sizes(release, name) for name in words},
        "reference": reference,
        "reference_choices": [(r, r) for r in references],
        "disguised": design.group_of(table.row).disguised,
        "scale": scale_for([cell.share or 0.0 for cell in table.cells], whole=True),
        "difference_scale": scale_for(ends or [1.0], ""),
    }


def _offered(visit: PageVisit, offer: MergeOffer | None) -> dict[str, Any]:
    """Groups to merge, and the query of the same page with them merged."""
    merged = offer and offer.fields(visit.request.query_params)
    query = merged and visit.request.url.include_query_params(**merged).query
    return {"offer": offer if query else None, "merged": query}


def _first_comparison(design: Design, row: str) -> dict[str, str]:
    """What a form begins with: a disguised question in the groups of one that is not."""
    names = sorted(design.schema.names, key=lambda name: design.group_of(name).disguised)
    row = row or next((n for n in names if design.group_of(n).disguised), names[0])
    return {"row": row, "column": next((name for name in names if name != row), "")}


def group_sizes(release: Release, name: str) -> list[str]:
    """About how many people gave each answer, for the form that merges them."""
    table = shown_estimates(release).table([name])
    people = (max(0, round(float(share) * table.n_records)) for share in np.ravel(table.value))
    return [f"{n:,}" if n >= SMALLEST_GROUP else f"under {SMALLEST_GROUP}" for n in people]


def show_regression(visit: PageVisit) -> Response:
    """A logit of one question on others, with odds ratios and average effects."""
    values, fields = visit.survey_values(), visit.request.query_params
    release, design = visit.studio.releases.comparable(visit.survey), visit.survey.design
    conditional = {condition.attribute for condition in design.conditions}
    usable: list[str] = []
    if release is not None:
        names = (name for name in design.schema.names if name not in conditional)
        usable = [name for name in names if why_hidden(release, name) is None]
    words = all_labels(visit.survey)
    values |= {
        "smallest": SMALLEST_GROUP,
        "newest": values["release"],
        "release": release,
        "later": AT_CLOSING,
        "fields": fields,
        "chosen": fields.getlist("with"),
        "usable": usable,
        "kinds": KINDS.items(),
        "hidden_answers": {name for name in usable if design.group_of(name).disguised},
        "words": words,
        "people": {} if release is None else {name: group_sizes(release, name) for name in usable},
        "fit": None,
        "problem": None,
        "offer": None,
    }
    values["outcome"] = fields.get("outcome") or next(
        (name for name in usable if name in values["hidden_answers"]), ""
    )
    status = 200
    if release is not None and (outcome := fields.get("outcome")):
        pairs = [pair for pair in fields.multi_items() if pair != ("with", outcome)]
        try:
            analysis = Analysis(REGRESSION, urlencode(pairs))
            fit = analysis_result(analysis, release, words)
        except DataError as error:
            values["problem"], status = str(error), 400
            values |= _offered(visit, _offer_for_model(release, outcome, fields, usable))
        else:
            assert isinstance(fit, Regression)
            values |= {
                "fit": fit,
                "analysis": analysis,
                "scale": odds_scale([end for term in fit.terms for end in (term.low, term.high)]),
                "python": python_code(fit.request, visit.survey),
                "r": r_code(fit.request, visit.survey),
            }
    return visit.page("regression.html", status, **values)


def _offer_for_model(
    release: Release, outcome: str, fields: QueryParams, usable: Sequence[str]
) -> MergeOffer | None:
    """Groups of a predictor that a refused model may have if they are merged."""
    schema = release.survey.design.schema
    chosen = [name for name in fields.getlist("with") if name in usable and name != outcome]
    if outcome not in usable:
        return None
    try:
        parts = recodings_of_form(schema, [outcome, *chosen], fields)
    except DataError:
        return None
    offers = (merge_offer(release, [name, outcome], parts) for name in chosen)
    return next((one for one in offers if one and one.attribute.name != outcome), None)


def analysis_file(visit: PageVisit, kind: str) -> Response:
    """The numbers of a comparison or a regression as CSV, with the texts of answers."""
    words = all_labels(visit.survey)
    result = analysis_result(asked(visit, kind), visit.comparable_release(), words)
    return visit.file(result.to_table().csv(), f"{kind}.csv")


def add_to_report(visit: PageVisit) -> Answer:
    """Put a comparison or a regression into the report; it must be one that is shown."""
    analysis = Analysis(visit.text("kind"), visit.text("query"))
    words = all_labels(visit.survey)
    analysis_result(analysis, visit.comparable_release(), words)  # else it is refused
    visit.studio.contents.add(visit.survey, analysis)
    visit.record("added to the report", f"{visit.survey.title}: {analysis.kind} {analysis.query}")
    return report_contents(visit)


def remove_from_report(visit: PageVisit) -> Answer:
    """Leave an analysis out of the report again."""
    visit.studio.contents.remove(visit.survey, visit.number)
    visit.record("removed from the report", visit.survey.title)
    return report_contents(visit)


def report_contents(visit: PageVisit) -> Answer:
    """The comparisons and regressions of the report, in their order."""
    analyses = visit.studio.contents.of(visit.survey)
    return {"analyses": [vars(analysis) for analysis in analyses]}


_SURVEY = "/surveys/{survey}"
_EXPORT, _REPORT, _NUMBER = f"{_SURVEY}/export#report", f"{_SURVEY}/report", "{number:int}"
#: The pages of this module with the rights that they need.
ROUTES = (
    PageRoute("GET", f"{_SURVEY}/compare", Role.VIEWER, show_compare),
    PageRoute("GET", f"{_SURVEY}/regression", Role.VIEWER, show_regression),
    *(
        PageRoute("GET", f"{_SURVEY}/{kind}.csv", Role.VIEWER, partial(analysis_file, kind=kind))
        for kind in (COMPARISON, REGRESSION)
    ),
    PageRoute("POST", _REPORT, Role.ANALYST, add_to_report, then=_EXPORT),
    PageRoute(
        "POST", f"{_REPORT}/{_NUMBER}/remove", Role.ANALYST, remove_from_report, then=_EXPORT
    ),
)
