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
from tacit.mine import apriori
from tacit.mine.apriori import FrequentSets, ItemList, SetMoments, Supports
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
        return words(self.items)


def words(items: Mapping[str, Label]) -> str:
    """Attributes and their categories in words."""
    return ", ".join(f"{name} = {label}" for name, label in items.items())


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
        z = apriori.deviate(level)
        return apriori.share_interval(self.support, self.support_stderr, self.n_records, z)

    def estimated_on(self, records: Any) -> Itemsets:
        """The same sets with supports from other records, which did not select them."""
        others = unweighted_patterns(records, self.design)
        supports = apriori.supports_of(ReportWeights(others, self.design), self.found)
        levels = []
        for sets in self.found:
            levels.append(supports.level(sets))
            supports.keep(np.ones(len(sets), bool))
        moments = apriori.joined(apriori.NO_SETS, levels)
        return replace(self, estimated=supports, moments=moments)

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
            "itemset": [words(labels) for labels in self._labels],
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


#: The error control unless another is asked for.
CONTROL = FalseDiscovery(0.05)
#: The longest sets in disguised records: moments need all subsets, and noise grows with each item.
LONGEST = 12


def itemsets(
    records: Any,
    design: Design,
    min_support: float,
    *,
    items: Mapping[str, Any] | None = None,
    max_length: int | None = None,
    control: ErrorControl = CONTROL,
    progress: Progress = lambda _: None,
) -> Itemsets:
    """Itemsets that more than `min_support` of the true records have, from reported ones.

    `records` is a frame, codes, the path of a file or a pattern table. `items` maps attributes to
    the categories that may occur in sets; by default the last category of each yes/no attribute and
    every category of the others. `control` is `FalseDiscovery(error)`, `FamilyWise(error)` or
    `PlainThreshold()`; see `tacit.mine.error_control`. Sets have at most `max_length` items, in
    disguised records at most 12. `progress` is called with the share of the work that is done.
    """
    if not is_real(min_support) or not 0 < min_support <= 1:
        raise DataError(f"min_support must lie above 0 and be at most 1, got {min_support!r}")
    if max_length is not None:
        check_whole("max_length", max_length, 1)
    if not isinstance(control, ErrorControl):
        raise DataError(
            "control must be FalseDiscovery(error), FamilyWise(error) or PlainThreshold() of "
            f"tacit.mine, got {control!r}"
        )
    patterns, least = unweighted_patterns(records, design), float(min_support)
    sets = FrequentSets(ItemList.of(design, items))
    for g in np.unique(sets.items.group):  # no set needs all groups at once
        design.channel(design.groups[g].attributes).require_reconstructable()
    supports = apriori.supports_of(ReportWeights(patterns, design), sets)
    longest = _longest(supports, sets.items, max_length)
    shares = shares_of_lengths(range(1, longest + 1), sets.items.numbers)
    possible = sum(sets.items.numbers[1 : longest + 1])
    floor, levels, tested = least * (1 - least) / supports.n_records, [], 0
    for length in range(1, longest + 1):
        candidates = sets.candidates()
        if not len(candidates):
            break
        moments = supports.level(candidates, _within(progress, length))
        share = np.full(len(candidates), shares[length])
        tests = ThresholdTests(*moments.excess(least, floor, supports.n_records), share, possible)
        accepted = control.accepted(tests, len(sets))
        tested += len(candidates)
        if not accepted.any():
            break
        sets.add(candidates[accepted])
        supports.keep(accepted)
        levels.append(SetMoments(*(values[accepted] for values in moments)))
    moments = apriori.joined(apriori.NO_SETS, levels)
    return Itemsets(design, sets, supports, supports, moments, least, longest, control, tested)


def _longest(supports: Supports, items: ItemList, max_length: int | None) -> int:
    """The largest length that is mined."""
    if isinstance(supports, apriori.ExactSupports):
        return min(max_length or items.n_attributes, items.n_attributes)
    if max_length is not None and max_length > LONGEST:
        raise DataError(
            f"max_length is at most {LONGEST} for disguised records, got {max_length}: "
            "noise grows with each item"
        )
    return min(max_length or LONGEST, items.n_attributes)


def _within(tell: Progress, length: int) -> Progress:
    """Progress of one level; nobody knows how many follow, so each counts half of the rest."""
    return lambda done: tell(1 - (2 - done) / 2**length)
