"""The ASGI application: which endpoint answers which address, also of new surveys."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from importlib.resources import files
from typing import Any

from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from tacit.collect import monitoring
from tacit.collect.http import FAULT, IMMUTABLE, JSON, File, HttpResponse, redirect
from tacit.collect.limits import AddressRateLimit, FixedWindow, RateLimit
from tacit.collect.monitoring import Metrics
from tacit.collect.page import FILES, HTML, manifest
from tacit.collect.pages import SurveyPage, get_only, not_found
from tacit.collect.store import SurveyState
from tacit.collect.submission import (
    LinkCheck,
    LinkSource,
    ResponseSink,
    StateSource,
    Submissions,
    SubmissionValidator,
)
from tacit.survey import Published
from tacit.survey.published import SLUG_LETTERS

#: The surveys in the database except those with these fingerprints.
SurveySource = Callable[[Collection[str]], Awaitable[Sequence[Published]]]

LOOK_SECONDS = 1.0
_ADDRESS = re.compile(rf"/s/[0-9a-f]{{{SLUG_LETTERS}}}(/|/survey\.json|/responses)?")


class NewSurveys:
    """Adds the addresses of new surveys to those that are served.

    The address of an unknown survey makes the server look into the database, at most once per
    second whatever arrives, so that nobody can load the database with invented addresses. All
    requests that arrive during a look wait for its result.
    """

    def __init__(
        self,
        source: SurveySource,
        addresses: MutableMapping[str, ASGIApp],
        of_survey: Callable[[Published], dict[str, ASGIApp]],
        known: Collection[Published],
    ) -> None:
        self._source, self._addresses, self._of_survey = source, addresses, of_survey
        self._known = {survey.survey.fingerprint for survey in known}
        self._not_before = 0.0
        self._look: asyncio.Task[None] | None = None

    async def find(self, path: str) -> ASGIApp | None:
        """What answers an address that was unknown so far; None if it is still unknown."""
        if not _ADDRESS.fullmatch(path):
            return None
        if self._look is None and time.monotonic() >= self._not_before:
            self._look = asyncio.create_task(self._add())
        if self._look is not None:
            await asyncio.shield(self._look)  # a client that leaves does not end it
        return self._addresses.get(path)

    async def _add(self) -> None:
        try:
            for survey in await self._source(self._known):
                self._addresses.update(self._of_survey(survey))
                self._known.add(survey.survey.fingerprint)
        finally:
            self._not_before = time.monotonic() + LOOK_SECONDS
            self._look = None


#: Why nothing can be stored at present; None if responses are stored.
Readiness = Callable[[], str | None]


async def _unknown_state(survey: str) -> SurveyState | None:
    return None


async def _any_link(survey: str, token: str) -> bool:
    return True


@dataclass(frozen=True)
class AppConfig:
    """What the application is made of."""

    surveys: Sequence[Published]
    sink: ResponseSink
    metrics: Metrics = field(default_factory=Metrics)
    rate: AddressRateLimit | None = None
    #: Counts checks of links as `rate` counts submissions, so that neither uses up the other's.
    link_rate: AddressRateLimit | None = None
    open_limit: RateLimit | None = None
    link_usable: LinkSource = _any_link
    state: StateSource = _unknown_state
    ready: Readiness = lambda: None
    newer: SurveySource | None = None
    show_metrics: bool = False
    preview: bool = False
    today: Callable[[], date] = date.today
    lifespan: Callable[[Any], AbstractAsyncContextManager[None]] | None = None


def application(parts: AppConfig) -> ASGIApp:
    """The application: a dictionary of addresses, which new surveys extend."""
    read: dict[str, ASGIApp] = {
        **{f"/page/{name}": File(FILES[name], data) for name, data in manifest().items()},
        "/openapi.json": File(JSON, files(__package__).joinpath("openapi.json").read_bytes()),
        "/health/live": _json_response(200, {"live": True}),
        "/health/ready": _computed(lambda: _readiness(parts.ready())),
    }
    del read[f"/page/{HTML}"]  # it has an address for each survey
    if parts.show_metrics:
        read["/metrics"] = _computed(parts.metrics.response)
    exact = {path: get_only(app) for path, app in read.items()}
    of_survey = partial(_addresses, parts)
    for survey in parts.surveys:
        exact.update(of_survey(survey))
    new = None if parts.newer is None else NewSurveys(parts.newer, exact, of_survey, parts.surveys)
    return RootApp(exact, Router(default=not_found, lifespan=parts.lifespan), new)


def _addresses(parts: AppConfig, survey: Published) -> dict[str, ASGIApp]:
    """The addresses of a survey: its page, its file, and where records are sent."""
    base, validator = f"/s/{survey.slug}", SubmissionValidator(survey)
    # Submissions to an invited survey are limited by its links.
    limit = None if validator.invited else parts.open_limit
    window = None if limit is None else FixedWindow(limit)
    submissions = Submissions(validator, parts.sink, parts.metrics, parts.rate, window)
    page = SurveyPage(survey.survey, validator, parts.state, parts.preview, parts.today)
    links = LinkCheck(validator, parts.state, parts.link_usable, parts.link_rate, parts.today)
    return {
        f"{base}/responses": submissions,
        **({f"{base}/link": links} if validator.invited else {}),
        base: get_only(redirect(f"{survey.slug}/")),  # the page's relative links need the slash
        f"{base}/": get_only(page),
        f"{base}/survey.json": get_only(File(JSON, survey.to_json().encode(), IMMUTABLE)),
    }


class RootApp:
    """Dispatches every request; logs an unexpected error without any data and answers 500."""

    def __init__(
        self, exact: Mapping[str, ASGIApp], others: ASGIApp, new: NewSurveys | None = None
    ) -> None:
        self._exact, self._others, self._new = exact, others, new

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._others(scope, receive, send)
            return
        try:
            app = self._exact.get(scope["path"])
            if app is None and self._new is not None:
                app = await self._new.find(scope["path"])
            await (app or self._others)(scope, receive, send)
        except Exception as error:
            monitoring.fault(error)
            with suppress(RuntimeError):  # a response had begun: uvicorn closes the connection
                await FAULT.response(scope, receive, send)


def _computed(compute: Callable[[], HttpResponse]) -> ASGIApp:
    """An application that computes its response for each request."""

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        await compute()(scope, receive, send)

    return respond


def _readiness(why: str | None) -> HttpResponse:
    return _READY if why is None else _json_response(503, {"ready": False, "why": why})


def _json_response(status: int, content: dict[str, Any]) -> HttpResponse:
    return HttpResponse(status, JSON, json.dumps(content).encode())


_READY = _json_response(200, {"ready": True})
