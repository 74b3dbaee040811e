"""What is read with GET: a survey's page, the published survey and the page's own files."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import date
from html import escape

from starlette.types import ASGIApp, Receive, Scope, Send

from tacit.service import page
from tacit.service.collect.error_pages import error_page, language_of, spoken, words
from tacit.service.collect.http_requests import wants_page
from tacit.service.collect.http_responses import HTML, IMMUTABLE, JSON, File, redirect
from tacit.service.collect.problem_details import METHOD, NOT_FOUND, ProblemType
from tacit.service.collect.submission_validator import SubmissionValidator
from tacit.service.page import manifest
from tacit.survey import Published, Survey

#: Why a survey accepts no answers, whatever the day; None if it accepts them.
StatusCheck = Callable[[str], Awaitable[ProblemType | None]]

_BODY = re.compile(rb"<body[^>]*>")
_BANNER = '\n    <p class="note" role="note" lang="{}">{}</p>'
_WRONG_METHOD = METHOD.response.with_headers((b"allow", b"GET, HEAD"))
#: Seconds for which the status of a survey is cached.
_CACHE_SECONDS = 2.0


class GetOnly:
    """Passes GET and HEAD to an application, and refuses other methods."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app if scope["method"] in ("GET", "HEAD") else _WRONG_METHOD
        await app(scope, receive, send)


class SurveyPages:
    """GET /s/{slug}/: the page, or an error page."""

    def __init__(
        self,
        validators: Mapping[str, SubmissionValidator],
        published: Mapping[str, Published],
        status_problem: StatusCheck,
        preview: bool = False,
        today: Callable[[], date] = date.today,
    ) -> None:
        self._validators, self._status_problem, self._today = validators, status_problem, today
        self._surveys = {slug: each.survey for slug, each in published.items()}
        self._preview = preview
        self._page = File(HTML, manifest.html())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        slug, today = scope["path_params"]["slug"], self._today()
        validator, survey = self._validators.get(slug), self._surveys.get(slug)
        problem: ProblemType | None = NOT_FOUND
        if validator is not None:
            problem = await self._status_problem(validator.survey) or validator.day_problem(today)
        app: ASGIApp = self._page
        if problem is not None:
            app = _shown(problem, scope, survey, today)
        elif self._preview:
            app = _preview_page(language_of(scope, survey))
        await app(scope, receive, send)


class SurveyFiles:
    """GET /s/{slug}/survey.json: the survey exactly as it was published."""

    def __init__(self, published: Mapping[str, Published]) -> None:
        self._files = {
            slug: File(JSON, survey.to_json().encode(), IMMUTABLE)
            for slug, survey in published.items()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app: ASGIApp = self._files.get(scope["path_params"]["slug"], NOT_FOUND.response)
        await app(scope, receive, send)


async def slash_redirect(scope: Scope, receive: Receive, send: Send) -> None:
    """GET /s/{slug}: redirect to the page, whose relative links need the slash."""
    slug = scope["path_params"]["slug"]
    app: ASGIApp = redirect(f"{slug}/") if re.fullmatch("[0-9a-f]+", slug) else not_found
    await app(scope, receive, send)


async def not_found(scope: Scope, receive: Receive, send: Send) -> None:
    """Any other address."""
    await _shown(NOT_FOUND, scope, None, date.min)(scope, receive, send)


class CachedStatus:
    """Asks the database for the status of a survey at most every two seconds."""

    def __init__(self, ask: StatusCheck) -> None:
        self._ask = ask
        self._known: dict[str, tuple[float, ProblemType | None]] = {}

    async def __call__(self, survey: str) -> ProblemType | None:
        until, problem = self._known.get(survey, (0.0, None))
        if until <= time.monotonic():
            problem = await self._ask(survey)
            self._known[survey] = (time.monotonic() + _CACHE_SECONDS, problem)
        return problem


def page_files() -> dict[str, File]:
    """The page's own files by their path below /page/."""
    sent = manifest.manifest()
    return {name: File(page.FILES[name], sent[name]) for name in sent if name != manifest.HTML}


def _shown(problem: ProblemType, scope: Scope, survey: Survey | None, today: date) -> ASGIApp:
    """A problem as a page for people, as problem details for programs."""
    return error_page(problem, scope, survey, today) if wants_page(scope) else problem.response


def _preview_page(language: str) -> File:
    """The page with a banner: this is a preview."""
    banner = _BANNER.format(spoken(language), escape(words(language)["preview"])).encode()
    return File(HTML, _BODY.sub(lambda found: found[0] + banner, manifest.html()))
