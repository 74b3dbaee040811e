"""DraftDocument: the text of a draft, its values as far as it can be parsed, and its problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tacit.errors import SurveyError
from tacit.studio.form_fields import kinds
from tacit.studio.form_values import FormContext
from tacit.survey import Published, survey_from_text
from tacit.survey.questions import YES_NO
from tacit.survey.yaml_text import comments, parse, patched

UNTITLED = "Untitled"
#: The key that names the kind of an item.
KIND = {"questions": "kind", "groups": "family"}


@dataclass(frozen=True)
class DraftDocument:
    """A survey file that may have problems."""

    text: str

    @cached_property
    def parsed(self) -> tuple[Any, list[str]]:
        """The plain values, and what keeps the text from being parsed."""
        try:
            return parse(self.text, "survey").data, []
        except SurveyError as error:
            return None, list(error.problems)

    @property
    def data(self) -> dict[str, Any] | None:
        """The values; None if the text cannot be edited by a form."""
        found = self.parsed[0]
        return found if isinstance(found, dict) else None

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
        found = (self.data or {}).get("languages")
        named = [str(one) for one in found if str(one)] if isinstance(found, list) else []
        return tuple(dict.fromkeys(named)) or ("en",)

    @property
    def title(self) -> str:
        """The title in the first language, as far as it is given."""
        found = _text((self.data or {}).get("title"), self.languages)
        return " ".join(found.split())[:200] or UNTITLED

    @property
    def logo(self) -> str | None:
        """The picture of the logo, if it is embedded."""
        found = (self.data or {}).get("logo")
        data = found.get("data") if isinstance(found, dict) else None
        return data if isinstance(data, str) and data.startswith("data:image/") else None

    def items(self, part: str) -> list[Any]:
        """The questions or the groups."""
        found = (self.data or {}).get(part)
        return found if isinstance(found, list) else []

    def item(self, part: str, number: int) -> dict[str, Any] | None:
        """A question or a group by its number from 1; None if a form cannot show it."""
        found = self.items(part)
        one = found[number - 1] if 1 <= number <= len(found) else None
        if not isinstance(one, dict) or one.get(KIND[part]) not in kinds(part):
            return None
        return one

    def summary(self, part: str) -> list[dict[str, str]]:
        """The items of a part for a table: kind, name and text, or the questions of a group."""
        rows = []
        for item in self.items(part):
            own = item if isinstance(item, dict) else {}
            listed = own.get("questions")
            names = ", ".join(map(str, listed)) if isinstance(listed, list) else ""
            rows.append(
                {
                    "kind": str(own.get(KIND[part], "")),
                    "name": str(own.get("name", "")) or names,
                    "text": _text(own.get("text"), self.languages) or str(own.get("theta", "")),
                }
            )
        return rows

    def context(self, item: dict[str, Any] | None = None) -> FormContext:
        """What the inputs of a form depend on; `item` is the question that is edited."""
        named = [q.get("name") for q in self.items("questions") if isinstance(q, dict)]
        listed = (item or {}).get("categories")
        yes_no = item is None or item.get("kind") == "yes_no"
        own = listed if isinstance(listed, list) else [*YES_NO] if yes_no else []
        questions = tuple(str(name) for name in named if name is not None)
        return FormContext(self.languages, tuple(map(str, own)), questions)

    def with_data(self, data: dict[str, Any]) -> tuple[str, list[str]]:
        """The text with other values, and the comments that were in replaced parts."""
        made = patched(self.text, data)
        left = comments(made)
        return made, [line for line in comments(self.text) if line not in left]

    def with_items(self, part: str, items: Sequence[Any]) -> tuple[str, list[str]]:
        """The text with other questions or groups."""
        data = dict(self.data or {})
        data[part] = list(items)
        return self.with_data(data)


def _text(value: Any, languages: Sequence[str]) -> str:
    if isinstance(value, dict):
        texts = [value[one] for one in languages if isinstance(value.get(one), str)]
        return texts[0] if texts else ""
    return value if isinstance(value, str) else ""
