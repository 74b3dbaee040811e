"""Events as a user writes them: checked against a design, as codes and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core.channel.weights import Events
from tacit.core.design import Design
from tacit.core.schema import Schema
from tacit.errors import SchemaError, unknown


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
    codes = {schema.index(n): list(map(schema[n].code, labels)) for n, labels in allowed.items()}
    for name, labels in allowed.items():
        if not labels:
            raise SchemaError(f"the {what} allows no category of {name!r}; give at least one")
    return codes


def event_text(event: Mapping[str, Any]) -> str:
    """The conditions of an event, as in "smokes = yes, income = mid or high"."""
    return ", ".join(f"{n} = {' or '.join(map(str, _listed(c)))}" for n, c in event.items())


def _listed(labels: Any) -> list[Any]:
    return list(labels) if isinstance(labels, list | tuple | set | frozenset) else [labels]


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
        for name, codes in other.codes.items():
            joint[name] = tuple(c for c in joint.get(name, codes) if c in codes)
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
    names = [design.schema.names[index] for index in codes]
    design.channel(design.jointly_reported(names)).require_reconstructable()
    return Condition(dict(zip(names, map(tuple, codes.values()), strict=True)), event_text(event))


def events_of(design: Design, conditions: Sequence[Condition]) -> Events:
    """The events of several conditions."""
    schema = design.schema
    events = [
        Events.conjunction(schema.sizes, {schema.index(n): codes for n, codes in c.codes.items()})
        for c in conditions
    ]
    return Events(schema.sizes, np.concatenate([event.allowed for event in events]))
