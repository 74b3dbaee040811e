"""The check of a one-time link: can it still be used? It only reads.

The token is in the body, so that no address and no log has it. A link that was used, one that was
never issued and one that is malformed get the same answer, because the database keeps only links
that are not used. Both answers have the same length.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import date

from starlette.types import Receive, Scope, Send

from tacit.collect.http import (
    JSON,
    MALFORMED,
    UNAVAILABLE,
    ClientDisconnected,
    HttpResponse,
    Refused,
    read_body,
)
from tacit.collect.limits import AddressRateLimit
from tacit.collect.pages import StateSource
from tacit.collect.submission import TOKEN, SubmissionValidator, check_head, parse_object

#: Whether a token of the survey with a fingerprint can be used; None if the database does not
#: answer.
LinkSource = Callable[[str, str], Awaitable[bool | None]]

_USABLE = HttpResponse(200, JSON, b'{"usable": true }')
_NOT_USABLE = HttpResponse(200, JSON, b'{"usable": false}')
#: Bytes that are read: more than a token needs.
_LIMIT = 512


class LinkCheck:
    """POST /s/{slug}/link of one invited survey, an ASGI application."""

    def __init__(
        self,
        validator: SubmissionValidator,
        state: StateSource,
        usable: LinkSource,
        rate: AddressRateLimit | None,
        today: Callable[[], date],
    ) -> None:
        self._validator, self._state, self._usable = validator, state, usable
        self._rate, self._today = rate, today

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            announced = check_head(scope, self._rate)
            token = _token(await read_body(receive, announced, _LIMIT))
            response = await self._checked(token)
        except Refused as refused:
            response = refused.response
        except ClientDisconnected:
            return
        await response(scope, receive, send)

    async def _checked(self, token: str) -> HttpResponse:
        survey = self._validator.survey
        problem = self._validator.problem(await self._state(survey), self._today())
        if problem is not None:
            raise Refused(problem)
        usable = await self._usable(survey, token) if TOKEN.fullmatch(token) else False
        if usable is None:
            raise Refused(UNAVAILABLE)
        return _USABLE if usable else _NOT_USABLE


def _token(body: bytes) -> str:
    sent = parse_object(body)
    token = sent.get("token")
    if sent.keys() != {"token"} or type(token) is not str:
        raise Refused(MALFORMED, "the only key must be token, a text")
    return token
