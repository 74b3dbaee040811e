"""The text of a survey file as plain values, with the line of each.

YAML is read by the rules of its version 1.2, so `no` and `yes` are texts, and a day is a text
until a field asks for one. Anchors, tags and keys that come twice are refused: a survey file
says each thing once, in the open. JSON is read as JSON; only its lines come from the YAML reader.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import yaml

from tacit.errors import SurveyError

Place = tuple[str | int, ...]

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


@dataclass(frozen=True)
class Source:
    """Plain values and, for the place of each, its line in the file."""

    name: str
    data: Any
    lines: dict[Place, int]

    def at(self, place: Place, message: str) -> str:
        """The message with file, line and place; the line of the nearest part that is there."""
        known = next(p for p in (place[:n] for n in range(len(place), -1, -1)) if p in self.lines)
        path = "".join(map(_step, place)).removeprefix(".")
        return f"{self.name}:{self.lines[known]}: {path + ': ' if path else ''}{message}"


def _step(step: str | int) -> str:
    """One step of a place; a key that a terminal could not show is quoted."""
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if step.isprintable() else f".{step!r}"


def parse(text: str, name: str) -> Source:
    """The values of a survey file; `name` is told in errors."""
    try:
        return _json(text, name) if text.lstrip().startswith("{") else _yaml(text, name)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise SurveyError([f"{name}:{line}: not YAML: {error.problem or error}"]) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise SurveyError(
            [f"{name}:{line}: the character U+{error.character:04X} is not allowed in YAML"]
        ) from None
    except _LineError as error:
        raise SurveyError([f"{name}:{error.line}: {error}"]) from None
    except RecursionError:
        raise SurveyError([f"{name}:1: is nested too deeply"]) from None


def _yaml(text: str, name: str) -> Source:
    _refuse(text)
    lines: dict[Place, int] = {(): 1}
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    return Source(name, None if root is None else _value(root, (), lines), lines)


def _refuse(text: str) -> None:
    """Stop at what is no part of a survey file, before anything is built from it."""
    depth = 0
    for token in yaml.scan(text, Loader=yaml.SafeLoader):
        depth += isinstance(token, _OPENING) - isinstance(token, _CLOSING)
        if depth > _DEEPEST:
            raise _LineError(token, "is nested too deeply")
        if isinstance(token, yaml.AnchorToken | yaml.AliasToken | yaml.TagToken):
            kind = type(token).__name__.removesuffix("Token").lower()
            raise _LineError(
                token,
                f"{kind}s (&, *, !) are not allowed; write it out, or in quotes if it is text",
            )


def _value(node: Any, place: Place, lines: dict[Place, int]) -> Any:
    """The plain value of a node; notes its line and those below."""
    lines.setdefault(place, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, place, lines)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*place, i), lines) for i, item in enumerate(node.value)]
    return node.value if node.style is not None else _plain(node)


def _mapping(node: Any, place: Place, lines: dict[Place, int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, item in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _LineError(key, "a key must be a text")
        if key.value in found:
            raise _LineError(key, f"the key {key.value!r} comes twice; write each once")
        lines[(*place, key.value)] = key.start_mark.line + 1
        found[key.value] = _value(item, (*place, key.value), lines)
    return found


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


def _json(text: str, name: str) -> Source:
    try:
        data = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise SurveyError([f"{name}:{error.lineno}: not JSON: {error.msg}"]) from None
    except ValueError as error:
        raise SurveyError([f"{name}:1: not JSON: {error}"]) from None
    return Source(name, data, _json_lines(text))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} comes twice in one object; write each once")
        found[key] = value
    return found


def _json_lines(text: str) -> dict[Place, int]:
    """Lines of JSON by the YAML reader, which takes it but for tabs; line 1 where it does not."""
    lines: dict[Place, int] = {(): 1}
    try:
        spaced = text.replace("\t", " ")
        _refuse(spaced)
        _value(yaml.compose(spaced, Loader=yaml.SafeLoader), (), lines)
    except (yaml.YAMLError, _LineError):
        return {(): 1}
    return lines
