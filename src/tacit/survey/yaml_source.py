"""The text of a survey file as plain values, with the line of each.

YAML is read by the rules of its version 1.2, so `no` and `yes` are texts, and a day is a text
until a field asks for one. Anchors, tags and keys that come twice are refused: a survey file
says each thing once, in the open. JSON is read as JSON; only its lines come from the YAML reader.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import yaml

from tacit.errors import SurveyError
from tacit.json_documents import syntax_error, unique_keys
from tacit.survey.quotes import in_quotes

Place = tuple[str | int, ...]

#: libyaml takes a text such as `Do you smoke?` between braces, as YAML 1.2 says; PyYAML's own
#: reader, used where libyaml is missing, does not.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NULL = re.compile(r"~|null|Null|NULL|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
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
    """A mistake in a line."""

    def __init__(self, node: Any, message: str) -> None:
        super().__init__(message)
        self.line = node.start_mark.line + 1


@dataclass
class _Found:
    """What is noted while values are read."""

    lines: dict[Place, int] = field(default_factory=lambda: {(): 1})
    twice: list[tuple[Place, str]] = field(default_factory=list)


@dataclass(frozen=True)
class SurveySource:
    """Plain values and, for the place of each, its line in the file."""

    name: str
    data: Any
    lines: dict[Place, int]
    #: Mistakes that were read over: keys that come twice.
    twice: tuple[tuple[Place, str], ...] = ()

    def at(self, place: Place, message: str) -> str:
        """The message with file, line and place; the line of the nearest part that is there."""
        path = "".join(map(_step, place)).removeprefix(".")
        return f"{self.name}:{self.line(place)}: {path + ': ' if path else ''}{message}"

    def line(self, place: Place) -> int:
        """The line of a place, or of the nearest part around it that is there."""
        return next(
            self.lines[part]
            for part in (place[:n] for n in range(len(place), -1, -1))
            if part in self.lines
        )


def _step(step: str | int) -> str:
    """One step of a place; a key that a terminal could not show is quoted."""
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if step.isprintable() else f".{step!r}"


def parse(text: str, name: str) -> SurveySource:
    """The values of a survey file; `name` is told in errors."""
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
    """The line as it would be read, with its texts in quotes."""
    lines = text.splitlines()
    written = lines[line - 1].strip() if line <= len(lines) else ""
    quoted = in_quotes(written)
    return "" if quoted == written else f"; put texts in quotes: {quoted}"


def _yaml(text: str, name: str) -> SurveySource:
    """By libyaml; by PyYAML's own reader what only that one takes, such as half surrogates."""
    try:
        return _composed(text, name, LOADER)
    except yaml.YAMLError:
        with suppress(yaml.YAMLError):
            return _composed(text, name, yaml.SafeLoader)
        raise


def _composed(text: str, name: str, loader: Any) -> SurveySource:
    _refuse(text, loader)
    found = _Found()
    root = yaml.compose(text, Loader=loader)
    data = None if root is None else _value(root, (), found)
    return SurveySource(name, data, found.lines, tuple(found.twice))


def _refuse(text: str, loader: Any) -> None:
    """Stop at what is no part of a survey file, before anything is built from it."""
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


def _value(node: Any, place: Place, found: _Found) -> Any:
    """The plain value of a node; notes its line and those below."""
    found.lines.setdefault(place, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, place, found)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*place, i), found) for i, item in enumerate(node.value)]
    return node.value if node.style else _plain(node)


def _mapping(node: Any, place: Place, found: _Found) -> dict[str, Any]:
    """Keys and values; of a key that comes twice the last value, which the mistake points at."""
    content: dict[str, Any] = {}
    for key, item in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _LineError(key, "a key must be a text")
        own = (*place, key.value)
        if key.value in content:
            found.twice.append((own, f"the key {key.value!r} comes twice; write each once"))
        found.lines[own] = key.start_mark.line + 1
        content[key.value] = _value(item, own, found)
    return content


def _plain(node: Any) -> Any:
    """A scalar without quotes, by the core rules of YAML 1.2."""
    text = node.value
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text.lower() == "true"
    if (_INT.fullmatch(text) or _FLOAT.fullmatch(text)) and len(text) > _MOST_DIGITS:
        raise _LineError(node, f"a number may have {_MOST_DIGITS} digits at most")
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
    return SurveySource(name, data, _json_lines(text))


def _json_lines(text: str) -> dict[Place, int]:
    """Lines of JSON by the YAML reader, which takes it but for tabs; line 1 where it does not."""
    found = _Found()
    try:
        spaced = text.replace("\t", " ")
        _refuse(spaced, yaml.SafeLoader)
        _value(yaml.compose(spaced, Loader=yaml.SafeLoader), (), found)
    except (yaml.YAMLError, _LineError):
        return {(): 1}
    return found.lines
