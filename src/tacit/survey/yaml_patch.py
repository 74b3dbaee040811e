"""Write changed values into the text of a survey file; the rest keeps its words and comments.

The text is compared with the new values from the root down. Where a block mapping or a block
sequence differs, only the differing lines are replaced; anything else is written anew as a whole.
The result is parsed again: if it does not give the new values, the whole text is written anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from tacit.errors import SurveyError
from tacit.survey.yaml_source import LOADER, parse

#: Texts that need no quotes, in any YAML and in any context.
_PLAIN = re.compile(r"[A-Za-z]\w*(?:[ -]\w+)*|\d+/\d+", re.ASCII)
#: Words that some version of YAML takes for something else.
_WORDS = frozenset(["null", "true", "false", "yes", "no", "on", "off", "y", "n"])
_LONGEST_LINE = 88

#: A piece of the text from one position to another, and what replaces it.
_Edit = tuple[int, int, str]


def patched(text: str, data: dict[str, Any]) -> str:
    """The text of a survey file with other values.

    >>> patched("title: Old # a comment\\nquota: 5\\n", {"title": "New", "quota": 5})
    'title: New # a comment\\nquota: 5\\n'
    """
    if text.lstrip().startswith("{"):
        return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    try:
        made = _Text(text).patched(data)
        if _same(parse(made, "survey").data, data):
            return made
    except (SurveyError, yaml.YAMLError, _RewriteError):
        pass
    return to_yaml(data)


def to_yaml(data: Any) -> str:
    """Plain values as a survey file.

    >>> to_yaml({"title": "Work: a survey", "labels": {"no": "No"}, "quota": 5})
    'title: "Work: a survey"\\nlabels: {"no": "No"}\\nquota: 5\\n'
    """
    if not isinstance(data, dict | list) or not data:
        return _flow(data) + "\n"
    return "\n".join(_lines(data, 0)) + "\n"


def comments(text: str) -> list[str]:
    """The lines of a survey file that are comments."""
    return [line.strip() for line in text.splitlines() if line.lstrip().startswith("#")]


class _RewriteError(Exception):
    """A part cannot be edited in place."""


class _Text:
    """A text, and the edits that give it other values."""

    def __init__(self, text: str) -> None:
        self.text = text

    def patched(self, data: Any) -> str:
        root = yaml.compose(self.text, Loader=LOADER)
        if root is None:
            raise _RewriteError
        old = parse(self.text, "survey").data
        return self._applied(0, len(self.text), self._edits(root, old, data, 0))

    def _applied(self, start: int, end: int, edits: list[_Edit]) -> str:
        """The text between two positions with edits."""
        parts, at = [], start
        for first, last, new in sorted(edits):
            parts += [self.text[at:first], new]
            at = last
        return "".join([*parts, self.text[at:end]])

    def _edits(self, node: Any, old: Any, new: Any, indent: int) -> list[_Edit]:
        """Edits of a value; `indent` is where its lines begin if it is written below its key."""
        if _same(old, new):
            return []
        try:
            block = isinstance(node, yaml.CollectionNode) and not node.flow_style
            if block and isinstance(old, dict) and isinstance(new, dict) and new:
                return self._mapping(node, old, new)
            if block and isinstance(old, list) and isinstance(new, list) and new:
                return [self._sequence(node, old, new)]
        except _RewriteError:
            pass
        return [self._whole(node, new, indent)]

    def _whole(self, node: Any, new: Any, indent: int) -> _Edit:
        """Replace a value by another one."""
        start, end = node.start_mark.index, self._end(node)
        before = self.text[self._line_start(start) : start]
        if not isinstance(new, dict | list) or not new or _short(new, len(before)):
            space = "" if not before or before[-1].isspace() else " "
            return start, end, space + _flow(new)
        if not before.strip(" -"):  # the value begins its line, or an item of a list
            column = node.start_mark.column
            return start, end, "\n".join(_lines(new, column))[column:]
        while self.text[start - 1] == " ":
            start -= 1
        return start, end, "\n" + "\n".join(_lines(new, indent))

    def _mapping(self, node: Any, old: dict[str, Any], new: dict[str, Any]) -> list[_Edit]:
        pairs = {key.value: (key, value) for key, value in node.value}
        column = node.start_mark.column
        found: list[_Edit] = []
        for name, (key, value) in pairs.items():
            if name in new:
                found += self._edits(value, old[name], new[name], column + 2)
            else:
                start = self._own_line(key)
                found.append((start, self._line_end(self._end(value, key)), ""))
        after: str | None = None
        added: dict[str | None, list[str]] = {}
        for name, value in new.items():
            if name in pairs:
                after = name
            else:
                added.setdefault(after, []).extend(_lines({name: value}, column))
        for name, lines in added.items():
            if name is None:
                place = self._own_line(node.value[0][0])
            else:
                key, value = pairs[name]
                place = self._line_end(self._end(value, key))
            broken = place > 0 and self.text[place - 1] != "\n"
            found.append((place, place, "\n" * broken + "\n".join(lines) + "\n"))
        return found

    def _sequence(self, node: Any, old: list[Any], new: list[Any]) -> _Edit:
        """Each new item takes over the lines of the same item, or of the most similar one."""
        column, first = node.start_mark.column, self._own_line(node)
        ends = [self._line_end(self._end(item)) for item in node.value]
        starts = [first, *ends[:-1]]
        parts = []
        for item, place in zip(new, _matches(old, new), strict=True):
            if place is None:
                part = "\n".join(_lines([item], column)) + "\n"
            else:
                edits = self._edits(node.value[place], old[place], item, column + 2)
                part = self._applied(starts[place], ends[place], edits)
            parts.append(part if part.endswith("\n") else part + "\n")
        return first, ends[-1], "".join(parts)

    def _end(self, node: Any, key: Any = None) -> int:
        """Where the last character of a value is over, without blanks and comments after it."""
        while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
            last = node.value[-1]
            key, node = last if isinstance(last, tuple) else (None, last)
        start, end = node.start_mark.index, node.end_mark.index
        found = start + len(self.text[start:end].rstrip())
        return found if found > start or key is None else int(key.end_mark.index)

    def _line_start(self, place: int) -> int:
        return self.text.rfind("\n", 0, place) + 1

    def _line_end(self, place: int) -> int:
        found = self.text.find("\n", place)
        return len(self.text) if found < 0 else found + 1

    def _own_line(self, node: Any) -> int:
        """The start of the line on which nothing is before a node."""
        start = self._line_start(node.start_mark.index)
        if self.text[start : node.start_mark.index].strip():
            raise _RewriteError
        return start


def _matches(old: list[Any], new: list[Any]) -> list[int | None]:
    """For each new item the place of an old one: the same, of the same name, or at its place."""
    free = dict.fromkeys(range(len(old)))
    found: list[int | None] = [None] * len(new)

    def take(before: list[Any], after: list[Any]) -> None:
        """Match items whose keys are equal, each of them once."""
        places: dict[Any, list[int]] = {}
        for place in reversed(free):
            places.setdefault(before[place], []).append(place)
        for at, key in enumerate(after):
            if found[at] is None and key is not None and places.get(key):
                place = found[at] = places[key].pop()
                del free[place]

    take([_canonical(item) for item in old], [_canonical(item) for item in new])
    take([_name(item) for item in old], [_name(item) for item in new])
    if len(old) == len(new):
        take(list(range(len(old))), list(range(len(new))))
    return found


def _name(item: Any) -> str | None:
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) else None


def _same(one: Any, other: Any) -> bool:
    """Equal in kind and content; the order of keys does not matter."""
    return _canonical(one) == _canonical(other)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _lines(value: Any, indent: int) -> Iterator[str]:
    """A mapping or a list in block style."""
    margin = " " * indent
    if isinstance(value, dict):
        for key, item in value.items():
            head = f"{margin}{_flow(key)}:"
            if _inline(item) or _short(item, len(head) + 1):
                yield f"{head} {_flow(item)}"
            else:
                yield head
                yield from _lines(item, indent + 2)
        return
    for item in value:
        if _inline(item) or (isinstance(item, list) and _short(item, indent + 2)):
            yield f"{margin}- {_flow(item)}"
        else:
            first, *others = _lines(item, indent + 2)
            yield f"{margin}- {first[indent + 2 :]}"
            yield from others


def _inline(value: Any) -> bool:
    return not isinstance(value, dict | list) or not value


def _short(value: Any, before: int) -> bool:
    """Whether a collection fits on the rest of a line, in flow style."""
    items = value.values() if isinstance(value, dict) else value
    return all(map(_inline, items)) and before + len(_flow(value)) <= _LONGEST_LINE


def _flow(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)
