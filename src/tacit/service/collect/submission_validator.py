"""The door of one survey: the body of a request becomes a response, or is refused.

Compiled from the published design: for each reported attribute the code of each label. Nothing
but a label of the design gets through, so what is stored is always a record the design can report.
"""

from __future__ import annotations

import json
import re
import struct
from datetime import date
from typing import Any

from tacit.attribute import text
from tacit.service.collect.http_responses import HttpResponse
from tacit.service.collect.padding import submission_length
from tacit.service.collect.problem_details import (
    LINK_USED,
    MALFORMED,
    NOT_ALLOWED,
    REFUSALS,
    WRONG_FINGERPRINT,
    ProblemType,
    Refused,
)
from tacit.service.store import Response
from tacit.service.store.response_outcomes import Terms
from tacit.survey import Published

#: What JSON allows around a value.
_SPACES = " \t\r\n"
_KEY = re.compile(r"[0-9a-f]{32}")
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,128}")
#: Bytes over the right length that are still read, so that a program learns what is wrong.
_ROOM = 1024


class SubmissionValidator:
    """Checks what is sent to one survey."""

    def __init__(self, published: Published) -> None:
        survey, reported = published.survey, published.design.reported
        self.survey = survey.fingerprint
        self._terms = Terms.of(survey)
        self.invited = survey.access == "invited"
        self._length = submission_length(published)  # and a token's own
        self.limit = body_limit(published)
        self._fingerprint = published.fingerprint
        self._keys = {"fingerprint", "key", "padding", "record"}
        if self.invited:
            self._keys.add("token")
        self._tables = [
            (attribute.name, {text(label): code for code, label in enumerate(attribute.categories)})
            for attribute in reported
        ]
        letter = "B" if max(reported.sizes) <= 256 else "H"
        self._pack = struct.Struct(f"<{len(reported)}{letter}").pack

    def days(self, today: date) -> ProblemType | None:
        """Why nothing is taken on this day; None if it is."""
        refusal = self._terms.refusal(closed=False, records=0, today=today)
        return None if refusal is None else REFUSALS[refusal]

    def response(self, body: bytes) -> Response:
        """What a body holds, checked; Refused if it is anything else."""
        sent = _object(body)
        if sent.keys() != self._keys:
            raise Refused(MALFORMED, _keys_wrong(self.invited))
        if sent["fingerprint"] != self._fingerprint:
            raise Refused(WRONG_FINGERPRINT)
        key = sent["key"]
        if type(key) is not str or not _KEY.fullmatch(key):
            raise Refused(MALFORMED, _KEY_WRONG)
        codes = self._codes(sent["record"])
        token = _token(sent["token"]) if self.invited else None
        self._check_length(len(body), sent["padding"], token or "")
        return Response(self.survey, bytes.fromhex(key), codes, token)

    def _check_length(self, length: int, padding: Any, token: str) -> None:
        """Refuse a length that depends on the record: it would reveal the record to the network."""
        if type(padding) is not str or padding.strip(" "):
            raise Refused(MALFORMED, _PADDING_WRONG)
        right = self._length + len(token)
        if length != right:
            detail = f"the body has {length} bytes, it must have {right}: fill padding with spaces"
            raise Refused(MALFORMED, MALFORMED.with_detail(detail))

    def _codes(self, record: Any) -> bytes:
        if type(record) is not dict:
            raise Refused(MALFORMED, _RECORD_WRONG)
        try:
            codes = [table[record[name]] for name, table in self._tables]
        except (KeyError, TypeError):  # not a category, or not even a text
            raise Refused(NOT_ALLOWED, self._not_allowed(record)) from None
        if len(record) != len(codes):
            raise Refused(
                NOT_ALLOWED, NOT_ALLOWED.with_detail("the record holds other attributes too")
            )
        return self._pack(*codes)

    def _not_allowed(self, record: dict[str, Any]) -> HttpResponse:
        """Names the first attribute that is wrong; what was sent for it is not repeated."""
        for name, table in self._tables:
            if name not in record:
                return NOT_ALLOWED.with_detail(f"attribute {name!r} is missing")
            value = record[name]
            if type(value) is not str or value not in table:
                return NOT_ALLOWED.with_detail(f"attribute {name!r} must be one of its categories")
        return NOT_ALLOWED.answer


def _object(body: bytes) -> dict[str, Any]:
    """A JSON object in UTF-8 that says nothing twice."""
    try:
        sent = body.decode().strip(_SPACES)
        found, end = _DECODER.raw_decode(sent)
    except (ValueError, RecursionError):
        raise Refused(MALFORMED, _JSON_WRONG) from None
    if type(found) is not dict or end != len(sent):
        raise Refused(MALFORMED, _JSON_WRONG)
    return found


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key comes twice")
    return found


def _refuse(name: str) -> None:
    """NaN and Infinity are not JSON."""
    raise ValueError(name)


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct, parse_constant=_refuse)


def _token(token: Any) -> str:
    if type(token) is not str:
        raise Refused(MALFORMED, _TOKEN_WRONG)
    if not _TOKEN.fullmatch(token):
        raise Refused(LINK_USED)  # never issued: nobody learns what tokens look like
    return token


def body_limit(published: Published) -> int:
    """Bytes of the largest body that is read."""
    return submission_length(published) + _ROOM


def _keys_wrong(invited: bool) -> HttpResponse:
    return _TOKEN_KEYS if invited else _OPEN_KEYS


_JSON_WRONG = MALFORMED.with_detail("the body must be a JSON object in UTF-8, no key of it twice")
_OPEN_KEYS = MALFORMED.with_detail("the keys must be fingerprint, key, record and padding")
_TOKEN_KEYS = MALFORMED.with_detail("the keys must be fingerprint, key, token, record and padding")
_KEY_WRONG = MALFORMED.with_detail("key must be 32 hexadecimal digits in lower case")
_TOKEN_WRONG = MALFORMED.with_detail("token must be a text")
_PADDING_WRONG = MALFORMED.with_detail("padding must be a text of spaces")
_RECORD_WRONG = MALFORMED.with_detail("record must be an object")
