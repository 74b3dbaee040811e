"""True and reported tables, brute force, and the problems that reconstruction methods take."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from tacit import Attribute, Design
from tacit.core.arrays import Array
from tacit.core.channel import Coin
from tacit.core.channel.strategies import Differ, Keep, Replace, Strategy, Substitute
from tacit.reconstruction.tables import TableProblem

Cell = tuple[int, ...]


def cells_of(attributes: Sequence[Attribute]) -> list[Cell]:
    """All cells, the last attribute running fastest."""
    return list(product(*(range(a.size) for a in attributes)))


def _factors(strategy: Strategy, sizes: Cell) -> Iterator[tuple[Cell, Cell, Any]]:
    """B[s, unit] of a strategy as (positions, sizes, probability of a report given the truth)."""
    match strategy:
        case Keep():
            for i, k in enumerate(sizes):
                yield (i,), (k,), lambda report, true: Fraction(int(report == true))
        case Differ(units):
            for unit in units:
                k = math.prod(sizes[i] for i in unit)
                chance = Fraction(1, k - 1)
                yield (
                    unit,
                    tuple(sizes[i] for i in unit),
                    lambda report, true, c=chance: Fraction(0) if report == true else c,
                )
        case Replace(drawn):
            for unit, y in drawn.units:
                yield unit, tuple(sizes[i] for i in unit), lambda report, true, y=y: y[report]


def _place(cell: Cell, unit: Cell, sizes: Cell) -> int:
    return int(np.ravel_multi_index([cell[i] for i in unit], sizes))


def _matrix_of(strategy: Strategy, attributes: Sequence[Attribute]) -> Any:
    if isinstance(strategy, Substitute):
        return np.array(strategy.columns, dtype=object).T
    factors = list(_factors(strategy, tuple(a.size for a in attributes)))
    cells = cells_of(attributes)
    entries = [
        math.prod(
            (chance(_place(r, unit, k), _place(t, unit, k)) for unit, k, chance in factors),
            start=Fraction(1),
        )
        for r in cells
        for t in cells
    ]
    return np.array(entries, dtype=object).reshape(len(cells), len(cells))


def brute_force(coin: Coin, attributes: Sequence[Attribute]) -> Any:
    """sum_s w_s * kron_a B[s, a], entry by entry in exact fractions (METHODS 1)."""
    parts = [w * _matrix_of(s, attributes) for w, s in coin.strategies(tuple(attributes))]
    return sum(parts[1:], start=parts[0])


def random_table(seed: int, sizes: Cell, sparse: bool = True) -> Array:
    """A random distribution; if sparse, some of its cells are zero or nearly so."""
    rng = np.random.default_rng(seed)
    concentration = 10 ** rng.uniform(-1, 1) if sparse else 1.0
    weights = rng.gamma(concentration, size=sizes) + 1e-300
    return np.asarray(weights / weights.sum())


def margin(table: Array, axes: Sequence[str], names: Sequence[str]) -> Array:
    """The marginal of a table whose axes have these names, in the order asked for."""
    dropped = tuple(i for i, axis in enumerate(axes) if axis not in names)
    kept = [axis for axis in axes if axis in names]
    return np.asarray(table.sum(axis=dropped)).transpose([kept.index(name) for name in names])


def problem_of(design: Design, reported: Array, names: Sequence[str], n: int) -> TableProblem:
    """The problem of a table, from counts over all reported attributes of the design."""
    channel = design.channel(design.jointly_reported(names))
    counts = margin(reported, design.reported.names, channel.reported.names)
    return TableProblem(counts.astype(np.float64), channel, len(names), n)


def reported_table(design: Design, true: Array) -> Array:
    """The expected reported table over design.reported for a true table over design.schema."""
    channel = design.channel(design.schema.names)
    return margin(channel.disguised(true), channel.reported.names, design.reported.names)


def counts_of(design: Design, true: Array, n: int, seed: int) -> Array:
    """Reported counts of one simulated survey of n records."""
    expected = reported_table(design, true)
    rng = np.random.default_rng(seed)
    flat = np.maximum(expected.ravel(), 0)
    return rng.multinomial(n, flat / flat.sum()).reshape(expected.shape).astype(np.float64)


def kron_all(matrices: Sequence[Array]) -> Array:
    """The Kronecker product, built."""
    return reduce(np.kron, matrices, np.ones((1, 1)))
