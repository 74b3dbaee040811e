"""The submit endpoint: it accepts one disguised record and acknowledges it once it is durable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from starlette.types import Receive, Scope, Send

from tacit.collect.http_requests import ClientDisconnected, check_json, read_body
from tacit.collect.http_responses import CLOSE, JSON, HttpResponse
from tacit.collect.metrics import ACCEPTED, Metrics
from tacit.collect.problem_details import (
    BUSY,
    METHOD,
    REFUSALS,
    TOO_MANY,
    UNAVAILABLE,
    Refused,
)
from tacit.collect.rate_limits import AddressRateLimit, FixedWindow
from tacit.collect.store import Outcome, Response
from tacit.collect.submission_validator import SubmissionValidator
from tacit.errors import Busy, Unavailable


class ResponseSink(Protocol):
    """Stores responses."""

    async def submit(self, response: Response) -> Outcome:
        """Store a response; the outcome is durable. Raises Busy or Unavailable if it cannot."""
        ...


#: For each outcome the name under which it is counted, and the HTTP response.
_RESULTS: Mapping[Outcome, tuple[str, HttpResponse]] = {
    Outcome.STORED: (ACCEPTED[0], HttpResponse(201, JSON, b'{"stored": true}')),
    Outcome.REPEATED: (ACCEPTED[1], HttpResponse(200, JSON, b'{"stored": true}')),
    **{outcome: (problem.name, problem.response) for outcome, problem in REFUSALS.items()},
}
_ALL = b""
_TOO_MANY_IN_ALL = "an open survey accepts a limited number of answers per minute"
_WRONG_METHOD = replace(METHOD, headers=((b"allow", b"POST"), CLOSE))


def check_head(scope: Scope, rate: AddressRateLimit | None) -> int | None:
    """Refuse what can be refused without the body; returns the announced length.

    Dates and quota are left to the store, which recognizes a repeated submission.
    """
    if scope["method"] != "POST":
        raise Refused(_WRONG_METHOD)
    wait = None if rate is None else rate.wait(scope)
    if wait is not None:
        raise Refused(TOO_MANY, wait=wait, early=True)
    return check_json(scope)


class Submissions:
    """POST /s/{slug}/responses of one survey, an ASGI application."""

    def __init__(
        self,
        validator: SubmissionValidator,
        sink: ResponseSink,
        metrics: Metrics,
        rate: AddressRateLimit | None = None,
        open_window: FixedWindow | None = None,
    ) -> None:
        self._validator, self._sink, self._metrics = validator, sink, metrics
        self._rate, self._open_window = rate, open_window

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            announced = check_head(scope, self._rate)
            body = await read_body(receive, announced, self._validator.limit)
            submitted = self._validator.validate(body)
            self._limit_open_survey()
            name, response = _RESULTS[await self._sink.submit(submitted)]
        except Refused as refused:
            name, response = refused.problem.name, refused.response
        except Busy:
            name, response = BUSY.name, BUSY.response
        except Unavailable:
            name, response = UNAVAILABLE.name, UNAVAILABLE.response
        except ClientDisconnected:
            return
        self._metrics.count(name)
        await response(scope, receive, send)

    def _limit_open_survey(self) -> None:
        """Refuse more than an open survey accepts in all; only valid submissions count."""
        if self._open_window is None:
            return
        wait = self._open_window.wait(_ALL)
        if wait is not None:
            self._metrics.over_open_rate += 1
            raise Refused(BUSY, _TOO_MANY_IN_ALL, wait)
        self._open_window.count(_ALL)
