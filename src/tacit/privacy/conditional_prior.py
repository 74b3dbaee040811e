"""Priors of questions with conditions: an adversary knows which combinations cannot occur.

A table per attribute leaves out that an answer excludes others, and what follows from it would look
more private than it is. So the attributes that conditions tie together share one table, which is 0
where a record cannot occur:

    nothing known    each question's answers equally likely among those who are asked
    known margins    the table with these margins by iterative proportional fitting (Deming &
                     Stephan, 1940), from their product on the cells that can occur
    joint tables     as given; an estimated one is restricted to the cells that can occur

Margins and zeros determine the table of a question and its condition, or of a chain of conditions.
Of two questions with the same condition they do not: how their answers go together is then assumed,
which is no more than a guess. Tables of more than MAX_TIED cells stay apart; how their answers go
together is not known either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tacit.core.arrays import Array
from tacit.core.conditions import DOES_NOT_APPLY, answers_of, impossible_cells, linked_parts
from tacit.core.design import Design
from tacit.core.schema import Schema
from tacit.errors import DataError
from tacit.privacy.prior_table import PriorTable

#: Attributes whose joint table would be larger are not tied.
MAX_TIED = 2**14
#: Rounds of iterative proportional fitting, and how well margins must agree at the end.
_ROUNDS, _AGREE = 500, 1e-6
#: Probability of impossible records that is rounding.
_ROUNDING = 1e-9


def tied_parts(design: Design) -> list[tuple[str, ...]]:
    """The attributes in parts: tied by conditions where their table is small, else one by one."""
    found: list[tuple[str, ...]] = []
    for names in linked_parts(design.conditions, design.schema):
        small = math.prod(design.schema[name].size for name in names) <= MAX_TIED
        found += [names] if small else [(name,) for name in names]
    return found


def uniform_tables(design: Design) -> list[PriorTable]:
    """Every answer equally likely among those who are asked."""
    found = []
    for names in tied_parts(design):
        table = _uniform(design, names)
        axes = [tuple(i for i in range(table.ndim) if i != own) for own in range(table.ndim)]
        found.append(PriorTable(names, table[..., None], not _determined(table, axes)))
    return found


def _uniform(design: Design, names: Sequence[str]) -> Array:
    schema = design.schema.subset(names)
    possible = _possible(design, schema)
    table = np.ones(schema.sizes)
    for place, attribute in enumerate(schema):
        shares = np.full(attribute.size, 1 / attribute.size)
        if attribute.name in design.asked_if:
            shares[:] = 1 / len(answers_of(attribute))
            shares[attribute.code(DOES_NOT_APPLY)] = 1.0  # certain where the condition fails
        table = table * shares.reshape([-1 if i == place else 1 for i in range(len(schema))])
    table = table * possible
    return np.asarray(table / table.sum())


def _possible(design: Design, schema: Schema) -> Array:
    impossible = impossible_cells(design.conditions, schema)
    return np.ones(schema.sizes) if impossible is None else (~impossible).astype(np.float64)


def tied_tables(blocks: Sequence[PriorTable], design: Design) -> list[PriorTable]:
    """The tables of a prior, those that conditions tie together as one.

    Estimated tables are not joined: their margins contradict each other by their errors.
    """
    if not design.conditions:
        return list(blocks)
    found = [_within(block, design) for block in blocks]
    for names in tied_parts(design):
        own = [block for block in found if set(block.names) & set(names)]
        inside = all(set(block.names) <= set(names) for block in own)
        if len(own) > 1 and inside and all(block.tables.shape[-1] == 1 for block in own):
            found = [block for block in found if block not in own]
            found.append(_fitted(names, own, design))
    return found


def _within(block: PriorTable, design: Design) -> PriorTable:
    """A table without records that cannot occur; a known one must have none."""
    possible = _possible(design, design.schema.subset(block.names))[..., None]
    kept = block.tables * possible
    total = kept.sum(axis=tuple(range(kept.ndim - 1)), keepdims=True)
    if kept.shape[-1] == 1 and float(total.min()) < 1 - _ROUNDING:
        cell = np.argwhere((block.tables > 0) & (possible == 0))[0]
        labels = (
            f"{name} {design.schema[name].categories[code]}"
            for name, code in zip(block.names, cell, strict=False)
        )
        raise DataError(
            f"the prior has records that cannot occur: {', '.join(labels)}; give them 0"
        )
    if float(total.min()) <= 0:
        raise DataError("the prior has only records that cannot occur")
    return PriorTable(block.names, kept / total, block.assumed)


def _fitted(names: Sequence[str], blocks: Sequence[PriorTable], design: Design) -> PriorTable:
    """The joint table with these margins, by iterative proportional fitting."""
    schema = design.schema.subset(names)
    margins = [_spread(block, schema) for block in blocks]
    axes = [tuple(i for i, n in enumerate(names) if n not in b.names) for b in blocks]
    table = math.prod(margins) * _possible(design, schema)
    for _ in range(_ROUNDS):
        for margin, others in zip(margins, axes, strict=True):
            own = table.sum(axis=others, keepdims=True)
            table = table * np.divide(margin, own, out=np.zeros_like(own), where=own > 0)
        gaps = (
            float(np.abs(table.sum(axis=others, keepdims=True) - margin).max())
            for margin, others in zip(margins, axes, strict=True)
        )
        if max(gaps) < _AGREE:
            assumed = any(b.assumed for b in blocks) or not _determined(table, axes)
            return PriorTable(tuple(names), (table / table.sum())[..., None], assumed)
    raise DataError(
        f"the prior's tables of {', '.join(names)} contradict their conditions: a question does "
        "not apply to exactly those who gave another answer before; give one table of all of them"
    )


def _determined(table: Array, axes: Sequence[tuple[int, ...]]) -> bool:
    """Whether no other table on the same cells has the same sums over each of these axes."""
    cells = np.argwhere(table > 0)
    rows = []
    for others in axes:
        _, sums = np.unique(np.delete(cells, others, axis=1), axis=0, return_inverse=True)
        rows.append(sums.ravel())
    if sum(int(row.max()) + 1 for row in rows) < len(cells):
        return False
    sums_of = np.concatenate([np.eye(int(row.max()) + 1)[:, row] for row in rows])
    return int(np.linalg.matrix_rank(sums_of)) == len(cells)


def _spread(block: PriorTable, schema: Schema) -> Array:
    """A table along its axes of the table of all attributes."""
    order = np.argsort([schema.index(name) for name in block.names])
    shape = [a.size if a.name in block.names else 1 for a in schema]
    return block.tables[..., 0].transpose(order).reshape(shape)
