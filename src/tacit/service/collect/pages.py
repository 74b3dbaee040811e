"""What is read: the page of a survey, the published survey, the page's own files."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import date
from html import escape

from starlette.types import ASGIApp, Receive, Scope, Send

from tacit.service import page
from tacit.service.collect.error_pages import language_of, notice, spoken, words
from tacit.service.collect.http_responses import FOR_EVER, HTML, JSON, File, redirect, wants_page
from tacit.service.collect.problem_details import METHOD, NOT_FOUND, Problem
from tacit.service.collect.submission_validator import Door
from tacit.service.page import manifest
from tacit.survey import Published, Survey

#: Why a survey takes no answers on any day; None if it does.
Standing = Callable[[str], Awaitable[Problem | None]]

_BODY = re.compile(rb"<body[^>]*>")
_BANNER = '\n    <p class="note" role="note" lang="{}">{}</p>'
_READ = (b"allow", b"GET, HEAD")
#: Seconds for which what the database said of a survey is believed.
_BELIEVED = 2.0


class Reading:
    """Answers GET and HEAD by the application given, and nothing else."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        allowed = scope["method"] in ("GET", "HEAD")
        app = self._app if allowed else METHOD.answer.with_headers(_READ)
        await app(scope, receive, send)


class SurveyPages:
    """GET /s/{slug}/: the page, or why there is none."""

    def __init__(
        self,
        doors: Mapping[str, Door],
        published: Mapping[str, Published],
        standing: Standing,
        preview: bool = False,
        today: Callable[[], date] = date.today,
    ) -> None:
        self._doors, self._standing, self._today = doors, standing, today
        self._surveys = {slug: each.survey for slug, each in published.items()}
        self._preview = preview
        self._page = File(HTML, manifest.html())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        slug = scope["path_params"]["slug"]
        app = await self._app(self._doors.get(slug), self._surveys.get(slug), scope)
        await app(scope, receive, send)

    async def _app(self, door: Door | None, survey: Survey | None, scope: Scope) -> ASGIApp:
        today = self._today()
        problem = NOT_FOUND if door is None else await self._problem(door, today)
        if problem is not None:
            return shown(problem, scope, survey, today)
        return _previewed(language_of(scope, survey)) if self._preview else self._page

    async def _problem(self, door: Door, today: date) -> Problem | None:
        return await self._standing(door.survey) or door.days(today)


class SurveyFiles:
    """GET /s/{slug}/survey.json: the survey exactly as it was published."""

    def __init__(self, published: Mapping[str, Published]) -> None:
        self._files = {
            slug: File(JSON, survey.to_json().encode(), FOR_EVER)
            for slug, survey in published.items()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app: ASGIApp = self._files.get(scope["path_params"]["slug"], NOT_FOUND.answer)
        await app(scope, receive, send)


class Slashed:
    """GET /s/{slug}: the page is one step further, so that its own addresses are right."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        slug = scope["path_params"]["slug"]
        app: ASGIApp = redirect(f"{slug}/") if re.fullmatch("[0-9a-f]+", slug) else NOTHING
        await app(scope, receive, send)


class Nothing:
    """Any other address: a page for people, problem details for programs."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await shown(NOT_FOUND, scope)(scope, receive, send)


NOTHING = Nothing()


class Believed:
    """What the database says of a survey, asked at most every two seconds."""

    def __init__(self, ask: Standing) -> None:
        self._ask = ask
        self._known: dict[str, tuple[float, Problem | None]] = {}

    async def __call__(self, survey: str) -> Problem | None:
        until, problem = self._known.get(survey, (0.0, None))
        if until <= time.monotonic():
            problem = await self._ask(survey)
            self._known[survey] = (time.monotonic() + _BELIEVED, problem)
        return problem


def page_files() -> dict[str, File]:
    """The page's own files by their path below /page/."""
    sent = manifest.manifest()
    return {name: File(page.FILES[name], sent[name]) for name in sent if name != manifest.HTML}


def shown(
    problem: Problem, scope: Scope, survey: Survey | None = None, today: date = date.min
) -> ASGIApp:
    """A problem as a page for people, as problem details for programs."""
    return notice(problem, scope, survey, today) if wants_page(scope) else problem.answer


def _previewed(language: str) -> File:
    """The page with a banner that says that this is a preview."""
    banner = _BANNER.format(spoken(language), escape(words(language)["preview"])).encode()
    return File(HTML, _BODY.sub(lambda found: found[0] + banner, manifest.html()))
