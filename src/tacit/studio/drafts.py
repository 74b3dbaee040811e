"""Drafts: survey files that are being written, with the accounts, and saved as a whole or not."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, Engine, and_, delete, func, insert, select, update

from tacit.errors import DataError
from tacit.studio.account_tables import drafts, roles, utc_text
from tacit.studio.draft_document import DraftDocument

#: Characters of a draft, drafts of a studio, and of one account.
MOST_TEXT, MOST_DRAFTS, MOST_OWN_DRAFTS = 1 << 20, 1_000, 200


@dataclass(frozen=True)
class Draft:
    """A survey file as it was saved last; its title is that in its first language."""

    id: str
    title: str
    text: str
    version: int
    changed: float
    changed_by: str
    published: str | None

    @property
    def key(self) -> str:
        """What roles for this draft are given for."""
        return draft_key(self.id)

    @cached_property
    def document(self) -> DraftDocument:
        """The content."""
        return DraftDocument(self.text)

    @property
    def saved_at(self) -> str:
        """When it was saved, UTC."""
        return utc_text(self.changed)

    @property
    def conflict(self) -> str:
        """What somebody is told who wanted to save over an older version."""
        return (
            f"{self.changed_by} saved this draft at {self.saved_at} (UTC), after you opened the "
            "page. Nothing of yours was saved."
        )


def draft_key(own_id: str) -> str:
    """What roles for a draft are given for."""
    return f"draft:{own_id}"


class Drafts:
    """The drafts in the database of the accounts. `now` is the time in seconds."""

    def __init__(self, engine: Engine, now: Callable[[], float] = time.time) -> None:
        self.engine, self.now = engine, now

    def all(self) -> list[Draft]:
        """All drafts without their texts, the last changed first."""
        heads = [column for column in drafts.c if column is not drafts.c.text]
        with self.engine.connect() as connection:
            found = connection.execute(select(*heads).order_by(drafts.c.changed.desc()))
            return [_draft(row, "") for row in found]

    def get(self, own_id: str) -> Draft | None:
        """The draft with an id."""
        with self.engine.connect() as connection:
            row = connection.execute(select(drafts).where(drafts.c.id == own_id)).first()
            return None if row is None else _draft(row, row.text)

    def create(self, text: str, account: int, name: str) -> Draft:
        """A new draft; its author is its owner."""
        text = checked_text(text)
        title = DraftDocument(text).title
        made = Draft(secrets.token_hex(8), title, text, 1, self.now(), name, None)
        with self.engine.begin() as connection:
            _check_room(connection, account)
            row = dict(id=made.id, title=title, text=text, version=1, changed=made.changed)
            connection.execute(insert(drafts).values(**row, changed_by=name))
            connection.execute(insert(roles).values(account=account, survey=made.key, role="owner"))
        return made

    def save(self, own_id: str, version: int, text: str, name: str) -> tuple[Draft, bool]:
        """Save a text over the version that it was made from.

        Returns the newest draft, and whether it is this one: not if there was a newer version.
        """
        mine = and_(drafts.c.id == own_id, drafts.c.version == version)
        text = checked_text(text)
        new = dict(title=DraftDocument(text).title, text=text, version=version + 1)
        new |= dict(changed=self.now(), changed_by=name)
        with self.engine.begin() as connection:
            saved = connection.execute(update(drafts).where(mine).values(**new)).rowcount == 1
            row = connection.execute(select(drafts).where(drafts.c.id == own_id)).first()
        if row is None:
            raise DataError("this draft was deleted meanwhile; copy your text before you leave")
        return _draft(row, row.text), saved

    def mark_published(self, own_id: str, slug: str) -> None:
        """Record as which survey a draft was published."""
        with self.engine.begin() as connection:
            mine = update(drafts).where(drafts.c.id == own_id)
            connection.execute(mine.values(published=slug))

    def delete(self, own_id: str) -> None:
        """Delete a draft with the roles for it."""
        with self.engine.begin() as connection:
            connection.execute(delete(drafts).where(drafts.c.id == own_id))
            connection.execute(delete(roles).where(roles.c.survey == draft_key(own_id)))


def _check_room(connection: Connection, account: int) -> None:
    """Raise DataError if there are too many drafts already, of this account or of all."""
    if (connection.scalar(select(func.count()).select_from(drafts)) or 0) >= MOST_DRAFTS:
        raise DataError(f"there are {MOST_DRAFTS:,} drafts already; delete some first")
    mine = and_(roles.c.account == account, roles.c.survey.startswith(draft_key("")))
    if (connection.scalar(select(func.count()).where(mine)) or 0) >= MOST_OWN_DRAFTS:
        raise DataError(f"you have {MOST_OWN_DRAFTS} drafts already; delete some first")


def _draft(row: Any, text: str) -> Draft:
    return Draft(row.id, row.title, text, row.version, row.changed, row.changed_by, row.published)


def checked_text(text: str) -> str:
    """A text with the line ends of this program, if it is not too long."""
    text = text.replace("\r\n", "\n")
    if len(text) > MOST_TEXT:
        raise DataError(f"a draft has at most {MOST_TEXT:,} characters, this one {len(text):,}")
    if "\x00" in text:
        raise DataError("a survey file must not contain the character U+0000")
    return text
