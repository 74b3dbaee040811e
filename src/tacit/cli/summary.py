"""What a design promises and costs, as plain values for the screen and for JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tacit.design import Design, Group


def summary(design: Design) -> dict[str, Any]:
    """Privacy and condition of each attribute, each group and the whole record."""
    number = {name: i for i, g in enumerate(design.groups, start=1) for name in g.attributes}
    record = design.channel(design.schema.names)
    return {
        "tacit": "design-check",
        "version": 1,
        "fingerprint": design.fingerprint,
        "groups": [_group(design, group) for group in design.groups],
        "attributes": [
            {
                "name": attribute.name,
                "categories": list(attribute.categories),
                "group": number[attribute.name],
                # An attribute of a joint matrix has no channel of its own: that of its group.
                **_figures(design, design.closure([attribute.name])),
            }
            for attribute in design.schema
        ],
        "record": {"epsilon": record.epsilon, "condition": record.condition},
        "notes": list(_notes(design)),
    }


def _group(design: Design, group: Group) -> dict[str, Any]:
    return {
        "attributes": list(group.attributes),
        "coin": group.coin.to_dict(),
        **_figures(design, group.attributes),
    }


def _figures(design: Design, names: tuple[str, ...]) -> dict[str, Any]:
    channel = design.channel(names)
    return {
        "epsilon": channel.epsilon,
        "condition": channel.condition,
        "reconstructable": channel.reconstructable,
    }


def _notes(design: Design) -> Iterator[str]:
    """What the figures alone do not make plain."""
    for number, group in enumerate(design.groups, start=1):
        if math.isfinite(design.channel(group.attributes).epsilon):
            continue
        if group.coin.family == "truthful":
            yield f"group {number} is not disguised: its answers are reported as they are."
        elif group.coin.family == "related" and len(group.attributes) > 1:
            yield (
                f"group {number} answers all its questions truthfully or all untruthfully, so a "
                "record discloses the relation between the answers: its epsilon is infinite, "
                "though each answer alone is protected."
            )
        else:
            yield f"group {number} has reports that rule out some true answers for certain."
