"""Random populations and designs, and what a whole reported record truly discloses in them.

The truth comes from the joint distribution, report by report, with every group's channel written
out: it shares nothing with what is tested.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np

from tacit import Design, Group, Schema, disguise
from tacit.core.arrays import Array
from tacit.records import PatternTable, count
from tests.support.families import MAKERS, attributes_of, fits, random_coin

#: True or reported cells that brute force goes through.
MOST_CELLS = 4096
#: Matrix entries of brute force at once.
_AT_ONCE = 2**21


@dataclass(frozen=True, eq=False)
class Population:
    """A joint distribution, one axis per attribute, a design, and reported records."""

    kind: str
    table: Array
    design: Design
    reported: PatternTable


@dataclass(frozen=True)
class Truth:
    """How often the best guess is right, and the largest posterior."""

    accuracy: float
    worst_posterior: float


def population(seed: int, kind: str | None = None, most_questions: int = 12) -> Population:
    """A random population, a random design, and a survey of 300 to 30,000 people."""
    rng = np.random.default_rng(seed)
    kind = kind or str(rng.choice(list(KINDS)))
    while True:
        sizes = _sizes(int(rng.integers(2, most_questions + 1)), rng)
        schema = Schema(attributes_of(sizes))
        design = Design(schema, list(_groups(schema, rng)))
        if math.prod(design.reported.sizes) <= MOST_CELLS:
            break
    table = (KINDS | STRESS)[kind](sizes, rng)
    n = int(10 ** rng.uniform(math.log10(300), math.log10(30_000)))
    return Population(kind, table, design, surveyed(table, design, n, rng))


def surveyed(table: Array, design: Design, n: int, rng: np.random.Generator) -> PatternTable:
    """Reported records of n people."""
    cells = rng.choice(table.size, n, p=table.ravel())
    true = np.stack(np.unravel_index(cells, table.shape), axis=1).astype(np.int32)
    return count(disguise(true, design, rng), design.reported)


def _sizes(questions: int, rng: np.random.Generator) -> tuple[int, ...]:
    """Two to five categories each, fewer where the joint table would be too large."""
    sizes = rng.integers(2, 6, questions)
    if rng.random() < 0.4:
        sizes[:] = 2
    while sizes.prod() > MOST_CELLS:
        sizes[rng.choice(np.flatnonzero(sizes > 2))] -= 1
    return tuple(int(k) for k in sizes)


def _groups(schema: Schema, rng: np.random.Generator) -> Iterator[Group]:
    """A random partition; every family that fits is as likely as any other."""
    names = list(rng.permutation(schema.names))
    largest = int(rng.choice([1, 2, len(names)]))
    while names:
        size = int(rng.integers(1, min(largest, len(names)) + 1))
        own = tuple(schema[str(name)] for name in names[:size])
        able = [f for f in MAKERS if fits(f, tuple(a.size for a in own))]
        if rng.random() < 0.8:
            able.remove("truthful")
        yield Group([a.name for a in own], random_coin(str(rng.choice(able)), own, rng))
        names = names[size:]


def independent(sizes: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Answers that have nothing to do with each other."""
    margins = [rng.dirichlet(np.full(k, rng.uniform(0.5, 5))) for k in sizes]
    return np.asarray(reduce(np.multiply.outer, margins))


def classes(sizes: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Two to five kinds of people, from nearly alike to nearly opposite."""
    shares = rng.dirichlet(np.full(int(rng.integers(2, 6)), 2.0))
    strength = 10 ** rng.uniform(-1, 0.7)
    parts = [
        share * reduce(np.multiply.outer, [rng.dirichlet(np.full(k, strength)) for k in sizes])
        for share in shares
    ]
    return np.asarray(np.sum(parts, axis=0))


def chained(sizes: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Each answer depends on an earlier one."""
    table: Array = rng.dirichlet(np.full(sizes[0], 3.0))
    strength = 10 ** rng.uniform(-1, 0.7)
    for place, k in enumerate(sizes[1:], start=1):
        parent = int(rng.integers(place))
        given = rng.dirichlet(np.full(k, strength), sizes[parent])
        shape = [1] * place + [k]
        shape[parent] = sizes[parent]
        table = table[..., None] * given.reshape(shape)
    return table


def three_way(sizes: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Every third answer is the sum of the two before it, but for some noise: pairs tell little."""
    table = independent(sizes, rng)
    codes = np.indices(sizes)
    for c in range(2, len(sizes), 3):
        fits_sum = codes[c] == (codes[c - 1] + codes[c - 2]) % sizes[c]
        table = table * np.where(fits_sum, 1.0, rng.uniform(0.02, 0.5))
    return np.asarray(table / table.sum())


def copied(sizes: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Everyone tends to give the same answer to all questions."""
    first = np.indices(sizes)[0]
    table = independent(sizes, rng) + 1e-12
    loyal = rng.uniform(0.3, 0.98)
    for axis, k in enumerate(sizes[1:], start=1):
        same = np.indices(sizes)[axis] == first % k
        table = table * np.where(same, 1.0, (1 - loyal) / loyal)
    return np.asarray(table / table.sum())


def unstructured(sizes: tuple[int, ...], rng: np.random.Generator) -> Array:
    """A random table without structure, in which few cells may hold most people."""
    weights = rng.gamma(10 ** rng.uniform(-1.5, 0.5), size=sizes) + 1e-300
    return np.asarray(weights / weights.sum())


KINDS: dict[str, Callable[[tuple[int, ...], np.random.Generator], Array]] = {
    "independent": independent,
    "classes": classes,
    "chained": chained,
    "three-way": three_way,
    "copied": copied,
}
#: What no model can know from few reports.
STRESS = {"unstructured": unstructured}


def truth(table: Array, design: Design) -> tuple[dict[str, Truth], Truth]:
    """Of every attribute and of the record, by going through all reports."""
    names = [name for group in design.groups for name in group.attributes]
    order = [design.schema.index(name) for name in names]
    prior = table.transpose(order).ravel()
    matrices = [g.coin.channel(design.attributes_of(g)).matrix for g in design.groups]
    codes = np.indices([design.schema[name].size for name in names]).reshape(len(names), -1)
    sides = [np.eye(design.schema[name].size)[c] for name, c in zip(names, codes, strict=True)]
    best, worst = np.zeros(len(names) + 1), np.zeros(len(names) + 1)
    for joint in _joints(matrices, prior):
        total = joint.sum(axis=1)
        for place, side in enumerate([*sides, None]):
            peak = (joint if side is None else joint @ side).max(axis=1)
            best[place] += peak.sum()
            worst[place] = max(worst[place], (peak[total > 0] / total[total > 0]).max(initial=0.0))
    found = [Truth(float(b), float(w)) for b, w in zip(best, worst, strict=True)]
    return dict(zip(names, found, strict=False)), found[-1]


def _joints(matrices: list[Array], prior: Array) -> Iterator[Array]:
    """P(report, truth) for some reports at a time."""
    shape = [len(matrix) for matrix in matrices]
    reports = np.arange(math.prod(shape))
    for chunk in np.array_split(reports, max(1, reports.size * prior.size // _AT_ONCE)):
        rows: Array = np.ones((len(chunk), 1))
        for matrix, code in zip(matrices, np.unravel_index(chunk, shape), strict=True):
            rows = (rows[:, :, None] * np.maximum(matrix[code], 0)[:, None, :]).reshape(
                len(chunk), -1
            )
        yield rows * prior
