"""itemsets: frequent itemsets of the true records, mined from reported ones.

Apriori (Agrawal & Srikant, VLDB 1994) with the support of each set estimated through the disguise,
and claimed to be frequent only as far as its noise allows; see `error_control`. Supports estimated
from the reports that selected the sets are too high on average: estimate them from other records
(`Itemsets.estimated_on`); `split_records` makes two parts of one file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.design import Design
from tacit.errors import DataError
from tacit.mine.apriori.frequent_sets import FrequentSets
from tacit.mine.apriori.hit_supports import ExactSupports
from tacit.mine.apriori.item_list import ItemList
from tacit.mine.apriori.supports import SetMoments, Supports, skewness, third_central
from tacit.mine.apriori.weight_supports import supports_of
from tacit.mine.error_control import ErrorControl, FalseDiscovery, ThresholdTests, shares_of_lengths
from tacit.mine.frequent_itemsets import Itemsets
from tacit.reconstruction.plain_patterns import plain_patterns
from tacit.reconstruction.report_weights import ReportWeights
from tacit.records import Progress

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
        _check_threshold(self.min_support)
        _check_length(self.max_length)
        if not isinstance(self.control, ErrorControl):
            raise DataError(
                "control must be FalseDiscovery(error), FamilyWise(error) or PlainThreshold() of "
                f"tacit.mine, got {self.control!r}"
            )

    def run(self, records: Any, design: Design, tell: Progress | None = None) -> Itemsets:
        """The itemsets that are found; `tell` is called with the share that is done."""
        patterns = plain_patterns(records, design)
        items = ItemList.of(design, self.items)
        for g in np.unique(items.group):  # no set needs all groups at once
            design.channel(design.groups[g].attributes).require_reconstructable()
        found = FrequentSets(items)
        supports = supports_of(ReportWeights(patterns, design), found)
        longest = self._longest(items, isinstance(supports, ExactSupports))
        moments, tested = self._levels(supports, found, longest, tell)
        least = float(self.min_support)
        return Itemsets(
            design, found, supports, supports, moments, least, longest, self.control, tested
        )

    def _levels(
        self, supports: Supports, found: FrequentSets, longest: int, tell: Progress | None
    ) -> tuple[SetMoments, int]:
        """Add levels to `found` until no set is frequent; their moments, and how many tests."""
        shares = shares_of_lengths(range(1, longest + 1), found.items.numbers)
        kept: list[SetMoments] = []
        tested = 0
        for length in range(1, longest + 1):
            candidates = found.candidates()
            if not len(candidates):
                break
            moments = supports.level(candidates, _within(tell, length))
            share = np.full(len(candidates), shares[length])
            excess = self._excess(moments, supports.n_records)
            tests = ThresholdTests(*excess, share, sum(found.items.numbers[1 : longest + 1]))
            accepted = self.control.accepted(tests, len(found))
            tested += len(candidates)
            if not accepted.any():
                break
            found.add(candidates[accepted])
            supports.keep(accepted)
            kept.append(SetMoments(*(values[accepted] for values in moments)))
        return SetMoments.joined(kept), tested

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


def _check_threshold(min_support: Any) -> None:
    number = isinstance(min_support, int | float | np.number) and not isinstance(min_support, bool)
    if not number or not 0 < min_support <= 1:
        raise DataError(f"min_support must lie above 0 and be at most 1, got {min_support!r}")


def _check_length(max_length: Any) -> None:
    whole = isinstance(max_length, int | np.integer) and not isinstance(max_length, bool)
    if max_length is not None and (not whole or max_length < 1):
        raise DataError(f"max_length must be a whole number from 1 up, got {max_length!r}")
