"""MergeOffer: hidden groups of a question that can be shown as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core.schema import Attribute
from tacit.studio.disclosure import hidden_blocks
from tacit.studio.recoding import MERGED, Recoding, unchanged
from tacit.studio.release import Release


@dataclass(frozen=True)
class MergeOffer:
    """Groups of a question, with their categories; merged, fewer cells of a table are hidden."""

    attribute: Attribute
    labels: tuple[str, ...]
    categories: tuple[Any, ...]

    def fields(self, form: Mapping[str, str]) -> dict[str, str] | None:
        """The fields of a form that merge them; None if it has two merged groups already."""
        name, codes = self.attribute.name, set(map(self.attribute.code, self.categories))
        others = {
            form.get(f"{name}.{code}") for code in range(self.attribute.size) if code not in codes
        }
        free = [key for key in MERGED if key not in others]
        return {f"{name}.{code}": free[0] for code in sorted(codes)} if free else None


def merge_offer(
    release: Release, names: Sequence[str], recodings: Mapping[str, Recoding]
) -> MergeOffer | None:
    """The groups to merge in a table so that fewest of its cells are hidden; None if nothing helps.

    `names` are the questions of the table, the one of the answers last. Groups of the question
    before it are tried first.
    """
    schema = release.survey.design.schema
    parts = [recodings.get(name, unchanged(schema[name])) for name in names]
    codes = [part.codes(schema[part.name]) for part in parts]
    hidden = hidden_blocks(release, names, codes)
    best, least = None, float(hidden.mean())
    for axis in sorted(range(len(parts)), key=lambda axis: axis != len(parts) - 2):
        lines = np.moveaxis(hidden, axis, 0).reshape(len(parts[axis].groups), -1)
        places = np.flatnonzero(lines.any(axis=1))
        if not 2 <= len(places) < len(parts[axis].groups):
            continue
        merged = [codes[axis][k] for k in range(len(lines)) if k not in places]
        merged.append([code for k in places for code in codes[axis][k]])
        left = float(
            hidden_blocks(release, names, [*codes[:axis], merged, *codes[axis + 1 :]]).mean()
        )
        if left < least:
            groups = [parts[axis].groups[k] for k in places]
            labels = tuple(label for label, _ in groups)
            categories = tuple(category for _, group in groups for category in group)
            best, least = MergeOffer(schema[names[axis]], labels, categories), left
    return best
