"""The types of a survey file's fields: names, texts in each language, exact numbers, dates.

Each type validates itself and says what is allowed; the reader only adds file and line.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

import pydantic
from pydantic import Field, PlainSerializer, PlainValidator, ValidationError, WithJsonSchema
from pydantic_core import InitErrorDetails, PydanticCustomError

from tacit.core.channel import numbers
from tacit.errors import DesignError, unknown

MOST_LETTERS = 10_000
MOST_LETTERS_OF_A_NAME = 100
_LANGUAGE = r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*"
#: Changes of text direction could make a text look like another one.
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e")
_FRACTION = r"^\s*[0-9.eE+-]+\s*(/\s*[0-9]+)?\s*$"


class SurveyPart(pydantic.BaseModel):
    """A part of a survey: frozen and without unknown fields."""

    model_config = pydantic.ConfigDict(
        frozen=True, extra="forbid", strict=True, validate_default=True
    )

    @pydantic.model_validator(mode="wrap")
    @classmethod
    def _known(cls, data: Any, handler: Any) -> Any:
        """Report each unknown key with the nearest known one, and check the other keys too."""
        keys = [field.alias or name for name, field in cls.model_fields.items()]
        odd = [key for key in data if key not in keys] if isinstance(data, Mapping) else []
        if not odd:
            return handler(data)
        errors: list[InitErrorDetails] = []
        for key in odd:
            context = {"message": unknown("key", key, keys), "key": key}
            errors.append({"type": PydanticCustomError("key", "{message}", context), "input": key})
        try:
            handler({key: value for key, value in data.items() if key in keys})
        except ValidationError as error:
            for raised in error.errors():
                context = {**raised.get("ctx", {}), "message": raised["msg"]}
                kind = PydanticCustomError(raised["type"], "{message}", context)
                errors.append({"type": kind, "loc": raised["loc"], "input": raised["input"]})
        raise ValidationError.from_exception_data(cls.__name__, errors)


def wrong(message: str) -> PydanticCustomError:
    """An error of this field with this message."""
    return PydanticCustomError("survey", "{message}", {"message": message})


def _written(value: Any, what: str, most: int = MOST_LETTERS) -> str:
    """A text that can be displayed."""
    if not isinstance(value, str) or not value.strip():
        raise wrong(f"{what} must be a text that is not empty, got {value!r:.60}")
    if len(value) > most:
        raise wrong(f"{what} may have at most {most:,} letters, got {len(value):,}")
    if (letter := undisplayable(value)) is not None:
        raise wrong(
            f"{what} must not contain the character U+{ord(letter):04X}; control characters, "
            "half surrogates and direction marks are not allowed (right-to-left letters are)"
        )
    return value


def undisplayable(text: str) -> str | None:
    """The first control character, half surrogate or direction mark; None if there is none."""
    for letter in text:
        kind = unicodedata.category(letter)
        if (kind == "Cc" and letter not in "\n\t") or kind == "Cs" or letter in _TURNING:
            return letter
    return None


def _name(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    name = _written(value, "a name", MOST_LETTERS_OF_A_NAME)
    if name != name.strip() or "\n" in name or "\t" in name:
        raise wrong(f"a name must be one line without spaces around it, got {value!r}")
    return name


def _language(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(_LANGUAGE, value):
        raise wrong(f"a language must be a code such as en or pt-BR, got {value!r:.60}")
    return value


def _texts(value: Any) -> str | Mapping[str, str]:
    if isinstance(value, Mapping):
        if not value:
            raise wrong("a text must not be empty; give a text, or one per language")
        for key, text in value.items():
            if text is None and not re.fullmatch(_LANGUAGE, str(key)):
                raise wrong(f"{key!r} is not a language; put a text with a comma in quotes")
        return MappingProxyType(
            {_language(key): _written(text, f"the text in {key!r}") for key, text in value.items()}
        )
    return _written(value, "a text")


def _day(value: Any) -> date:
    if type(value) is date:
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise wrong(f"a date must be a day such as 2026-12-31, got {value!r:.60}") from None


def _exact(value: Any) -> Fraction:
    try:
        return numbers.fraction(value, "the number")
    except DesignError as error:
        raise wrong(str(error)) from None


def _asked_if(value: Any) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(value, Mapping) or not value:
        raise wrong(f"must name earlier questions and their answers, got {value!r:.60}")
    names = {}
    for key, answers in value.items():
        if answers in ([], ()):
            raise wrong(f"list at least one answer to {str(key)!r}")
        listed = answers if isinstance(answers, list | tuple) else [answers]
        names[_name(key)] = tuple(map(_name, listed))
    return MappingProxyType(names)


def thawed(value: Any) -> Any:
    """Frozen mappings as plain dictionaries, ready for JSON."""
    if isinstance(value, SurveyPart):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(value, Mapping):
        return {key: thawed(item) for key, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


_NUMBER_SCHEMA = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": _FRACTION}]}
_NAME_SCHEMA = {"type": ["string", "integer"], "minLength": 1, "maxLength": MOST_LETTERS_OF_A_NAME}
_TEXT_SCHEMA = {"type": "string", "minLength": 1, "maxLength": MOST_LETTERS}

Item = TypeVar("Item")
#: A list of any length, of one or more, and of two or more; a survey keeps it as a tuple.
Listed = Annotated[tuple[Item, ...], Field(strict=False)]
OneOrMore = Annotated[tuple[Item, ...], Field(strict=False, min_length=1)]
TwoOrMore = Annotated[tuple[Item, ...], Field(strict=False, min_length=2)]
#: Values by their names, which a survey keeps as they are.
ByName = Annotated[
    Mapping[str, Item],
    pydantic.AfterValidator(MappingProxyType),
    PlainSerializer(thawed),
    Field(strict=False),
]
#: A name of a question or a category.
Name = Annotated[str, PlainValidator(_name), WithJsonSchema(_NAME_SCHEMA)]
#: Answers to earlier questions after which a question is asked: one, or a list, for each.
AnswersBefore = Annotated[
    Mapping[str, tuple[str, ...]],
    PlainValidator(_asked_if),
    PlainSerializer(thawed),
    WithJsonSchema(
        {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {
                "anyOf": [_NAME_SCHEMA, {"type": "array", "minItems": 1, "items": _NAME_SCHEMA}]
            },
        }
    ),
]
#: A language, such as en or pt-BR.
Language = Annotated[
    str,
    PlainValidator(_language),
    WithJsonSchema({"type": "string", "pattern": f"^{_LANGUAGE}$"}),
]
#: A text, or one per language.
Texts = Annotated[
    str | Mapping[str, str],
    PlainValidator(_texts),
    PlainSerializer(thawed),
    WithJsonSchema(
        {"anyOf": [_TEXT_SCHEMA, {"type": "object", "additionalProperties": _TEXT_SCHEMA}]}
    ),
]
#: An exact number: 0.7 is 7/10, "5/6" is five sixths.
Exact = Annotated[
    Fraction,
    PlainValidator(_exact),
    PlainSerializer(str, return_type=str),
    WithJsonSchema(_NUMBER_SCHEMA),
]
#: A day.
Day = Annotated[
    date,
    PlainValidator(_day),
    PlainSerializer(date.isoformat, return_type=str),
    WithJsonSchema({"type": "string", "format": "date"}),
]


def text_in(texts: str | Mapping[str, str], language: str) -> str:
    """The text in a language; a plain text belongs to the only language."""
    return texts if isinstance(texts, str) else texts[language]
