"""The forms of drafts: what a form asks for, values of a survey file as its inputs, and back.

The fields come from the JSON Schema of survey files, so a new key of the survey file appears in the
forms by itself. A form shows each value as texts and reads them back. A value whose texts did not
change stays as it was in the file; what has no simple input is a box with YAML.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
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
_MANY_LINES = ("introduction", "consent", "thanks", "text", "help", "explanation", "innocent")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
MISSING: Any = object()


# Fields from the schema --------------------------------------------------------------------------


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
    fields = _fields(_definition(variants["mapping"][kind]), (key,))
    if part == "groups":
        fields = tuple(replace(f, kind="several") if f.name == "questions" else f for f in fields)
    return (FormField(key, "choice", choices=kinds(part), default=kind), *fields)


def _variants(part: str) -> Any:
    return schema()["properties"][part]["items"]["discriminator"]


def _definition(reference: str) -> Any:
    return schema()["$defs"][reference.rpartition("/")[2]]


def _fields(model: Mapping[str, Any], apart: Sequence[str] = ()) -> tuple[FormField, ...]:
    names = [name for name in model["properties"] if name not in apart]
    order = [*(name for name in _FIRST if name in names), *(n for n in names if n not in _FIRST)]
    return tuple(_field(name, model["properties"][name]) for name in order)


def _field(name: str, schema: Mapping[str, Any]) -> FormField:
    ways = [way for way in schema.get("anyOf", [schema]) if way.get("type") != "null"]
    kind, first = _kind(ways), ways[0]
    note = _CONDITIONS_HELP if kind == "conditions" else ""
    return FormField(
        name,
        kind,
        schema.get("description", "") + note,
        schema.get("default"),
        tuple(map(str, first.get("enum", ()))),
        _fields(_definition(first["items"]["$ref"])) if kind == "rows" else (),
    )


def _kind(ways: Sequence[Mapping[str, Any]]) -> str:
    """How values of a schema are entered."""
    first = ways[0]
    kind = first.get("type")
    if len(ways) > 1:
        return "texts" if _is_texts(ways) else "number" if kind == "number" else "yaml"
    if "enum" in first:
        return "choice"
    if kind == "array":
        items = first["items"]
        if "$ref" in items:
            return "rows"
        of_items = _kind(items.get("anyOf", [items]))
        return {"line": "names", "number": "numbers"}.get(of_items, "yaml")
    if kind == "object":  # texts of categories, or answers to questions
        values = first.get("additionalProperties", {}).get("anyOf", ())
        answers = [_kind([way]) for way in values] == ["line", "names"]
        return "labels" if _is_texts(values) else "conditions" if answers else "yaml"
    if isinstance(kind, list):
        return "line"
    simple = {"boolean": "flag", "integer": "number", "number": "number", "string": "line"}
    return "day" if first.get("format") == "date" else simple.get(str(kind), "yaml")


def _is_texts(ways: Sequence[Mapping[str, Any]]) -> bool:
    return [way.get("type") for way in ways] == ["string", "object"]


# Kinds of fields with one input ------------------------------------------------------------------


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _is_line(value: Any) -> bool:
    return _is_scalar(value) and "\n" not in str(value)


def _is_str(value: Any) -> bool:
    return isinstance(value, str)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
    )


def _list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, value))


def _answers(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_condition(value: Any) -> bool:
    """Whether each condition can be written on one line."""
    return isinstance(value, dict) and all(
        _is_line(answer) and "," not in str(answer)
        for answers in value.values()
        for answer in _answers(answers)
    )


def _conditions_text(conditions: Mapping[str, Any]) -> str:
    lines = (f"{name}: {', '.join(map(str, _answers(a)))}" for name, a in conditions.items())
    return "\n".join(lines)


def _read_conditions(text: str) -> dict[str, Any]:
    """`drinks: some, many` on each line."""
    conditions: dict[str, Any] = {}
    for line in filter(str.strip, text.splitlines()):
        name, colon, rest = line.rpartition(":")
        answers = [answer.strip() for answer in rest.split(",") if answer.strip()]
        if not colon or not name.strip() or not answers:
            raise DataError(f"{line.strip()[:80]}: write a question, a colon and its answers")
        conditions[name.strip()] = answers[0] if len(answers) == 1 else answers
    return conditions


def _read_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _read_numbers(text: str) -> Any:
    return [_read_number(part) for part in re.split(r"[,;\s]+", text) if part] or MISSING


def _read_number(text: str) -> int | float | str:
    """A number as YAML would read it, else the text: 5/6 is exact only as a text."""
    if not _NUMBER.fullmatch(text) or len(text) > 30:
        return text
    if re.fullmatch(r"[-+]?\d+", text, re.ASCII):
        return int(text)
    return float(text) if math.isfinite(float(text)) else text


@dataclass(frozen=True)
class _SimpleKind:
    """Which values fit a kind, how they are written and read, and its input."""

    fits: Callable[[Any], bool]
    write: Callable[[Any], str] = str
    read: Callable[[str], Any] = str
    input: str = "line"
    note: str = ""


_SIMPLE = {
    "flag": _SimpleKind(lambda v: isinstance(v, bool), lambda v: "on" if v else "", bool, "flag"),
    "choice": _SimpleKind(_is_str, input="choice"),
    "day": _SimpleKind(_is_str, input="day"),
    "line": _SimpleKind(_is_line),
    "number": _SimpleKind(_is_scalar, str, _read_number, "number"),
    "names": _SimpleKind(
        _list_of(_is_line), lambda v: "\n".join(map(str, v)), _read_lines, "area", " (one per line)"
    ),
    "numbers": _SimpleKind(_list_of(_is_scalar), lambda v: ", ".join(map(str, v)), _read_numbers),
    "conditions": _SimpleKind(_is_condition, _conditions_text, _read_conditions, "area"),
    "yaml": _SimpleKind(lambda _: True, to_yaml, lambda text: text, "code", " (YAML)"),
}
#: Which values fit the kinds with several inputs.
_COMPOUND: dict[str, Callable[[Any], bool]] = {
    "texts": _is_text,
    "labels": lambda value: isinstance(value, dict) and all(map(_is_text, value.values())),
    "several": _list_of(_is_line),
    "rows": _list_of(lambda row: isinstance(row, dict)),
}


def _shown_kind(field: FormField, value: Any) -> str:
    """The kind of a field, or `yaml` if its value is of another kind."""
    fits = _COMPOUND.get(field.kind) or _SIMPLE[field.kind].fits
    return field.kind if value is MISSING or fits(value) else "yaml"


# From values to inputs ---------------------------------------------------------------------------


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


def inputs(field: FormField, value: Any, context: FormContext, at: str = "") -> list[FormInput]:
    """The inputs for a value; MISSING if the key is not there."""
    name, kind = at + field.name, _shown_kind(field, value)
    given = None if value is MISSING else value
    match kind:
        case "texts":
            return _text_inputs(name, field.label, given, context, field.name in _MANY_LINES)
        case "labels":  # the text of each category
            texts = given or {}
            return [
                shown
                for category in dict.fromkeys([*context.categories, *map(str, texts)])
                for shown in _text_inputs(
                    _part(name, category), category, texts.get(category), context, long=False
                )
            ]
        case "several":  # a box to tick for each question
            chosen = [*map(str, given or ())]
            return [
                FormInput(_part(name, question), question, "flag", "on" * (question in chosen))
                for question in dict.fromkeys([*context.questions, *chosen])
            ]
        case "rows":  # the last row is empty, for a new one
            return [
                replace(shown, label=f"{f'{number + 1}.' if row else 'New:'} {shown.label}")
                for number, row in enumerate([*(given or ()), {}])
                for part in field.fields
                for shown in inputs(part, row.get(part.name, MISSING), context, f"{name}/{number}/")
            ]
    simple = _SIMPLE[kind]
    content = field.default if given is None else given
    text = "" if content is None else simple.write(content)
    return [FormInput(name, field.label + simple.note, simple.input, text, field.choices)]


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


def _part(name: str, part: str) -> str:
    """The name of an input with one more part; parts are separated by slashes."""
    return f"{name}/{part.replace('%', '%25').replace('/', '%2F')}"


# From the form to values -------------------------------------------------------------------------


def changed(
    data: Mapping[str, Any],
    fields: Sequence[FormField],
    form: Mapping[str, str],
    context: FormContext,
    at: str = "",
) -> dict[str, Any]:
    """A mapping with what a form says; keys that the form does not have stay as they are."""
    values = {
        field.name: read(field, data.get(field.name, MISSING), form, context, at)
        for field in fields
    }
    return {name: value for name, value in {**data, **values}.items() if value is not MISSING}


def read(
    field: FormField, value: Any, form: Mapping[str, str], context: FormContext, at: str = ""
) -> Any:
    """The value of a field in a form, the old one if it was not changed; MISSING if it is empty.

    Raises DataError if a box does not contain YAML.
    """
    shown = inputs(field, value, context, at)
    entered = {box.name: _cleaned(form[box.name]) for box in shown if box.name in form}
    if all(entered.get(box.name, box.value) == _cleaned(box.value) for box in shown):
        return value
    name, kind = at + field.name, _shown_kind(field, value)
    before = None if value is MISSING else value
    match kind:
        case "texts":
            return _read_texts(name, value, entered)
        case "labels":
            texts = {
                category: _read_texts(_part(name, category), (before or {}).get(category), entered)
                for category in dict.fromkeys([*context.categories, *(before or {})])
            }
            return {key: text for key, text in texts.items() if text is not MISSING} or MISSING
        case "several":
            return [box.label for box in shown if entered.get(box.name, box.value)] or MISSING
        case "rows":  # those that are not empty; an unknown key of a row stays
            rows = [
                changed(row, field.fields, form, context, f"{name}/{number}/")
                for number, row in enumerate([*(before or ()), {}])
            ]
            return [row for row in rows if row] or MISSING
    text = entered[name]
    if not text and kind != "flag":
        return MISSING
    if kind != "yaml":
        return _SIMPLE[kind].read(text)
    try:
        return parse(text, field.label).data
    except SurveyError as error:
        raise DataError(str(error)) from None


def _read_texts(name: str, value: Any, entered: Mapping[str, str]) -> Any:
    if name in entered:
        return entered[name] or MISSING
    before = dict.fromkeys(value, "") if isinstance(value, dict) else {}
    parts = {key.rpartition("/")[::2]: text for key, text in entered.items()}
    texts = before | {language: text for (head, language), text in parts.items() if head == name}
    return {language: text for language, text in texts.items() if text} or MISSING


def _cleaned(text: str) -> str:
    """A text without blanks around it and with the line ends of this program."""
    return text.replace("\r\n", "\n").strip()
