"""Responses, their ids, hashes and packed codes, and the rules that decide their outcomes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from tacit.core.schema import Schema
from tacit.errors import StoreError
from tacit.survey import Survey

if TYPE_CHECKING:
    from tacit.core.arrays import Codes


#: The days and the stored codes of some records.
DaysAndCodes: TypeAlias = tuple[Sequence[str], Sequence[bytes]]

_BYTES = 16
#: Records that may be in the order of arrival: fewer than this, or than an eighth if more. This
#: holds for all records and for those of each survey.
FEWEST_TO_ERASE, SHARE_TO_ERASE = 32, 8
#: A transaction with fewer responses to a survey ties them to the links that it deletes.
FEWEST_TOGETHER = 32


class StoredText(NamedTuple):
    """What somebody wrote: an id of its own, the name of the question, and the text."""

    id: bytes
    name: str
    text: str


class Response(NamedTuple):
    """One reported record on its way to the store.

    `survey` is the survey's fingerprint. `key` is 16 random bytes from the device; a retry has the
    same key. `codes` are the reported categories as `packed` writes them. `token` is that of the
    one-time link, if the survey needs one. `texts` are stored apart.
    """

    survey: str
    key: bytes
    codes: bytes
    token: str | None = None
    texts: tuple[StoredText, ...] = ()


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


def text_id(survey: str, key: bytes, name: str) -> bytes:
    """The id of a text: a hash of its own random key, so nothing links it to the response."""
    return _digest(b"tacit text", survey, key + name.encode())


def token_hash(survey: str, token: str) -> bytes:
    """The hash of a one-time link's token, which is kept until it is used."""
    return _digest(b"tacit token", survey, token.encode("utf-8", "surrogatepass"))


def hash_of(response: Response) -> bytes | None:
    """The hash of a response's token; None if it has none."""
    return None if response.token is None else token_hash(response.survey, response.token)


def token_hashes(survey: str, tokens: Iterable[str]) -> list[bytes]:
    """The sorted distinct hashes of tokens."""
    return sorted({token_hash(survey, token) for token in tokens})


def enough_to_erase(records: int) -> int:
    """How many new ones of so many records are enough to erase their order of arrival."""
    return max(FEWEST_TO_ERASE, records // SHARE_TO_ERASE)


def _digest(purpose: bytes, survey: str, secret: bytes) -> bytes:
    return hashlib.sha256(b"%b\0%b\0%b" % (purpose, survey.encode(), secret)).digest()[:_BYTES]


def refusal(survey: Survey, closed: bool, records: int, today: date) -> Outcome | None:
    """Why a survey with so many records accepts no more; None if it does."""
    if closed or (survey.closes is not None and today > survey.closes):
        return Outcome.CLOSED
    if survey.opens is not None and today < survey.opens:
        return Outcome.NOT_YET_OPEN
    return Outcome.FULL if survey.quota is not None and records >= survey.quota else None


@dataclass
class Ledger:
    """One survey in one transaction.

    `tokens` are the usable hashes of the batch, `codes` the stored responses with the ids of the
    batch; `stored` and `spent` collect what is to be written.
    """

    survey: Survey
    tokens: set[bytes]
    closed: bool = False
    records: int = 0
    codes: dict[bytes, bytes] = field(default_factory=dict)
    stored: list[tuple[bytes, bytes]] = field(default_factory=list)
    spent: list[bytes] = field(default_factory=list)

    def take(self, response: Response, today: date) -> Outcome:
        """The outcome of one response; later ones take it into account.

        A repeat is always acknowledged, because it is in the store.
        """
        id_ = id_of(response)
        stored_codes = self.codes.get(id_)
        if stored_codes is not None:
            return Outcome.REPEATED if stored_codes == response.codes else Outcome.CHANGED
        refused = refusal(self.survey, self.closed, self.records, today)
        if refused is not None:
            return refused
        if self.survey.invited:
            token = hash_of(response)
            if token is None or token not in self.tokens:
                return Outcome.UNKNOWN_TOKEN
            self.tokens.discard(token)
            self.spent.append(token)
        self.codes[id_] = response.codes
        self.stored.append((id_, response.codes))
        self.records += 1
        return Outcome.STORED


# Reported codes as bytes: one per attribute, or two if any has more than 256 categories.


_MOST_IN_A_BYTE = 256


def code_type(reported: Schema) -> np.dtype[Any]:
    """The type of a stored code: uint8, or little-endian uint16 if any attribute needs it."""
    wide = any(len(attribute.categories) > _MOST_IN_A_BYTE for attribute in reported)
    return np.dtype("<u2" if wide else "u1")


def packed(codes: Sequence[int], reported: Schema) -> bytes:
    """The codes of one record as they are stored, in the order of the reported attributes."""
    return np.array(codes, code_type(reported)).tobytes()


def unpacked(stored: Sequence[bytes], reported: Schema) -> Codes:
    """Stored records as an array of codes, records x attributes; StoreError if one does not fit."""
    kind, width = code_type(reported), len(reported)
    whole = b"".join(stored)
    if not {*map(len, stored)} <= {kind.itemsize * width}:
        raise StoreError(f"the database has a record that does not have {width} attributes")
    codes = np.frombuffer(whole, kind).reshape(len(stored), width)
    sizes = np.array([len(attribute.categories) for attribute in reported])
    if np.any(codes >= sizes):
        raise StoreError("the database has a code that is not a category of its attribute")
    return codes


def by_day(parts: Iterable[DaysAndCodes], reported: Schema) -> dict[str, Codes]:
    """Days and stored records, which come in chunks, as an array of codes per day."""
    arrays: dict[str, list[Codes]] = {}
    for days, stored in parts:
        codes, marks = unpacked(stored, reported), np.array(days)
        for day in {*days}:
            arrays.setdefault(day, []).append(codes[marks == day])
    return {day: np.concatenate(arrays.pop(day)) for day in sorted(arrays)}  # pop frees the chunks
