"""Expected distributions and scores as users write them, checked."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.schema import Attribute
from tacit.errors import DataError, SchemaError, unknown

#: Expected shares may miss a sum of 1 by this much.
_ROUNDED = 1e-6


def expected_shares(expected: Any, attributes: Sequence[Attribute]) -> Array:
    """An expected distribution: a table with one axis per attribute, or a mapping from labels."""
    shape = tuple(a.size for a in attributes)
    if isinstance(expected, Mapping):
        expected = _from_mapping(expected, attributes)
    try:
        shares = np.asarray(expected, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"expected must be a table of shares: {error}") from None
    if shares.shape != shape or not np.isfinite(shares).all() or shares.min() < 0:
        raise DataError(
            f"expected must have shape {shape}, one axis per attribute, and no negative share; "
            f"got shape {shares.shape}"
        )
    if abs(shares.sum() - 1) > _ROUNDED:
        raise DataError(f"expected shares must sum to 1, got {shares.sum():.6g}")
    return np.asarray(shares / shares.sum())


def _from_mapping(expected: Mapping[Any, Any], attributes: Sequence[Attribute]) -> Array:
    """Shares by label, or by tuples of labels if there are several attributes."""
    table = np.full([a.size for a in attributes], np.nan)
    for key, share in expected.items():
        labels = key if isinstance(key, tuple) and len(attributes) > 1 else (key,)
        if len(labels) != len(attributes):
            raise SchemaError(
                f"expected names {key!r}; give one label for each of "
                f"{', '.join(a.name for a in attributes)}"
            )
        table[tuple(a.code(label) for a, label in zip(attributes, labels, strict=True))] = share
    for place in np.argwhere(np.isnan(table)):
        cells = itertools.starmap(lambda a, i: a.categories[i], zip(attributes, place, strict=True))
        raise DataError(f"expected has no share of {', '.join(map(str, cells))}")
    return table


def scores_of(
    scores: Mapping[str, Sequence[float]] | None, attributes: Sequence[Attribute]
) -> tuple[Array, Array]:
    """A score for each category of both attributes: its place, unless scores are given."""
    given = dict(scores or {})
    names = [a.name for a in attributes]
    for name in given:
        if name not in names:
            raise SchemaError(unknown("attribute", name, names, " in scores"))
    found = []
    for attribute in attributes:
        own = given.get(attribute.name, range(attribute.size))
        points = np.asarray(list(own), dtype=np.float64)
        if points.shape != (attribute.size,) or not np.isfinite(points).all():
            raise DataError(
                f"{attribute.name!r} has {attribute.size} categories and needs as many scores, "
                f"got {list(own)}"
            )
        if points.min() == points.max():
            raise DataError(f"the scores of {attribute.name!r} are all {points[0]:g}")
        found.append((points - points.mean()) / points.std())
    return found[0], found[1]
