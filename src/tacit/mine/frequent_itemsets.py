"""Itemsets: frequent itemsets with their supports, and what rules within them need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.design import Design
from tacit.core.label_codes import frame_of
from tacit.core.schema import Label
from tacit.mine.apriori.frequent_sets import FrequentSets
from tacit.mine.apriori.rule_figures import deviate, share_interval
from tacit.mine.apriori.supports import SetMoments, Supports
from tacit.mine.apriori.weight_supports import supports_of
from tacit.mine.error_control import ErrorControl
from tacit.output.number_text import decimals, number_of, span
from tacit.output.table import Table, TabularResult
from tacit.reconstruction.interval import Interval
from tacit.reconstruction.plain_patterns import plain_patterns
from tacit.reconstruction.report_weights import ReportWeights

#: Sets of a printed table before it is cut.
_SHOWN = 40


@dataclass(frozen=True)
class Itemset:
    """Attributes with one category each, and the share of true records that have them all."""

    items: Mapping[str, Label]
    support: float
    support_stderr: float

    def __str__(self) -> str:
        return ", ".join(f"{name} = {label}" for name, label in self.items.items())


@dataclass(frozen=True, eq=False, repr=False)
class Itemsets(TabularResult):
    """Frequent itemsets, shortest first, and what `association_rules` needs; prints as a table.

    `tested` is how many sets were tested. With `is_split`, supports were estimated from other
    records than the sets were selected from.
    """

    design: Design
    found: FrequentSets
    mined: Supports
    estimated: Supports
    moments: SetMoments
    min_support: float
    max_length: int
    control: ErrorControl
    tested: int

    @property
    def is_split(self) -> bool:
        """Whether supports come from other records than those that selected the sets."""
        return self.mined is not self.estimated

    @property
    def n_records(self) -> int:
        """How many reported records the supports were estimated from."""
        return self.estimated.n_records

    @property
    def support(self) -> Array:
        """The share of true records that have each set; unbiased, so it may be below 0."""
        return self.moments.mean

    @cached_property
    def support_stderr(self) -> Array:
        """The standard error of each support."""
        return self.moments.stderr(self.n_records)

    def support_interval(self, level: float = 0.95) -> Interval:
        """Confidence limits of each support, inside [0, 1]."""
        z = deviate(level)
        return share_interval(self.support, self.support_stderr, self.n_records, z)

    def estimated_on(self, records: Any) -> Itemsets:
        """The same sets with supports from other records, which did not select them."""
        others = plain_patterns(records, self.design)
        supports = supports_of(ReportWeights(others, self.design), self.found)
        return replace(self, estimated=supports, moments=_estimated(supports, self.found))

    def __len__(self) -> int:
        return len(self.support)

    def __getitem__(self, place: int) -> Itemset:
        labels = self._labels[place]
        return Itemset(labels, float(self.support[place]), float(self.support_stderr[place]))

    def __iter__(self) -> Iterator[Itemset]:
        return (self[place] for place in range(len(self)))

    @cached_property
    def _labels(self) -> list[dict[str, Label]]:
        items = self.found.items
        return [items.labels(itemset) for level in self.found for itemset in level.tolist()]

    def columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """The table as columns; itemsets in words."""
        lower, upper = self.support_interval(level)
        return {
            "itemset": [str(Itemset(labels, 0.0, 0.0)) for labels in self._labels],
            "length": [len(labels) for labels in self._labels],
            "support": self.support.tolist(),
            "support_stderr": self.support_stderr.tolist(),
            "support_lower": lower.tolist(),
            "support_upper": upper.tolist(),
        }

    def to_frame(self, level: float = 0.95, backend: str | None = None) -> Any:
        """A data frame of pandas, polars or pyarrow; without `backend`, of what is installed."""
        return frame_of(self.columns(level), backend)

    def to_table(self, level: float = 0.95) -> Table:
        """The sets as a table to print."""
        columns = self.columns(level)
        rows = [
            [itemset, decimals(support, stderr), decimals(stderr), span(lower, upper)]
            for itemset, _, support, stderr, lower, upper in zip(*columns.values(), strict=True)
        ]
        heads = ("itemset", "support", "std. error", f"{100 * level:g} % interval")
        return Table(heads, rows, title=self.title)

    @property
    def title(self) -> str:
        """What was found, with its error rate and the records it was estimated from."""
        return f"{self.claim}; {origin(self)}"

    @property
    def claim(self) -> str:
        """How many sets were found, with the error rate."""
        found = number_of(len(self), "itemset")
        return f"{found} with support above {self.min_support:g} ({self.control.says})"

    def shown(self) -> Table:
        return self.to_table().cut(_SHOWN, "itemset")


def origin(found: Itemsets) -> str:
    """Which records figures were estimated from, and whether intervals are too short."""
    own = number_of(found.n_records, "reported record")
    if not found.is_split:
        return f"estimated from the {own} that selected them, so intervals are too short"
    return f"selected from {found.mined.n_records:,}, estimated from {own} apart"


def _estimated(supports: Supports, found: FrequentSets) -> SetMoments:
    """The moments of sets that were found in other records."""
    kept = []
    for sets in found:
        kept.append(supports.level(sets))
        supports.keep(np.ones(len(sets), bool))
    return SetMoments.joined(kept)
