"""Designs written out in full: the exact matrix, and privacy figures report by report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from tacit import Design, Group, Schema
from tacit.core.arrays import Array
from tests.support.families import MAKERS, attributes_of, fits, random_coin
from tests.support.tables import brute_force

MOST_CELLS = 36


def random_design(rng: np.random.Generator, most_cells: int = MOST_CELLS) -> Design:
    """Any partition of one to four attributes of 2 to 4 categories, any family a group."""
    while True:
        sizes = tuple(int(k) for k in rng.integers(2, 5, rng.integers(1, 5)))
        if math.prod(sizes) <= most_cells:
            break
    attributes = attributes_of(sizes)
    order = rng.permutation(len(sizes))
    cuts = np.flatnonzero(rng.random(len(sizes) - 1) < 0.5) + 1
    groups = []
    for members in np.split(order, cuts):
        own = tuple(attributes[i] for i in members)
        able = [family for family in MAKERS if fits(family, tuple(a.size for a in own))]
        coin = random_coin(able[rng.integers(len(able))], own, rng)
        groups.append(Group([a.name for a in own], coin))
    return Design(Schema(attributes), groups)


def random_prior(design: Design, rng: np.random.Generator) -> tuple[Any, Array]:
    """A prior as a user gives it, and its joint table: tied, sparse, or independent."""
    sizes = design.schema.sizes
    if rng.random() < 0.5:
        weights = rng.gamma(0.7, size=sizes) * (rng.random(sizes) < 0.8)
        weights[(0,) * len(sizes)] += 0.1
        return weights / weights.sum(), weights / weights.sum()
    margins = {a.name: rng.dirichlet(np.ones(a.size)) for a in design.schema}
    return margins, reduce(np.multiply.outer, margins.values())


@dataclass
class WrittenOut:
    """The exact matrix of a design, and which reported and true cell has which code."""

    design: Design
    parts: list[Any]
    matrix: Array
    true: dict[str, Array]
    groups: list[Array]

    @classmethod
    def of(cls, design: Design) -> WrittenOut:
        """Kronecker product of the groups; true cells ordered by group."""
        parts = [brute_force(g.coin, design.attributes_of(g)) for g in design.groups]
        names = [name for g in design.groups for name in g.attributes]
        codes = np.indices([design.schema[n].size for n in names]).reshape(len(names), -1)
        rows = np.indices([len(part) for part in parts]).reshape(len(parts), -1)
        true = dict(zip(names, codes, strict=True))
        matrix = reduce(np.kron, [part.astype(np.float64) for part in parts])
        return cls(design, parts, matrix, true, list(rows))

    def prior(self, table: Array) -> Array:
        """The joint table in the order of the true cells."""
        return np.asarray(table[tuple(self.true[n] for n in self.design.schema.names)])

    def label(self, names: tuple[str, ...]) -> Any:
        """Each true cell's joint category of these attributes."""
        sizes = [self.design.schema[n].size for n in names]
        return np.ravel_multi_index([self.true[n].astype(int) for n in names], sizes)


def merged(joint: Array, labels: Any, axis: int) -> Array:
    """Rows or columns of the same label added up."""
    return np.stack(
        [joint.compress(labels == one, axis).sum(axis) for one in np.unique(labels)], axis
    )


def written_out(joint: Array) -> tuple[float, float, float, float]:
    """The four figures of J[report, target], report by report."""
    drawn, best, worst, bits = 0.0, 0.0, 0.0, 0.0
    prior = joint.sum(axis=0)
    for row in joint[joint.sum(axis=1) > 0]:
        posterior = row / row.sum()
        drawn += row.sum() * math.fsum(posterior**2)
        best += row.max()
        worst = max(worst, posterior.max())
        bits += math.fsum(
            r * math.log2(q / p) for r, q, p in zip(row, posterior, prior, strict=True) if r > 0
        )
    return 1 - drawn, 1 - best, worst, bits
