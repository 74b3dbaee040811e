"""LinkTokens: the one-time links of invited surveys, issued, revoked and spent.

Only hashes of unused tokens are kept. Spending deletes the hash, in the transaction that stores
the response: one token stores one response, whatever crashes. Nothing else reads or writes the
table of tokens, except for copies of the whole database.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, bindparam, delete, insert, select

from tacit.service.store.database import Database
from tacit.service.store.sql_tables import tokens
from tacit.service.store.store_values import Response, token_hash, token_hashes

_TOKEN_BYTES = 16
#: Rows that prove that a database takes writes: of no survey, random, and deleted at once. Those
#: for one response fill more than the pages that it and its token would change.
_PROOF, _PROOF_ROWS, _PROOF_BYTES = 0, 2, 2_000

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

    def test_write(self, connection: Connection, n: int) -> None:
        """Write as much as n responses would, by two transactions that leave nothing behind.

        The rows hold random bytes and no time.
        """
        unproven = delete(tokens).where(tokens.c.survey == _PROOF)
        random = [secrets.token_bytes(_PROOF_BYTES) for _ in range(_PROOF_ROWS * n)]
        with self._database.written(connection):
            connection.execute(unproven)  # left by a crash
            connection.execute(insert(tokens), [{"survey": _PROOF, "hash": own} for own in random])
        with self._database.written(connection):
            connection.execute(unproven)


def hash_of(response: Response) -> bytes | None:
    """The hash of a response's token; None if it has none."""
    return None if response.token is None else token_hash(response.survey, response.token)
