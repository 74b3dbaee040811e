"""Joint tables without a model: each group's own table, groups independent; or one full table.

The first was assumed wherever the joint table was too large to estimate. It is one candidate among
several: it is right where answers to different questions are unrelated. The second assumes
nothing, and is chosen where there are many records for few cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tacit.arrays import Array
from tacit.channel.linear_maps import chain
from tacit.privacy.disclosure.layout import CodedReports, CoinGroup
from tacit.privacy.disclosure.small_tables import SmallTable, Units
from tacit.reconstruction.likelihood import maximise

#: A table of more cells is not estimated as a whole.
MAX_CELLS = 4096
#: Share of independent units in the start, so that no cell is excluded from the outset.
_INSIDE = 0.1
_TOLERANCE, _ITERATIONS = 1e-7, 40


def group_tables(reports: CodedReports, tables: dict[Units, SmallTable]) -> Array:
    """The product of the groups' tables; `tables` has those of single units."""
    made: Array = np.ones(1)
    for group in reports.layout.groups:
        made = np.multiply.outer(made, _likely(reports, [group], tables)).ravel()
    return made.reshape(reports.layout.sizes)


def full_table(reports: CodedReports, tables: dict[Units, SmallTable]) -> Array:
    """The most likely joint table; independent units where it would be too large."""
    return _likely(reports, reports.layout.groups, tables).reshape(reports.layout.sizes)


def _likely(
    reports: CodedReports, groups: Sequence[CoinGroup], tables: dict[Units, SmallTable]
) -> Array:
    """The most likely table of some groups together, flattened."""
    units = tuple(u for group in groups for u in group.units)
    apart: Array = np.ones(1)
    for unit in units:
        apart = np.multiply.outer(apart, tables[unit,].table).ravel()
    sent = math.prod(reports.layout.reports[u] for u in units)
    if len(units) == 1 or max(apart.size, sent) > MAX_CELLS:
        return apart
    if units in tables:
        return tables[units].table.ravel()
    maps = [group.factor.channel.forward for group in groups]
    inverses = [group.inverse for group in groups]
    seen = reports.frequencies(units)
    inverted = np.maximum(chain(inverses, seen[:, None])[:, 0], 0)
    return maximise(
        lambda p: np.maximum(chain(maps, p[:, None])[:, 0], 1e-300),
        lambda q: np.maximum(chain([m.T for m in maps], q[:, None])[:, 0], 0),
        seen,
        (1 - _INSIDE) * inverted / inverted.sum() + _INSIDE * apart,
        _TOLERANCE,
        _ITERATIONS,
    ).value
