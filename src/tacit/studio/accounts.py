"""Accounts: who may sign in, with which role for which survey, and what they did."""

from __future__ import annotations

import enum
import hashlib
import os
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

import sqlalchemy as sa
from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from sqlalchemy.exc import DBAPIError, IntegrityError

from tacit.errors import DataError, StoreError, unknown


class Role(enum.IntEnum):
    """What somebody may do with a survey; each role includes those before it."""

    VIEWER = 1
    ANALYST = 2
    OWNER = 3

    @classmethod
    def names(cls) -> dict[str, Role]:
        """The roles by names such as "viewer"."""
        return {role.name.lower(): role for role in cls}

    @classmethod
    def named(cls, name: str) -> Role:
        """The role of a name such as "viewer"."""
        if name not in cls.names():
            raise DataError(unknown("role", name, cls.names()))
        return cls.names()[name]


#: The tables of the studio: accounts, roles, sessions, links, tokens, drafts and the audit log.
#: They are in an SQLite file of their own, so that nothing here touches the records of respondents.
#: Secrets are stored as hashes: reading the file is not enough to sign in.
metadata = sa.MetaData()
_ROLE = sa.Enum(Role, values_callable=lambda _: [*Role.names()])
_PRAGMAS = ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "busy_timeout = 5000")


def _table(name: str, *columns: sa.Column[Any], **options: Any) -> sa.Table:
    return sa.Table(f"studio_{name}", metadata, *columns, **options)


def _number() -> sa.Column[int]:
    return sa.Column("id", sa.Integer, primary_key=True)


def _text(name: str, **options: Any) -> sa.Column[str]:
    return sa.Column(name, sa.Text, **{"nullable": False, **options})


def _time(name: str) -> sa.Column[float]:
    return sa.Column(name, sa.Float, nullable=False)


def _secret(**options: Any) -> sa.Column[bytes]:
    return sa.Column("hash", sa.LargeBinary(32), nullable=False, **options)


def _account(**options: Any) -> sa.Column[int]:
    return sa.Column("account", sa.ForeignKey("studio_accounts.id", ondelete="CASCADE"), **options)


accounts = _table(
    "accounts",
    _number(),
    _text("name", unique=True),
    _text("password"),
    sa.Column("administrator", sa.Boolean, nullable=False),
    sa.Column("disabled", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("invited_by", sa.Integer),
)
roles = _table(
    "roles", _account(primary_key=True), _text("survey", primary_key=True), sa.Column("role", _ROLE)
)
sessions = _table("sessions", _secret(primary_key=True), _account(nullable=False), _time("expires"))
api_tokens = _table(
    "tokens",
    _number(),
    _secret(unique=True),
    _account(nullable=False),
    _text("label"),
    sa.Column("scope", _ROLE, nullable=False),
    _text("survey", nullable=True),
)
#: One-time links with which a new account is made: by whom, with which token if a program made it,
#: for which survey and role. The link that makes the first account has none of these.
invitations = _table(
    "invitations",
    _number(),
    _secret(unique=True),
    _account(),
    sa.Column("token", sa.ForeignKey("studio_tokens.id", ondelete="CASCADE")),
    _text("survey", nullable=True),
    sa.Column("role", _ROLE),
    _time("expires"),
    sqlite_autoincrement=True,  # a number on an old page never means a newer invitation
)
audit = _table("audit", _number(), _time("at"), _text("account"), _text("action"), _text("subject"))
#: Public keys with which accounts may sign in, and the origin at which each was added.
passkeys = _table(
    "passkeys",
    _number(),
    _account(nullable=False),
    sa.Column("credential", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("public_key", sa.LargeBinary, nullable=False),
    sa.Column("sign_count", sa.Integer, nullable=False),
    _text("label"),
    _text("origin"),
)
#: Devices on which an account has signed in; guesses from elsewhere do not keep them out.
devices = _table("devices", _secret(primary_key=True), _account(primary_key=True), _time("expires"))
#: Survey files that are being written; `version` counts the saves, `published` names the survey.
drafts = _table(
    "drafts",
    _text("id", primary_key=True),
    _text("title"),
    _text("text"),
    sa.Column("version", sa.Integer, nullable=False),
    _time("changed"),
    _text("changed_by"),
    _text("published", nullable=True),
)


class StudioDatabase:
    """Statements on the database of the studio."""

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine

    def fetch(self, statement: sa.Select[Any]) -> Sequence[Any]:
        """The rows of a statement."""
        with self.engine.connect() as connection:
            return connection.execute(statement).all()

    def execute(self, *statements: sa.Executable) -> int:
        """Execute statements in one transaction; how many rows the last one changed."""
        with self.engine.begin() as connection:
            return [connection.execute(statement).rowcount for statement in statements][-1]

    def rows_of(self, table: sa.Table, account: int) -> Sequence[Any]:
        """What an account has in a table, oldest first."""
        return self.fetch(sa.select(table).where(table.c.account == account).order_by(table.c.id))

    def delete_row(self, table: sa.Table, account: int, number: int) -> bool:
        """Delete a row of an account; whether there was one."""
        mine = sa.and_(table.c.account == account, table.c.id == number)
        return self.execute(sa.delete(table).where(mine)) == 1


def open_engine(path: Path) -> sa.Engine:
    """The engine of an SQLite file, which only its owner may read; missing tables are created."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        url = sa.URL.create("sqlite", database=str(path))
        engine = sa.create_engine(url, hide_parameters=True)
        sa.event.listen(engine, "connect", _set_up)
        metadata.create_all(engine)
    except (OSError, DBAPIError) as error:
        reason = str(getattr(error, "orig", error)).splitlines()[0]
        raise StoreError(f"{path}: accounts cannot be stored here: {reason}") from None
    return engine


def _set_up(connection: Any, record: Any) -> None:
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}").fetchall()


#: Seconds that a session lasts after it was last used, and that an invitation can be used.
SESSION_SECONDS, LINK_SECONDS = 12 * 3600.0, 7 * 24 * 3600.0
#: Seconds that a device is known after a sign-in, and devices of an account.
DEVICE_SECONDS, MOST_DEVICES = 365 * 24 * 3600.0, 50
SHORTEST_PASSWORD, LONGEST_PASSWORD, LONGEST_NAME = 12, 1_000, 200
#: Open invitations to one survey.
MOST_INVITATIONS = 200
#: Passwords that are hashed at the same time.
MOST_HASHES = 2


@dataclass(frozen=True)
class Account:
    """Somebody who is signed in, or a program with a token: at most with the role of its scope.

    `token` is the number of the token, if there is one.
    """

    id: int
    name: str
    administrator: bool = False
    roles: dict[str, Role] = field(default_factory=dict)
    most: Role = Role.OWNER
    only: str | None = None
    token: int | None = None

    def role(self, survey: str) -> Role | None:
        """The role for a survey; None if the account may not see it."""
        if self.only not in (None, survey):
            return None
        role = Role.OWNER if self.administrator else self.roles.get(survey)
        return None if role is None else min(role, self.most)


class Accounts(StudioDatabase):
    """The accounts in a database. `now` is the time in seconds."""

    def __init__(
        self,
        engine: sa.Engine,
        now: Callable[[], float] = time.time,
        hasher: PasswordHasher | None = None,
    ) -> None:
        super().__init__(engine)
        self.now = now
        self._hasher = hasher or PasswordHasher()
        #: Each hash takes 64 MiB, also for those who are not signed in.
        self._hashing = BoundedSemaphore(MOST_HASHES)
        #: Verified for unknown names, so that they take as long as known ones.
        self._other = self._hasher.hash(secrets.token_hex())

    # Accounts and invitations ------------------------------------------------------------------

    def any(self) -> bool:
        """Whether there is an account."""
        return bool(self.all())

    def first_link(self) -> str:
        """The secret of a one-time link that makes the first account, an administrator."""
        return self._new_link()[1]

    def invite(self, by: Account, survey: str, role: Role) -> tuple[Any, str]:
        """An invitation to make an account with a role for a survey, and the secret of its link.

        It works as long as whoever makes it may invite to this survey.
        """
        if len(self.invitations(survey)) >= MOST_INVITATIONS:
            raise DataError(f"a survey has at most {MOST_INVITATIONS} invitations; revoke some")
        number, secret = self._new_link(account=by.id, token=by.token, survey=survey, role=role)
        for invitation in self.invitations(survey):
            if invitation.id == number:
                return invitation, secret
        raise DataError("you may no longer invite to this survey")

    def _new_link(self, **row: Any) -> tuple[int, str]:
        secret = secrets.token_urlsafe(24)
        row |= dict(hash=_hash(secret), expires=self.now() + LINK_SECONDS)
        with self.engine.begin() as connection:
            number = connection.execute(sa.insert(invitations).values(**row)).lastrowid
            self._drop_invitations(connection)
        return number, secret

    def invitations(self, survey: str | None = None) -> list[Any]:
        """The open invitations to a survey, or to all surveys; the first to expire comes first.

        Each has the name of who made it (`by`), the survey, the role, and until when it works.
        """
        links = sa.select(invitations, accounts.c.name.label("by")).join(
            accounts, accounts.c.id == invitations.c.account
        )
        if survey is not None:
            links = links.where(invitations.c.survey == survey)
        with self.engine.connect() as connection:
            rows = connection.execute(links.order_by(invitations.c.expires, invitations.c.id))
            return self._working(connection, rows.all())

    def revoke_invitation(self, number: int, survey: str) -> bool:
        """Revoke an invitation to a survey; whether there was one."""
        mine = sa.and_(invitations.c.id == number, invitations.c.survey == survey)
        return self.execute(sa.delete(invitations).where(mine)) == 1

    def _working(self, connection: sa.Connection, links: Sequence[Any]) -> list[Any]:
        """The links that have not expired and whose makers may still invite.

        The first link has no maker; it works as long as there is no account.
        """
        any_account = connection.execute(sa.select(accounts.c.id)).first() is not None

        @cache
        def maker(account: int, token: int | None) -> Account | None:
            """Who made a link, with the rights of today."""
            if token is None:
                return self._account(connection, account)
            return self._account_of_token(connection, api_tokens.c.id == token)

        def may_invite(link: Any) -> bool:
            if link.account is None:
                return not any_account
            inviter = maker(link.account, link.token)
            return inviter is not None and inviter.role(link.survey) is Role.OWNER

        return [link for link in links if link.expires >= self.now() and may_invite(link)]

    def _drop_invitations(self, connection: sa.Connection) -> None:
        """Delete links that no longer work, so that no right that is given later revives them."""
        links = connection.execute(sa.select(invitations)).all()
        ended = {link.id for link in links} - {link.id for link in self._working(connection, links)}
        connection.execute(sa.delete(invitations).where(invitations.c.id.in_(ended)))

    def link_works(self, secret: str) -> bool:
        """Whether a one-time link can still be used."""
        with self.engine.connect() as connection:
            return bool(self._working(connection, _links(connection, secret)))

    def create(self, secret: str, name: str, password: str) -> Account | None:
        """Make an account with a one-time link, which is used up; None if it cannot be used."""
        name, password = _checked_name(name), _checked_password(password)
        if not self.link_works(secret):
            return None
        hashed = self._hashed(password)
        try:
            with self.engine.begin() as connection:
                links = _links(connection, secret)
                used = sa.delete(invitations).where(invitations.c.hash == _hash(secret))
                deleted = connection.execute(used).rowcount == 1  # nobody else writes after this
                if not deleted or not self._working(connection, links):
                    return None
                (link,) = links
                row = dict(name=name, password=hashed, invited_by=link.account)
                row |= dict(administrator=link.account is None)
                number = connection.execute(sa.insert(accounts).values(**row)).lastrowid
                if link.survey is not None:
                    given = dict(account=number, survey=link.survey, role=link.role)
                    connection.execute(sa.insert(roles).values(**given))
                return self._account(connection, number)
        except IntegrityError:
            raise DataError(f"there is an account {name!r} already; choose another name") from None

    def give(self, account: int, survey: str, role: Role | None) -> None:
        """Set the role of an account for a survey; None takes it away."""
        mine = sa.and_(roles.c.account == account, roles.c.survey == survey)
        with self.engine.begin() as connection:
            connection.execute(sa.delete(roles).where(mine))
            if role is not None:
                row = dict(account=account, survey=survey, role=role)
                connection.execute(sa.insert(roles).values(**row))
            self._drop_invitations(connection)

    def members(self, survey: str) -> Sequence[Any]:
        """Who has a role for a survey: id, name, role, disabled, and who invited them."""
        listed = _listed_accounts().add_columns(roles.c.role)
        listed = listed.join(roles, roles.c.account == accounts.c.id)
        return self.fetch(listed.where(roles.c.survey == survey))

    def all(self) -> Sequence[Any]:
        """All accounts: id, name, administrator, disabled, and who invited them."""
        return self.fetch(_listed_accounts())

    def disable(self, account: int, disabled: bool = True) -> None:
        """Disable an account, or enable it again: it keeps its password and its roles.

        Sessions, tokens, passkeys and invitations end, also those that a request in progress adds
        to a disabled account before it is enabled.
        """
        self._change(account, (sessions, invitations, api_tokens, passkeys), disabled=disabled)

    def make_administrator(self, account: int, administrator: bool = True) -> None:
        """Make an account an administrator, or end that."""
        self._change(account, (), administrator=administrator)

    def _change(self, account: int, ended: Sequence[sa.Table], **values: bool) -> None:
        """Change an account and end what it has in these tables; an administrator must be left."""
        enabled = sa.and_(accounts.c.administrator, ~accounts.c.disabled)
        with self.engine.begin() as connection:
            mine = sa.update(accounts).where(accounts.c.id == account)
            connection.execute(mine.values(**values))
            for table in ended:
                connection.execute(sa.delete(table).where(table.c.account == account))
            self._drop_invitations(connection)
            if connection.execute(sa.select(accounts).where(enabled)).first() is None:
                raise DataError("this is the last administrator; make another account one first")

    def forget_survey(self, survey: str) -> None:
        """Delete the roles, invitations and tokens for a survey that was deleted."""
        tables = (roles, invitations, api_tokens)
        self.execute(*(sa.delete(table).where(table.c.survey == survey) for table in tables))

    # Signing in --------------------------------------------------------------------------------

    def check_password(self, name: str, password: str) -> Account | None:
        """The account, if name and password are right; both mistakes take the same time."""
        rows = self.fetch(sa.select(accounts).where(accounts.c.name == name))
        stored = rows[0].password if rows else self._other
        try:
            with self._hashing:
                self._hasher.verify(stored, password[:LONGEST_PASSWORD])
        except (Argon2Error, InvalidHashError):
            return None
        return self.of_number(rows[0].id) if rows else None

    def _hashed(self, password: str) -> str:
        with self._hashing:
            return self._hasher.hash(password)

    def of_number(self, number: int) -> Account | None:
        """The account with a number, whose passkey was checked; None if it is disabled."""
        with self.engine.connect() as connection:
            return self._account(connection, number)

    def change_password(self, account: int, password: str) -> None:
        """Set a new password; all sessions of the account end."""
        hashed = self._hashed(_checked_password(password))
        self.execute(
            sa.update(accounts).where(accounts.c.id == account).values(password=hashed),
            sa.delete(sessions).where(sessions.c.account == account),
        )

    def begin_session(self, account: Account) -> str:
        """The secret of a new session."""
        secret = secrets.token_urlsafe(32)
        row = dict(hash=_hash(secret), account=account.id, expires=self.now() + SESSION_SECONDS)
        expired = sa.delete(sessions).where(sessions.c.expires < self.now())
        self.execute(expired, sa.insert(sessions).values(**row))
        return secret

    def of_session(self, secret: str) -> Account | None:
        """The account of a session that has not expired; using it extends it."""
        mine = sessions.c.hash == _hash(secret)
        with self.engine.begin() as connection:
            row = connection.execute(sa.select(sessions).where(mine)).first()
            if row is None or row.expires < self.now():
                return None
            until = self.now() + SESSION_SECONDS
            if until - row.expires > SESSION_SECONDS / 100:  # not at every request
                connection.execute(sa.update(sessions).where(mine).values(expires=until))
            return self._account(connection, row.account)

    def remember_device(self, account: Account, secret: str | None) -> str:
        """Store that an account has signed in on a device; the secret of the device.

        A secret that is not ours is replaced by a new one.
        """
        if secret is None or self.device(secret) is None:
            secret = secrets.token_urlsafe(32)
        mine = sa.and_(devices.c.hash == _hash(secret), devices.c.account == account.id)
        row = dict(hash=_hash(secret), account=account.id, expires=self.now() + DEVICE_SECONDS)
        newest = sa.select(devices.c.hash).where(devices.c.account == account.id)
        newest = newest.order_by(devices.c.expires.desc()).limit(MOST_DEVICES)
        others = sa.and_(devices.c.account == account.id, devices.c.hash.not_in(newest))
        self.execute(
            sa.delete(devices).where(devices.c.expires < self.now()),
            sa.delete(devices).where(mine),
            sa.insert(devices).values(**row),
            sa.delete(devices).where(others),
        )
        return secret

    def device(self, secret: str) -> bytes | None:
        """The name of a device on which somebody has signed in; None if there is no such."""
        return _hash(secret) if self._devices(devices.c.hash == _hash(secret)) else None

    def signed_in_on(self, account: int, device: bytes) -> bool:
        """Whether an account has signed in on a device."""
        return self._devices(sa.and_(devices.c.hash == device, devices.c.account == account))

    def _devices(self, which: sa.ColumnElement[bool]) -> bool:
        return bool(self.fetch(sa.select(devices).where(which, devices.c.expires >= self.now())))

    def number_of(self, name: str) -> int | None:
        """The number of the account with a name, also if it is disabled."""
        rows = self.fetch(sa.select(accounts.c.id).where(accounts.c.name == name))
        return rows[0].id if rows else None

    def end_session(self, secret: str) -> None:
        """Sign out."""
        self.execute(sa.delete(sessions).where(sessions.c.hash == _hash(secret)))

    # Tokens ------------------------------------------------------------------------------------

    def issue_token(self, account: int, label: str, scope: Role, survey: str | None = None) -> str:
        """A new API token; it can do at most what the scope and the account's roles allow."""
        secret = f"tacit_{secrets.token_urlsafe(32)}"
        row = dict(account=account, label=_checked_name(label), survey=survey)
        row |= dict(hash=_hash(secret), scope=scope)
        self.execute(sa.insert(api_tokens).values(**row))
        return secret

    def tokens(self, account: int) -> Sequence[Any]:
        """The tokens of an account, without their secrets."""
        return self.rows_of(api_tokens, account)

    def revoke_token(self, account: int, number: int) -> bool:
        """Revoke a token of an account; whether there was one."""
        return self.delete_row(api_tokens, account, number)

    def of_token(self, secret: str) -> Account | None:
        """The account of a token, limited to the token's scope."""
        with self.engine.connect() as connection:
            return self._account_of_token(connection, api_tokens.c.hash == _hash(secret))

    def _account_of_token(
        self, connection: sa.Connection, mine: sa.ColumnElement[bool]
    ) -> Account | None:
        row = connection.execute(sa.select(api_tokens).where(mine)).first()
        if row is None:
            return None
        limits = dict(most=row.scope, only=row.survey, token=row.id)
        return self._account(connection, row.account, **limits)

    def _account(self, connection: sa.Connection, number: int, **limits: Any) -> Account | None:
        enabled = sa.and_(accounts.c.id == number, ~accounts.c.disabled)
        person = connection.execute(sa.select(accounts).where(enabled)).first()
        if person is None:
            return None
        rows = connection.execute(sa.select(roles).where(roles.c.account == number))
        roles_of = {row.survey: row.role for row in rows}
        return Account(person.id, person.name, person.administrator, roles_of, **limits)

    # The audit log -----------------------------------------------------------------------------

    def record_failed_sign_in(self, name: str) -> None:
        """Add a failed sign-in. A name that no account has may be a password: it is not stored."""
        known = self.number_of(name) is not None
        self.record(name if known else "", "sign-in failed", "" if known else "unknown name")

    def record(self, account: str, action: str, subject: str = "") -> None:
        """Add a line to the audit log."""
        row = dict(at=self.now(), account=account[:LONGEST_NAME], action=action, subject=subject)
        self.execute(sa.insert(audit).values(**row))

    def history(self, most: int = 200) -> Sequence[Any]:
        """The newest lines of the audit log."""
        return self.fetch(sa.select(audit).order_by(audit.c.id.desc()).limit(most))


def _links(connection: sa.Connection, secret: str) -> Sequence[Any]:
    """The link with a secret, if there is one."""
    mine = invitations.c.hash == _hash(secret)
    return connection.execute(sa.select(invitations).where(mine)).all()


def _listed_accounts() -> sa.Select[Any]:
    """Accounts by name, each with the name of the account that invited it."""
    inviters = accounts.alias()
    columns = (accounts.c.id, accounts.c.name, accounts.c.administrator, accounts.c.disabled)
    named = sa.select(*columns, inviters.c.name.label("invited_by")).select_from(accounts)
    joined = named.outerjoin(inviters, inviters.c.id == accounts.c.invited_by)
    return joined.order_by(accounts.c.name)


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
