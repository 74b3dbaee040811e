"""The fields of a survey file, from the schema of survey files: what a form asks for, and how.

A new key of the survey file therefore appears in the forms by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from tacit.survey.survey import Survey

#: Keys that the program sets, or that have pages of their own.
_APART = ("tacit", "version", "questions", "groups")
#: What is asked first; the other keys follow in the order of the schema.
_FIRST = ("title", "languages", "name", "questions", "text", "theta", "categories", "edges")
_CONDITIONS_HELP = " One line per question, such as: drinks: some, many"


@dataclass(frozen=True)
class FormField:
    """One key: how it is entered, its explanation, its default, and what there is to choose."""

    name: str
    kind: str
    help: str = ""
    default: Any = None
    choices: tuple[str, ...] = ()
    fields: tuple[FormField, ...] = ()

    @property
    def label(self) -> str:
        """The name in words."""
        return self.name.replace("_", " ").capitalize()


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of survey files."""
    return Survey.model_json_schema(by_alias=True)


def kinds(part: str) -> tuple[str, ...]:
    """The kinds of questions, or the families of groups."""
    return tuple(_variants(part)["mapping"])


def survey_fields() -> tuple[FormField, ...]:
    """The keys of a survey, without questions and groups."""
    return _fields(schema(), _APART)


def item_fields(part: str, kind: str) -> tuple[FormField, ...]:
    """The keys of a question of a kind, or of a group of a family."""
    variants = _variants(part)
    key = variants["propertyName"]
    own = _fields(_definition(variants["mapping"][kind]), (key,))
    first = FormField(key, "choice", choices=kinds(part), default=kind)
    if part == "groups":
        own = tuple(replace(f, kind="several") if f.name == "questions" else f for f in own)
    return (first, *own)


def _variants(part: str) -> dict[str, Any]:
    found: dict[str, Any] = schema()["properties"][part]["items"]["discriminator"]
    return found


def _definition(reference: str) -> dict[str, Any]:
    found: dict[str, Any] = schema()["$defs"][reference.rpartition("/")[2]]
    return found


def _fields(model: Mapping[str, Any], apart: Sequence[str] = ()) -> tuple[FormField, ...]:
    own = [name for name in model["properties"] if name not in apart]
    order = [*(name for name in _FIRST if name in own), *(n for n in own if n not in _FIRST)]
    return tuple(_field(name, model["properties"][name]) for name in order)


def _field(name: str, own: Mapping[str, Any]) -> FormField:
    ways = [way for way in own.get("anyOf", [own]) if way.get("type") != "null"]
    made = FormField(name, _kind(ways), own.get("description", ""), own.get("default"))
    if made.kind == "choice":
        return replace(made, choices=tuple(map(str, ways[0].get("enum", ()))))
    if made.kind == "conditions":
        return replace(made, help=made.help + _CONDITIONS_HELP)
    if made.kind == "rows":
        return replace(made, fields=_fields(_definition(ways[0]["items"]["$ref"])))
    return made


def _kind(ways: Sequence[Mapping[str, Any]]) -> str:
    """How values of a schema are entered."""
    first = ways[0]
    kind = first.get("type")
    if len(ways) > 1:
        return "texts" if _is_texts(ways) else "number" if kind == "number" else "yaml"
    if "enum" in first:
        return "choice"
    if kind == "array":
        return _kind_of_list(first["items"])
    if kind == "object":
        return _kind_of_mapping(first.get("additionalProperties", {}))
    simple = {"boolean": "flag", "integer": "number", "number": "number", "string": "line"}
    if isinstance(kind, list):
        return "line"
    return "day" if first.get("format") == "date" else simple.get(str(kind), "yaml")


def _kind_of_mapping(values: Mapping[str, Any]) -> str:
    """How a mapping is entered: texts of categories, or answers to questions."""
    ways = values.get("anyOf", ())
    if _is_texts(ways):
        return "labels"
    answers = [_kind([way]) for way in ways] == ["line", "names"]
    return "conditions" if answers else "yaml"


def _kind_of_list(items: Mapping[str, Any]) -> str:
    if "$ref" in items:
        return "rows"
    kind = _kind(items.get("anyOf", [items]))
    return {"line": "names", "number": "numbers"}.get(kind, "yaml")


def _is_texts(ways: Sequence[Mapping[str, Any]]) -> bool:
    return [way.get("type") for way in ways] == ["string", "object"]
