"""itemsets: frequent itemsets of the true records, mined from reported ones.

Apriori (Agrawal & Srikant, VLDB 1994) with the support of each set estimated through the disguise,
and claimed to be frequent only as far as its noise allows; see `error_control`. Supports estimated
from the reports that selected the sets are too high on average: estimate them from other records
(`Itemsets.estimated_on`); `split_records` makes two parts of one file.
"""

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
from tacit.errors import DataError
from tacit.mine.apriori import (
    ExactSupports,
    FrequentSets,
    ItemList,
    SetMoments,
    Supports,
    deviate,
    share_interval,
    skewness,
    supports_of,
    third_central,
)
from tacit.mine.argument_checks import check_whole, is_real
from tacit.mine.error_control import ErrorControl, FalseDiscovery, ThresholdTests, shares_of_lengths
from tacit.output.number_text import decimals, number_of, span
from tacit.output.table import Table, TabularResult
from tacit.reconstruction.interval import Interval
from tacit.reconstruction.reconstruct import unweighted_patterns
from tacit.reconstruction.report_weights import ReportWeights
from tacit.records import Progress

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
        others = unweighted_patterns(records, self.design)
        supports = supports_of(ReportWeights(others, self.design), self.found)
        return replace(self, estimated=supports, moments=_estimated(supports, self.found))

    def __len__(self) -> int:
        return len(self.support)

    def __getitem__(self, index: int) -> Itemset:
        labels = self._labels[index]
        return Itemset(labels, float(self.support[index]), float(self.support_stderr[index]))

    def __iter__(self) -> Iterator[Itemset]:
        return (self[index] for index in range(len(self)))

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
        number = number_of(len(self), "itemset")
        return f"{number} with support above {self.min_support:g} ({self.control.says})"

    def shown(self) -> Table:
        return self.to_table().cut(_SHOWN, "itemset")


def origin(itemsets: Itemsets) -> str:
    """Which records figures were estimated from, and whether intervals are too short."""
    records = number_of(itemsets.n_records, "reported record")
    if not itemsets.is_split:
        return f"estimated from the {records} that selected them, so intervals are too short"
    return f"selected from {itemsets.mined.n_records:,}, estimated from {records} apart"


def _estimated(supports: Supports, found: FrequentSets) -> SetMoments:
    """The moments of sets that were found in other records."""
    levels = []
    for sets in found:
        levels.append(supports.level(sets))
        supports.keep(np.ones(len(sets), bool))
    return SetMoments.joined(levels)


#: The error control unless another is asked for.
CONTROL = FalseDiscovery(0.05)
#: The longest sets in disguised records: moments need all subsets, and noise grows with each item.
LONGEST = 12


@dataclass(frozen=True)
class ItemsetSearch:
    """What to look for; `itemsets` describes the fields."""

    min_support: float
    items: Mapping[str, Any] | None = None
    max_length: int | None = None
    control: ErrorControl = CONTROL

    def __post_init__(self) -> None:
        least = self.min_support
        if not is_real(least) or not 0 < least <= 1:
            raise DataError(f"min_support must lie above 0 and be at most 1, got {least!r}")
        if self.max_length is not None:
            check_whole("max_length", self.max_length, 1)
        if not isinstance(self.control, ErrorControl):
            raise DataError(
                "control must be FalseDiscovery(error), FamilyWise(error) or PlainThreshold() of "
                f"tacit.mine, got {self.control!r}"
            )

    def run(self, records: Any, design: Design, tell: Progress | None = None) -> Itemsets:
        """The itemsets that are found; `tell` is called with the share that is done."""
        patterns = unweighted_patterns(records, design)
        items = ItemList.of(design, self.items)
        for g in np.unique(items.group):  # no set needs all groups at once
            design.channel(design.groups[g].attributes).require_reconstructable()
        sets = FrequentSets(items)
        supports = supports_of(ReportWeights(patterns, design), sets)
        longest = self._longest(items, isinstance(supports, ExactSupports))
        moments, tested = self._levels(supports, sets, longest, tell)
        least = float(self.min_support)
        return Itemsets(
            design, sets, supports, supports, moments, least, longest, self.control, tested
        )

    def _levels(
        self, supports: Supports, sets: FrequentSets, longest: int, tell: Progress | None
    ) -> tuple[SetMoments, int]:
        """Add levels to `found` until no set is frequent; their moments, and how many tests."""
        shares = shares_of_lengths(range(1, longest + 1), sets.items.numbers)
        levels: list[SetMoments] = []
        tested = 0
        for length in range(1, longest + 1):
            candidates = sets.candidates()
            if not len(candidates):
                break
            moments = supports.level(candidates, _within(tell, length))
            share = np.full(len(candidates), shares[length])
            excess = self._excess(moments, supports.n_records)
            tests = ThresholdTests(*excess, share, sum(sets.items.numbers[1 : longest + 1]))
            accepted = self.control.accepted(tests, len(sets))
            tested += len(candidates)
            if not accepted.any():
                break
            sets.add(candidates[accepted])
            supports.keep(accepted)
            levels.append(SetMoments(*(values[accepted] for values in moments)))
        return SetMoments.joined(levels), tested

    def _excess(self, moments: SetMoments, n_records: int) -> tuple[Array, Array, Array]:
        """Support above the threshold, its standard error and its skewness.

        The disguise only adds noise: errors are at least those of undisguised records.
        """
        least = float(self.min_support)
        floor = np.sqrt(least * (1 - least) / n_records)
        stderr = np.maximum(moments.stderr(n_records), floor)
        central = third_central(*moments)
        return moments.mean - least, stderr, skewness(central, stderr, n_records)

    def _longest(self, items: ItemList, exact: bool) -> int:
        """The largest length that is mined."""
        if self.max_length is None:
            return items.n_attributes if exact else min(items.n_attributes, LONGEST)
        if not exact and self.max_length > LONGEST:
            raise DataError(
                f"max_length is at most {LONGEST} for disguised records, got {self.max_length}: "
                "noise grows with each item"
            )
        return min(int(self.max_length), items.n_attributes)


def itemsets(
    records: Any,
    design: Design,
    min_support: float,
    *,
    items: Mapping[str, Any] | None = None,
    max_length: int | None = None,
    control: ErrorControl = CONTROL,
) -> Itemsets:
    """Itemsets that more than `min_support` of the true records have, from reported ones.

    `records` is a frame, codes, the path of a file or a pattern table. `items` maps attributes to
    the categories that may occur in sets; by default the last category of each yes/no attribute and
    every category of the others. `control` is `FalseDiscovery(error)`, `FamilyWise(error)` or
    `PlainThreshold()`; see `tacit.mine.error_control`. Sets have at most `max_length` items, in
    disguised records at most 12.
    """
    return ItemsetSearch(min_support, items, max_length, control).run(records, design)


def _within(tell: Progress | None, length: int) -> Progress | None:
    """Progress of one level; nobody knows how many follow, so each counts half of the rest."""
    if tell is None:
        return None
    return lambda done: tell(1 - (2 - done) / 2**length)
