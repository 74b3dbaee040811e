"""The schema of a record: its attributes in order, written as JSON or inferred from a frame."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tacit.core.attribute import Attribute, BinningRule, Label, in_order
from tacit.errors import FileError, SchemaError, unknown
from tacit.output.json_documents import parse_json

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
        for place, attribute in enumerate(self.attributes):
            where = f"attributes[{place}]"
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
        return {name: place for place, name in enumerate(self.names)}

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
        from tacit.core import schema_inference

        return cls(schema_inference.attributes(frame, bins or {}, missing, max_categories))


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
