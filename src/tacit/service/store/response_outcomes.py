"""The rules that decide the outcome of a response; no database access here."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

from tacit.service.store.link_tokens import hash_of
from tacit.service.store.store_values import Outcome, Response, id_of
from tacit.survey import Survey


@dataclass(frozen=True)
class Terms:
    """Who may answer a survey, when, and how many."""

    invited: bool
    opens: date | None
    closes: date | None
    quota: int | None

    @classmethod
    def of(cls, survey: Survey) -> Terms:
        """The terms of a survey."""
        return cls(survey.access == "invited", survey.opens, survey.closes, survey.quota)

    def refusal(self, closed: bool, records: int, today: date) -> Outcome | None:
        """Why a survey with so many records accepts no more; None if it does."""
        if closed or (self.closes is not None and today > self.closes):
            return Outcome.CLOSED
        if self.opens is not None and today < self.opens:
            return Outcome.NOT_YET_OPEN
        return Outcome.FULL if self.quota is not None and records >= self.quota else None


@dataclass
class Ledger:
    """One survey in one transaction.

    `codes` are the stored responses with the ids of the batch, `tokens` the usable hashes of the
    batch; `stored` and `spent` collect what is to be written.
    """

    terms: Terms
    closed: bool
    records: int
    codes: dict[bytes, bytes]
    tokens: set[bytes]
    stored: list[tuple[bytes, bytes]] = field(default_factory=list)
    spent: list[bytes] = field(default_factory=list)

    def take(self, response: Response, today: date) -> Outcome:
        """The outcome of one response; later ones take it into account.

        A repeat is always acknowledged, because it is in the store.
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
