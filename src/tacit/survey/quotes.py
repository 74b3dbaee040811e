"""A line of YAML with its texts in quotes, to be shown to whoever forgot them."""

from __future__ import annotations

import json
import re

_KEY = r"(?:- +)?[\w.-]+: +"
_LANGUAGE = re.compile(r"(?:^|, *)([a-z]{2,3}(?:-[A-Za-z0-9]{2,8})?): +")


def in_quotes(line: str) -> str:
    """The line with each unquoted text in double quotes; as it is if it has no such form.

    >>> in_quotes("text: {en: Do you smoke?, fr: Fumez-vous ?}")
    'text: {en: "Do you smoke?", fr: "Fumez-vous ?"}'
    >>> in_quotes("- text: Do you smoke: yes or no?")
    '- text: "Do you smoke: yes or no?"'
    """
    found = re.fullmatch(rf"({_KEY})(.*)", line)
    if found is None:
        return line
    key, value = found[1], found[2]
    inner = re.fullmatch(r"\{(.*?)\}?", value)
    if inner is not None:
        texts = _by_language(inner[1])
        return f"{key}{{{texts}}}" if texts else line
    return line if value[:1] in ("", "[", ">", "|") else key + _quoted(value)


def _by_language(inner: str) -> str:
    """`en: Yes, no, fr: Oui` as two texts: a comma ends one only where a language follows."""
    starts = list(_LANGUAGE.finditer(inner))
    if not starts or starts[0].start() != 0:
        return ""
    ends = [start.start() for start in starts[1:]] + [len(inner)]
    parts = zip(starts, ends, strict=True)
    return ", ".join(f"{s[1]}: {_quoted(inner[s.end() : end].strip())}" for s, end in parts)


def _quoted(text: str) -> str:
    """In double quotes, unless it is in quotes already."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text
    return json.dumps(text, ensure_ascii=False)
