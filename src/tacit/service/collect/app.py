"""The application: which address is answered by what."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.service.collect import logs, openapi
from tacit.service.collect.http_responses import JSON, File, HttpResponse
from tacit.service.collect.metrics import Metrics
from tacit.service.collect.pages import (
    NOT_FOUND_PAGE,
    GetOnly,
    SlashRedirect,
    StatusCheck,
    SurveyFiles,
    SurveyPages,
    page_files,
)
from tacit.service.collect.problem_details import FAULT, ProblemType
from tacit.service.collect.rate_limits import AddressRateLimit, FixedWindow, RateLimit
from tacit.service.collect.submission import ResponseSink, Submissions
from tacit.service.collect.submission_validator import SubmissionValidator
from tacit.survey import Published

#: Why nothing can be stored at present; None if it can.
Ready = Callable[[], str | None]


async def _open(survey: str) -> ProblemType | None:
    return None


def _is_ready() -> str | None:
    return None


@dataclass(frozen=True)
class AppParts:
    """What the application is made of."""

    surveys: Sequence[Published]
    sink: ResponseSink
    metrics: Metrics = field(default_factory=Metrics)
    rate: AddressRateLimit | None = None
    open_limit: RateLimit | None = None
    status_problem: StatusCheck = _open
    ready: Ready = _is_ready
    show_metrics: bool = False
    preview: bool = False
    today: Callable[[], date] = date.today
    lifespan: Callable[[Any], AbstractAsyncContextManager[None]] | None = None

    @property
    def published(self) -> Mapping[str, Published]:
        """The surveys by their slug."""
        return {survey.slug: survey for survey in self.surveys}


def application(parts: AppParts) -> ASGIApp:
    """The ASGI application: exact addresses are looked up, patterns are left to a router."""
    published = parts.published
    validators = {slug: SubmissionValidator(survey) for slug, survey in published.items()}
    exact: dict[str, ASGIApp] = {
        f"/s/{slug}/responses": Submissions(
            validator,
            parts.sink,
            parts.metrics,
            parts.rate,
            _flood_gate(validator, parts.open_limit),
        )
        for slug, validator in validators.items()
    }
    read: dict[str, ASGIApp] = {
        **{f"/page/{name}": file for name, file in page_files().items()},
        "/openapi.json": File(JSON, openapi.text()),
        "/health/live": _json_response(200, {"live": True}),
        "/health/ready": _Readiness(parts.ready),
    }
    if parts.show_metrics:
        read["/metrics"] = _MetricsEndpoint(parts.metrics)
    patterns: dict[str, ASGIApp] = {
        "/s/{slug}/": SurveyPages(
            validators, published, parts.status_problem, parts.preview, parts.today
        ),
        "/s/{slug}/survey.json": SurveyFiles(published),
        "/s/{slug}": SlashRedirect(),
    }
    routes = [Route(path, GetOnly(app)) for path, app in patterns.items()]
    router = Router(routes, redirect_slashes=False, default=NOT_FOUND_PAGE, lifespan=parts.lifespan)
    return RootApp(exact | {path: GetOnly(app) for path, app in read.items()}, router)


def _flood_gate(validator: SubmissionValidator, limit: RateLimit | None) -> FixedWindow | None:
    """Counts the submissions of an open survey; invited ones are bounded by their links."""
    return None if limit is None or validator.invited else FixedWindow(limit)


class RootApp:
    """What every request meets first; a fault is logged and answered, without a trace of data."""

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
            await FAULT.answer(scope, receive, _unless_started(send))


def _unless_started(send: Send) -> Send:
    """Sends if nothing was sent before; else the server ends the connection."""

    async def careful(message: Message) -> None:
        try:
            await send(message)
        except RuntimeError:
            return

    return careful


class _Readiness:
    """GET /health/ready."""

    def __init__(self, ready: Ready) -> None:
        self._ready = ready

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        why = self._ready()
        answer = _READY if why is None else _json_response(503, {"ready": False, "why": why})
        await answer(scope, receive, send)


class _MetricsEndpoint:
    """GET /metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._metrics.answer()(scope, receive, send)


def _json_response(status: int, content: dict[str, Any]) -> HttpResponse:
    return HttpResponse(status, JSON, json.dumps(content).encode())


_READY = _json_response(200, {"ready": True})
