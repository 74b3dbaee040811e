"""The ASGI application: which endpoint answers which address, also of new surveys."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.resources import files

from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from tacit.collect import monitoring, submission
from tacit.collect.http import FAULT, IMMUTABLE, JSON, File, HttpResponse, redirect
from tacit.collect.page import FILES, HTML, manifest
from tacit.collect.pages import SurveyPage, get_only, not_found
from tacit.collect.submission import AppConfig, SubmissionValidator, SurveySource
from tacit.survey import Published
from tacit.survey.published import SLUG_LETTERS

LOOK_SECONDS = 1.0
_ADDRESS = re.compile(rf"/s/[0-9a-f]{{{SLUG_LETTERS}}}(/|/survey\.json|/responses)?")


class NewSurveys:
    """Adds the addresses of new surveys to those that are served.

    The address of an unknown survey makes the server look into the database, at most once per
    second whatever arrives, so that nobody can load the database with invented addresses. All
    requests that arrive during a look wait for its result.
    """

    def __init__(self, config: AppConfig, addresses: dict[str, ASGIApp]) -> None:
        self._config, self._source, self._addresses = config, config.newer, addresses
        self._known = {survey.survey.fingerprint for survey in config.surveys}
        self._not_before = 0.0
        self._look: asyncio.Task[None] | None = None

    async def find(self, path: str) -> ASGIApp | None:
        """What answers an address that was unknown so far; None if it is still unknown."""
        if self._source is None or not _ADDRESS.fullmatch(path):
            return None
        if self._look is None and time.monotonic() >= self._not_before:
            self._look = asyncio.create_task(self._add(self._source))
        if self._look is not None:
            await asyncio.shield(self._look)  # a client that leaves does not end it
        return self._addresses.get(path)

    async def _add(self, source: SurveySource) -> None:
        try:
            for survey in await source(self._known):
                self._addresses.update(_addresses(self._config, survey))
                self._known.add(survey.survey.fingerprint)
        finally:
            self._not_before = time.monotonic() + LOOK_SECONDS
            self._look = None


def application(config: AppConfig) -> ASGIApp:
    """The application: a dictionary of addresses, which new surveys extend."""
    read: dict[str, ASGIApp] = {
        **{f"/page/{name}": File(FILES[name], data) for name, data in manifest().items()},
        "/openapi.json": File(JSON, files(__package__).joinpath("openapi.json").read_bytes()),
        "/health/live": HttpResponse(200, JSON, b'{"live": true}'),
        "/health/ready": _computed(lambda: _readiness(config.ready())),
    }
    del read[f"/page/{HTML}"]  # it has an address for each survey
    if config.show_metrics:
        read["/metrics"] = _computed(config.metrics.response)
    exact = {path: get_only(app) for path, app in read.items()}
    for survey in config.surveys:
        exact.update(_addresses(config, survey))
    others = Router(default=not_found, lifespan=config.lifespan)
    return RootApp(exact, others, NewSurveys(config, exact))


def _addresses(config: AppConfig, survey: Published) -> dict[str, ASGIApp]:
    """The addresses of a survey: its page, its file, and where records are sent."""
    base, validator = f"/s/{survey.slug}", SubmissionValidator(survey)
    return {
        f"{base}/responses": submission.Submissions(config, validator),
        **({f"{base}/link": submission.LinkCheck(config, validator)} if validator.invited else {}),
        base: get_only(redirect(f"{survey.slug}/")),  # the page's relative links need the slash
        f"{base}/": get_only(SurveyPage(config, survey.survey, validator)),
        f"{base}/survey.json": get_only(File(JSON, survey.to_json().encode(), IMMUTABLE)),
    }


class RootApp:
    """Dispatches every request; logs an unexpected error without any data and answers 500."""

    def __init__(self, exact: dict[str, ASGIApp], others: ASGIApp, new: NewSurveys) -> None:
        self._exact, self._others, self._new = exact, others, new

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._others(scope, receive, send)
            return
        try:
            app = self._exact.get(scope["path"]) or await self._new.find(scope["path"])
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
    content = {"ready": True} if why is None else {"ready": False, "why": why}
    return HttpResponse(200 if why is None else 503, JSON, json.dumps(content).encode())
