"""What goes into the store and what comes back: responses, outcomes, the state of a survey."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

_BYTES = 16


class Response(NamedTuple):
    """One reported record on its way to the store.

    `survey` is the survey's fingerprint. `key` is 16 random bytes that the device chose: a retry
    carries the same. `codes` holds the reported categories as `packed` writes them. `token` is the
    one-time link's, where the survey asks for one.
    """

    survey: str
    key: bytes
    codes: bytes
    token: str | None = None


class Outcome(Enum):
    """What became of a response; only STORED and REPEATED acknowledge it."""

    STORED = "stored"
    REPEATED = "repeated"  # same key and codes as before: stored once
    CHANGED = "changed"  # same key, other codes
    UNKNOWN_TOKEN = "unknown token"  # spent or never issued: nobody can tell which
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
    """Where a survey stands: `remaining` links of the `issued` ones can still be used."""

    open: bool
    records: int
    issued: int
    remaining: int


def id_of(response: Response) -> bytes:
    """The id under which a response is stored: a hash of its key, so random and without order."""
    return _digest(b"tacit response", response.survey, response.key)


def token_hash(survey: str, token: str) -> bytes:
    """What is kept of a one-time link until it is used."""
    return _digest(b"tacit token", survey, token.encode("utf-8", "surrogatepass"))


def token_hashes(survey: str, tokens: Iterable[str]) -> list[bytes]:
    """The hashes of several tokens, each once and in an order of their own."""
    return sorted({token_hash(survey, token) for token in tokens})


def _digest(purpose: bytes, survey: str, secret: bytes) -> bytes:
    return hashlib.sha256(b"%b\0%b\0%b" % (purpose, survey.encode(), secret)).digest()[:_BYTES]
