"""LinkTokens: the one-time links of invited surveys.

Only the hashes of unused tokens are kept. The transaction that stores a response deletes the hash
of its token, so that one token stores one response even if something crashes. Nothing else uses
the table of tokens, except copies of the whole database.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, bindparam, delete, insert, select

from tacit.collect.store.database import Database
from tacit.collect.store.sql_tables import tokens
from tacit.collect.store.store_values import token_hashes

_TOKEN_BYTES = 16
#: Random rows of no survey that test whether a database accepts writes. The rows for one response
#: fill more pages than it and its token would change.
_NO_SURVEY, _TEST_ROWS, _TEST_BYTES = 0, 2, 2_000

_usable = select(tokens.c.hash).where(
    tokens.c.survey == bindparam("survey"), tokens.c.hash.in_(bindparam("hashes", expanding=True))
)


class LinkTokens:
    """The tokens in one database. `number` is a survey's number, `survey` its fingerprint."""

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
        """Delete tokens that were not sent; returns how many were still usable."""
        return self._database.delete_tokens(connection, number, token_hashes(survey, unsent))

    def usable(self, connection: Connection, number: int, hashes: Sequence[bytes]) -> set[bytes]:
        """Those of these hashes whose tokens are still usable."""
        given = {"survey": number, "hashes": hashes}
        return set(connection.scalars(_usable, given))

    def test_write(self, connection: Connection, n: int) -> None:
        """Write as much as n responses would, then delete it.

        The rows hold random bytes and no time. One server tests at a time: two that delete the same
        rows could deadlock.
        """
        delete_test_rows = delete(tokens).where(tokens.c.survey == _NO_SURVEY)
        random = [
            {"survey": _NO_SURVEY, "hash": secrets.token_bytes(_TEST_BYTES)}
            for _ in range(_TEST_ROWS * n)
        ]
        with self._database.written(connection):
            self._database.lock_layout(connection)
            connection.execute(delete_test_rows)  # left by a crash
            connection.execute(insert(tokens), random)
        with self._database.written(connection):
            self._database.lock_layout(connection)
            connection.execute(delete_test_rows)
