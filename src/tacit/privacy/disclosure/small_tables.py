"""Maximum-likelihood tables of few units, many at once.

    p_j <- p_j sum_i q_i M_ij / (M p)_i

(Huang & Du 2008, eq. 3). The iteration starts at the inverted table, moved inside the simplex: from
the uniform table it is far from the maximum after hundreds of steps where the truth is rarely told,
and dependence is understated. Families of the same shape are worked on together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.arrays import Array
from tacit.privacy.disclosure.layout import CodedReports, UnitLayout

Units = tuple[int, ...]

#: Families of more cells than this, true or reported, are left out.
MAX_CELLS = 512
#: Steps of the iteration.
STEPS = 200
#: Share of the uniform table in the start, so that no cell is excluded from the outset.
_INSIDE = 0.02
#: Entries of channels that are worked on at once.
_AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class SmallTable:
    """A true table of some units, and twice the log-likelihood of their reports."""

    table: Array
    likelihood: float


def small_tables(reports: CodedReports, families: Iterable[Units]) -> dict[Units, SmallTable]:
    """The tables of those families, each in ascending order of units, that are small enough."""
    layout = reports.layout
    shapes: dict[tuple[int, int], list[Units]] = {}
    for units in families:
        shape = _shape(layout, units)
        if max(shape) <= MAX_CELLS:
            shapes.setdefault(shape, []).append(units)
    found: dict[Units, SmallTable] = {}
    for (rows, columns), alike in shapes.items():
        step = max(1, _AT_ONCE // (rows * columns))
        for start in range(0, len(alike), step):
            found |= _fitted(reports, alike[start : start + step])
    return found


def _shape(layout: UnitLayout, units: Units) -> tuple[int, int]:
    return math.prod(layout.reports[u] for u in units), math.prod(layout.sizes[u] for u in units)


def _fitted(reports: CodedReports, families: Sequence[Units]) -> dict[Units, SmallTable]:
    layout = reports.layout
    matrices = np.stack([layout.matrix(units) for units in families])
    seen = np.stack([reports.frequencies(units) for units in families])[..., None]
    tables = most_likely(matrices, seen)
    expected = np.maximum(matrices @ tables, 1e-300)
    likely = 2 * reports.total * (seen * np.log(expected)).sum(axis=(1, 2))
    return {
        units: SmallTable(table.reshape([layout.sizes[u] for u in units]), float(value))
        for units, table, value in zip(families, tables, likely, strict=True)
    }


def most_likely(matrices: Array, seen: Array) -> Array:
    """The distribution of largest likelihood for each channel and its reported frequencies."""
    inverted = np.maximum(np.linalg.pinv(matrices) @ seen, 0)
    tables = inverted / np.maximum(inverted.sum(axis=1, keepdims=True), 1e-300)
    tables = (1 - _INSIDE) * tables + _INSIDE / matrices.shape[2]
    back = np.ascontiguousarray(matrices.transpose(0, 2, 1))
    for _ in range(STEPS):
        tables = tables * (back @ (seen / np.maximum(matrices @ tables, 1e-300)))
    return np.asarray(tables / tables.sum(axis=1, keepdims=True))
