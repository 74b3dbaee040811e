"""Maximum-likelihood tables: of few units, many at once; of each group; of all units.

    p_j <- p_j sum_i q_i M_ij / (M p)_i

(Huang & Du 2008, eq. 3). The iteration starts at the inverted table, moved inside the simplex: from
the uniform table it is far from the maximum after hundreds of steps where the truth is rarely told,
and dependence is understated. Families of the same shape are worked on together.

Two joint tables assume no model. Each group's own table, groups independent, is right where answers
to different questions are unrelated. One full table assumes nothing, and is chosen where there are
many records for few cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from tacit.core.arrays import TINY, Array
from tacit.core.channel.linear_maps import chain, outer
from tacit.privacy.disclosure.layout import CodedReports, CoinGroup
from tacit.reconstruction.likelihood import maximise

Units = tuple[int, ...]

#: Families of more cells than this, true or reported, are left out.
MAX_CELLS = 512
#: Steps of the iteration.
STEPS = 200
#: Share of the uniform table in the start, so that no cell is excluded from the outset.
_INSIDE = 0.02
#: Entries of channels that are worked on at once.
_AT_ONCE = 2**22
#: A joint table of more cells is not estimated as a whole.
_MAX_JOINT = 4096
#: Of a joint table: share of independent units in the start, tolerance and iterations.
_APART, _TOLERANCE, _ITERATIONS = 0.1, 1e-7, 40


@dataclass(frozen=True, eq=False)
class SmallTable:
    """A true table of some units, and twice the log-likelihood of their reports."""

    table: Array
    likelihood: float


def small_tables(reports: CodedReports, families: Iterable[Units]) -> dict[Units, SmallTable]:
    """The tables of those families, each in ascending order of units, that are small enough."""
    layout = reports.layout
    shapes: dict[tuple[int, ...], list[Units]] = {}
    for units in families:
        shape = tuple(math.prod(k[u] for u in units) for k in (layout.reports, layout.sizes))
        if max(shape) <= MAX_CELLS:
            shapes.setdefault(shape, []).append(units)
    found: dict[Units, SmallTable] = {}
    for shape, alike in shapes.items():
        step = max(1, _AT_ONCE // math.prod(shape))
        for start in range(0, len(alike), step):
            found |= _fitted(reports, alike[start : start + step])
    return found


def _fitted(reports: CodedReports, families: Sequence[Units]) -> dict[Units, SmallTable]:
    layout = reports.layout
    matrices = np.stack([layout.matrix(units) for units in families])
    seen = np.stack([reports.frequencies(units) for units in families])[..., None]
    tables = most_likely(matrices, seen)
    expected = np.maximum(matrices @ tables, TINY)
    likely = 2 * reports.total * (seen * np.log(expected)).sum(axis=(1, 2))
    return {
        units: SmallTable(table.reshape([layout.sizes[u] for u in units]), float(value))
        for units, table, value in zip(families, tables, likely, strict=True)
    }


def most_likely(matrices: Array, seen: Array) -> Array:
    """The distribution of largest likelihood for each channel and its reported frequencies."""
    inverted = np.maximum(np.linalg.pinv(matrices) @ seen, 0)
    tables = inverted / np.maximum(inverted.sum(axis=1, keepdims=True), TINY)
    tables = (1 - _INSIDE) * tables + _INSIDE / matrices.shape[2]
    back = np.ascontiguousarray(matrices.transpose(0, 2, 1))
    for _ in range(STEPS):
        tables = tables * (back @ (seen / np.maximum(matrices @ tables, TINY)))
    return np.asarray(tables / tables.sum(axis=1, keepdims=True))


def group_tables(reports: CodedReports, tables: dict[Units, SmallTable]) -> Array:
    """The product of the groups' tables; `tables` has those of single units."""
    groups = reports.layout.groups
    made = reduce(outer, (_joint(reports, [group], tables) for group in groups))
    return made.reshape(reports.layout.sizes)


def full_table(reports: CodedReports, tables: dict[Units, SmallTable]) -> Array:
    """The most likely joint table; independent units where it would be too large."""
    return _joint(reports, reports.layout.groups, tables).reshape(reports.layout.sizes)


def _joint(
    reports: CodedReports, groups: Sequence[CoinGroup], tables: dict[Units, SmallTable]
) -> Array:
    """The most likely table of some groups together, flattened."""
    units = tuple(u for group in groups for u in group.units)
    apart = reduce(outer, (tables[unit,].table for unit in units))
    sent = math.prod(reports.layout.reports[u] for u in units)
    if len(units) == 1 or max(apart.size, sent) > _MAX_JOINT:
        return apart
    if units in tables:
        return tables[units].table.ravel()
    maps = [group.factor.channel.forward for group in groups]
    seen = reports.frequencies(units)
    inverted = chain([group.inverse for group in groups], seen[:, None])[:, 0]
    inverted = np.maximum(inverted, 0)
    return maximise(
        lambda p: np.maximum(chain(maps, p[:, None])[:, 0], TINY),
        lambda q: np.maximum(chain([m.T for m in maps], q[:, None])[:, 0], 0),
        seen,
        (1 - _APART) * inverted / inverted.sum() + _APART * apart,
        _TOLERANCE,
        _ITERATIONS,
    )[0]
