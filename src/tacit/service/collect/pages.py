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
from tacit.service.collect.problem_details import METHOD, NOT_FOUND, ProblemType
from tacit.service.collect.submission_validator import SubmissionValidator
from tacit.service.page import manifest
from tacit.survey import Published, Survey

#: Why a survey takes no answers on any day; None if it does.
StatusCheck = Callable[[str], Awaitable[ProblemType | None]]

_BODY = re.compile(rb"<body[^>]*>")
_BANNER = '\n    <p class="note" role="note" lang="{}">{}</p>'
_READ = (b"allow", b"GET, HEAD")
#: Seconds for which what the database said of a survey is believed.
_BELIEVED = 2.0


class GetOnly:
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
        slug = scope["path_params"]["slug"]
        app = await self._app(self._validators.get(slug), self._surveys.get(slug), scope)
        await app(scope, receive, send)

    async def _app(
        self, validator: SubmissionValidator | None, survey: Survey | None, scope: Scope
    ) -> ASGIApp:
        today = self._today()
        problem = NOT_FOUND if validator is None else await self._problem(validator, today)
        if problem is not None:
            return shown(problem, scope, survey, today)
        return _preview_page(language_of(scope, survey)) if self._preview else self._page

    async def _problem(self, validator: SubmissionValidator, today: date) -> ProblemType | None:
        return await self._status_problem(validator.survey) or validator.days(today)


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


class SlashRedirect:
    """GET /s/{slug}: the page is one step further, so that its own addresses are right."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        slug = scope["path_params"]["slug"]
        app: ASGIApp = redirect(f"{slug}/") if re.fullmatch("[0-9a-f]+", slug) else NOT_FOUND_PAGE
        await app(scope, receive, send)


class NotFound:
    """Any other address: a page for people, problem details for programs."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await shown(NOT_FOUND, scope)(scope, receive, send)


NOT_FOUND_PAGE = NotFound()


class CachedStatus:
    """What the database says of a survey, asked at most every two seconds."""

    def __init__(self, ask: StatusCheck) -> None:
        self._ask = ask
        self._known: dict[str, tuple[float, ProblemType | None]] = {}

    async def __call__(self, survey: str) -> ProblemType | None:
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
    problem: ProblemType, scope: Scope, survey: Survey | None = None, today: date = date.min
) -> ASGIApp:
    """A problem as a page for people, as problem details for programs."""
    return notice(problem, scope, survey, today) if wants_page(scope) else problem.answer


def _preview_page(language: str) -> File:
    """The page with a banner that says that this is a preview."""
    banner = _BANNER.format(spoken(language), escape(words(language)["preview"])).encode()
    return File(HTML, _BODY.sub(lambda found: found[0] + banner, manifest.html()))
