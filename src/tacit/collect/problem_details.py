"""Every reason to refuse a request, as problem details (RFC 9457).

The `type` of a problem never changes; the respondent's page has a sentence for each. No response
repeats anything from the request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tacit.collect.http_responses import CLOSE, NO_STORE, PROBLEM, Header, HttpResponse
from tacit.collect.store import Outcome


@dataclass(frozen=True)
class ProblemType:
    """One kind of refusal; the client may try again after `wait` seconds."""

    name: str
    status: int
    title: str
    wait: int | None = None
    headers: tuple[Header, ...] = ()

    @cached_property
    def response(self) -> HttpResponse:
        """The response without a detail."""
        return self.with_detail(None)

    def content(self, detail: str | None = None) -> dict[str, str | int]:
        """The problem details."""
        members: dict[str, str | int] = {
            "type": self.name,
            "title": self.title,
            "status": self.status,
        }
        return members if detail is None else {**members, "detail": detail}

    def with_detail(self, detail: str | None, wait: int | None = None) -> HttpResponse:
        """The response with what is wrong in this case."""
        seconds = wait if wait is not None else self.wait
        retry = () if seconds is None else ((b"retry-after", str(seconds).encode()),)
        body = json.dumps(self.content(detail), ensure_ascii=False).encode()
        return HttpResponse(self.status, PROBLEM, body, (NO_STORE, *self.headers, *retry))


class Refused(Exception):  # noqa: N818
    """A request is refused; `early` if its body was not read, so the connection is closed."""

    def __init__(
        self,
        problem: ProblemType,
        detail: str | None = None,
        wait: int | None = None,
        early: bool = False,
    ) -> None:
        super().__init__(problem.name)
        self.problem = problem
        response = problem.with_detail(detail, wait) if detail or wait else problem.response
        self.response = response.with_headers(CLOSE) if early else response


MALFORMED = ProblemType("malformed", 400, "The request is malformed.")
LINK_USED = ProblemType("link-used", 403, "This link has been used already, or was never issued.")
NOT_YET_OPEN = ProblemType("not-yet-open", 403, "This survey is not open yet.")
CLOSED = ProblemType("closed", 403, "This survey is closed.")
FULL = ProblemType("full", 403, "This survey has all the answers it needs.")
NOT_FOUND = ProblemType("not-found", 404, "Not found.")
METHOD = ProblemType("method", 405, "Method not allowed.")
SLOW = ProblemType("slow", 408, "The request took too long to arrive.", headers=(CLOSE,))
WRONG_FINGERPRINT = ProblemType(
    "wrong-fingerprint", 409, "The record was disguised with another design."
)
CHANGED = ProblemType("changed", 409, "A different record was sent with this key before.")
TOO_LARGE = ProblemType("too-large", 413, "The request is too large.", headers=(CLOSE,))
WRONG_TYPE = ProblemType("wrong-type", 415, "The body must be application/json in UTF-8.")
NOT_ALLOWED = ProblemType(
    "not-allowed-value", 422, "The record must have one category for each attribute."
)
TOO_MANY = ProblemType("too-many", 429, "Too many requests from this address.", wait=60)
LONG_HEAD = ProblemType("too-large", 431, "The head of the request is too large.", headers=(CLOSE,))
BUSY = ProblemType("busy", 503, "Too many answers are arriving; try again soon.", wait=2)
UNAVAILABLE = ProblemType("unavailable", 503, "Answers cannot be stored right now.", wait=10)
FAULT = ProblemType("fault", 500, "Internal error; nothing was acknowledged.", headers=(CLOSE,))

#: The problem for each outcome that is not an acknowledgement.
REFUSALS: Mapping[Outcome, ProblemType] = {
    Outcome.CHANGED: CHANGED,
    Outcome.UNKNOWN_TOKEN: LINK_USED,
    Outcome.NOT_YET_OPEN: NOT_YET_OPEN,
    Outcome.CLOSED: CLOSED,
    Outcome.FULL: FULL,
    Outcome.UNKNOWN_SURVEY: NOT_FOUND,
}
#: All problems, for the documentation and its tests.
PROBLEMS = (
    *(MALFORMED, LINK_USED, NOT_YET_OPEN, CLOSED, FULL, NOT_FOUND, METHOD, SLOW),
    *(WRONG_FINGERPRINT, CHANGED, TOO_LARGE, WRONG_TYPE, NOT_ALLOWED, TOO_MANY, LONG_HEAD),
    *(BUSY, UNAVAILABLE, FAULT),
)
