"""The fields of a survey file, from the schema of survey files: what a form asks for, and how.

A new key of the survey file therefore appears in the forms by itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from tacit.errors import DataError, SurveyError
from tacit.survey.survey import Survey
from tacit.survey.yaml_text import parse, to_yaml

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


# Values of a survey file as inputs of a form, and back.
#
# A form shows each value as texts and reads them back. A value whose texts did not change stays
# as
# it was in the file; what a form cannot show as simple inputs is a box with YAML.


_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_MANY_LINES = ("introduction", "consent", "thanks", "text", "help", "explanation", "innocent")
#: The inputs of kinds that have no input of their own.
_BOXES = {"names": "area", "conditions": "area", "yaml": "code", "numbers": "line"}
MISSING: Any = object()


@dataclass(frozen=True)
class FormInput:
    """One input: its name in the form, its label, its kind and its text."""

    name: str
    label: str
    kind: str
    value: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class FormContext:
    """What inputs depend on: the languages, the categories to label, the questions to choose."""

    languages: tuple[str, ...] = ("en",)
    categories: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()


# From values to inputs ---------------------------------------------------------------------------


def inputs(field: FormField, value: Any, context: FormContext, at: str = "") -> list[FormInput]:
    """The inputs for a value; MISSING if the key is not there."""
    name, kind = at + field.name, _shown_kind(field, value)
    given = None if value is MISSING else value
    match kind:
        case "texts":
            return _text_inputs(name, field.label, given, context, field.name in _MANY_LINES)
        case "labels":
            return _label_inputs(name, given or {}, context)
        case "several":
            return _flag_inputs(name, [*map(str, given or ())], context)
        case "rows":
            return _row_inputs(name, field.fields, [*(given or ()), {}], context)
        case _:
            shown = field.default if given is None else given
            box = _BOXES.get(kind, kind)
            note = {"names": " (one per line)", "yaml": " (YAML)"}.get(kind, "")
            label = f"{field.label}{note}"
            return [FormInput(name, label, box, _text(kind, shown), field.choices)]


def _label_inputs(name: str, texts: dict[str, Any], context: FormContext) -> list[FormInput]:
    """The text of each category."""
    found = []
    for category in dict.fromkeys([*context.categories, *map(str, texts)]):
        own, text = f"{name}/{_part(category)}", texts.get(category)
        found += _text_inputs(own, category, text, context, long=False)
    return found


def _flag_inputs(name: str, chosen: list[str], context: FormContext) -> list[FormInput]:
    """A box to tick for each question."""
    return [
        FormInput(f"{name}/{_part(one)}", one, "flag", "on" if one in chosen else "")
        for one in dict.fromkeys([*context.questions, *chosen])
    ]


def _row_inputs(
    name: str, fields: Sequence[FormField], rows: list[Any], context: FormContext
) -> list[FormInput]:
    """The inputs of each row; the last row is empty, for a new one."""
    found = []
    for number, row in enumerate(rows):
        head = f"{number + 1}." if row else "New:"
        for field in fields:
            own = inputs(field, row.get(field.name, MISSING), context, f"{name}/{number}/")
            found += [replace(one, label=f"{head} {one.label}") for one in own]
    return found


def _shown_kind(field: FormField, value: Any) -> str:
    """The kind of a field, or `yaml` if its value is of another kind."""
    if value is MISSING:
        return field.kind
    items = value if isinstance(value, list) else []
    fits = {
        "texts": _is_text(value),
        "labels": isinstance(value, dict) and all(map(_is_text, value.values())),
        "names": isinstance(value, list) and all(map(_is_line, items)),
        "several": isinstance(value, list) and all(map(_is_line, items)),
        "numbers": isinstance(value, list) and all(map(_is_scalar, items)),
        "conditions": isinstance(value, dict) and all(map(_is_answer, value.values())),
        "rows": isinstance(value, list) and all(isinstance(row, dict) for row in items),
        "flag": isinstance(value, bool),
        "choice": isinstance(value, str),
        "day": isinstance(value, str),
        "line": _is_line(value),
        "number": _is_scalar(value),
    }
    return field.kind if fits.get(field.kind, True) else "yaml"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
    )


def _is_answer(value: Any) -> bool:
    """Whether a condition can be written on one line."""
    return all(_is_line(one) and "," not in str(one) for one in _listed(value))


def _is_line(value: Any) -> bool:
    return _is_scalar(value) and "\n" not in str(value)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _text_inputs(
    name: str, label: str, value: Any, context: FormContext, long: bool
) -> list[FormInput]:
    """One input, or one per language."""
    kind = "area" if long else "line"
    if len(context.languages) == 1 and not isinstance(value, dict):
        return [FormInput(name, label, kind, value or "")]
    first = context.languages[0] if context.languages else "en"
    texts = value if isinstance(value, dict) else {first: value or ""}
    return [
        FormInput(f"{name}/{language}", f"{label} ({language})", kind, texts.get(language, ""))
        for language in dict.fromkeys([*context.languages, *texts])
    ]


def _text(kind: str, value: Any) -> str:
    if kind == "flag":
        return "on" if value else ""
    if value is None:
        return ""
    if kind == "names":
        return "\n".join(map(str, value))
    if kind == "numbers":
        return ", ".join(map(str, value))
    if kind == "conditions":
        return "\n".join(f"{name}: {_text('numbers', _listed(own))}" for name, own in value.items())
    return to_yaml(value) if kind == "yaml" else str(value)


# From the form to values -------------------------------------------------------------------------


def read(
    field: FormField, value: Any, form: Mapping[str, str], context: FormContext, at: str = ""
) -> Any:
    """The value of a field in a form, the old one if it was not changed; MISSING if it is empty.

    Raises DataError if a box does not contain YAML.
    """
    shown = inputs(field, value, context, at)
    entered = {one.name: _cleaned(form[one.name]) for one in shown if one.name in form}
    if all(entered.get(one.name, one.value) == _cleaned(one.value) for one in shown):
        return value
    name, kind = at + field.name, _shown_kind(field, value)
    match kind:
        case "texts":
            return _read_texts(name, value, entered)
        case "labels":
            before = {} if value is MISSING else value
            known = dict.fromkeys([*context.categories, *before])
            found = {
                category: _read_texts(f"{name}/{_part(category)}", before.get(category), entered)
                for category in known
            }
            return {key: own for key, own in found.items() if own is not MISSING} or MISSING
        case "several":
            return [one.label for one in shown if entered.get(one.name, one.value)] or MISSING
        case "rows":
            return _read_rows(field, value, form, context, name)
        case _:
            return _read_simple(field, kind, entered[name])


def _read_texts(name: str, value: Any, entered: Mapping[str, str]) -> Any:
    if name in entered:
        return entered[name] or MISSING
    before = dict.fromkeys(value, "") if isinstance(value, dict) else {}
    parts = {key.rpartition("/")[::2]: text for key, text in entered.items()}
    texts = before | {language: text for (own, language), text in parts.items() if own == name}
    return {language: text for language, text in texts.items() if text} or MISSING


def _read_rows(
    field: FormField, value: Any, form: Mapping[str, str], context: FormContext, name: str
) -> Any:
    """Rows that are not empty; an unknown key of a row stays."""
    found = []
    for number, row in enumerate([*([] if value is MISSING else value), {}]):
        made = changed(row, field.fields, form, context, f"{name}/{number}/")
        if made:
            found.append(made)
    return found or MISSING


def changed(
    data: Mapping[str, Any],
    fields: Sequence[FormField],
    form: Mapping[str, str],
    context: FormContext,
    at: str = "",
) -> dict[str, Any]:
    """A mapping with what a form says; keys that the form does not have stay as they are."""
    found = {
        field.name: read(field, data.get(field.name, MISSING), form, context, at)
        for field in fields
    }
    order = [*data, *(name for name in found if name not in data)]
    whole = {**data, **found}
    return {name: whole[name] for name in order if whole[name] is not MISSING}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _read_conditions(text: str) -> dict[str, Any]:
    """`drinks: some, many` on each line."""
    found: dict[str, Any] = {}
    for line in text.splitlines():
        name, colon, rest = line.rpartition(":")
        answers = [one.strip() for one in rest.split(",") if one.strip()]
        if not line.strip():
            continue
        if not colon or not name.strip() or not answers:
            raise DataError(f"{line.strip()[:80]}: write a question, a colon and its answers")
        found[name.strip()] = answers[0] if len(answers) == 1 else answers
    return found


def _read_simple(field: FormField, kind: str, text: str) -> Any:
    if kind == "flag":
        return bool(text)
    if not text:
        return MISSING
    match kind:
        case "yaml":
            found: Any = _read_yaml(field.label, text)
        case "names":
            found = [line.strip() for line in text.splitlines() if line.strip()]
        case "numbers":
            found = [_scalar(part) for part in re.split(r"[,;\s]+", text) if part] or MISSING
        case "conditions":
            found = _read_conditions(text)
        case _:
            found = _scalar(text) if kind == "number" else text
    return found


def _read_yaml(label: str, text: str) -> Any:
    try:
        return parse(text, label).data
    except SurveyError as error:
        raise DataError(str(error)) from None


def _scalar(text: str) -> int | float | str:
    """A number as YAML would read it, else the text: 5/6 is exact only as a text."""
    if not _NUMBER.fullmatch(text) or len(text) > 30:
        return text
    if re.fullmatch(r"[-+]?\d+", text, re.ASCII):
        return int(text)
    return float(text) if math.isfinite(float(text)) else text


def _part(name: str) -> str:
    """A name as a part of the name of an input, whose parts are separated by slashes."""
    return name.replace("%", "%25").replace("/", "%2F")


def _cleaned(text: str) -> str:
    """A text without blanks around it and with the line ends of this program."""
    return text.replace("\r\n", "\n").strip()
