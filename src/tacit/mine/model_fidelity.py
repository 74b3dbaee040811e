"""fidelity: how far the tables of a tree are from reconstructed ones, beside what noise explains.

For sets of one, two and three attributes, the table p of the tree is compared with the unbiased
table. If the tree is right, the unbiased one has the covariance

    C = (W diag(M p) W' - p p') / n

The tree was fitted to the same margins and edges, so these do not differ; with A p the margins and
the edges among the attributes, what is left of the difference d and of its covariance is

    r = d - C A' (A C A')^- A d,        R = C - C A' (A C A')^- A C

`distance` is the total variation distance, half the sum of |d|. `by_noise` is what it is on average
if the tree is right, from the diagonal of R. r' R^- r is compared with a gamma distribution that
has the mean of chi-square and the variance of Pearson's statistic with few records per cell
(Haldane, "The exact value of the moments of the distribution of chi-square", Biometrika 29, 1937).
The tree has errors of its own that are correlated with those of the unbiased table, which makes R
too large if anything: noise is not taken for misfit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import gamma

from tacit.arrays import Array
from tacit.mine.pair_dependence import holm
from tacit.mine.unit_tables import UnitTables
from tacit.number_text import number_of
from tacit.table import Table
from tacit.tree_distribution import TreeDistribution

Units = tuple[int, ...]

#: Sets of each number of attributes that are compared, at most; others are drawn at random.
MOST_TABLES = 400
#: Cells of a table that is compared, true or reported, at most.
MAX_CELLS = 256
#: Directions with a smaller share of the largest variance have none.
_NO_VARIANCE = 1e-9
#: The tables that differ most are listed.
_LISTED = 5
_NO_NOISE = 1e-12


@dataclass(frozen=True)
class ComparedTable:
    """A table of the model beside the reconstructed one; `p_value` is 1 if it was fitted."""

    names: tuple[str, ...]
    distance: float
    by_noise: float
    p_value: float
    tested: bool


@dataclass(frozen=True)
class Fidelity:
    """Compared tables by number of attributes; `skipped` were too large, `possible` is how many."""

    tables: dict[int, tuple[ComparedTable, ...]]
    possible: dict[int, int]
    skipped: int
    n_records: int
    error: float

    def differ(self, number: int) -> list[ComparedTable]:
        """Tables of so many attributes that differ beyond noise, at the family-wise error rate."""
        tested = [one for one in self.tables[number] if one.tested]
        adjusted = holm(np.array([one.p_value for one in tested]))
        return [one for one, p in zip(tested, adjusted, strict=True) if p <= self.error]

    def columns(self) -> dict[str, list[Any]]:
        """Every compared table as columns."""
        every = [one for tables in self.tables.values() for one in tables]
        return {
            "attributes": [", ".join(one.names) for one in every],
            "distance": [one.distance for one in every],
            "by_noise": [one.by_noise for one in every],
            "p_value": [one.p_value for one in every],
            "tested": [one.tested for one in every],
        }

    def to_dict(self) -> dict[str, Any]:
        """A summary by number of attributes, for JSON."""
        rows = [
            {
                "n_attributes": number,
                "possible": self.possible[number],
                "compared": len(found),
                "distance": _mean([one.distance for one in found]),
                "by_noise": _mean([one.by_noise for one in found]),
                "tested": sum(one.tested for one in found),
                "differ": len(self.differ(number)),
            }
            for number, found in self.tables.items()
        ]
        return {"error": self.error, "skipped": self.skipped, "summary": rows}

    def to_table(self) -> Table:
        """Mean distances by number of attributes."""
        rows = [
            (
                row["n_attributes"],
                f"{row['compared']:,} of {row['possible']:,}",
                f"{row['distance']:.4f}",
                f"{row['by_noise']:.4f}",
                f"{row['differ']:,} of {row['tested']:,}",
            )
            for row in self.to_dict()["summary"]
        ]
        heads = ("attributes", "tables", "mean distance", "by noise alone", "differ beyond noise")
        title = "fidelity: tables of the model against reconstructed ones"
        return Table(heads, rows, title, "rrrrr")

    def notes(self) -> list[str]:
        """The tables that differ most, and which were not compared."""
        found = []
        for number in self.tables:
            worst = sorted(self.differ(number), key=lambda one: (one.p_value, -one.distance))
            found += [
                f"the model does not describe {' x '.join(one.names)}: distance "
                f"{one.distance:.4f}, by noise alone {one.by_noise:.4f}"
                for one in worst[:_LISTED]
            ]
            if len(worst) > _LISTED:
                found.append(
                    f"{number_of(len(worst) - _LISTED, 'more table')} of "
                    f"{number_of(number, 'attribute')} differ"
                )
        if self.skipped:
            found.append(
                f"{number_of(self.skipped, 'table')} of more than {MAX_CELLS} cells not compared"
            )
        return found

    def __str__(self) -> str:
        return "\n".join([self.to_table().text(), *self.notes()])

    def _repr_html_(self) -> str:
        return self.to_table().html()


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else math.nan


def fidelity(
    tables: UnitTables, tree: TreeDistribution, error: float, rng: np.random.Generator
) -> Fidelity:
    """Compare the tables of one, two and three units."""
    found: dict[int, tuple[ComparedTable, ...]] = {}
    possible, skipped = {}, 0
    for number in range(1, min(3, len(tables.sizes)) + 1):
        possible[number] = math.comb(len(tables.sizes), number)
        compared = []
        for units in _chosen(len(tables.sizes), number, rng):
            sizes = (math.prod(k[u] for u in units) for k in (tables.sizes, tables.reports))
            if max(sizes) > MAX_CELLS:
                skipped += 1
            else:
                compared.append(compare(tables, tree, units))
        found[number] = tuple(compared)
    return Fidelity(found, possible, skipped, tables.n_records, error)


def _chosen(n_units: int, number: int, rng: np.random.Generator) -> Iterator[Units]:
    """All sets of so many units, or some of them drawn at random."""
    if math.comb(n_units, number) <= MOST_TABLES:
        yield from combinations(range(n_units), number)
        return
    drawn: set[Units] = set()
    while len(drawn) < MOST_TABLES:
        drawn.add(tuple(sorted(rng.choice(n_units, number, replace=False).tolist())))
    yield from sorted(drawn)


def table_of(tree: TreeDistribution, units: Units) -> Array:
    """The table of some units under the tree, flattened."""
    nodes, part = tree.around(units)
    codes = np.indices([tree.sizes[u] for u in units]).reshape(len(units), -1)
    allowed = []
    for node in nodes:
        each = np.ones((codes.shape[1], tree.sizes[node]))
        if node in units:
            each = (codes[units.index(node)][:, None] == np.arange(tree.sizes[node])).astype(float)
        allowed.append(each)
    return part.probability(allowed)


def compare(tables: UnitTables, tree: TreeDistribution, units: Units) -> ComparedTable:
    """The table of some units, in ascending order, against the unbiased one."""
    model, inverse, n = table_of(tree, units), tables.inverse(units), tables.n_records
    gap = model - tables.table(units)
    expected = np.maximum(tables.matrix(units) @ model, 0)
    covariance = ((inverse * expected) @ inverse.T - np.outer(model, model)) / n
    fitted = _fitted(tree, units)
    onto = covariance @ fitted.T @ _pseudo_inverse(fitted @ covariance @ fitted.T)[0]
    gap_left, left = gap - onto @ (fitted @ gap), covariance - onto @ fitted @ covariance
    left = (left + left.T) / 2
    spread = np.diagonal(left) > _NO_VARIANCE * max(float(np.diagonal(covariance).max()), _NO_NOISE)
    names = tuple(" & ".join(tables.names[u]) for u in units)
    distance = float(np.abs(gap).sum() / 2)
    if not spread.any():
        return ComparedTable(names, distance, 0.0, 1.0, False)
    inner = np.where(spread, 1.0, 0.0)
    back, freedom = _pseudo_inverse(left * np.outer(inner, inner))
    statistic = float(gap_left @ back @ gap_left)
    noise = float(np.sqrt(np.maximum(np.diagonal(left), 0) * 2 / math.pi).sum() / 2)
    p_value = _tail(statistic, freedom, expected[expected > _NO_NOISE], n)
    return ComparedTable(names, distance, noise, p_value, True)


def _fitted(tree: TreeDistribution, units: Units) -> Array:
    """Rows that sum cells to what the tree was fitted to: margins, and edges among the units."""
    sizes = [tree.sizes[u] for u in units]
    codes = np.indices(sizes).reshape(len(units), -1)
    among = [(p, v) for p, v in tree.edges if p in units and v in units]
    families = [(u,) for u in units] + among
    rows = []
    for family in families:
        places = [units.index(u) for u in family]
        cells = np.ravel_multi_index([codes[i] for i in places], [sizes[i] for i in places])
        rows.append(np.arange(math.prod(sizes[i] for i in places))[:, None] == cells)
    return np.concatenate(rows).astype(np.float64)


def _pseudo_inverse(covariance: Array) -> tuple[Array, int]:
    """Inverse within the directions that have variance, and how many there are."""
    scale = np.sqrt(np.maximum(np.diagonal(covariance), 0))
    scale = np.divide(1, scale, out=np.zeros_like(scale), where=scale > 0)
    values, vectors = np.linalg.eigh(covariance * np.outer(scale, scale))
    known = values > _NO_VARIANCE * max(float(values[-1]), _NO_NOISE)
    kept = vectors[:, known] * scale[:, None]
    return (kept / values[known]) @ kept.T, int(known.sum())


def _tail(statistic: float, freedom: int, expected: Array, n: int) -> float:
    """P(statistic or more) by the gamma distribution of two moments."""
    cells = len(expected)
    few = (float((1 / expected).sum()) - cells**2 - 2 * cells + 2) / n
    variance = 2 * freedom + max(few, 0.0)
    return float(gamma.sf(statistic, freedom**2 / variance, scale=variance / freedom))
