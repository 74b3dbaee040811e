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
from tacit.service.collect.http_responses import JSON, Answer, File
from tacit.service.collect.metrics import Metrics
from tacit.service.collect.pages import (
    NOTHING,
    Reading,
    Slashed,
    Standing,
    SurveyFiles,
    SurveyPages,
    page_files,
)
from tacit.service.collect.problem_details import FAULT, Problem
from tacit.service.collect.rate_limits import Limit, Rate, Window
from tacit.service.collect.submission import Submissions, Taker
from tacit.service.collect.submission_validator import Door
from tacit.survey import Published

#: Why nothing can be stored at present; None if it can.
Ready = Callable[[], str | None]


async def _open(survey: str) -> Problem | None:
    return None


def _is_ready() -> str | None:
    return None


@dataclass(frozen=True)
class Parts:
    """What the application is made of."""

    surveys: Sequence[Published]
    taker: Taker
    metrics: Metrics = field(default_factory=Metrics)
    rate: Rate | None = None
    open_limit: Limit | None = None
    standing: Standing = _open
    ready: Ready = _is_ready
    show_metrics: bool = False
    preview: bool = False
    today: Callable[[], date] = date.today
    lifespan: Callable[[Any], AbstractAsyncContextManager[None]] | None = None

    @property
    def published(self) -> Mapping[str, Published]:
        """The surveys by their slug."""
        return {survey.slug: survey for survey in self.surveys}


def application(parts: Parts) -> ASGIApp:
    """The ASGI application: exact addresses are looked up, patterns are left to a router."""
    published = parts.published
    doors = {slug: Door(survey) for slug, survey in published.items()}
    exact: dict[str, ASGIApp] = {
        f"/s/{slug}/responses": Submissions(
            door, parts.taker, parts.metrics, parts.rate, _flood_gate(door, parts.open_limit)
        )
        for slug, door in doors.items()
    }
    read: dict[str, ASGIApp] = {
        **{f"/page/{name}": file for name, file in page_files().items()},
        "/openapi.json": File(JSON, openapi.text()),
        "/health/live": _said(200, {"live": True}),
        "/health/ready": _Readiness(parts.ready),
    }
    if parts.show_metrics:
        read["/metrics"] = _Measured(parts.metrics)
    patterns: dict[str, ASGIApp] = {
        "/s/{slug}/": SurveyPages(doors, published, parts.standing, parts.preview, parts.today),
        "/s/{slug}/survey.json": SurveyFiles(published),
        "/s/{slug}": Slashed(),
    }
    routes = [Route(path, Reading(app)) for path, app in patterns.items()]
    router = Router(routes, redirect_slashes=False, default=NOTHING, lifespan=parts.lifespan)
    return Front(exact | {path: Reading(app) for path, app in read.items()}, router)


def _flood_gate(door: Door, limit: Limit | None) -> Window | None:
    """Counts the submissions of an open survey; invited ones are bounded by their links."""
    return None if limit is None or door.invited else Window(limit)


class Front:
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
        answer = _READY if why is None else _said(503, {"ready": False, "why": why})
        await answer(scope, receive, send)


class _Measured:
    """GET /metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._metrics.answer()(scope, receive, send)


def _said(status: int, content: dict[str, Any]) -> Answer:
    return Answer(status, JSON, json.dumps(content).encode())


_READY = _said(200, {"ready": True})
