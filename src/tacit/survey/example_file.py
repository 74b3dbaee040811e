"""The commented example from which a new survey file starts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from importlib.resources import files
from typing import Any

from tacit.errors import SchemaError, unknown
from tacit.survey.yaml_text import parse, patched

#: The languages of the respondent's page, and of the example.
LANGUAGES = ("en", "de", "fr", "es")


def example(
    languages: Sequence[str] = ("en", "de"),
    access: str = "open",
    opens: date | None = None,
    closes: date | None = None,
) -> str:
    """A survey file in YAML that shows every part once, ready to edit."""
    for language in languages:
        if language not in LANGUAGES:
            raise SchemaError(unknown("language of the example", language, LANGUAGES))
    text = files("tacit.survey").joinpath("example.yaml").read_text(encoding="utf-8")
    content = _in_languages(parse(text, "example").data, languages)
    text = patched(text, content | {"languages": list(dict.fromkeys(languages)), "access": access})
    for key, day in (("opens", opens), ("closes", closes)):
        if day is not None:
            text = re.sub(rf"^# {key}: .*$", f"{key}: {day}", text, flags=re.MULTILINE)
    return text


def _in_languages(value: Any, languages: Sequence[str]) -> Any:
    """A value of the file with only the texts in these languages."""
    if isinstance(value, list):
        return [_in_languages(item, languages) for item in value]
    if not isinstance(value, dict):
        return value
    kept = [key for key in value if key in languages or key not in LANGUAGES]
    return {key: _in_languages(value[key], languages) for key in kept}
