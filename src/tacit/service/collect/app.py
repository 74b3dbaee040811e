"""The ASGI application: which endpoint answers which address."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from tacit.service.collect import logs, openapi
from tacit.service.collect.http_responses import JSON, File, HttpResponse
from tacit.service.collect.metrics import Metrics
from tacit.service.collect.pages import (
    GetOnly,
    StatusCheck,
    SurveyFiles,
    SurveyPages,
    not_found,
    page_files,
    slash_redirect,
)
from tacit.service.collect.problem_details import FAULT, ProblemType
from tacit.service.collect.rate_limits import AddressRateLimit, FixedWindow, RateLimit
from tacit.service.collect.submission import ResponseSink, Submissions
from tacit.service.collect.submission_validator import SubmissionValidator
from tacit.survey import Published

#: Why nothing can be stored at present; None if responses are stored.
Readiness = Callable[[], str | None]


async def _always_open(survey: str) -> ProblemType | None:
    return None


@dataclass(frozen=True)
class AppParts:
    """What the application is made of."""

    surveys: Sequence[Published]
    sink: ResponseSink
    metrics: Metrics = field(default_factory=Metrics)
    rate: AddressRateLimit | None = None
    open_limit: RateLimit | None = None
    status_problem: StatusCheck = _always_open
    ready: Readiness = lambda: None
    show_metrics: bool = False
    preview: bool = False
    today: Callable[[], date] = date.today
    lifespan: Callable[[Any], AbstractAsyncContextManager[None]] | None = None


def application(parts: AppParts) -> ASGIApp:
    """The application: exact addresses in a dictionary, patterns in a router."""
    published = {survey.slug: survey for survey in parts.surveys}
    validators = {slug: SubmissionValidator(survey) for slug, survey in published.items()}
    posted: dict[str, ASGIApp] = {
        f"/s/{slug}/responses": Submissions(
            validator, parts.sink, parts.metrics, parts.rate, _open_window(parts, validator)
        )
        for slug, validator in validators.items()
    }
    read: dict[str, ASGIApp] = {
        **{f"/page/{name}": file for name, file in page_files().items()},
        "/openapi.json": File(JSON, openapi.text()),
        "/health/live": _json_response(200, {"live": True}),
        "/health/ready": _Computed(lambda: _readiness(parts.ready())),
    }
    if parts.show_metrics:
        read["/metrics"] = _Computed(parts.metrics.response)
    pages = SurveyPages(validators, published, parts.status_problem, parts.preview, parts.today)
    patterns: dict[str, ASGIApp] = {
        "/s/{slug}/": pages,
        "/s/{slug}/survey.json": SurveyFiles(published),
        "/s/{slug}": slash_redirect,
    }
    routes = [Route(path, GetOnly(app)) for path, app in patterns.items()]
    router = Router(routes, redirect_slashes=False, default=not_found, lifespan=parts.lifespan)
    return RootApp(posted | {path: GetOnly(app) for path, app in read.items()}, router)


def _open_window(parts: AppParts, validator: SubmissionValidator) -> FixedWindow | None:
    """Limits submissions to an open survey; those to an invited one are limited by its links."""
    if parts.open_limit is None or validator.invited:
        return None
    return FixedWindow(parts.open_limit)


class RootApp:
    """Dispatches every request; logs an unexpected error without any data and answers 500."""

    def __init__(self, exact: Mapping[str, ASGIApp], others: ASGIApp) -> None:
        self._exact, self._others = exact, others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._others(scope, receive, send)
            return
        try:
            await self._exact.get(scope["path"], self._others)(scope, receive, send)
        except Exception as error:
            logs.fault(error)
            with suppress(RuntimeError):  # a response had begun: uvicorn closes the connection
                await FAULT.response(scope, receive, send)


class _Computed:
    """Sends a response that is computed for each request."""

    def __init__(self, compute: Callable[[], HttpResponse]) -> None:
        self._compute = compute

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._compute()(scope, receive, send)


def _readiness(why: str | None) -> HttpResponse:
    return _READY if why is None else _json_response(503, {"ready": False, "why": why})


def _json_response(status: int, content: dict[str, Any]) -> HttpResponse:
    return HttpResponse(status, JSON, json.dumps(content).encode())


_READY = _json_response(200, {"ready": True})
