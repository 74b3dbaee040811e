"""Condition: an event as a user writes it, checked against a design and in words."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.design import Design
from tacit.errors import SchemaError, unknown
from tacit.reconstruction.events import Events, event_codes, event_text
from tacit.reconstruction.report_weights import ReportWeights, event_weights


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


def condition_products(
    reports: ReportWeights, design: Design, conditions: Sequence[Condition]
) -> Array:
    """Weights of every pattern for both of two conditions, patterns x conditions x conditions."""
    n = len(conditions)
    found = np.zeros((len(reports.patterns), n, n))
    for i, j in itertools.combinations_with_replacement(range(n), 2):
        first, second = conditions[i], conditions[j]
        shared = set(first.codes) & set(second.codes)
        if all(set(first.codes[name]) & set(second.codes[name]) for name in shared):
            own = condition_weights(reports, design, [first & second])[:, 0]
            found[:, i, j] = found[:, j, i] = own
    return found


def condition_weights(
    reports: ReportWeights, design: Design, conditions: Sequence[Condition]
) -> Array:
    """Weights of every pattern for several conditions, patterns x conditions."""
    names = dict.fromkeys(name for c in conditions for name in c.codes)
    design.channel(design.closure(tuple(names))).require_reconstructable()
    return event_weights(reports, events_of(design, conditions))
