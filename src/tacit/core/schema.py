"""The schema of a record: its attributes in order, written as JSON or inferred from a frame.

An attribute is a question and its ordered categories. A code is the position of a category. Labels
are compared by their text: 1, 1.0 and "1" are the same label, so are True and "True"; False and 0
are not, nor are "1" and "1.0".
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from tacit.core.arrays import Array
from tacit.errors import FileError, SchemaError, unknown
from tacit.output.json_documents import parse_json

Label = str | int | bool | float
T = TypeVar("T")

#: Python does not print integers of over 4,300 digits.
MOST_DIGITS = 1000
_ENDLESS = 10**MOST_DIGITS


@dataclass(frozen=True, init=False)
class Attribute:
    """A question and its ordered categories; the code of a category is its position.

    missing: the category that missing cells are coded as. Without one, they are an error.
    edges: cut points of a binned attribute, whose category i holds the values v with
    edges[i-1] < v <= edges[i], so there is one category more than edges, and after these the
    missing one if there is one. Its categories are text: a numeric column always holds values
    to be binned, a text column always holds categories.
    aliases: further words, one per category, by which records may name it. They are not part of
    what is published, so attributes that differ only in them are equal.
    """

    name: str
    categories: tuple[Label, ...]
    missing: Label | None = None
    edges: tuple[float, ...] = ()
    aliases: tuple[str, ...] = ()

    def __init__(
        self,
        name: str,
        categories: Iterable[Label],
        missing: Label | None = None,
        edges: Iterable[float] = (),
        aliases: Sequence[str] = (),
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise SchemaError(f"the name of an attribute must be a non-empty text, got {name!r}")
        self._set("name", name)
        at = f"attribute {name!r}:"
        listed = in_order(categories, f"{at} categories")
        self._set("categories", tuple(_plain(label, name) for label in listed))
        cuts = in_order(edges, f"{at} edges")
        self._set("edges", tuple(as_edge(edge, name) for edge in cuts))
        self._set("aliases", tuple(aliases))
        self._check_categories()
        missing_label = (
            None if missing is None else self.categories[self.code(missing, "as missing of")]
        )
        self._set("missing", missing_label)
        if self.edges:
            self._check_edges()

    @property
    def size(self) -> int:
        """The number of categories."""
        return len(self.categories)

    def find(self, label: object) -> int | None:
        """The code of a category, or None if there is no such category."""
        plain = _unboxed(label)
        return self.codes.get(text(plain)) if _is_label(plain) else None

    def code(self, label: object, role: str = "of") -> int:
        """The code of a category; if there is none, an error that names the nearest one."""
        code = self.find(label)
        if code is None:
            where = f" {role} attribute {self.name!r}"
            raise SchemaError(unknown("category", _printable(label), self.categories, where))
        return code

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; missing and edges only if set."""
        plain: dict[str, Any] = {"name": self.name, "categories": list(self.categories)}
        if self.missing is not None:
            plain["missing"] = self.missing
        if self.edges:
            plain["edges"] = list(self.edges)
        return plain

    def __eq__(self, other: object) -> bool:
        """Same name, labels of the same type, missing and edges: True is not 1 here."""
        if not isinstance(other, Attribute):
            return NotImplemented
        return self._identity == other._identity

    def __hash__(self) -> int:
        return hash((self.name, self.categories))

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        kinds = tuple(type(label) for label in self.categories)
        return self.name, self.categories, kinds, self.missing, self.edges

    @cached_property
    def codes(self) -> dict[str, int]:
        """The code of every text that names a category; a category precedes an alias."""
        named = {text(label): code for code, label in enumerate(self.categories)}
        return {word: code for code, word in enumerate(self.aliases)} | named

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)

    def _check_categories(self) -> None:
        if self.size < 2:
            raise SchemaError(
                f"attribute {self.name!r}: needs 2 or more categories, got {self.size}"
            )
        if len({text(label) for label in self.categories}) < self.size:
            texts = [text(label) for label in self.categories]
            twice = next(t for i, t in enumerate(texts) if t in texts[:i])
            raise SchemaError(
                f"attribute {self.name!r}: categories must be distinct as text, "
                f"{twice!r} comes more than once"
            )

    def _check_edges(self) -> None:
        at = f"attribute {self.name!r}"
        if any(high <= low for low, high in pairwise(self.edges)):
            raise SchemaError(f"{at}: edges must increase strictly, got {list(self.edges)}")
        expected = len(self.edges) + 1 + (self.missing is not None)
        if self.size != expected:
            raise SchemaError(
                f"{at}: {len(self.edges)} edges need {expected} categories "
                f"(one more than edges, and the missing one if any), got {self.size}"
            )
        if self.missing is not None and self.find(self.missing) != self.size - 1:
            raise SchemaError(f"{at}: the missing category of a binned attribute must be the last")
        for label in self.categories:
            if not isinstance(label, str):
                raise SchemaError(f"{at}: categories of a binned attribute must be text: {label!r}")


#: Learns a binned attribute from its name and the values of a column (see tacit.core.binning).
BinningRule = Callable[[str, Array], Attribute]


def text(label: Label) -> str:
    """The text by which labels are compared: 2.0 gives "2", True gives "True"."""
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def in_order(values: Iterable[T], what: str) -> Iterator[T]:
    """The items of a list or another ordered iterable; an error for anything else."""
    try:
        items = iter(values)
    except TypeError:
        items = None
    if items is None or isinstance(values, str | bytes | bytearray | set | frozenset):
        unordered = " (a set has no order)" if isinstance(values, set | frozenset) else ""
        raise SchemaError(f"{what} must be a list{unordered}, got {_printable(values)!r}")
    return items


def _is_label(label: object) -> bool:
    if type(label) is float:
        return math.isfinite(label)
    return type(label) in (str, int, bool) and not _is_endless(label)


def _is_endless(label: object) -> bool:
    return isinstance(label, int) and abs(label) >= _ENDLESS


def _printable(value: object) -> object:
    return f"an integer of over {MOST_DIGITS} digits" if _is_endless(value) else value


def _unboxed(label: object) -> Any:
    """NumPy scalars as plain values; whole decimals as integers."""
    if isinstance(label, Decimal) and label.is_finite() and label.adjusted() < MOST_DIGITS:
        return int(label) if label == label.to_integral_value() else label
    return label.item() if isinstance(label, np.generic) else label


def _plain(label: Label, name: str) -> Label:
    plain: Label = _unboxed(label)
    if not _is_label(plain):
        allowed = "a text, an integer, a boolean or a finite float"
        raise SchemaError(
            f"attribute {name!r}: a category must be {allowed}, got {_printable(label)!r}"
        )
    return plain


def as_edge(edge: float, name: str) -> float:
    """A finite number as float; the error names the attribute."""
    plain = _unboxed(edge)
    number = isinstance(plain, int | float) and not isinstance(plain, bool)
    if not number or not abs(plain) <= sys.float_info.max:
        shown = _printable(plain)
        raise SchemaError(f"attribute {name!r}: an edge must be a finite number, got {shown!r}")
    return float(plain)


__all__ = ["Attribute", "BinningRule", "Label", "Schema"]


@dataclass(frozen=True, init=False)
class Schema:
    """The attributes of a record, in order; at least one, with distinct names."""

    attributes: tuple[Attribute, ...]

    def __init__(self, attributes: Iterable[Attribute]) -> None:
        listed = in_order(attributes, "the attributes of a schema")
        object.__setattr__(self, "attributes", tuple(listed))
        if not self.attributes:
            raise SchemaError("a schema needs at least one attribute")
        taken: set[str] = set()
        for i, attribute in enumerate(self.attributes):
            where = f"attributes[{i}]"
            if not isinstance(attribute, Attribute):
                raise SchemaError(f"{where}: must be an Attribute, got {type(attribute).__name__}")
            if attribute.name in taken:
                raise SchemaError(f"{where}: the name {attribute.name!r} is taken")
            taken.add(attribute.name)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of categories of each attribute."""
        return tuple(attribute.size for attribute in self.attributes)

    def index(self, name: str) -> int:
        """The position of an attribute; an error that names the nearest one."""
        if name not in self:
            raise SchemaError(unknown("attribute", name, self.names))
        return self._places[name]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    def subset(self, names: Iterable[str]) -> Schema:
        """The schema of these attributes, in the order asked."""
        return Schema([self[name] for name in names])

    def without(self, name: str) -> Schema:
        """The schema of the other attributes."""
        return self.subset([other for other in self.names if other != name])

    def __getitem__(self, name: str) -> Attribute:
        return self.attributes[self.index(name)]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._places

    def __len__(self) -> int:
        return len(self.attributes)

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"attributes": [attribute.to_dict() for attribute in self.attributes]}

    def to_json(self) -> str:
        """JSON text; from_json gives back an equal schema."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_dict(cls, plain: object) -> Schema:
        """The schema that to_dict wrote; an error names the place that is wrong."""
        listed = _fields(plain, "schema", ("attributes",))["attributes"]
        if not isinstance(listed, list):
            raise SchemaError(f"attributes: must be a list, got {type(listed).__name__}")
        return cls([_attribute(item, f"attributes[{i}]") for i, item in enumerate(listed)])

    @classmethod
    def from_json(cls, source: str) -> Schema:
        """The schema that to_json wrote."""
        try:
            return cls.from_dict(parse_json(source, "schema"))
        except FileError as error:
            raise SchemaError(str(error)) from None

    @classmethod
    def infer(
        cls,
        frame: object,
        bins: Mapping[str, BinningRule] | None = None,
        missing: Label | None = None,
        max_categories: int = 64,
    ) -> Schema:
        """A schema of every column of a frame, inferred from its values.

        Text is sorted; ordered categoricals keep their declared categories and order; booleans
        are False, True; integers (also stored as floats) ascend. A column in `bins` is binned.
        Missing cells are an error unless `missing` names the category appended for them.
        """
        from tacit.core import binning

        return cls(binning.attributes(frame, bins or {}, missing, max_categories))


def _fields(
    plain: object, where: str, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, Any]:
    if not isinstance(plain, dict):
        raise SchemaError(f"{where}: must be an object, got {type(plain).__name__}")
    for key in plain:
        if key not in required + optional:
            raise SchemaError(unknown("key", key, required + optional, f" in {where}"))
    for key in required:
        if key not in plain:
            raise SchemaError(f"{where}: the key {key!r} is missing")
    return plain


def _attribute(plain: object, where: str) -> Attribute:
    fields = _fields(plain, where, ("name", "categories"), ("missing", "edges"))
    for key in ("categories", "edges"):
        if not isinstance(fields.get(key, []), list):
            kind = type(fields[key]).__name__
            raise SchemaError(f"{where}.{key}: must be a list, got {kind}")
    if "missing" in fields and fields["missing"] is None:
        raise SchemaError(f"{where}.missing: must be a category, got null")
    try:
        return Attribute(**fields)
    except SchemaError as error:
        raise SchemaError(f"{where}: {error}") from None
