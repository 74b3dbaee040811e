"""Drafts: survey files that are being written, in the database of the accounts, and previews."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

import sqlalchemy as sa

from tacit.errors import DataError, SurveyError
from tacit.studio.accounts import Role, StudioDatabase, drafts, roles
from tacit.studio.forms import FormContext, kinds
from tacit.studio.page_templates import utc_text
from tacit.survey import Published, survey_from_text
from tacit.survey.questions import QUESTION_KINDS
from tacit.survey.yaml_text import comments, parse, patched

UNTITLED = "Untitled"
#: The key that names the kind of an item.
KIND = {"questions": "kind", "groups": "family"}


@dataclass(frozen=True)
class DraftDocument:
    """The text of a draft, its values as far as it can be parsed, and its problems."""

    text: str

    @cached_property
    def data(self) -> dict[str, Any] | None:
        """The plain values; None if the text cannot be edited by a form."""
        try:
            data = parse(self.text, "survey").data
        except SurveyError:
            return None
        return data if isinstance(data, dict) else None

    def _value(self, key: str) -> Any:
        return (self.data or {}).get(key)

    @cached_property
    def checked(self) -> tuple[Published | None, list[str]]:
        """The survey, or every problem with its line and place."""
        try:
            return Published(survey_from_text(self.text)), []
        except SurveyError as error:
            return None, list(error.problems)

    @property
    def problems(self) -> list[str]:
        """Every problem with its line and place."""
        return self.checked[1]

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages, as far as they are given."""
        listed = self._value("languages")
        languages = filter(None, map(str, listed)) if isinstance(listed, list) else ()
        return tuple(dict.fromkeys(languages)) or ("en",)

    @property
    def title(self) -> str:
        """The title in the first language, as far as it is given."""
        title = _text(self._value("title"), self.languages)
        return " ".join(title.split())[:200] or UNTITLED

    @property
    def logo(self) -> str | None:
        """The picture of the logo, if it is embedded."""
        logo = self._value("logo")
        data = logo.get("data") if isinstance(logo, dict) else None
        return data if isinstance(data, str) and data.startswith("data:image/") else None

    def items(self, part: str) -> list[Any]:
        """The questions or the groups."""
        items = self._value(part)
        return items if isinstance(items, list) else []

    def item(self, part: str, number: int) -> dict[str, Any] | None:
        """A question or a group by its number from 1; None if a form cannot show it."""
        items = self.items(part)
        item = items[number - 1] if 1 <= number <= len(items) else None
        return item if isinstance(item, dict) and item.get(KIND[part]) in kinds(part) else None

    def summary(self, part: str) -> list[dict[str, str]]:
        """The items of a part for a table: kind, name and text, or the questions of a group."""

        def row(item: dict[str, Any]) -> dict[str, str]:
            listed = item.get("questions")
            names = ", ".join(map(str, listed)) if isinstance(listed, list) else ""
            return {
                "kind": str(item.get(KIND[part], "")),
                "name": str(item.get("name", "")) or names,
                "text": _text(item.get("text"), self.languages) or str(item.get("theta", "")),
            }

        return [row(item if isinstance(item, dict) else {}) for item in self.items(part)]

    def context(self, item: dict[str, Any] | None = None) -> FormContext:
        """What the inputs of a form depend on; `item` is the question that is edited."""
        names = [q.get("name") for q in self.items("questions") if isinstance(q, dict)]
        question = {"kind": "yes_no"} if item is None else item
        kind, listed = QUESTION_KINDS.get(str(question.get("kind"))), question.get("categories")
        fixed = () if kind is None else kind.fixed_answers
        categories = listed if isinstance(listed, list) else fixed
        questions = tuple(str(name) for name in names if name is not None)
        return FormContext(self.languages, tuple(map(str, categories)), questions)

    def with_data(self, data: dict[str, Any]) -> tuple[str, list[str]]:
        """The text with other values, and the comments that were in replaced parts."""
        text = patched(self.text, data)
        left = comments(text)
        return text, [line for line in comments(self.text) if line not in left]

    def with_items(self, part: str, items: Sequence[Any]) -> tuple[str, list[str]]:
        """The text with other questions or groups."""
        data = dict(self.data or {})
        data[part] = list(items)
        return self.with_data(data)


def _text(value: Any, languages: Sequence[str]) -> str:
    if isinstance(value, dict):
        texts = (value.get(language) for language in languages)
        return next((text for text in texts if isinstance(text, str)), "")
    return value if isinstance(value, str) else ""


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
    def head(self) -> dict[str, Any]:
        """What is known of it without parsing its text, for programs."""
        return {
            "id": self.id,
            "title": self.title,
            "version": self.version,
            "saved_at": self.saved_at.replace(" ", "T") + "Z",
            "saved_by": self.changed_by,
            "published": self.published,
        }

    def to_dict(self) -> dict[str, Any]:
        """The draft with its problems, for programs."""
        return self.head | {"text": self.text, "problems": self.document.problems}

    @property
    def saved_at(self) -> str:
        """When it was saved, UTC."""
        return utc_text(self.changed)

    @property
    def conflict(self) -> str:
        """The message for somebody who saves over a newer version."""
        return (
            f"{self.changed_by} saved this draft at {self.saved_at} (UTC), after you opened the "
            "page. Nothing of yours was saved."
        )


def draft_key(draft_id: str) -> str:
    """What roles for a draft are given for."""
    return f"draft:{draft_id}"


class Drafts(StudioDatabase):
    """The drafts in the database of the accounts. `now` is the time in seconds."""

    def __init__(self, engine: sa.Engine, now: Callable[[], float] = time.time) -> None:
        super().__init__(engine)
        self.now = now

    def all(self) -> list[Draft]:
        """All drafts without their texts, the last changed first."""
        heads = [column for column in drafts.c if column is not drafts.c.text]
        rows = self.fetch(sa.select(*heads).order_by(drafts.c.changed.desc()))
        return [Draft(text="", **row._mapping) for row in rows]

    def get(self, draft_id: str) -> Draft | None:
        """The draft with an id."""
        rows = self.fetch(sa.select(drafts).where(drafts.c.id == draft_id))
        return Draft(*rows[0]) if rows else None

    def create(self, text: str, account: int, name: str) -> Draft:
        """A new draft; its author is its owner."""
        text = checked_text(text)
        title = DraftDocument(text).title
        draft = Draft(secrets.token_hex(8), title, text, 1, self.now(), name, None)
        row = {column.name: getattr(draft, column.name) for column in drafts.c}
        owner = dict(account=account, survey=draft.key, role=Role.OWNER)
        with self.engine.begin() as connection:
            _check_room(connection, account)
            connection.execute(sa.insert(drafts).values(**row))
            connection.execute(sa.insert(roles).values(**owner))
        return draft

    def save(self, draft_id: str, version: int, text: str, name: str) -> tuple[Draft, bool]:
        """Save a text over the version that it was made from.

        Returns the newest draft, and whether it is this one: not if there was a newer version.
        """
        mine = sa.and_(drafts.c.id == draft_id, drafts.c.version == version)
        text = checked_text(text)
        new = dict(title=DraftDocument(text).title, text=text, version=version + 1)
        new |= dict(changed=self.now(), changed_by=name)
        with self.engine.begin() as connection:
            saved = connection.execute(sa.update(drafts).where(mine).values(**new)).rowcount == 1
            row = connection.execute(sa.select(drafts).where(drafts.c.id == draft_id)).first()
        if row is None:
            raise DataError("this draft was deleted meanwhile; copy your text before you leave")
        return Draft(*row), saved

    def mark_published(self, draft_id: str, slug: str) -> None:
        """Record as which survey a draft was published."""
        mine = sa.update(drafts).where(drafts.c.id == draft_id)
        self.execute(mine.values(published=slug))

    def delete(self, draft_id: str) -> None:
        """Delete a draft with the roles for it."""
        mine = sa.delete(roles).where(roles.c.survey == draft_key(draft_id))
        self.execute(sa.delete(drafts).where(drafts.c.id == draft_id), mine)


def _check_room(connection: sa.Connection, account: int) -> None:
    """Raise DataError if there are too many drafts already, of this account or of all."""
    if (connection.scalar(sa.select(sa.func.count()).select_from(drafts)) or 0) >= MOST_DRAFTS:
        raise DataError(f"there are {MOST_DRAFTS:,} drafts already; delete some first")
    mine = sa.and_(roles.c.account == account, roles.c.survey.startswith(draft_key("")))
    if (connection.scalar(sa.select(sa.func.count()).where(mine)) or 0) >= MOST_OWN_DRAFTS:
        raise DataError(f"you have {MOST_OWN_DRAFTS} drafts already; delete some first")


def checked_text(text: str) -> str:
    """A text with the line ends of this program, if it is not too long."""
    text = text.replace("\r\n", "\n")
    if len(text) > MOST_TEXT:
        raise DataError(f"a draft has at most {MOST_TEXT:,} characters, this one {len(text):,}")
    if "\x00" in text:
        raise DataError("a survey file must not contain the character U+0000")
    return text


#: Seconds for which a preview works, and how many there may be.
PREVIEW_SECONDS, MOST_PREVIEWS = 3600.0, 50


@dataclass
class Previews:
    """The respondent's page of drafts by the secret in its address, in memory only.

    The page of respondents sends no cookies, so a preview cannot ask who looks at it. Its address
    contains a random secret instead, which only those who made the preview know.
    """

    now: Callable[[], float] = time.monotonic
    _surveys: OrderedDict[str, tuple[float, Published]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def add(self, survey: Published) -> str:
        """The secret of a new preview; it is open on any day."""
        terms = {"opens": None, "closes": None, "quota": None}
        shown = Published(survey.survey.model_copy(update=terms))
        secret = secrets.token_urlsafe(24)
        with self._lock:
            self._surveys[secret] = (self.now() + PREVIEW_SECONDS, shown)
            while len(self._surveys) > MOST_PREVIEWS:
                self._surveys.popitem(last=False)
        return secret

    def get(self, secret: str) -> Published | None:
        """The survey of a preview; None if there is none, or no longer."""
        with self._lock:
            until, survey = self._surveys.get(secret, (0.0, None))
            return survey if self.now() < until else None
