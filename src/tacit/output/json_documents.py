"""The JSON files of tacit: one reader that checks syntax, kind, version and keys.

Every document is an object that starts with its kind and its version:

    {"tacit": "design", "version": 1, ...}
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from tacit.errors import FileError, TacitError, unknown


@dataclass(frozen=True)
class DocumentFormat:
    """A kind of document; `keys` are those of each version, besides "tacit" and "version".

    `name` is what errors call the document, such as "design file".
    """

    kind: str
    name: str
    keys: tuple[tuple[str, ...], ...]
    optional: tuple[str, ...] = ()

    @property
    def newest(self) -> int:
        """The version that is written; this one and all older ones are read."""
        return len(self.keys)

    @property
    def header(self) -> dict[str, Any]:
        """The first two keys of a document of the newest version."""
        return {"tacit": self.kind, "version": self.newest}


def read_document(text: str, *formats: DocumentFormat) -> dict[str, Any]:
    """The content of a document in one of these formats, which share a name."""
    return check_document(parse_json(text, formats[0].name), *formats)


def check_document(content: Any, *formats: DocumentFormat) -> dict[str, Any]:
    """`content`, if it has the kind, a known version and exactly the keys of a format."""
    name = formats[0].name
    kind = content.get("tacit") if isinstance(content, Mapping) else None
    document = next((candidate for candidate in formats if candidate.kind == kind), None)
    if document is None:
        kinds = " or ".join(f'"{candidate.kind}"' for candidate in formats)
        raise FileError(f'not a {name}: it must be a JSON object with "tacit": {kinds}')
    version = content.get("version")
    if type(version) is not int or version < 1:
        raise FileError(f"the version of the {name} must be a positive integer, got {version!r}")
    if version > document.newest:
        raise FileError(
            f"the {name} has version {version}, this tacit reads up to {document.newest}; "
            "upgrade tacit"
        )
    required = ("tacit", "version", *document.keys[version - 1])
    for key in content:
        if key not in required + document.optional:
            raise FileError(unknown("key", key, required + document.optional, f" in the {name}"))
    for key in required:
        if key not in content:
            raise FileError(f"not a {name}: the key {key!r} is missing")
    return dict(content)


@contextmanager
def reading(name: str) -> Iterator[None]:
    """What fails inside as a FileError: the content, of the right keys, is not a `name`."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        kind = "" if isinstance(error, TacitError) else f"{type(error).__name__}: "
        raise FileError(f"not a {name}: {kind}{error}") from None


def fingerprint_of(content: Any) -> str:
    """SHA-256 of JSON in canonical form: the order of keys does not matter."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def parse_json(text: str, name: str) -> Any:
    """The value in JSON text called `name`; duplicate keys, NaN and Infinity are errors."""
    try:
        return json.loads(text, object_pairs_hook=unique_keys, parse_constant=_reject_constant)
    except json.JSONDecodeError as error:
        raise FileError(f"not a {name}: {syntax_error(error)}") from None
    except RecursionError:
        raise FileError(f"not a {name}: it is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise FileError(f"not a {name}: {error}") from None


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs; ValueError if a key appears twice (for `object_pairs_hook`)."""
    content = dict(pairs)
    if len(content) < len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice!r} appears twice in one object")
    return content


def syntax_error(error: json.JSONDecodeError) -> str:
    """The line where text stops being JSON, and why.

    >>> try: _ = json.loads("{")
    ... except json.JSONDecodeError as error: syntax_error(error)
    'not JSON in line 1 (expecting property name enclosed in double quotes)'
    """
    return f"not JSON in line {error.lineno} ({error.msg[:1].lower()}{error.msg[1:]})"


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


#: Reads as `parse_json` does, without the cost of a new decoder for each text.
DECODER = json.JSONDecoder(object_pairs_hook=unique_keys, parse_constant=_reject_constant)
