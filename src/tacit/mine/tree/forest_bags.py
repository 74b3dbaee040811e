"""Bags: weighted true records to grow trees from, one resample of the reports per bag.

Counts of patterns are resampled, never records. What the reports say about the true records
depends on the size of the joint table:

    TableBags     the joint table of largest penalised likelihood, fitted anew to every resample
    ImputedBags   larger domains: a true record is drawn for each report, given a naive Bayes model
    TrueBags      records that are reported as they are
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.core.arrays import Array, Codes, Index
from tacit.mine.tree.imputed_records import RecordPosterior
from tacit.mine.tree.joint_channel import JointChannel
from tacit.mine.tree.joint_fit import FittedTable, refitted_table
from tacit.mine.tree.random_tree import WeightedRecords
from tacit.reconstruction import Reconstruction
from tacit.records import PatternTable

#: True records that are drawn for a pattern, at most; they share its count.
_MOST_DRAWN = 4
#: Cells in which fewer records are expected are left out.
_NOTHING = 0.01

#: Makes the records of the next tree of a bag.
Draw = Callable[[], WeightedRecords]


class Bags(ABC):
    """A source of bags."""

    @abstractmethod
    def bag(self, rng: np.random.Generator) -> Draw:
        """Resample the reports; gives what draws the records of each tree."""


@dataclass(frozen=True, eq=False)
class TableBags(Bags):
    """Bags of joint tables."""

    fitted: FittedTable
    found: Reconstruction
    target: str

    def bag(self, rng: np.random.Generator) -> Draw:
        patterns = resampled(self.found.patterns, rng)
        again = Reconstruction(patterns, self.found.design)
        reports, table = refitted_table(self.fitted, again, self.target)
        records = table_records(reports.channel, table * reports.total)
        return lambda: records


@dataclass(frozen=True, eq=False)
class ImputedBags(Bags):
    """Bags of records drawn given the reports, anew for every tree."""

    posterior: RecordPosterior
    counts: Index

    def bag(self, rng: np.random.Generator) -> Draw:
        counts = multinomial(self.counts, rng)
        drawn = np.minimum(counts, _MOST_DRAWN)
        rows = np.repeat(np.arange(len(counts)), drawn)
        weights = np.repeat(counts / np.maximum(drawn, 1), drawn)
        sizes, target = self.posterior.sizes, self.posterior.target
        others = [a for a in range(len(sizes)) if a != target]

        def draw() -> WeightedRecords:
            records = self.posterior.draw(rows, rng)
            own = tuple(sizes[a] for a in others)
            return WeightedRecords.of(
                records[:, others], records[:, target], weights, own, sizes[target]
            )

        return draw


@dataclass(frozen=True, eq=False)
class TrueBags(Bags):
    """Bags of distinct true records with their counts."""

    features: Codes
    classes: Codes
    counts: Index
    sizes: tuple[int, ...]
    n_classes: int

    def bag(self, rng: np.random.Generator) -> Draw:
        weights: Array = multinomial(self.counts, rng).astype(np.float64)
        records = WeightedRecords.of(
            self.features, self.classes, weights, self.sizes, self.n_classes
        )
        return lambda: records


def table_records(channel: JointChannel, expected: Array) -> WeightedRecords:
    """The cells of a table, with the expected number of records in each."""
    weights = np.where(expected > _NOTHING, expected, 0.0).ravel()
    rows, classes = np.unravel_index(np.arange(expected.size), expected.shape)
    sizes, n_classes = channel.sizes, channel.n_classes
    return WeightedRecords.of(channel.codes[rows], classes, weights, sizes, n_classes)


def resampled(patterns: PatternTable, rng: np.random.Generator) -> PatternTable:
    """As many records, drawn with replacement."""
    counts = multinomial(patterns.counts, rng)
    kept = counts > 0
    return PatternTable(patterns.schema, patterns.patterns[kept], counts[kept])


def multinomial(counts: Index | Array, rng: np.random.Generator) -> Index:
    """As many records, drawn with replacement: how often each pattern is drawn."""
    n = int(counts.sum())
    return np.asarray(rng.multinomial(n, counts / n))
