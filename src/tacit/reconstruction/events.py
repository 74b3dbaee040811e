"""Events: conjunctions of conditions on true records, a set of allowed categories per attribute."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from tacit.core.arrays import Index, Mask
from tacit.core.design import Design
from tacit.core.schema import Schema
from tacit.errors import SchemaError, unknown


@dataclass(frozen=True, eq=False)
class Events:
    """`allowed` is events x categories; the categories of all attributes are side by side.

    Each event may be parted further by the categories of the `fixed` attributes, the last one
    running fastest; parts are only expanded on demand.
    """

    sizes: tuple[int, ...]
    allowed: Mask
    fixed: tuple[int, ...] = ()

    @classmethod
    def certain(cls, sizes: Sequence[int]) -> Events:
        """The one event that allows every record."""
        return cls(tuple(sizes), np.ones((1, sum(sizes)), dtype=bool))

    @classmethod
    def conjunction(cls, sizes: Sequence[int], conditions: Mapping[int, Sequence[int]]) -> Events:
        """The one event that allows these codes of each attribute, and any of the others."""
        found = cls.certain(sizes)
        for a, codes in conditions.items():
            found.allowed[0, found.span(a)] = np.isin(np.arange(sizes[a]), codes)
        return found

    def __len__(self) -> int:
        return len(self.allowed) * self._parts

    @property
    def _parts(self) -> int:
        return math.prod(self.sizes[a] for a in self.fixed)

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate(self.sizes, initial=0))

    def span(self, a: int) -> slice:
        """The columns of an attribute's categories in `allowed`."""
        return slice(self._starts[a], self._starts[a + 1])

    def of(self, a: int) -> Mask:
        """Which categories of an attribute each event allows."""
        if not self.fixed:
            return self.allowed[:, self.span(a)]
        if a not in self.fixed:
            return np.repeat(self.allowed[:, self.span(a)], self._parts, axis=0)
        place = self.fixed.index(a)
        after = math.prod(self.sizes[b] for b in self.fixed[place + 1 :])
        own = np.repeat(np.eye(self.sizes[a], dtype=bool), after, axis=0)
        return np.tile(own, (len(self) // len(own), 1))

    def parted(self, attributes: Sequence[int]) -> Events:
        """Every event parted by the categories of these attributes."""
        return self.with_fixed((*self.fixed, *attributes))

    def with_fixed(self, attributes: tuple[int, ...]) -> Events:
        """The events parted by the categories of these attributes and no others."""
        return Events(self.sizes, self.allowed, attributes)

    def take(self, places: Index | slice) -> Events:
        """Some of the events, none of them parted."""
        return Events(self.sizes, self.allowed[places])

    def choices(self) -> Index:
        """How many categories of each attribute are allowed, events x attributes."""
        starts = self._starts[:-1]
        return np.asarray(np.add.reduceat(self.allowed.astype(np.uint16), starts, axis=1))

    def padded(self, attribute: Index) -> Mask:
        """Which categories of its attribute each event allows, events x the most categories."""
        places = np.array(self._starts)[attribute][:, None] + np.arange(max(self.sizes))
        rows = np.arange(len(attribute))[:, None]
        return np.asarray(self.allowed[rows, places % self._starts[-1]])

    def below(self, parents: Index, attribute: Index, allowed: Mask) -> Events:
        """Events with one more condition each; `allowed` is padded to the most categories."""
        found = self.allowed[parents]
        for a in np.unique(attribute):
            here, span = np.flatnonzero(attribute == a), self.span(a)
            found[here, span] &= allowed[here, : span.stop - span.start]
        return Events(self.sizes, found)


def event_codes(
    event: Mapping[str, Any], schema: Schema, what: str = "event"
) -> dict[int, list[int]]:
    """The allowed codes of each attribute that an event names; a list allows any of its labels."""
    if not isinstance(event, Mapping) or not event:
        raise SchemaError(
            f"the {what} names no attribute: give a mapping such as "
            f"{{'smokes': 'yes'}}, got {event!r}"
        )
    allowed = {name: _listed(labels) for name, labels in event.items()}
    codes = {schema.index(n): list(map(schema[n].code, own)) for n, own in allowed.items()}
    for name, labels in allowed.items():
        if not labels:
            raise SchemaError(f"the {what} allows no category of {name!r}; give at least one")
    return codes


def event_text(event: Mapping[str, Any]) -> str:
    """The conditions of an event, as in "smokes = yes, income = mid or high"."""
    return ", ".join(f"{n} = {' or '.join(map(str, _listed(own)))}" for n, own in event.items())


def _listed(labels: Any) -> list[Any]:
    return list(labels) if isinstance(labels, list | tuple | set | frozenset) else [labels]


# Condition: an event as a user writes it, checked against a design and in words.


@dataclass(frozen=True, eq=False)
class Condition:
    """Allowed codes by the attribute's name, and the event in words."""

    codes: Mapping[str, tuple[int, ...]]
    text: str

    @property
    def names(self) -> list[str]:
        """The attributes that it names."""
        return list(self.codes)

    def __and__(self, other: Condition) -> Condition:
        """Both together; an attribute that both name must be allowed by both."""
        joint = dict(self.codes)
        for name, own in other.codes.items():
            joint[name] = tuple(c for c in joint.get(name, own) if c in own)
            if not joint[name]:
                raise SchemaError(
                    f"{self.text} and {other.text} exclude each other: no category of {name!r} "
                    "meets both"
                )
        return Condition(joint, f"{self.text}, {other.text}")


def check_known(design: Design, names: Any) -> None:
    """Raise if a name is no attribute; the error says how columns are used."""
    for name in names if isinstance(names, Mapping | list | tuple) else ():
        if name not in design.schema:
            message = unknown("attribute", name, design.schema.names)
            raise SchemaError(f"{message}; a column is given to reconstruct, as columns=[{name!r}]")


def condition_of(design: Design, event: Any, what: str = "event") -> Condition:
    """Check an event: a mapping from attributes to a category, or to a list of categories."""
    check_known(design, event)
    codes = event_codes(event, design.schema, what)
    names = [design.schema.names[place] for place in codes]
    design.channel(design.closure(names)).require_reconstructable()
    return Condition(dict(zip(names, map(tuple, codes.values()), strict=True)), event_text(event))


def events_of(design: Design, conditions: Sequence[Condition]) -> Events:
    """The events of several conditions."""
    schema = design.schema
    each = [
        Events.conjunction(schema.sizes, {schema.index(n): own for n, own in c.codes.items()})
        for c in conditions
    ]
    return Events(schema.sizes, np.concatenate([event.allowed for event in each]))
