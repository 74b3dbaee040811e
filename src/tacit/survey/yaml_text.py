"""The YAML of survey files: plain values with their lines, and changed values written into a text.

The rules are those of YAML 1.2: `no` and `yes` are texts, and so is a date until a field converts
it. Anchors, tags and duplicate keys are errors. JSON is parsed as JSON; only its line numbers come
from the YAML parser.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from tacit.errors import SurveyError
from tacit.output.json_documents import syntax_error, unique_keys

#: Keys and positions that lead to a value of the file.
Place = tuple[str | int, ...]
#: What is wrong, and where.
PlacedProblem = tuple[Place, str]

#: libyaml accepts a text such as `Do you smoke?` in braces, as YAML 1.2 does; PyYAML's own parser
#: does not, and is used where libyaml is missing.
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
    twice: list[PlacedProblem] = field(default_factory=list)

    def at(self, place: Place, message: str) -> str:
        """The message with file, line and place."""
        path = ""
        for step in place:  # an unprintable key is quoted
            readable = isinstance(step, str) and step.isprintable()
            path += f"[{step}]" if isinstance(step, int) else f".{step if readable else repr(step)}"
        shown = f"{path.removeprefix('.')}: " if path else ""
        return f"{self.name}:{self.line(place)}: {shown}{message}"

    def line(self, place: Place) -> int:
        """The line of a place, or of the nearest existing part around it."""
        while place not in self.lines:
            place = place[:-1]
        return self.lines[place]


def parse(text: str, name: str) -> SurveySource:
    """The values of a survey file; `name` appears in errors."""
    try:
        return _json(text, name) if text.lstrip().startswith("{") else _yaml(text, name)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        written = "".join(text.splitlines()[line - 1 : line]).strip()
        quoted = in_quotes(written)
        advice = "" if quoted == written else f"; put texts in quotes: {quoted}"
        what = f"not YAML: {error.problem or error}{advice}"
        raise SurveyError([f"{name}:{line}: {what}"]) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        what = f"the character U+{error.character:04X} is not allowed in YAML"
        raise SurveyError([f"{name}:{line}: {what}"]) from None
    except _LineError as error:
        raise SurveyError([f"{name}:{error.line}: {error}"]) from None
    except RecursionError:
        raise SurveyError([f"{name}:1: is nested too deeply"]) from None


def _yaml(text: str, name: str) -> SurveySource:
    _refuse(text)
    source = SurveySource(name)
    root = yaml.compose(text, Loader=LOADER)
    if root is not None:
        source.data = _value(root, (), source)
    return source


def _refuse(text: str) -> None:
    """Raise on deep nesting, anchors and tags before any value is built."""
    depth = 0
    for token in yaml.scan(text, Loader=LOADER):
        depth += isinstance(token, _OPENING) - isinstance(token, _CLOSING)
        if depth > _DEEPEST:
            raise _LineError(token, "is nested too deeply")
        if isinstance(token, yaml.AnchorToken | yaml.AliasToken | yaml.TagToken):
            kind = type(token).__name__.removesuffix("Token").lower()
            what = f"{kind}s (&, *, !) are not allowed; write it out, or in quotes if it is text"
            raise _LineError(token, what)


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
        inner = (*place, key.value)
        if key.value in content:
            what = f"the key {key.value!r} appears twice; write each key once"
            source.twice.append((inner, what))
        source.lines[inner] = key.start_mark.line + 1
        content[key.value] = _value(item, inner, source)
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
        lines = _yaml(_SURROGATE.sub(r"\\u0020", text.replace("\t", " ")), name).lines
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
    match = re.fullmatch(rf"({_KEY})(.*)", line)
    if match is None:
        return line
    key, value = match[1], match[2]
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


# Writing changed values into a text --------------------------------------------------------------
#
# What is unchanged keeps its words and comments. The text is compared with the new values from the
# root down. Where a block mapping or a block sequence differs, only the differing lines are
# replaced; anything else is written anew as a whole. The result is parsed again: if it does not
# give the new values, the whole text is written anew.


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
        edited = _Text(text).patched(data)
        if _same(parse(edited, "survey").data, data):
            return edited
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
        edits: list[_Edit] = []
        for name, (key, value) in pairs.items():
            if name in new:
                edits += self._edits(value, old[name], new[name], column + 2)
            else:
                edits.append((self._own_line(key), self._line_end(self._end(value, key)), ""))
        after: str | None = None
        added: dict[str | None, list[str]] = {}
        for name, value in new.items():
            if name in pairs:
                after = name
            else:
                added.setdefault(after, []).extend(_lines({name: value}, column))
        for name, lines in added.items():
            if name is None:
                position = self._own_line(node.value[0][0])
            else:
                key, value = pairs[name]
                position = self._line_end(self._end(value, key))
            broken = position > 0 and self.text[position - 1] != "\n"
            edits.append((position, position, "\n" * broken + "\n".join(lines) + "\n"))
        return edits

    def _sequence(self, node: Any, old: list[Any], new: list[Any]) -> _Edit:
        """Each new item takes over the lines of the same item, or of the most similar one."""
        column, first = node.start_mark.column, self._own_line(node)
        ends = [self._line_end(self._end(item)) for item in node.value]
        starts = [first, *ends[:-1]]
        parts = []
        for item, position in zip(new, _matches(old, new), strict=True):
            if position is None:
                part = "\n".join(_lines([item], column)) + "\n"
            else:
                edits = self._edits(node.value[position], old[position], item, column + 2)
                part = self._applied(starts[position], ends[position], edits)
            parts.append(part if part.endswith("\n") else part + "\n")
        return first, ends[-1], "".join(parts)

    def _end(self, node: Any, key: Any = None) -> int:
        """Where the last character of a value is over, without blanks and comments after it."""
        while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
            last = node.value[-1]
            key, node = last if isinstance(last, tuple) else (None, last)
        start, end = node.start_mark.index, node.end_mark.index
        last_character = start + len(self.text[start:end].rstrip())
        return last_character if last_character > start or key is None else int(key.end_mark.index)

    def _line_start(self, position: int) -> int:
        return self.text.rfind("\n", 0, position) + 1

    def _line_end(self, position: int) -> int:
        end = self.text.find("\n", position)
        return len(self.text) if end < 0 else end + 1

    def _own_line(self, node: Any) -> int:
        """The start of the line on which nothing is before a node."""
        start = self._line_start(node.start_mark.index)
        if self.text[start : node.start_mark.index].strip():
            raise _RewriteError
        return start


def _matches(old: list[Any], new: list[Any]) -> list[int | None]:
    """For each new item the place of an old one: the same, of the same name, or at its place."""
    free = dict.fromkeys(range(len(old)))
    matches: list[int | None] = [None] * len(new)

    def take(before: list[Any], after: list[Any]) -> None:
        """Match items whose keys are equal, each of them once."""
        positions: dict[Any, list[int]] = {}
        for position in reversed(free):
            positions.setdefault(before[position], []).append(position)
        for at, key in enumerate(after):
            if matches[at] is None and key is not None and positions.get(key):
                position = matches[at] = positions[key].pop()
                del free[position]

    take([_canonical(item) for item in old], [_canonical(item) for item in new])
    take([_name(item) for item in old], [_name(item) for item in new])
    if len(old) == len(new):
        take(list(range(len(old))), list(range(len(new))))
    return matches


def _name(item: Any) -> str | None:
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) else None


def _same(value: Any, other: Any) -> bool:
    """Equal in kind and content; the order of keys does not matter."""
    return _canonical(value) == _canonical(other)


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
