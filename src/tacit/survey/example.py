"""The commented example from which a new survey file starts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from importlib.resources import files

from tacit.errors import SchemaError, unknown

#: The languages of the respondent's page, and of the example.
LANGUAGES = ("en", "de", "fr", "es")
_CODES = "|".join(LANGUAGES)
_PAIR = rf'({_CODES}): ("[^"]*"|[^,{{}}]+)'


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
    text = "".join(_in_languages(text, languages))
    chosen = ", ".join(dict.fromkeys(languages))
    text = text.replace(f"languages: [{', '.join(LANGUAGES)}]", f"languages: [{chosen}]")
    text = text.replace("access: open", f"access: {access}")
    for key, day in (("opens", opens), ("closes", closes)):
        if day is not None:
            text = re.sub(rf"^# {key}: .*$", f"{key}: {day}", text, flags=re.MULTILINE)
    return text


def _in_languages(text: str, languages: Sequence[str]) -> Iterator[str]:
    """The lines of the file with only the texts in these languages."""
    left_out: str | None = None  # the indentation of an omitted text
    for line in text.splitlines(keepends=True):
        indentation = line[: len(line) - len(line.lstrip(" "))]
        if left_out is not None and len(indentation) > len(left_out):
            continue
        match = re.match(rf" +({_CODES}): ", line)
        left_out = indentation if match and match[1] not in languages else None
        if left_out is None:
            yield re.sub(rf"\{{({_PAIR}(, )?)+\}}", lambda m: _flow(m[0], languages), line)


def _flow(mapping: str, languages: Sequence[str]) -> str:
    """`{en: Yes, de: Ja}` with only these languages."""
    texts = [f"{code}: {said}" for code, said in re.findall(_PAIR, mapping) if code in languages]
    return f"{{{', '.join(texts)}}}"
