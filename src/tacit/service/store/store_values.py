"""Values of the store: responses, outcomes, the state of a survey; ids and hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

_BYTES = 16


class Response(NamedTuple):
    """One reported record on its way to the store.

    `survey` is the survey's fingerprint. `key` is 16 random bytes from the device; a retry has the
    same key. `codes` are the reported categories as `packed` writes them. `token` is that of the
    one-time link, if the survey needs one.
    """

    survey: str
    key: bytes
    codes: bytes
    token: str | None = None


class Outcome(Enum):
    """The outcome of a response; only STORED and REPEATED acknowledge it."""

    STORED = "stored"
    REPEATED = "repeated"  # same key and codes as before: stored once
    CHANGED = "changed"  # same key, other codes
    UNKNOWN_TOKEN = "unknown token"  # used or never issued: they cannot be told apart
    NOT_YET_OPEN = "not yet open"
    CLOSED = "closed"
    FULL = "full"
    UNKNOWN_SURVEY = "unknown survey"

    @property
    def acknowledged(self) -> bool:
        """Whether the response is in the store."""
        return self in (Outcome.STORED, Outcome.REPEATED)


@dataclass(frozen=True)
class SurveyState:
    """The state of a survey; `remaining` of the `issued` links are unused."""

    open: bool
    records: int
    issued: int
    remaining: int


def id_of(response: Response) -> bytes:
    """The id of a stored response: a hash of its key, so random and without order."""
    return _digest(b"tacit response", response.survey, response.key)


def token_hash(survey: str, token: str) -> bytes:
    """The hash of a one-time link's token, which is kept until it is used."""
    return _digest(b"tacit token", survey, token.encode("utf-8", "surrogatepass"))


def token_hashes(survey: str, tokens: Iterable[str]) -> list[bytes]:
    """The sorted distinct hashes of tokens."""
    return sorted({token_hash(survey, token) for token in tokens})


def _digest(purpose: bytes, survey: str, secret: bytes) -> bytes:
    return hashlib.sha256(b"%b\0%b\0%b" % (purpose, survey.encode(), secret)).digest()[:_BYTES]
