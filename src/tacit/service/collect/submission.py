"""The submit path: one disguised record in, acknowledged when it is durable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from starlette.types import Receive, Scope, Send

from tacit.errors import Busy, Unavailable
from tacit.service.collect import problem_details
from tacit.service.collect.body import ClientDisconnected, check_head, read_body
from tacit.service.collect.http_responses import HANG_UP, JSON, HttpResponse
from tacit.service.collect.metrics import ACCEPTED, Metrics
from tacit.service.collect.problem_details import Refused
from tacit.service.collect.rate_limits import AddressRateLimit, FixedWindow
from tacit.service.collect.submission_validator import SubmissionValidator
from tacit.service.store import Outcome, Response


class ResponseSink(Protocol):
    """Takes responses; when it returns, what it says is durable."""

    async def submit(self, response: Response) -> Outcome:
        """Store a response; Busy or Unavailable if that cannot be done now."""
        ...


_ANSWERS: Mapping[Outcome, tuple[str, HttpResponse]] = {
    Outcome.STORED: (ACCEPTED[0], HttpResponse(201, JSON, b'{"stored": true}')),
    Outcome.REPEATED: (ACCEPTED[1], HttpResponse(200, JSON, b'{"stored": true}')),
    **{
        outcome: (problem.name, problem.answer)
        for outcome, problem in problem_details.REFUSALS.items()
    },
}
_EVERYBODY = b""
_TOO_MANY_IN_ALL = "an open survey takes a limited number of answers at a time"
_METHOD = problem_details.METHOD.answer.with_headers((b"allow", b"POST"), HANG_UP)


class Submissions:
    """POST /s/{slug}/responses of one survey, an ASGI application."""

    def __init__(
        self,
        validator: SubmissionValidator,
        sink: ResponseSink,
        metrics: Metrics,
        rate: AddressRateLimit | None = None,
        flood_gate: FixedWindow | None = None,
    ) -> None:
        self._validator, self._sink, self._metrics, self._rate = validator, sink, metrics, rate
        self._flood_gate = flood_gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            announced = self._admitted(scope)
            response = self._validator.response(
                await read_body(receive, announced, self._validator.limit)
            )
            self._count()
            name, answer = _ANSWERS[await self._sink.submit(response)]
        except Refused as refused:
            name, answer = refused.problem.name, refused.answer
            if refused.early:
                answer = answer.with_headers(HANG_UP)
        except Busy:
            name, answer = problem_details.BUSY.name, problem_details.BUSY.answer
        except Unavailable:
            name, answer = problem_details.UNAVAILABLE.name, problem_details.UNAVAILABLE.answer
        except ClientDisconnected:
            return
        self._metrics.count(name)
        await answer(scope, receive, send)

    def _admitted(self, scope: Scope) -> int | None:
        """Refuse what can be refused before the body is read; the length that is announced."""
        if scope["method"] != "POST":
            raise Refused(problem_details.METHOD, _METHOD)
        wait = None if self._rate is None else self._rate.wait(scope)
        if wait is not None:
            raise Refused(
                problem_details.TOO_MANY,
                problem_details.TOO_MANY.with_detail(None, wait),
                early=True,
            )
        return check_head(scope)  # days and quota are the store's: a repeat is told as one

    def _count(self) -> None:
        """Refuse more than the survey takes from everybody; only what could be stored counts."""
        if self._flood_gate is None:
            return
        wait = self._flood_gate.wait(_EVERYBODY)
        if wait is not None:
            self._metrics.over_open_rate += 1
            raise Refused(
                problem_details.BUSY, problem_details.BUSY.with_detail(_TOO_MANY_IN_ALL, wait)
            )
        self._flood_gate.count(_EVERYBODY)
