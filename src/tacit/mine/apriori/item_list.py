"""ItemList: the categories that may occur in itemsets.

An item is a category of an attribute. An itemset has at most one item of each attribute: no record
has two answers to one question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit.core.arrays import Index
from tacit.core.design import Design
from tacit.core.schema import Label, Schema
from tacit.errors import DataError, SchemaError
from tacit.reconstruction.events import Events


@dataclass(frozen=True, eq=False)
class ItemList:
    """Items in the order of the schema: the place of each item's attribute, its code, its group."""

    schema: Schema
    attribute: Index
    code: Index
    group: Index

    @classmethod
    def of(cls, design: Design, chosen: Mapping[str, Any] | None) -> ItemList:
        """The chosen categories of each attribute; by default those of `default_codes`."""
        schema = design.schema
        pairs = sorted(_all(schema) if chosen is None else _chosen(schema, chosen))
        groups = {name: g for g, group in enumerate(design.groups) for name in group.attributes}
        attribute, code = np.array(pairs, np.intp).T
        group = np.array([groups[schema.names[a]] for a in attribute], np.intp)
        return cls(schema, attribute, code, group)

    def __len__(self) -> int:
        return len(self.code)

    @property
    def n_attributes(self) -> int:
        """How many attributes have items; no itemset is longer."""
        return len(np.unique(self.attribute))

    @property
    def names(self) -> list[str]:
        """The attributes that have items."""
        return [self.schema.names[a] for a in np.unique(self.attribute)]

    @cached_property
    def numbers(self) -> list[int]:
        """How many itemsets of length 0, 1, 2, ... there can be, whatever the records."""
        found = [1]
        for own in np.unique(self.attribute, return_counts=True)[1].tolist():
            with_own = [0, *(own * n for n in found)]
            found = [a + b for a, b in zip([*found, 0], with_own, strict=True)]
        return found

    def labels(self, itemset: Iterable[int]) -> dict[str, Label]:
        """Attribute and category of each item."""
        found = {}
        for item in itemset:
            attribute = self.schema.attributes[self.attribute[item]]
            found[attribute.name] = attribute.categories[self.code[item]]
        return found

    def events(self, itemsets: Index) -> Events:
        """The event of each itemset (itemsets x items)."""
        sizes = self.schema.sizes
        starts = np.cumsum([0, *sizes])
        allowed = np.ones((len(itemsets), starts[-1]), bool)
        rows = np.arange(len(itemsets))
        for items in itemsets.T:
            attributes = self.attribute[items]
            for a in np.unique(attributes):
                allowed[rows[attributes == a], starts[a] : starts[a + 1]] = False
            allowed[rows, starts[attributes] + self.code[items]] = True
        return Events(sizes, allowed)


def default_codes(size: int) -> list[int]:
    """The last category of a yes/no attribute; every category of a larger one.

    >>> default_codes(2), default_codes(3)
    ([1], [0, 1, 2])
    """
    return [1] if size == 2 else list(range(size))


def _all(schema: Schema) -> Iterator[tuple[int, int]]:
    for place, size in enumerate(schema.sizes):
        yield from ((place, code) for code in default_codes(size))


def _chosen(schema: Schema, chosen: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    if not isinstance(chosen, Mapping) or not chosen:
        raise SchemaError(
            "items must be a mapping from attribute to the categories that count, such as "
            f"{{'smokes': 'yes'}}, got {chosen!r}"
        )
    for name, wanted in chosen.items():
        attribute = schema[name]
        several = isinstance(wanted, list | tuple | set | frozenset)
        labels = list(wanted) if several else [wanted]
        if not labels:
            raise SchemaError(f"items: no category of {name!r} is given; leave the attribute out")
        codes = [attribute.code(label) for label in labels]
        if len(set(codes)) < len(codes):
            raise DataError(f"items: a category of {name!r} is given twice")
        yield from ((schema.index(name), code) for code in codes)
