"""The respondent's page of a draft: the same files as respondents get, and nothing is stored."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from tacit.collect import page
from tacit.collect.http import PROTECTION, Refused
from tacit.collect.pages import language_of, preview_html
from tacit.collect.submission import SubmissionValidator
from tacit.errors import DataError
from tacit.studio.access import NOT_FOUND, Refusal, Right
from tacit.studio.site import LONGEST_TEXT_FORM, PageRoute, PageVisit, refused
from tacit.survey import Published

#: As respondents get them: these files may run their own scripts, unlike the pages of the studio.
_HEADERS = {name.decode(): value.decode() for name, value in PROTECTION}
_OVER = Refusal("not-found", 404, "This preview is over. Start it again from the draft.")


def show_preview(visit: PageVisit) -> Response:
    """The page of respondents with a banner that says so."""
    survey = _survey(visit)
    if survey is None:
        return refused(visit.studio, visit.request, _OVER)
    html = preview_html(language_of(visit.request.scope, survey.survey))
    return Response(html, media_type="text/html", headers=_HEADERS)


def preview_survey(visit: PageVisit) -> Response:
    """The survey that the page carries out."""
    survey = _survey(visit)
    if survey is None:
        return refused(visit.studio, visit.request, _OVER)
    return Response(survey.to_json(), media_type="application/json", headers=_HEADERS)


def preview_response(visit: PageVisit) -> Response:
    """Check a record as a server would; it is not stored."""
    survey = _survey(visit)
    if survey is None:
        return refused(visit.studio, visit.request, _OVER)
    try:
        SubmissionValidator(survey).validate(visit.body)
    except Refused as error:
        raise DataError(error.problem.title) from None
    return JSONResponse({"stored": True}, 201)


def page_file(visit: PageVisit) -> Response:
    """A file of the respondent's page."""
    name = visit.request.path_params["name"]
    if name not in page.FILES or name == page.HTML:
        return refused(visit.studio, visit.request, NOT_FOUND)
    return Response(page.content(name), media_type=page.FILES[name], headers=_HEADERS)


def _survey(visit: PageVisit) -> Published | None:
    return visit.studio.previews.get(visit.request.path_params["secret"])


_OWN = "/preview/{secret}"
PREVIEW_PAGES = (
    PageRoute("GET", f"{_OWN}/", Right.EVERYONE, show_preview),
    PageRoute("GET", f"{_OWN}/survey.json", Right.EVERYONE, preview_survey),
    PageRoute("POST", f"{_OWN}/responses", Right.EVERYONE, preview_response, LONGEST_TEXT_FORM),
    PageRoute("GET", "/page/{name:path}", Right.EVERYONE, page_file),
)
