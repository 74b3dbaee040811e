"""Accounts: who may sign in, with which role for which survey, and what they did."""

from __future__ import annotations

import enum
import hashlib
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import BoundedSemaphore
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from sqlalchemy import Connection, Engine, and_, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from tacit.errors import DataError, unknown
from tacit.studio.account_tables import (
    accounts,
    api_tokens,
    audit,
    delete_row,
    roles,
    rows_of_account,
    sessions,
    setup_links,
)

#: Seconds that a session lasts after it was last used, and that a set-up link can be used.
SESSION_SECONDS, LINK_SECONDS = 12 * 3600.0, 7 * 24 * 3600.0
SHORTEST_PASSWORD, LONGEST_PASSWORD, LONGEST_NAME = 12, 1_000, 200
#: Passwords that are hashed at the same time.
MOST_HASHES = 2


class Role(enum.IntEnum):
    """What somebody may do with a survey; each role includes those before it."""

    VIEWER = 1
    ANALYST = 2
    OWNER = 3

    @classmethod
    def named(cls, name: str) -> Role:
        """The role of a name such as "viewer"."""
        names = {role.name.lower(): role for role in cls}
        if name not in names:
            raise DataError(unknown("role", name, names))
        return names[name]


@dataclass(frozen=True)
class Account:
    """Somebody who is signed in, or a program with a token: at most with the role of its scope."""

    id: int
    name: str
    administrator: bool = False
    roles: dict[str, Role] = field(default_factory=dict)
    most: Role = Role.OWNER
    only: str | None = None
    by_token: bool = False

    def role(self, survey: str) -> Role | None:
        """The role for a survey; None if the account may not see it."""
        if self.only not in (None, survey):
            return None
        own = Role.OWNER if self.administrator else self.roles.get(survey)
        return None if own is None else min(own, self.most)


class Accounts:
    """The accounts in a database. `now` is the time in seconds."""

    def __init__(
        self,
        engine: Engine,
        now: Callable[[], float] = time.time,
        hasher: PasswordHasher | None = None,
    ) -> None:
        self.engine, self.now = engine, now
        self._hasher = hasher or PasswordHasher()
        #: Each hash takes 64 MiB, also for those who are not signed in.
        self._hashing = BoundedSemaphore(MOST_HASHES)
        #: Verified for unknown names, so that they take as long as known ones.
        self._other = self._hasher.hash(secrets.token_hex())

    # Accounts and links ------------------------------------------------------------------------

    def any(self) -> bool:
        """Whether there is an account."""
        with self.engine.connect() as connection:
            return bool(connection.scalar(select(func.count()).select_from(accounts)))

    def invite(
        self, administrator: bool = False, survey: str | None = None, role: Role | None = None
    ) -> str:
        """The token of a one-time link with which a new account is made."""
        token = secrets.token_urlsafe(24)
        named = None if role is None else role.name.lower()
        row = dict(administrator=administrator, survey=survey, role=named)
        with self.engine.begin() as connection:
            expires = self.now() + LINK_SECONDS
            connection.execute(
                insert(setup_links).values(hash=_hash(token), expires=expires, **row)
            )
        return token

    def link_works(self, token: str) -> bool:
        """Whether a one-time link can still be used."""
        with self.engine.connect() as connection:
            return _link(connection, token, self.now()) is not None

    def create(self, token: str, name: str, password: str) -> Account | None:
        """Make an account with a one-time link, which is used up; None if it cannot be used."""
        name, password = _checked_name(name), _checked_password(password)
        if not self.link_works(token):
            return None
        hashed = self._hashed(password)
        try:
            with self.engine.begin() as connection:
                link = _link(connection, token, self.now())
                used = delete(setup_links).where(setup_links.c.hash == _hash(token))
                if link is None or connection.execute(used).rowcount != 1:
                    return None
                row = dict(name=name, password=hashed, administrator=link.administrator)
                made = connection.execute(insert(accounts).values(**row)).inserted_primary_key
                number = int(made[0]) if made else 0
                if link.survey is not None:
                    given = dict(account=number, survey=link.survey, role=link.role)
                    connection.execute(insert(roles).values(**given))
                return self._account(connection, number)
        except IntegrityError:
            raise DataError(f"there is an account {name!r} already; choose another name") from None

    def give(self, account: int, survey: str, role: Role | None) -> None:
        """Set the role of an account for a survey; None takes it away."""
        mine = and_(roles.c.account == account, roles.c.survey == survey)
        with self.engine.begin() as connection:
            connection.execute(delete(roles).where(mine))
            if role is not None:
                row = dict(account=account, survey=survey, role=role.name.lower())
                connection.execute(insert(roles).values(**row))

    def members(self, survey: str) -> list[tuple[int, str, Role]]:
        """Who has a role for a survey."""
        joined = select(accounts.c.id, accounts.c.name, roles.c.role).join(roles)
        with self.engine.connect() as connection:
            found = connection.execute(
                joined.where(roles.c.survey == survey).order_by(accounts.c.name)
            )
            return [(row.id, row.name, Role.named(row.role)) for row in found]

    def forget_survey(self, survey: str) -> None:
        """Delete the roles, links and tokens for a survey that was deleted."""
        with self.engine.begin() as connection:
            for table in (roles, setup_links, api_tokens):
                connection.execute(delete(table).where(table.c.survey == survey))

    # Signing in --------------------------------------------------------------------------------

    def check_password(self, name: str, password: str) -> Account | None:
        """The account, if name and password are right; both mistakes take the same time."""
        with self.engine.connect() as connection:
            row = connection.execute(select(accounts).where(accounts.c.name == name)).first()
        known = row.password if row is not None else self._other
        try:
            with self._hashing:
                self._hasher.verify(known, password[:LONGEST_PASSWORD])
        except (Argon2Error, InvalidHashError):
            return None
        return None if row is None else self.of_number(row.id)

    def _hashed(self, password: str) -> str:
        with self._hashing:
            return self._hasher.hash(password)

    def of_number(self, number: int) -> Account | None:
        """The account with a number, whose passkey was checked."""
        with self.engine.connect() as connection:
            return self._account(connection, number)

    def change_password(self, account: int, password: str) -> None:
        """Set a new password; all sessions of the account end."""
        hashed = self._hashed(_checked_password(password))
        with self.engine.begin() as connection:
            mine = update(accounts).where(accounts.c.id == account)
            connection.execute(mine.values(password=hashed))
            connection.execute(delete(sessions).where(sessions.c.account == account))

    def begin_session(self, account: Account) -> str:
        """The secret of a new session."""
        secret = secrets.token_urlsafe(32)
        expires = self.now() + SESSION_SECONDS
        row = dict(hash=_hash(secret), account=account.id, expires=expires)
        with self.engine.begin() as connection:
            connection.execute(delete(sessions).where(sessions.c.expires < self.now()))
            connection.execute(insert(sessions).values(**row))
        return secret

    def of_session(self, secret: str) -> Account | None:
        """The account of a session that has not expired; using it extends it."""
        mine = sessions.c.hash == _hash(secret)
        with self.engine.begin() as connection:
            row = connection.execute(select(sessions).where(mine)).first()
            if row is None or row.expires < self.now():
                return None
            until = self.now() + SESSION_SECONDS
            if until - row.expires > SESSION_SECONDS / 100:  # not at every request
                connection.execute(update(sessions).where(mine).values(expires=until))
            return self._account(connection, row.account)

    def end_session(self, secret: str) -> None:
        """Sign out."""
        with self.engine.begin() as connection:
            connection.execute(delete(sessions).where(sessions.c.hash == _hash(secret)))

    # Tokens ------------------------------------------------------------------------------------

    def issue_token(self, account: int, label: str, scope: Role, survey: str | None = None) -> str:
        """A new API token; it can do at most what the scope and the account's roles allow."""
        secret = f"tacit_{secrets.token_urlsafe(32)}"
        row = dict(account=account, label=_checked_name(label), survey=survey)
        with self.engine.begin() as connection:
            named = dict(hash=_hash(secret), scope=scope.name.lower())
            connection.execute(insert(api_tokens).values(**row, **named))
        return secret

    def tokens(self, account: int) -> Sequence[Any]:
        """The tokens of an account, without their secrets."""
        return rows_of_account(self.engine, api_tokens, account)

    def revoke_token(self, account: int, number: int) -> bool:
        """Revoke a token of an account; whether there was one."""
        return delete_row(self.engine, api_tokens, account, number)

    def of_token(self, secret: str) -> Account | None:
        """The account of a token, limited to the token's scope."""
        with self.engine.connect() as connection:
            mine = select(api_tokens).where(api_tokens.c.hash == _hash(secret))
            row = connection.execute(mine).first()
            if row is None:
                return None
            limits = dict(most=Role.named(row.scope), only=row.survey, by_token=True)
            return self._account(connection, row.account, **limits)

    def _account(self, connection: Connection, number: int, **limits: Any) -> Account | None:
        row = connection.execute(select(accounts).where(accounts.c.id == number)).first()
        if row is None:
            return None
        given = connection.execute(select(roles).where(roles.c.account == number))
        own = {one.survey: Role.named(one.role) for one in given}
        return Account(row.id, row.name, row.administrator, own, **limits)

    # The audit log -----------------------------------------------------------------------------

    def record(self, account: str, action: str, subject: str = "") -> None:
        """Add a line to the audit log."""
        row = dict(at=self.now(), account=account[:LONGEST_NAME], action=action, subject=subject)
        with self.engine.begin() as connection:
            connection.execute(insert(audit).values(**row))

    def history(self, most: int = 200) -> Sequence[Any]:
        """The newest lines of the audit log."""
        with self.engine.connect() as connection:
            return connection.execute(select(audit).order_by(audit.c.id.desc()).limit(most)).all()


def _link(connection: Connection, token: str, now: float) -> Any:
    mine = and_(setup_links.c.hash == _hash(token), setup_links.c.expires >= now)
    return connection.execute(select(setup_links).where(mine)).first()


def _hash(secret: str) -> bytes:
    """Secrets are random and long, so a plain hash of them cannot be guessed."""
    return hashlib.sha256(secret.encode()).digest()


def _checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise DataError(f"a name has 1 to {LONGEST_NAME} printable characters")
    return name


def _checked_password(password: str) -> str:
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise DataError(f"a password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD:,} characters")
    return password
