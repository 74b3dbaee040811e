"""fidelity: how far the tables of a tree are from reconstructed ones, beside what noise explains.

For sets of one, two and three attributes, the table p of the tree is compared with the unbiased
table. `distance` is the total variation distance, half the sum of |d| over the differences d.

Each report contributes r(y) to a cell of the tree's table (`query_weights`) and W(y) to that of the
unbiased one, so d has the covariance R of r(y) - W(y) over the reports, divided by n. `by_noise` is
the distance that this makes on average if the tree is right. Tables that the tree was fitted to,
single attributes and edges, have no noise of this kind and are not tested. For others,

    Q = sum over cells d^2 / v,     v = variance of the cell of the unbiased table

is compared with the gamma distribution that has its mean, sum R_cc / v_c, and its variance,
2 sum R_cd^2 / (v_c v_d), as Rao & Scott do for surveys ("The analysis of categorical data from
complex sample surveys", Journal of the American Statistical Association 76, 1981). With few records
per cell the variance is larger by what it is for Pearson's statistic (Haldane, "The exact value of
the moments of the distribution of chi-square", Biometrika 29, 1937).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaincc

from tacit.core.arrays import Array
from tacit.mine.query_errors import query_weights
from tacit.models.dependence_tree import holm
from tacit.models.tree_distribution import TreeDistribution, TreePart
from tacit.models.units import UnitReports
from tacit.output.number_text import decimals, number_of
from tacit.output.table import Table
from tacit.reconstruction.estimate import mean_and_covariance

Units = tuple[int, ...]

#: Sets of each number of attributes that are compared, at most; others are drawn at random.
MOST_TABLES = 200
#: Cells of a table that is compared, true or reported, at most.
MAX_CELLS = 256
#: Reports from which the noise of a difference is estimated, at most.
_SAMPLED = 5_000
#: The tables that differ most are listed.
_LISTED = 3
_NO_NOISE = 1e-12


class ComparedTable(NamedTuple):
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
        tested = [table for table in self.tables[number] if table.tested]
        adjusted = holm(np.array([table.p_value for table in tested]))
        return [table for table, p in zip(tested, adjusted, strict=True) if p <= self.error]

    def columns(self) -> dict[str, list[Any]]:
        """Every compared table as columns."""
        every = [table for tables in self.tables.values() for table in tables]
        return {
            "attributes": [", ".join(table.names) for table in every],
            "distance": [table.distance for table in every],
            "by_noise": [table.by_noise for table in every],
            "p_value": [table.p_value for table in every],
            "tested": [table.tested for table in every],
        }

    def to_dict(self) -> dict[str, Any]:
        """A summary by number of attributes, for JSON."""
        rows = [
            {
                "n_attributes": number,
                "possible": self.possible[number],
                "compared": len(tables),
                "distance": _mean([table.distance for table in tables]),
                "by_noise": _mean([table.by_noise for table in tables]),
                "tested": sum(table.tested for table in tables),
                "differ": len(self.differ(number)),
            }
            for number, tables in self.tables.items()
        ]
        return {"error": self.error, "skipped": self.skipped, "summary": rows}

    def to_table(self) -> Table:
        """Mean distances by number of attributes."""
        rows = [
            (
                row["n_attributes"],
                f"{row['compared']:,} of {row['possible']:,}",
                decimals(row["distance"], scale=1),
                decimals(row["by_noise"], scale=1),
                f"{row['differ']:,} of {row['tested']:,}",
            )
            for row in self.to_dict()["summary"]
        ]
        heads = ("attributes", "tables", "mean distance", "by noise alone", "differ beyond noise")
        title = "fidelity: tables of the model against reconstructed ones"
        return Table(heads, rows, title, "rrrrr")

    def notes(self) -> list[str]:
        """The tables that differ most, and which were not compared."""
        notes = []
        for number in self.tables:
            worst = sorted(self.differ(number), key=lambda table: (table.p_value, -table.distance))
            notes += [
                f"the model does not describe {' x '.join(table.names)}: distance "
                f"{decimals(table.distance, 1)}, by noise alone {decimals(table.by_noise, 1)}"
                for table in worst[:_LISTED]
            ]
            if len(worst) > _LISTED:
                more = number_of(len(worst) - _LISTED, "more table")
                notes.append(f"and {more} of {number_of(number, 'attribute')}")
        if self.skipped:
            notes.append(
                f"{number_of(self.skipped, 'table')} of more than {MAX_CELLS} cells not compared"
            )
        return notes

    def __str__(self) -> str:
        return "\n".join([self.to_table().text(), *self.notes()])

    def _repr_html_(self) -> str:
        return self.to_table().html()


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else math.nan


def fidelity(
    reports: UnitReports, tree: TreeDistribution, error: float, rng: np.random.Generator
) -> Fidelity:
    """Compare the tables of one, two and three units."""
    by_number: dict[int, tuple[ComparedTable, ...]] = {}
    possible, skipped = {}, 0
    sampled = reports.sampled(_SAMPLED, rng)
    for number in range(1, min(3, len(reports.sizes)) + 1):
        possible[number] = math.comb(len(reports.sizes), number)
        compared = []
        for units in _chosen(len(reports.sizes), number, rng):
            sizes = (math.prod(k[u] for u in units) for k in (reports.sizes, reports.reports))
            if max(sizes) > MAX_CELLS:
                skipped += 1
            else:
                compared.append(compare(sampled, tree, units))
        by_number[number] = tuple(compared)
    return Fidelity(by_number, possible, skipped, reports.n_records, error)


def _chosen(n_units: int, number: int, rng: np.random.Generator) -> Iterator[Units]:
    """All sets of so many units, or some of them drawn at random."""
    if math.comb(n_units, number) <= MOST_TABLES:
        yield from combinations(range(n_units), number)
        return
    drawn: set[Units] = set()
    while len(drawn) < MOST_TABLES:
        drawn.add(tuple(sorted(rng.choice(n_units, number, replace=False).tolist())))
    yield from sorted(drawn)


def compare(reports: UnitReports, tree: TreeDistribution, units: Units) -> ComparedTable:
    """The table of some units, in ascending order, against the unbiased one."""
    part = tree.around(units)
    allowed = _cells(tree, units, part.nodes)
    model, inverse, n = part.probability(allowed), reports.inverse(units), reports.n_records
    gap = model - reports.unbiased(units)
    expected = np.maximum(reports.layout.matrix(units) @ model, 0)
    variance = np.maximum((inverse**2) @ expected - model**2, 0) / n
    noise = _noise(reports, units, part, allowed)
    names = tuple(" & ".join(reports.names[u]) for u in units)
    distance, spread = float(np.abs(gap).sum() / 2), np.maximum(np.diagonal(noise), 0)
    by_noise = float(np.sqrt(spread * 2 / math.pi).sum() / 2)
    fitted = set(units) == set(part.nodes) and len(units) - len(part.edges) == 1 and len(units) < 3
    if fitted or not (variance > 0).any():
        return ComparedTable(names, distance, 0.0, 1.0, False)
    scale = np.divide(1, np.sqrt(variance), out=np.zeros_like(gap), where=variance > 0)
    likely = expected[expected > 0]
    # By how much few records per cell raise the variance of Pearson's statistic.
    few = float((1 / likely).sum()) - len(likely) ** 2 - 2 * len(likely) + 2
    statistic = float(((gap * scale) ** 2).sum())
    p_value = _tail(statistic, noise * np.outer(scale, scale), max(few / n, 0.0))
    return ComparedTable(names, distance, by_noise, p_value, True)


def _cells(tree: TreeDistribution, units: Units, nodes: Sequence[int]) -> list[Array]:
    """Every cell of the table of some units as an event, for each of the nodes."""
    codes = np.indices([tree.sizes[u] for u in units]).reshape(len(units), -1)
    masks: list[Array] = []
    for node in nodes:
        if node in units:
            mask = codes[units.index(node)][:, None] == np.arange(tree.sizes[node])
            masks.append(mask.astype(np.float64))
        else:
            masks.append(np.ones((codes.shape[1], tree.sizes[node])))
    return masks


def _noise(reports: UnitReports, units: Units, part: TreePart, allowed: Sequence[Array]) -> Array:
    """Covariance of the difference between the two reports."""
    rows, cells = reports.inverse(units).T, reports.cells(units)
    start, blocks = 0, []
    for weights, counts in query_weights(reports, part, allowed):
        own = rows[cells[start : start + len(counts)]]
        start += len(counts)
        blocks.append((weights - own, counts))
    _, covariance, used, _ = mean_and_covariance(blocks)
    return np.asarray(covariance * used / reports.n_records)


def _tail(statistic: float, noise: Array, more: float) -> float:
    """P(statistic or more) by the gamma distribution of two moments."""
    mean, variance = float(np.trace(noise)), 2 * float((noise**2).sum()) + more
    if mean <= _NO_NOISE:
        return 1.0
    return float(gammaincc(mean**2 / variance, statistic * mean / variance))
