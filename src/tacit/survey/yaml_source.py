"""Parse a survey file to plain values, with the line of each.

The rules are those of YAML 1.2: `no` and `yes` are texts, and so is a date until a field converts
it. Anchors, tags and duplicate keys are errors. JSON is parsed as JSON; only its line numbers come
from the YAML parser.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import yaml

from tacit.errors import SurveyError
from tacit.output.json_documents import syntax_error, unique_keys

#: Keys and positions that lead to a value of the file.
Place = tuple[str | int, ...]

#: libyaml accepts a text such as `Do you smoke?` in braces, as YAML 1.2 does; PyYAML's own parser,
#: the fallback, does not.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NULL = re.compile(r"~|null|Null|NULL|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_KEY = r"(?:- +)?[\w.-]+: +"
_LANGUAGE = re.compile(r"(?:^|, *)([a-z]{2,3}(?:-[A-Za-z0-9]{2,8})?): +")
_MOST_DIGITS = 300
_DEEPEST = 50
_OPENING = (
    yaml.BlockMappingStartToken,
    yaml.BlockSequenceStartToken,
    yaml.FlowMappingStartToken,
    yaml.FlowSequenceStartToken,
)
_CLOSING = (yaml.BlockEndToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)


class _LineError(Exception):
    """An error at a node, with its line."""

    def __init__(self, node: Any, message: str) -> None:
        super().__init__(message)
        self.line = node.start_mark.line + 1


@dataclass
class SurveySource:
    """Plain values, and the line of each place in the file."""

    name: str
    data: Any = None
    lines: dict[Place, int] = field(default_factory=lambda: {(): 1})
    #: Errors that do not stop the parser: duplicate keys.
    twice: list[tuple[Place, str]] = field(default_factory=list)

    def at(self, place: Place, message: str) -> str:
        """The message with file, line and place."""
        path = "".join(map(_step, place)).removeprefix(".")
        return f"{self.name}:{self.line(place)}: {path + ': ' if path else ''}{message}"

    def line(self, place: Place) -> int:
        """The line of a place, or of the nearest existing part around it."""
        return next(
            self.lines[part]
            for part in (place[:n] for n in range(len(place), -1, -1))
            if part in self.lines
        )


def _step(step: str | int) -> str:
    """One step of a place; an unprintable key is quoted."""
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if step.isprintable() else f".{step!r}"


def parse(text: str, name: str) -> SurveySource:
    """The values of a survey file; `name` appears in errors."""
    try:
        return _json(text, name) if text.lstrip().startswith("{") else _yaml(text, name)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        said = f"not YAML: {error.problem or error}{_advice(text, line)}"
        raise SurveyError([f"{name}:{line}: {said}"]) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise SurveyError(
            [f"{name}:{line}: the character U+{error.character:04X} is not allowed in YAML"]
        ) from None
    except _LineError as error:
        raise SurveyError([f"{name}:{error.line}: {error}"]) from None
    except RecursionError:
        raise SurveyError([f"{name}:1: is nested too deeply"]) from None


def _advice(text: str, line: int) -> str:
    """Advice to quote the texts of a line, with the quoted line."""
    lines = text.splitlines()
    written = lines[line - 1].strip() if line <= len(lines) else ""
    quoted = in_quotes(written)
    return "" if quoted == written else f"; put texts in quotes: {quoted}"


def _yaml(text: str, name: str) -> SurveySource:
    """Parse with libyaml, else with PyYAML's own parser, which accepts half surrogates."""
    try:
        return _composed(text, name, LOADER)
    except yaml.YAMLError:
        with suppress(yaml.YAMLError):
            return _composed(text, name, yaml.SafeLoader)
        raise


def _composed(text: str, name: str, loader: Any) -> SurveySource:
    _refuse(text, loader)
    source = SurveySource(name)
    root = yaml.compose(text, Loader=loader)
    if root is not None:
        source.data = _value(root, (), source)
    return source


def _refuse(text: str, loader: Any) -> None:
    """Raise on deep nesting, anchors and tags before any value is built."""
    depth = 0
    for token in yaml.scan(text, Loader=loader):
        depth += isinstance(token, _OPENING) - isinstance(token, _CLOSING)
        if depth > _DEEPEST:
            raise _LineError(token, "is nested too deeply")
        if isinstance(token, yaml.AnchorToken | yaml.AliasToken | yaml.TagToken):
            kind = type(token).__name__.removesuffix("Token").lower()
            raise _LineError(
                token,
                f"{kind}s (&, *, !) are not allowed; write it out, or in quotes if it is text",
            )


def _value(node: Any, place: Place, source: SurveySource) -> Any:
    """The plain value of a node; records its lines."""
    source.lines.setdefault(place, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, place, source)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*place, i), source) for i, item in enumerate(node.value)]
    return node.value if node.style else _plain(node)


def _mapping(node: Any, place: Place, source: SurveySource) -> dict[str, Any]:
    """Keys and values; for a duplicate key the last value, which the error points at."""
    content: dict[str, Any] = {}
    for key, item in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _LineError(key, "a key must be a text")
        own = (*place, key.value)
        if key.value in content:
            source.twice.append((own, f"the key {key.value!r} appears twice; write each key once"))
        source.lines[own] = key.start_mark.line + 1
        content[key.value] = _value(item, own, source)
    return content


def _plain(node: Any) -> Any:
    """An unquoted scalar by the core schema of YAML 1.2."""
    text = node.value
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text.lower() == "true"
    if (_INT.fullmatch(text) or _FLOAT.fullmatch(text)) and len(text) > _MOST_DIGITS:
        raise _LineError(node, f"a number may have at most {_MOST_DIGITS} digits")
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _json(text: str, name: str) -> SurveySource:
    try:
        data = json.loads(text, object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        raise SurveyError([f"{name}:{error.lineno}: {syntax_error(error)}"]) from None
    except ValueError as error:
        raise SurveyError([f"{name}:1: not JSON: {error}"]) from None
    try:  # the YAML parser gives the lines; it rejects tabs and escaped surrogates
        lines = _composed(_SURROGATE.sub(r"\\u0020", text.replace("\t", " ")), name, LOADER).lines
    except (yaml.YAMLError, _LineError):
        return SurveySource(name, data)
    return SurveySource(name, data, lines)


def in_quotes(line: str) -> str:
    """A line of YAML with each unquoted text in double quotes; unchanged if that is impossible.

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
    """`en: Yes, no, fr: Oui` as two texts: a comma ends one only before a language."""
    starts = list(_LANGUAGE.finditer(inner))
    if not starts or starts[0].start() != 0:
        return ""
    ends = [start.start() for start in starts[1:]] + [len(inner)]
    parts = zip(starts, ends, strict=True)
    return ", ".join(f"{s[1]}: {_quoted(inner[s.end() : end].strip())}" for s, end in parts)


def _quoted(text: str) -> str:
    """In double quotes, unless it is already quoted."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text
    return json.dumps(text, ensure_ascii=False)
