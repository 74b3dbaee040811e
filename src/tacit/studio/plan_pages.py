"""The planner's page: respondents, interval widths, power and privacy of a survey."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse, Response

from tacit.errors import DataError, DesignError, SchemaError
from tacit.plan.subject import OPEN_FAMILIES
from tacit.studio.access import Right
from tacit.studio.plan_form import COMPARED, PlanForm, PlanPage
from tacit.studio.site import PageRoute, PageVisit

#: What is wrong with a wish is said on the page.
_WRONG = (DataError, DesignError, SchemaError)


def show_plan(visit: PageVisit) -> Response:
    """The form, and the plan if it was filled in."""
    form, found, problem = _form(visit), None, None
    if form.asked:
        try:
            found = _planned(visit, form)
        except _WRONG as error:
            problem = str(error)
    shown: dict[str, Any] = {"fields": form.fields, "compare": form.compare, "found": found}
    shown |= {"problem": problem, "families": OPEN_FAMILIES}
    surveys = visit.studio.surveys(visit.person)
    return visit.page("plan.html", 400 if problem else 200, surveys=surveys, **shown)


def plan_json(visit: PageVisit) -> Response:
    """A plan: what is left out of respondents, width, power and privacy is solved for."""
    form = _form(visit)
    if not form.asked:
        raise DataError("name a subject: a family, or survey:NAME")
    try:
        found = _planned(visit, form)
    except _WRONG as error:
        raise DataError(str(error)) from None
    compared = None if found.tradeoff is None else found.tradeoff.to_dict()
    return JSONResponse(found.plan.to_dict() | {"tradeoff": compared})


def _form(visit: PageVisit) -> PlanForm:
    given = visit.request.query_params
    compare = [name for name in given.getlist("compare") if name] if len(given) else list(COMPARED)
    return PlanForm(dict(given), compare)


def _planned(visit: PageVisit, form: PlanForm) -> PlanPage:
    return form.page(visit.studio.surveys(visit.person))


#: The pages of this module.
ROUTES = (PageRoute("GET", "/plan", Right.SIGNED_IN, show_plan),)
