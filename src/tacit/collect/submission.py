"""What respondents send: a disguised record."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from types import NoneType
from typing import Any

from tacit.collect import http
from tacit.collect.http import Refused
from tacit.collect.padding import submission_length
from tacit.collect.store.values import Response, StoredText, code_type, text_id
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
        self._survey = survey.fingerprint
        self._invited = survey.invited
        self._length = submission_length(published)  # without the token
        self.limit = body_limit(published)
        self._fingerprint = published.fingerprint
        self._free_texts = {field.name: field for field in survey.free_texts or ()}
        self._keys = {"fingerprint", "key", "padding", "record"}
        self._keys |= {"token"} if self._invited else set()
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

    def validate(self, body: bytes) -> Response:
        """The response in a body; raises Refused if it is not valid."""
        sent = parse_object(body)
        if sent.keys() != self._keys:
            names = ", ".join(key for key in _KEYS if key in self._keys)
            raise Refused(http.MALFORMED, f"the keys must be {names} and padding")
        if sent["fingerprint"] != self._fingerprint:
            raise Refused(http.WRONG_FINGERPRINT)
        key = _key(sent, "key")
        codes = self._codes(sent["record"])
        token = sent["token"] if self._invited else ""
        if type(token) is not str:
            raise Refused(http.MALFORMED, "token must be a text")
        if self._invited and not TOKEN.fullmatch(token):
            raise Refused(http.LINK_USED)  # the same as for an unknown token: reveals no format
        texts = self._texts(_key(sent, "text_key"), sent["texts"]) if self._free_texts else ()
        self._check_length(len(body), sent["padding"], token)
        return Response(self._survey, key, codes, token or None, texts)

    def _texts(self, key: bytes, written: Any) -> tuple[StoredText, ...]:
        """What was written, without fields that were left empty."""
        if type(written) is not dict or written.keys() != self._free_texts.keys():
            raise Refused(http.MALFORMED, f"texts must have the keys {', '.join(self._free_texts)}")
        for name, free_text in self._free_texts.items():
            problem = free_text.problem(written[name])
            if problem is not None:
                raise Refused(http.NOT_ALLOWED, f"the text {name!r} {problem}")
        return tuple(
            StoredText(text_id(self._survey, key, name), name, text.strip())
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


def _key(sent: Mapping[str, Any], name: str) -> bytes:
    key = sent[name]
    if type(key) is not str or not _KEY.fullmatch(key):
        raise Refused(http.MALFORMED, f"{name} must be 32 hexadecimal digits in lower case")
    return bytes.fromhex(key)


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
