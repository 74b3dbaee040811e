"""joined: how the attributes of a group are joined into blocks.

What any strategy of the group's coin handles as one unit stays in one block; units that follow
each other share a block while it has few cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.linalg import block_diag

from tacit.arrays import Array
from tacit.channel.coin import Attributes, Differ, Keep, Replace, Strategy, Substitute, Unit
from tacit.counting import PatternTable
from tacit.counting.keys import column_blocks
from tacit.design import Design, Group
from tacit.mine.blocks import AttributeBlock, BlockUnits, GroupBlocks

#: Cells of a block, unless one unit has more: its tables stay in the fastest memory.
CELLS = 512


def joined(patterns: PatternTable, design: Design, group: Group) -> GroupBlocks:
    """The blocks of a group."""
    attributes = design.attributes_of(group)
    own = group.coin.reported(attributes)
    places = [design.schema.index(a.name) for a in attributes]
    likely = [(float(w), s) for w, s in group.coin.strategies(attributes) if w > 0]
    parts = [list(_parts(s, places, design.schema.sizes, len(own))) for _, s in likely]
    tied = _tied(len(own), (part.reports for found in parts for part in found))
    blocks = []
    for members in _packed(tied, [a.size for a in own]):
        inside = [[part for part in found if part.reports[0] in members] for found in parts]
        units = tuple(_side_by_side(found, own, members) for found in inside)
        blocks.append(_block(patterns, [own[i].name for i in members], units))
    return GroupBlocks(np.array([weight for weight, _ in likely]), tuple(blocks))


@dataclass(frozen=True, eq=False)
class _UnitChannel:
    """One unit under one strategy: true attributes, reported positions, B[reported, true]."""

    attributes: Unit
    reports: Unit
    matrix: Array


def _block(
    patterns: PatternTable, names: Sequence[str], units: tuple[BlockUnits, ...]
) -> AttributeBlock:
    columns = [patterns.patterns[:, patterns.schema.index(name)] for name in names]
    sizes = [patterns.schema[name].size for name in names]
    n_cells = math.prod(sizes)
    codes = np.empty(len(patterns), np.min_scalar_type(n_cells - 1))
    start = 0
    for keys in column_blocks(columns, sizes):
        codes[start : start + len(keys)] = keys
        start += len(keys)
    return AttributeBlock(codes, n_cells, units)


def _side_by_side(
    parts: Sequence[_UnitChannel], own: Attributes, members: Sequence[int]
) -> BlockUnits:
    """The units of a block whose members these are."""
    codes = np.indices([own[i].size for i in members]).reshape(len(members), -1)
    spans, cells, row, column = [], [], 0, 0
    for part in parts:
        reports = [codes[members.index(i)] for i in part.reports]
        cells.append(row + np.ravel_multi_index(reports, [own[i].size for i in part.reports]))
        spans.append((part.attributes, slice(column, column + part.matrix.shape[1])))
        row, column = row + part.matrix.shape[0], column + part.matrix.shape[1]
    return BlockUnits(tuple(spans), block_diag(*(part.matrix for part in parts)), np.stack(cells))


def _tied(n: int, units: Iterable[Unit]) -> list[list[int]]:
    """Positions that may not be parted, because some strategy handles them as one unit."""
    parts = [{i} for i in range(n)]
    for unit in units:
        apart = [part for part in parts if part.isdisjoint(unit)]
        touched = [part for part in parts if not part.isdisjoint(unit)]
        parts = [*apart, set().union(*touched)]
    return sorted(sorted(part) for part in parts)


def _packed(tied: Iterable[Sequence[int]], sizes: Sequence[int]) -> list[list[int]]:
    """Join what follows each other while the cells are few enough."""
    packs: list[list[int]] = []
    for members in tied:
        together = [*packs[-1], *members] if packs else []
        if packs and math.prod(sizes[i] for i in together) <= CELLS:
            packs[-1] = together
        else:
            packs.append(list(members))
    return packs


def _parts(
    strategy: Strategy, places: Sequence[int], sizes: Sequence[int], n_reported: int
) -> Iterator[_UnitChannel]:
    """BlockUnits of a strategy, of a group whose attributes have these places in the schema."""
    every = range(len(places))
    found: list[tuple[Unit, Unit, Array]]
    match strategy:
        case Keep():
            found = [((i,), (i,), np.eye(sizes[places[i]])) for i in every]
        case Differ(units):
            found = [(u, u, _other([sizes[places[i]] for i in u])) for u in units]
        case Replace(units, laws):
            found = [(u, u, _drawn(law)) for u, law in zip(units, laws, strict=True)]
        case Substitute(columns):
            matrix = np.array(columns, dtype=np.float64).T
            found = [(tuple(every), tuple(range(n_reported)), matrix)]
    for unit, reports, matrix in found:
        yield _UnitChannel(tuple(places[i] for i in unit), reports, matrix)


def _other(sizes: Sequence[int]) -> Array:
    """Any other answer, all alike."""
    cells = math.prod(sizes)
    return np.asarray((1 - np.eye(cells)) / (cells - 1))


def _drawn(law: Sequence[Fraction]) -> Array:
    """The same distribution whatever the truth."""
    return np.repeat(np.array(law, dtype=np.float64)[:, None], len(law), axis=1)
