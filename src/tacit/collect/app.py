"""The ASGI application: which endpoint answers which address, also of new surveys."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import date
from importlib.resources import files
from typing import Any

from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from tacit.collect import http, monitoring
from tacit.collect.http import JSON, File, HttpResponse, Refused
from tacit.collect.limits import AddressRateLimit, FixedWindow, RateLimit
from tacit.collect.monitoring import ACCEPTED, Metrics
from tacit.collect.page import FILES, HTML, html, manifest
from tacit.collect.pages import error_page, get_only, language_of, not_found, preview_html
from tacit.collect.store import Outcome, Response, SurveyState
from tacit.collect.store.values import refusal
from tacit.collect.submission import TOKEN, SubmissionValidator, parse_object
from tacit.errors import Busy, Unavailable
from tacit.survey import Published
from tacit.survey.published import SLUG_LETTERS

LOOK_SECONDS = 1.0
_ADDRESS = re.compile(rf"/s/[0-9a-f]{{{SLUG_LETTERS}}}(/|/survey\.json|/responses)?")


@dataclass
class Service:
    """What the application serves, and what it asks; this one stores nothing: for previews."""

    surveys: Sequence[Published]
    metrics: Metrics = field(default_factory=Metrics)
    rate: AddressRateLimit | None = None
    #: Counts checks of links as `rate` counts submissions, so that neither uses up the other's.
    link_rate: AddressRateLimit | None = None
    open_limit: RateLimit | None = None
    show_metrics: bool = False
    preview: bool = False
    today: Callable[[], date] = date.today

    async def submit(self, response: Response) -> Outcome:
        """Store a response; the outcome is durable. Raises Busy or Unavailable if it cannot."""
        return Outcome.STORED

    async def state(self, survey: str) -> SurveyState | None:
        """The state of the survey with a fingerprint; None if the database does not answer."""
        return None

    async def link_usable(self, survey: str, token: str) -> bool | None:
        """Whether a token of a survey can be used; None if the database does not answer."""
        return True

    async def newer(self) -> Sequence[Published]:
        """The surveys that were published since; none if the database does not answer."""
        return ()

    def ready(self) -> str | None:
        """Why nothing can be stored at present; None if responses are stored."""
        return None

    @asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncIterator[None]:
        """Entered before the first request, left after the last one."""
        yield


#: For each outcome the name under which it is counted, and the HTTP response.
_RESULTS: Mapping[Outcome, tuple[str, HttpResponse]] = {
    Outcome.STORED: (ACCEPTED[0], HttpResponse(201, JSON, b'{"stored": true}')),
    Outcome.REPEATED: (ACCEPTED[1], HttpResponse(200, JSON, b'{"stored": true}')),
    **{outcome: (problem.name, problem.response) for outcome, problem in http.REFUSALS.items()},
}
_USABLE = HttpResponse(200, JSON, b'{"usable": true }')
_NOT_USABLE = HttpResponse(200, JSON, b'{"usable": false}')
#: Bytes of a check of a link that are read: more than a token needs.
_LINK_LIMIT = 512
_ALL = b""
_TOO_MANY_IN_ALL = "an open survey accepts a limited number of answers per minute"
_WRONG_METHOD = replace(http.METHOD, headers=((b"allow", b"POST"), http.CLOSE))


class SurveyEndpoints:
    """What answers the addresses of one survey."""

    def __init__(self, service: Service, published: Published) -> None:
        self._service, self._survey = service, published.survey
        self._validator = SubmissionValidator(published)
        # Submissions to an invited survey are limited by its links.
        limit = None if self._survey.invited else service.open_limit
        self._open_window = None if limit is None else FixedWindow(limit)
        self._html = File(http.HTML, html())
        slash = (b"location", f"{published.slug}/".encode())  # for the page's relative links
        file = File(JSON, published.to_json().encode(), http.IMMUTABLE)
        base = f"/s/{published.slug}"
        self.addresses: dict[str, ASGIApp] = {
            f"{base}/responses": self.submit,
            base: get_only(HttpResponse(308, http.TEXT, b"", (http.NO_STORE, slash))),
            f"{base}/": get_only(self.page),
            f"{base}/survey.json": get_only(file),
        }
        if self._survey.invited:
            self.addresses[f"{base}/link"] = self.check_link

    async def page(self, scope: Scope, receive: Receive, send: Send) -> None:
        """GET /s/SLUG/: the page, or an error page."""
        problem = await self._problem()
        app: ASGIApp = self._html
        if problem is not None:
            app = error_page(problem, scope, self._survey, self._service.today())
        elif self._service.preview:
            app = File(http.HTML, preview_html(language_of(scope, self._survey)))
        await app(scope, receive, send)

    async def submit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """POST /s/SLUG/responses."""
        try:
            body = await _body(scope, receive, self._service.rate, self._validator.limit)
            submitted = self._validator.validate(body)
            self._limit_open_survey()
            name, response = _RESULTS[await self._service.submit(submitted)]
        except Refused as refused:
            name, response = refused.problem.name, refused.response
        except (Busy, Unavailable) as error:
            problem = http.BUSY if isinstance(error, Busy) else http.UNAVAILABLE
            name, response = problem.name, problem.response
        except http.ClientDisconnected:
            return
        self._service.metrics.count(name)
        await response(scope, receive, send)

    async def check_link(self, scope: Scope, receive: Receive, send: Send) -> None:
        """POST /s/SLUG/link of an invited survey: can a link still be used?

        The token is in the body, so that no address and no log has it. A link that was used, one
        that was never issued and one that is malformed get the same answer, because the database
        keeps only links that are not used. Both answers have the same length.
        """
        try:
            sent = parse_object(await _body(scope, receive, self._service.link_rate, _LINK_LIMIT))
            response = _USABLE if await self._usable(sent) else _NOT_USABLE
        except Refused as refused:
            response = refused.response
        except http.ClientDisconnected:
            return
        await response(scope, receive, send)

    async def _usable(self, sent: dict[str, Any]) -> bool:
        token = sent.get("token")
        if sent.keys() != {"token"} or type(token) is not str:
            raise Refused(http.MALFORMED, "the only key must be token, a text")
        problem = await self._problem()
        if problem is not None:
            raise Refused(problem)
        if not TOKEN.fullmatch(token):
            return False
        usable = await self._service.link_usable(self._survey.fingerprint, token)
        if usable is None:
            raise Refused(http.UNAVAILABLE)
        return usable

    async def _problem(self) -> http.ProblemType | None:
        """Why the survey accepts no answers; if its state is not known, only the days count."""
        state = await self._service.state(self._survey.fingerprint)
        closed, records = (False, 0) if state is None else (not state.open, state.records)
        outcome = refusal(self._survey, closed, records, self._service.today())
        return None if outcome is None else http.REFUSALS[outcome]

    def _limit_open_survey(self) -> None:
        """Refuse more than an open survey accepts in all; only valid submissions count."""
        if self._open_window is None:
            return
        wait = self._open_window.wait(_ALL)
        if wait is not None:
            self._service.metrics.over_open_rate += 1
            raise Refused(http.BUSY, _TOO_MANY_IN_ALL, wait)
        self._open_window.count(_ALL)


async def _body(scope: Scope, receive: Receive, rate: AddressRateLimit | None, limit: int) -> bytes:
    """The body of a request, or Refused; what can be refused without the body comes first.

    Dates and quota are left to the store, which recognizes a repeated submission.
    """
    if scope["method"] != "POST":
        raise Refused(_WRONG_METHOD)
    wait = None if rate is None else rate.wait(scope)
    if wait is not None:
        raise Refused(http.TOO_MANY, wait=wait, early=True)
    return await http.read_body(receive, http.check_json(scope), limit)


class Application:
    """Dispatches every request; logs an unexpected error without any data and answers 500.

    The address of an unknown survey makes the server look into the database, at most once per
    second whatever arrives, so that nobody can load the database with invented addresses. All
    requests that arrive during a look wait for its result.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        read: dict[str, ASGIApp] = {
            **{f"/page/{name}": File(FILES[name], data) for name, data in manifest().items()},
            "/openapi.json": File(JSON, files(__package__).joinpath("openapi.json").read_bytes()),
            "/health/live": HttpResponse(200, JSON, b'{"live": true}'),
            "/health/ready": _computed(lambda: _readiness(service.ready())),
        }
        del read[f"/page/{HTML}"]  # it has an address for each survey
        if service.show_metrics:
            read["/metrics"] = _computed(service.metrics.response)
        self._exact = {path: get_only(app) for path, app in read.items()}
        self._add(service.surveys)
        self._others = Router(default=not_found, lifespan=service.lifespan)
        self._not_before = 0.0
        self._look: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._others(scope, receive, send)
            return
        try:
            app = self._exact.get(scope["path"]) or await self._new(scope["path"])
            await (app or self._others)(scope, receive, send)
        except Exception as error:
            monitoring.fault(error)
            with suppress(RuntimeError):  # a response had begun: uvicorn closes the connection
                await http.FAULT.response(scope, receive, send)

    def _add(self, surveys: Sequence[Published]) -> None:
        for survey in surveys:
            self._exact |= SurveyEndpoints(self._service, survey).addresses

    async def _new(self, path: str) -> ASGIApp | None:
        """What answers an address that was unknown so far; None if it is still unknown."""
        if not _ADDRESS.fullmatch(path):
            return None
        if self._look is None and time.monotonic() >= self._not_before:
            self._look = asyncio.create_task(self._add_newer())
        if self._look is not None:
            await asyncio.shield(self._look)  # a client that leaves does not end it
        return self._exact.get(path)

    async def _add_newer(self) -> None:
        try:
            self._add(await self._service.newer())
        finally:
            self._not_before = time.monotonic() + LOOK_SECONDS
            self._look = None


def _computed(compute: Callable[[], HttpResponse]) -> ASGIApp:
    """An application that computes its response for each request."""

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        await compute()(scope, receive, send)

    return respond


def _readiness(why: str | None) -> HttpResponse:
    content = {"ready": True} if why is None else {"ready": False, "why": why}
    return HttpResponse(200 if why is None else 503, JSON, json.dumps(content).encode())
