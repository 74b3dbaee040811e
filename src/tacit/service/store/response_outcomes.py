"""What becomes of a response, decided from what the transaction found: no database in here."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

from tacit.service.store.link_tokens import hash_of
from tacit.service.store.store_values import Outcome, Response, id_of
from tacit.survey import Survey


@dataclass(frozen=True)
class Terms:
    """What a published survey says about who may answer when."""

    invited: bool
    opens: date | None
    closes: date | None
    quota: int | None

    @classmethod
    def of(cls, survey: Survey) -> Terms:
        """The terms of a survey."""
        return cls(survey.access == "invited", survey.opens, survey.closes, survey.quota)

    def refusal(self, closed: bool, records: int, today: date) -> Outcome | None:
        """Why nothing new is stored beside so many records; None if it is."""
        if closed or (self.closes is not None and today > self.closes):
            return Outcome.CLOSED
        if self.opens is not None and today < self.opens:
            return Outcome.NOT_YET_OPEN
        return Outcome.FULL if self.quota is not None and records >= self.quota else None


@dataclass
class Ledger:
    """One survey in one transaction: what was there, and what comes to it.

    `codes` holds the responses that are stored under the ids in question, `tokens` the hashes in
    question that can still be used; `stored` and `spent` are what is to be written.
    """

    terms: Terms
    closed: bool
    records: int
    codes: dict[bytes, bytes]
    tokens: set[bytes]
    stored: list[tuple[bytes, bytes]] = field(default_factory=list)
    spent: list[bytes] = field(default_factory=list)

    def take(self, response: Response, today: date) -> Outcome:
        """The outcome of one response, noted for those after it.

        A repeat is acknowledged whatever has changed since: it is in the store.
        """
        own = id_of(response)
        known = self.codes.get(own)
        if known is not None:
            return Outcome.REPEATED if known == response.codes else Outcome.CHANGED
        refused = self.terms.refusal(self.closed, self.records, today)
        if refused is not None:
            return refused
        if self.terms.invited and not self._spend(response):
            return Outcome.UNKNOWN_TOKEN
        self.codes[own] = response.codes
        self.stored.append((own, response.codes))
        self.records += 1
        return Outcome.STORED

    def _spend(self, response: Response) -> bool:
        own = hash_of(response)
        if own is None or own not in self.tokens:
            return False
        self.tokens.discard(own)
        self.spent.append(own)
        return True
