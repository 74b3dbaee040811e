"""LinkTokens: the one-time links of invited surveys, issued, revoked and spent.

Only hashes of unused tokens are kept. Spending deletes the hash, in the transaction that stores
the response: one token stores one response, whatever crashes. Nothing else reads or writes the
table of tokens, except for copies of the whole database.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, bindparam, insert, select

from tacit.service.store.database import Database
from tacit.service.store.tables import tokens
from tacit.service.store.values import Response, token_hash, token_hashes

_TOKEN_BYTES = 16

_usable = select(tokens.c.hash).where(
    tokens.c.survey == bindparam("survey"), tokens.c.hash.in_(bindparam("hashes", expanding=True))
)


class LinkTokens:
    """The tokens in one database. `number` is that of a survey, `survey` its fingerprint."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def issue(self, connection: Connection, number: int, survey: str, n: int) -> list[str]:
        """Make n tokens."""
        made = [secrets.token_urlsafe(_TOKEN_BYTES) for _ in range(n)]
        new = [{"survey": number, "hash": own} for own in token_hashes(survey, made)]
        connection.execute(insert(tokens), new)
        return made

    def revoke(
        self, connection: Connection, number: int, survey: str, unsent: Iterable[str]
    ) -> int:
        """Delete tokens that reached nobody; returns how many could still be used."""
        return self._database.delete_tokens(connection, number, token_hashes(survey, unsent))

    def usable(self, connection: Connection, number: int, asked: Sequence[Response]) -> set[bytes]:
        """Those of the hashes that responses carry with which one can still be stored."""
        hashes = [own for response in asked if (own := hash_of(response)) is not None]
        given = {"survey": number, "hashes": hashes}
        return set(connection.scalars(_usable, given))

    def spend(self, connection: Connection, number: int, hashes: Sequence[bytes]) -> bool:
        """Delete tokens; False if one of them could not be used, or comes twice: roll back then."""
        gone = self._database.delete_tokens(connection, number, sorted(hashes)) if hashes else 0
        return gone == len(hashes)


def hash_of(response: Response) -> bytes | None:
    """The hash of a response's token; None if it has none."""
    return None if response.token is None else token_hash(response.survey, response.token)
