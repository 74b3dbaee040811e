"""What is read with GET: a survey's page and its files; error pages."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from datetime import date
from html import escape

from starlette.types import ASGIApp, Receive, Scope, Send

from tacit.collect.error_pages import error_page, language_of, spoken, words
from tacit.collect.http_requests import wants_page
from tacit.collect.http_responses import HTML, File
from tacit.collect.page import html
from tacit.collect.problem_details import METHOD, NOT_FOUND, ProblemType
from tacit.collect.store import SurveyState
from tacit.collect.submission_validator import SubmissionValidator
from tacit.survey import Survey

#: The state of the survey with a fingerprint; None if the database does not answer.
StateSource = Callable[[str], Awaitable[SurveyState | None]]

_BODY = re.compile(rb"<body[^>]*>")
_BANNER = '\n    <p class="note" role="note" lang="{}">{}</p>'
_WRONG_METHOD = METHOD.response.with_headers((b"allow", b"GET, HEAD"))
#: Seconds for which the state of a survey is cached.
_CACHE_SECONDS = 2.0


def get_only(app: ASGIApp) -> ASGIApp:
    """Passes GET and HEAD to an application, and refuses other methods."""

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        await (app if scope["method"] in ("GET", "HEAD") else _WRONG_METHOD)(scope, receive, send)

    return respond


class SurveyPage:
    """GET /s/SLUG/: the page, or an error page."""

    def __init__(
        self,
        survey: Survey,
        validator: SubmissionValidator,
        state: StateSource,
        preview: bool,
        today: Callable[[], date],
    ) -> None:
        self._survey, self._validator, self._state = survey, validator, state
        self._preview, self._today = preview, today
        self._page = File(HTML, html())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        today = self._today()
        problem = self._validator.problem(await self._state(self._validator.survey), today)
        app: ASGIApp = self._page
        if problem is not None:
            app = _shown(problem, scope, self._survey, today)
        elif self._preview:
            app = File(HTML, preview_html(language_of(scope, self._survey)))
        await app(scope, receive, send)


async def not_found(scope: Scope, receive: Receive, send: Send) -> None:
    """Any other address."""
    await _shown(NOT_FOUND, scope, None, date.min)(scope, receive, send)


class CachedState:
    """Asks the database for the state of a survey at most every two seconds."""

    def __init__(self, ask: StateSource) -> None:
        self._ask = ask
        self._known: dict[str, tuple[float, SurveyState | None]] = {}

    async def __call__(self, survey: str) -> SurveyState | None:
        until, state = self._known.get(survey, (0.0, None))
        if until <= time.monotonic():
            state = await self._ask(survey)
            self._known[survey] = (time.monotonic() + _CACHE_SECONDS, state)
        return state


def _shown(problem: ProblemType, scope: Scope, survey: Survey | None, today: date) -> ASGIApp:
    """A problem as a page for people, as problem details for programs."""
    return error_page(problem, scope, survey, today) if wants_page(scope) else problem.response


def preview_html(language: str) -> bytes:
    """The page with a banner: this is a preview."""
    banner = _BANNER.format(spoken(language), escape(words(language)["preview"])).encode()
    return _BODY.sub(lambda found: found[0] + banner, html())
