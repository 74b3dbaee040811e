"""What respondents send: a disguised record, acknowledged once durable, or a link to check."""

from __future__ import annotations

import re
import struct
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import date
from types import NoneType
from typing import Any, Protocol

from starlette.types import Receive, Scope, Send

from tacit.collect import http
from tacit.collect.http import Refused
from tacit.collect.limits import AddressRateLimit, FixedWindow, RateLimit
from tacit.collect.monitoring import ACCEPTED, Metrics
from tacit.collect.padding import submission_length
from tacit.collect.store import Outcome, Response, SurveyState, code_type
from tacit.collect.store.values import StoredText, refusal, text_id
from tacit.errors import Busy, Unavailable
from tacit.output.json_documents import DECODER
from tacit.output.number_text import text
from tacit.survey import Published
from tacit.survey.survey import missing_together, optional_attributes

_KEY = re.compile(r"[0-9a-f]{32}")
#: The keys of a submission in the order in which an error lists them; `padding` is the last.
_KEYS = ("fingerprint", "key", "token", "record", "text_key", "texts")
#: What a token may be made of.
TOKEN = re.compile(r"[A-Za-z0-9_-]{1,128}")
#: Bytes above the right length that are still read, so that a program learns what is wrong.
_EXTRA_BYTES = 1024


class SubmissionValidator:
    """Validates what is sent to one survey.

    It is compiled from the published design: for each reported attribute, the code of each label.
    Only labels of the design are accepted, and null for an optional question, so every stored
    record is one that the design can report.
    """

    def __init__(self, published: Published) -> None:
        survey, reported, stored = published.survey, published.design.reported, published.stored
        self.survey = survey.fingerprint
        self._survey = survey
        self.invited = survey.invited
        self._length = submission_length(published)  # without the token
        self.limit = body_limit(published)
        self._fingerprint = published.fingerprint
        self._free_texts = {field.name: field for field in survey.free_texts or ()}
        self._keys = {"fingerprint", "key", "padding", "record"}
        self._keys |= {"token"} if self.invited else set()
        self._keys |= {"text_key", "texts"} if self._free_texts else set()
        self._together = missing_together(survey)
        optional = optional_attributes(survey)
        self._tables: list[tuple[str, dict[str | None, int]]] = []
        for attribute in reported:
            codes: dict[str | None, int] = {text(c): n for n, c in enumerate(attribute.categories)}
            if attribute.name in optional:  # null, a missing answer, has the code after the last
                codes[None] = attribute.size
            self._tables.append((attribute.name, codes))
        self._pack = struct.Struct(f"<{len(stored)}{code_type(stored).char}").pack

    def problem(self, state: SurveyState | None, today: date) -> http.ProblemType | None:
        """Why the survey accepts no answers; if its state is not known, only the days count."""
        closed, records = (False, 0) if state is None else (not state.open, state.records)
        outcome = refusal(self._survey, closed, records, today)
        return None if outcome is None else http.REFUSALS[outcome]

    def validate(self, body: bytes) -> Response:
        """The response in a body; raises Refused if it is not valid."""
        sent = parse_object(body)
        if sent.keys() != self._keys:
            names = ", ".join(key for key in _KEYS if key in self._keys)
            raise Refused(http.MALFORMED, f"the keys must be {names} and padding")
        if sent["fingerprint"] != self._fingerprint:
            raise Refused(http.WRONG_FINGERPRINT)
        key = sent["key"]
        if type(key) is not str or not _KEY.fullmatch(key):
            raise Refused(http.MALFORMED, "key must be 32 hexadecimal digits in lower case")
        codes = self._codes(sent["record"])
        token = sent["token"] if self.invited else ""
        if type(token) is not str:
            raise Refused(http.MALFORMED, "token must be a text")
        if self.invited and not TOKEN.fullmatch(token):
            raise Refused(http.LINK_USED)  # the same as for an unknown token: reveals no format
        texts = self._texts(sent["text_key"], sent["texts"]) if self._free_texts else ()
        self._check_length(len(body), sent["padding"], token)
        return Response(self.survey, bytes.fromhex(key), codes, token or None, texts)

    def _texts(self, key: Any, written: Any) -> tuple[StoredText, ...]:
        """What was written, without fields that were left empty."""
        if type(key) is not str or not _KEY.fullmatch(key):
            raise Refused(http.MALFORMED, "text_key must be 32 hexadecimal digits in lower case")
        if type(written) is not dict or written.keys() != self._free_texts.keys():
            raise Refused(http.MALFORMED, f"texts must have the keys {', '.join(self._free_texts)}")
        for name, free_text in self._free_texts.items():
            problem = free_text.problem(written[name])
            if problem is not None:
                raise Refused(http.NOT_ALLOWED, f"the text {name!r} {problem}")
        key_bytes = bytes.fromhex(key)
        return tuple(
            StoredText(text_id(self.survey, key_bytes, name), name, text.strip())
            for name, text in written.items()
            if text.strip()
        )

    def _check_length(self, length: int, padding: Any, token: str) -> None:
        """Refuse a length that depends on the record: it would reveal the record to the network."""
        if type(padding) is not str or padding.strip(" "):
            raise Refused(http.MALFORMED, "padding must be a text of spaces")
        right = self._length + len(token)
        if length != right:
            what = f"the body has {length} bytes, it must have {right}: fill padding with spaces"
            raise Refused(http.MALFORMED, what)

    def _codes(self, record: Any) -> bytes:
        if type(record) is not dict:
            raise Refused(http.MALFORMED, "record must be an object")
        try:
            codes = [table[record[name]] for name, table in self._tables]
        except (KeyError, TypeError):  # not a category, or not a text
            raise Refused(http.NOT_ALLOWED, self._not_allowed(record)) from None
        if len(record) != len(codes):
            raise Refused(http.NOT_ALLOWED, "the record has other attributes")
        for group in self._together:
            if 0 < sum(record[name] is None for name in group) < len(group):
                what = f"attributes {', '.join(group)} are missing together"
                raise Refused(http.NOT_ALLOWED, what)
        return self._pack(*codes)

    def _not_allowed(self, record: dict[str, Any]) -> str | None:
        """Name the first attribute that is wrong, without repeating its value."""
        for name, table in self._tables:
            if name not in record:
                return f"attribute {name!r} is missing"
            value = record[name]
            if type(value) not in (str, NoneType) or value not in table:
                return f"attribute {name!r} must be one of its categories"
        return None


def body_limit(published: Published) -> int:
    """Size of the largest body that is read, in bytes."""
    return submission_length(published) + _EXTRA_BYTES


def parse_object(body: bytes) -> dict[str, Any]:
    """Parse a UTF-8 JSON object; reject duplicate keys."""
    try:
        content = DECODER.decode(body.decode())
    except (ValueError, RecursionError):
        content = None
    if type(content) is not dict:
        what = "the body must be a JSON object in UTF-8 with distinct keys"
        raise Refused(http.MALFORMED, what)
    return content


class ResponseSink(Protocol):
    """Stores responses."""

    async def submit(self, response: Response) -> Outcome:
        """Store a response; the outcome is durable. Raises Busy or Unavailable if it cannot."""
        ...


#: The state of the survey with a fingerprint; None if the database does not answer.
StateSource = Callable[[str], Awaitable[SurveyState | None]]
#: Whether a token of the survey with a fingerprint can be used; None if the database does not
#: answer.
LinkSource = Callable[[str, str], Awaitable[bool | None]]
#: The surveys in the database except those with these fingerprints.
SurveySource = Callable[[Collection[str]], Awaitable[Sequence[Published]]]
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


#: For each outcome the name under which it is counted, and the HTTP response.
_RESULTS: Mapping[Outcome, tuple[str, http.HttpResponse]] = {
    Outcome.STORED: (ACCEPTED[0], http.HttpResponse(201, http.JSON, b'{"stored": true}')),
    Outcome.REPEATED: (ACCEPTED[1], http.HttpResponse(200, http.JSON, b'{"stored": true}')),
    **{outcome: (problem.name, problem.response) for outcome, problem in http.REFUSALS.items()},
}
_ALL = b""
_TOO_MANY_IN_ALL = "an open survey accepts a limited number of answers per minute"
_WRONG_METHOD = replace(http.METHOD, headers=((b"allow", b"POST"), http.CLOSE))


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


class Submissions:
    """POST /s/{slug}/responses of one survey, an ASGI application."""

    def __init__(self, config: AppConfig, validator: SubmissionValidator) -> None:
        self._config, self._validator = config, validator
        # Submissions to an invited survey are limited by its links.
        limit = None if validator.invited else config.open_limit
        self._open_window = None if limit is None else FixedWindow(limit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await _body(scope, receive, self._config.rate, self._validator.limit)
            submitted = self._validator.validate(body)
            self._limit_open_survey()
            name, response = _RESULTS[await self._config.sink.submit(submitted)]
        except Refused as refused:
            name, response = refused.problem.name, refused.response
        except (Busy, Unavailable) as error:
            problem = http.BUSY if isinstance(error, Busy) else http.UNAVAILABLE
            name, response = problem.name, problem.response
        except http.ClientDisconnected:
            return
        self._config.metrics.count(name)
        await response(scope, receive, send)

    def _limit_open_survey(self) -> None:
        """Refuse more than an open survey accepts in all; only valid submissions count."""
        if self._open_window is None:
            return
        wait = self._open_window.wait(_ALL)
        if wait is not None:
            self._config.metrics.over_open_rate += 1
            raise Refused(http.BUSY, _TOO_MANY_IN_ALL, wait)
        self._open_window.count(_ALL)


_USABLE = http.HttpResponse(200, http.JSON, b'{"usable": true }')
_NOT_USABLE = http.HttpResponse(200, http.JSON, b'{"usable": false}')
#: Bytes that are read: more than a token needs.
_LINK_LIMIT = 512


class LinkCheck:
    """POST /s/{slug}/link of one invited survey, an ASGI application: can a link still be used?

    The token is in the body, so that no address and no log has it. A link that was used, one that
    was never issued and one that is malformed get the same answer, because the database keeps only
    links that are not used. Both answers have the same length.
    """

    def __init__(self, config: AppConfig, validator: SubmissionValidator) -> None:
        self._config, self._validator = config, validator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await _body(scope, receive, self._config.link_rate, _LINK_LIMIT)
            response = await self._checked(parse_object(body))
        except Refused as refused:
            response = refused.response
        except http.ClientDisconnected:
            return
        await response(scope, receive, send)

    async def _checked(self, sent: dict[str, Any]) -> http.HttpResponse:
        config, survey, token = self._config, self._validator.survey, sent.get("token")
        if sent.keys() != {"token"} or type(token) is not str:
            raise Refused(http.MALFORMED, "the only key must be token, a text")
        problem = self._validator.problem(await config.state(survey), config.today())
        if problem is not None:
            raise Refused(problem)
        usable = await config.link_usable(survey, token) if TOKEN.fullmatch(token) else False
        if usable is None:
            raise Refused(http.UNAVAILABLE)
        return _USABLE if usable else _NOT_USABLE
