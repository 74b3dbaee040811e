"""Apriori: items, candidate sets level by level, moments of their supports, figures of rules.

An item is a category of an attribute. An itemset has at most one item of each attribute: no record
has two answers to one question.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import groupby
from operator import mul
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Array, Index, Mask
from tacit.core.channel.weights import Events
from tacit.core.design import Design
from tacit.core.schema import Label, Schema
from tacit.errors import DataError, SchemaError
from tacit.reconstruction.estimate import covariance_of_means, stderr_of_means
from tacit.reconstruction.interval import Interval, check_level
from tacit.reconstruction.report_weights import ReportWeights
from tacit.records import Progress
from tacit.records.bit_columns import BitColumns


@dataclass(frozen=True, eq=False)
class ItemList:
    """Items in the order of the schema: the place of each item's attribute, its code, its group."""

    schema: Schema
    attribute: Index
    code: Index
    group: Index

    @classmethod
    def of(cls, design: Design, chosen: Mapping[str, Any] | None) -> ItemList:
        """The chosen categories of each attribute; by default those of `default_codes`."""
        schema = design.schema
        pairs = sorted(_all(schema) if chosen is None else _chosen(schema, chosen))
        groups = {name: g for g, group in enumerate(design.groups) for name in group.attributes}
        attribute, code = np.array(pairs, np.intp).T
        group = np.array([groups[schema.names[a]] for a in attribute], np.intp)
        return cls(schema, attribute, code, group)

    def __len__(self) -> int:
        return len(self.code)

    @property
    def n_attributes(self) -> int:
        """How many attributes have items; no itemset is longer."""
        return len(np.unique(self.attribute))

    @property
    def names(self) -> list[str]:
        """The attributes that have items."""
        return [self.schema.names[a] for a in np.unique(self.attribute)]

    @cached_property
    def numbers(self) -> list[int]:
        """How many itemsets of length 0, 1, 2, ... there can be, whatever the records."""
        totals = [1]
        for n_items in np.unique(self.attribute, return_counts=True)[1].tolist():
            with_own = [0, *(n_items * n for n in totals)]
            totals = [a + b for a, b in zip([*totals, 0], with_own, strict=True)]
        return totals

    def labels(self, itemset: Iterable[int]) -> dict[str, Label]:
        """Attribute and category of each item."""
        labels = {}
        for item in itemset:
            attribute = self.schema.attributes[self.attribute[item]]
            labels[attribute.name] = attribute.categories[self.code[item]]
        return labels

    def events(self, itemsets: Index) -> Events:
        """The event of each itemset (itemsets x items)."""
        sizes = self.schema.sizes
        starts = np.cumsum([0, *sizes])
        allowed = np.ones((len(itemsets), starts[-1]), bool)
        rows = np.arange(len(itemsets))
        for items in itemsets.T:
            attributes = self.attribute[items]
            for a in np.unique(attributes):
                allowed[rows[attributes == a], starts[a] : starts[a + 1]] = False
            allowed[rows, starts[attributes] + self.code[items]] = True
        return Events(sizes, allowed)


def default_codes(size: int) -> list[int]:
    """The last category of a yes/no attribute; every category of a larger one.

    >>> default_codes(2), default_codes(3)
    ([1], [0, 1, 2])
    """
    return [1] if size == 2 else list(range(size))


def _all(schema: Schema) -> Iterator[tuple[int, int]]:
    for attribute, size in enumerate(schema.sizes):
        yield from ((attribute, code) for code in default_codes(size))


def _chosen(schema: Schema, chosen: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    if not isinstance(chosen, Mapping) or not chosen:
        raise SchemaError(
            "items must be a mapping from attribute to the categories that count, such as "
            f"{{'smokes': 'yes'}}, got {chosen!r}"
        )
    for name, wanted in chosen.items():
        attribute = schema[name]
        several = isinstance(wanted, list | tuple | set | frozenset)
        labels = list(wanted) if several else [wanted]
        if not labels:
            raise SchemaError(f"items: no category of {name!r} is given; leave the attribute out")
        codes = [attribute.code(label) for label in labels]
        if len(set(codes)) < len(codes):
            raise DataError(f"items: a category of {name!r} is given twice")
        yield from ((schema.index(name), code) for code in codes)


class FrequentSets:
    """The sets of length 1, 2, ... that were kept; closed downwards.

    A candidate has k items whose subsets of k - 1 items were all found (Agrawal & Srikant, "Fast
    algorithms for mining association rules", VLDB 1994, section 2.1.1). Sets are rows of ascending
    items, rows in lexicographic order. A set is looked up by the place of all items but the last,
    and the last: an integer that fits a word whatever the length.
    """

    def __init__(self, items: ItemList) -> None:
        self.items = items
        self._levels: list[Index] = []
        self._keys: list[npt.NDArray[np.int64]] = []

    def __len__(self) -> int:
        """How many sets there are."""
        return sum(map(len, self._levels))

    def __iter__(self) -> Iterator[Index]:
        """The levels: sets of one item, of two items, ..."""
        return iter(self._levels)

    @property
    def longest(self) -> int:
        """The number of items of the longest set."""
        return len(self._levels)

    def level(self, length: int) -> Index:
        """The sets of this length."""
        return self._levels[length - 1]

    def add(self, sets: Index) -> None:
        """Add the next level: some of the candidates, in their order."""
        self._keys.append(self._key(sets))
        self._levels.append(sets)

    def places(self, sets: Index) -> Index:
        """Where each set is in its level; -1 if it was not kept."""
        length = sets.shape[1]
        if length == 0:
            return np.zeros(len(sets), np.intp)
        keys, sought = self._keys[length - 1], self._key(sets)
        if not len(keys):
            return np.full(len(sets), -1, np.intp)
        places = np.minimum(np.searchsorted(keys, sought), len(keys) - 1)
        return np.where(keys[places] == sought, places, -1)

    def candidates(self) -> Index:
        """The sets of the next level all of whose subsets were kept."""
        if not self._levels:
            return np.arange(len(self.items), dtype=np.intp)[:, None]
        left, right = self._pairs()
        last = self._levels[-1]
        ends = last[left, -1], last[right, -1]
        apart = self.items.attribute[ends[0]] != self.items.attribute[ends[1]]
        joined = np.column_stack([last[left], ends[1]])[apart]
        for left_out in range(joined.shape[1] - 2):
            frequent = self.places(np.delete(joined, left_out, axis=1)) >= 0
            joined = joined[frequent]
        return np.asarray(joined)

    def _pairs(self) -> tuple[Index, Index]:
        """All pairs of sets of the last level that differ in the last item only."""
        first = self._keys[-1] // len(self.items)
        places = np.arange(len(first))
        partners = np.searchsorted(first, first, side="right") - places - 1
        left = np.repeat(places, partners)
        within = np.arange(len(left)) - np.repeat(np.cumsum(partners) - partners, partners)
        return left, left + within + 1

    def _key(self, sets: Index) -> npt.NDArray[np.int64]:
        before = self.places(sets[:, :-1])
        keys = before.astype(np.int64) * len(self.items) + sets[:, -1]
        return np.where(before < 0, -1, keys)


#: The items of a rule that are conditions; the others are its conclusion.
Inside = tuple[bool, ...]


class SetMoments(NamedTuple):
    """Means of g, g^2 and g^3, one entry per set."""

    mean: Array
    second: Array
    third: Array

    def stderr(self, n_records: int) -> Array:
        """Standard errors of the means."""
        return stderr_of_means(self.second, self.mean, n_records)

    @classmethod
    def joined(cls, levels: Sequence[SetMoments]) -> SetMoments:
        """The moments of several levels, one after the other."""
        if not levels:
            return cls(*np.empty((3, 0)))
        return cls(*(np.concatenate(parts) for parts in zip(*levels, strict=True)))


class RuleMoments(NamedTuple):
    """Of all items of a rule, its conditions and its conclusion: means, and their covariance.

    `mean` is rules x 3, `covariance` rules x 3 x 3. `cubes` is rules x 4: means of a^3, a^2 b,
    a b^2 and b^3 for the weights a of all items and b of the conditions.
    """

    mean: Array
    covariance: Array
    cubes: Array

    @classmethod
    def of(cls, mean: Array, products: Array, cubes: Array, n_records: int) -> RuleMoments:
        """From means of g and of products of two and three weights."""
        outer = (mean[:, :, None], mean[:, None, :])
        return cls(mean, covariance_of_means(products, *outer, n_records), cubes)

    @classmethod
    def joined(cls, blocks: Sequence[RuleMoments]) -> RuleMoments:
        """The moments of several blocks of rules, one after the other."""
        if not blocks:
            return cls(np.empty((0, 3)), np.empty((0, 3, 3)), np.empty((0, 4)))
        return cls(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


class Supports(ABC):
    """The moments of sets and rules in some reports.

        P(E) = mean of g(y; E) over the reports,    Var = (mean of g^2 - P(E)^2) / n

    Sets come level by level, subsets first. `supports_of` chooses the class: `ExactSupports` if
    reports are the truth, `HitSupports` if a weight depends only on which items a report has, and
    `WeightSupports` for any design.
    """

    n_records: int

    @abstractmethod
    def level(self, sets: Index, tell: Progress | None = None) -> SetMoments:
        """The moments of the next level of sets; their subsets were kept."""

    @abstractmethod
    def keep(self, chosen: Mask) -> None:
        """Keep these sets of the level that came last, for the next level and for rules."""

    @abstractmethod
    def rules(self, sets: Index, inside: Inside) -> RuleMoments:
        """The moments of rules within kept sets of one length."""


def halves(inside: Inside) -> tuple[Inside, Inside, Inside]:
    """All items, the conditions, and the conclusion.

    >>> halves((True, False))
    ((True, True), (True, False), (False, True))
    """
    return (True,) * len(inside), inside, tuple(not i for i in inside)


def third_central(first: Array, second: Array, third: Array) -> Array:
    """The third central moment from moments about 0."""
    return np.asarray(third - 3 * first * second + 2 * first**3)


def skewness(central: Array, stderr: Array, n_records: int) -> Array:
    """The skewness of a mean over n records, from the third central moment of one."""
    cube = stderr**3 * n_records**2
    return np.divide(central, cube, out=np.zeros_like(central), where=cube > 0)


def part(sets: Index, chosen: Inside) -> Index:
    """Some of the items of each set."""
    return sets[:, np.flatnonzero(chosen)]


Counts = npt.NDArray[np.int64]

#: Cells of hit tables at once.
_AT_ONCE = 1 << 20


def bit_columns(reports: ReportWeights, items: ItemList) -> BitColumns:
    """A column of bits per item."""
    columns = [
        reports.group(g).answers[a] for g, a in zip(items.group, items.attribute, strict=True)
    ]
    answers = list(zip(columns, items.code.tolist(), strict=True))
    return BitColumns(answers, reports.patterns.counts)


class ExactSupports(Supports):
    """Reports are the truth: shares of records, as plain Apriori counts them."""

    def __init__(self, reports: ReportWeights, found: FrequentSets) -> None:
        self._bits, self._found = bit_columns(reports, found.items), found
        self.n_records = reports.patterns.n_records
        self._shares: list[Array] = []

    def level(self, sets: Index, tell: Progress | None = None) -> SetMoments:
        share = _counted(self._bits, sets, tell) / self.n_records
        self._last = share
        return SetMoments(share, share, share)

    def keep(self, chosen: Mask) -> None:
        self._shares.append(self._last[chosen])

    def rules(self, sets: Index, inside: Inside) -> RuleMoments:
        parts = [part(sets, chosen) for chosen in halves(inside)]
        shares = [self._shares[p.shape[1] - 1][self._found.places(p)] for p in parts]
        mean = np.stack(shares, axis=1)
        products = np.repeat(mean[:, :1], 9, axis=1).reshape(-1, 3, 3)
        for half in (1, 2):
            products[:, half, half] = mean[:, half]
        return RuleMoments.of(mean, products, mean[:, [0, 0, 0, 1]], self.n_records)


class HitSupports(Supports):
    """Weights depend on hits alone.

    In most families the weight of a report depends only on which items it has (its hits). So the
    moments of a set of k items need the 2^k counts of reports by hits, which follow from the counts
    N of the subsets by inclusion and exclusion:

        count of hits exactly on S = sum over T with S <= T <= E of (-1)^|T - S| N(T)

    All proper subsets were counted at earlier levels: each set costs one conjunction of bits. For
    independent yes/no items this is MASK (Rizvi & Haritsa, "Maintaining data privacy in association
    rule mining", VLDB 2002, section 4); here it serves any grouping and any number of categories.
    """

    def __init__(self, reports: ReportWeights, found: FrequentSets) -> None:
        self._bits, self._found, self._items = bit_columns(reports, found.items), found, found.items
        self._reports = reports
        self.n_records = reports.patterns.n_records
        self._kept: list[Counts] = [np.array([[self.n_records]])]
        self._alone = self._single_tables()

    def level(self, sets: Index, tell: Progress | None = None) -> SetMoments:
        """Counts of the subsets of each set, then its moments by hits."""
        length = sets.shape[1]
        counts = np.empty((len(sets), *(2,) * length), np.int64)
        counts[(slice(None), *(1,) * length)] = _counted(self._bits, sets, tell)
        for item in range(length):
            below = self._kept[length - 1][self._found.places(np.delete(sets, item, axis=1))]
            missed = (slice(None), *(0 if i == item else slice(None) for i in range(length)))
            counts[missed] = below.reshape(-1, *(2,) * (length - 1))
        self._last = counts.reshape(len(sets), -1)
        moments = np.empty((3, len(sets)))
        for block in _blocks(len(sets), 2**length):
            weights = self._weights(sets[block], (True,) * length).reshape(-1, 2**length)
            counted = _by_hits(self._last[block], length).reshape(-1, 2**length)
            hits = counted.astype(np.float64)
            for power in range(3):
                hits = hits * weights
                moments[power, block] = hits.sum(axis=1)
        return SetMoments(*moments / self.n_records)

    def keep(self, chosen: Mask) -> None:
        self._kept.append(self._last[chosen])

    def rules(self, sets: Index, inside: Inside) -> RuleMoments:
        length = len(inside)
        n, places = self.n_records, self._found.places(sets)
        mean, products, cubes = (np.empty((len(sets), *shape)) for shape in ((3,), (3, 3), (4,)))
        for block in _blocks(len(sets), 2**length):
            hits = _by_hits(self._kept[length][places[block]], length)
            tables = [self._weights(sets[block], chosen) for chosen in halves(inside)]
            axes = tuple(range(1, length + 1))
            for i, weights in enumerate(tables):
                mean[block, i] = (hits * weights).sum(axis=axes)
                for j, other in enumerate(tables):
                    products[block, i, j] = (hits * (weights * other)).sum(axis=axes)
            both, conditions, _ = tables
            for power in range(4):
                cube = both ** (3 - power) * conditions**power
                cubes[block, power] = (hits * cube).sum(axis=axes)
        return RuleMoments.of(mean / n, products / n, cubes / n, n)

    def _weights(self, sets: Index, chosen: Inside) -> Array:
        """g of the chosen items by hits, one axis per item; of length 1 where it is not chosen."""
        axes = np.flatnonzero(chosen)
        weights = np.ones((len(sets), *(2 if c else 1 for c in chosen)))
        groups = self._items.group[sets[:, axes]]
        first = (groups[:, :, None] == groups[:, None, :]).argmax(axis=2)
        kinds, which = np.unique(first, axis=0, return_inverse=True)
        for number, kind in enumerate(kinds):
            rows = np.flatnonzero(which.ravel() == number)
            for leader in np.unique(kind):
                together = axes[kind == leader]
                shape = [2 if axis in together else 1 for axis in range(len(chosen))]
                weights[rows] *= self._tables(sets[np.ix_(rows, together)]).reshape(-1, *shape)
        return weights

    def _tables(self, sets: Index) -> Array:
        """g by hits of sets that each lie in one group."""
        if sets.shape[1] == 1:
            return self._alone[sets[:, 0]]
        tables = np.empty((len(sets), 2 ** sets.shape[1]))
        groups = self._items.group[sets[:, 0]]
        for g in np.unique(groups):
            rows = np.flatnonzero(groups == g)
            tables[rows] = self._group_tables(int(g), sets[rows])
        return tables

    def _group_tables(self, g: int, sets: Index) -> Array:
        attributes = self._items.attribute[sets]
        return self._reports.group(g).weights.hit_tables(self._items.events(sets), attributes)

    def _single_tables(self) -> Array:
        tables = np.empty((len(self._items), 2))
        for g in np.unique(self._items.group):
            items = np.flatnonzero(self._items.group == g)
            tables[items] = self._group_tables(int(g), items[:, None])
        return tables


def _counted(bits: BitColumns, sets: Index, tell: Progress | None) -> Counts:
    if tell is None:
        return bits.count(sets)
    return bits.count(sets, lambda done: tell(done / len(sets)))


def _by_hits(counts: Counts, length: int) -> Counts:
    """Counts of reports that hit exactly these items, from counts of those that hit at least."""
    exact = counts.reshape(-1, *(2,) * length).copy()
    for axis in range(1, length + 1):
        along = np.moveaxis(exact, axis, 0)
        along[0] -= along[1]
    return exact


def _blocks(rows: int, cells: int) -> Iterator[slice]:
    step = max(1, _AT_ONCE // cells)
    return (slice(start, start + step) for start in range(0, rows, step))


#: Bytes of weights that are kept for further sets.
_KEPT = 1 << 28


def supports_of(reports: ReportWeights, sets: FrequentSets) -> Supports:
    """The fastest class that serves these reports."""
    weights = [reports.group(int(g)).weights for g in np.unique(sets.items.group)]
    if not all(group.by_attribute for group in weights):
        return WeightSupports(reports, sets)
    if all(group.exact for group in weights):
        return ExactSupports(reports, sets)
    return HitSupports(reports, sets)


class WeightSupports(Supports):
    """Weights of every pattern, item by item; the items of one group together."""

    def __init__(self, reports: ReportWeights, found: FrequentSets) -> None:
        self._reports, self._items = reports, found.items
        self._counts = reports.patterns.counts.astype(np.float64)
        self.n_records = reports.patterns.n_records
        cached = max(16, _KEPT // self._counts.nbytes)
        self._group_weights = lru_cache(maxsize=cached)(self._of_group)

    def level(self, sets: Index, tell: Progress | None = None) -> SetMoments:
        sums = np.empty((3, len(sets)))
        for row, itemset in enumerate(sets.tolist()):
            g = self._weights(itemset)
            weighted, squares = self._counts * g, g * g
            sums[:, row] = weighted.sum(), weighted @ g, weighted @ squares
            if tell is not None:
                tell((row + 1) / len(sets))
        return SetMoments(*sums / self.n_records)

    def keep(self, chosen: Mask) -> None:
        """Nothing: every set is computed from the reports."""

    def rules(self, sets: Index, inside: Inside) -> RuleMoments:
        n = self.n_records
        mean, products, cubes = (np.empty((len(sets), *shape)) for shape in ((3,), (3, 3), (4,)))
        parts = [part(sets, chosen).tolist() for chosen in halves(inside)]
        for row, itemsets in enumerate(zip(*parts, strict=True)):
            g = np.stack([self._weights(itemset) for itemset in itemsets])
            weighted, squares = g * self._counts, g[:2] ** 2
            mean[row] = g @ self._counts
            products[row] = weighted @ g.T
            cubes[row] = (squares @ weighted[:2].T).ravel()
        return RuleMoments.of(mean / n, products / n, cubes / n, n)

    def _weights(self, itemset: list[int]) -> Array:
        """g of every pattern."""
        by_group = sorted(itemset, key=self._items.group.__getitem__)
        parts = groupby(by_group, key=self._items.group.__getitem__)
        return reduce(mul, (self._group_weights(tuple(items)) for _, items in parts))

    def _of_group(self, itemset: tuple[int, ...]) -> Array:
        """g of every pattern for items of one group."""
        event = self._items.events(np.array([itemset]))
        group = self._reports.group(int(self._items.group[itemset[0]]))
        return np.asarray(group.weights.weights(event, group.states(event))[0])


@dataclass(frozen=True, eq=False)
class RuleFigures:
    """Figures of several rules, estimated from `n_records` reported records.

    For a rule with conditions A and conclusion B in terms of the weights g of a report:

        support     P(AB)              g_AB
        confidence  P(AB)/P(A)         (g_AB - confidence g_A) / P(A)
        lift        P(AB)/(P(A)P(B))   lift (g_AB/P(AB) - g_A/P(A) - g_B/P(B))

    Intervals: of the support normal, of the confidence by Fieller's method, of the lift normal on
    the logarithmic scale. Where nearly all or no records comply these are too short, since the
    spread of few reports says little. The disguise only adds noise, so the intervals also contain
    those of Wilson (1927) for as many undisguised records.
    """

    moments: RuleMoments
    n_records: int

    @cached_property
    def estimates(self) -> dict[str, Array]:
        """Support, confidence and lift with their standard errors; support of the conditions.

        support = P(conditions and conclusion), conditions_support = P(conditions), confidence =
        P(conclusion | conditions), inside [0, 1], and lift = confidence / P(conclusion). A ratio is
        NaN if its denominator is not positive.
        """
        both, conditions, conclusion = self.moments.mean.T
        none, unit = np.zeros_like(both), np.ones_like(both)
        share, whole = _ratio(both, conditions), _ratio(unit, conditions)
        lift, alone = _ratio(share, conclusion), _ratio(unit, conditions * conclusion)
        figures = {"conditions_support": conditions}
        for name, value, slope in (
            ("support", both, [unit, none, none]),
            ("confidence", np.clip(share, 0, 1), [whole, -share * whole, none]),
            ("lift", lift, [alone, -_ratio(lift, conditions), -_ratio(lift, conclusion)]),
        ):
            figures[name], figures[f"{name}_stderr"] = value, self._delta(np.stack(slope, axis=1))
        return figures

    def excess(self, least: float) -> tuple[Array, Array, Array]:
        """P(AB) - least P(A), positive if the confidence exceeds `least`.

        With its standard error, at least that of undisguised records, and its skewness.
        """
        both, conditions, _ = self.moments.mean.T
        n, mean = self.n_records, both - least * conditions
        noise = self._delta(np.array([[1.0, -least, 0.0]]))
        floor = np.maximum(conditions, 0) * least * (1 - least) / n
        stderr = np.sqrt(np.maximum(noise**2, floor))
        third = self.moments.cubes @ np.array([1, -3 * least, 3 * least**2, -(least**3)])
        central = third_central(mean, n * noise**2 + mean**2, third)
        return mean, stderr, skewness(central, stderr, n)

    def intervals(self, level: float) -> dict[str, Interval]:
        """Limits of support, confidence and lift."""
        z, figures = deviate(level), self.estimates
        return {
            "support": share_interval(
                figures["support"], figures["support_stderr"], self.n_records, z
            ),
            "confidence": self._confidence_interval(z),
            "lift": self._lift_interval(z),
        }

    def _confidence_interval(self, z: float) -> Interval:
        """All c with (P(AB) - c P(A))^2 at most z^2 times its variance, with that of Wilson."""
        both, conditions, _ = self.moments.mean.T
        covariance = self.moments.covariance
        a = conditions**2 - z**2 * covariance[:, 1, 1]
        b = both * conditions - z**2 * covariance[:, 0, 1]
        root = np.sqrt(np.maximum(b**2 - a * (both**2 - z**2 * covariance[:, 0, 0]), 0))
        bounded = (a > 0) & (conditions > 0)
        wilson = _wilson(
            self.estimates["confidence"], np.maximum(conditions, 0) * self.n_records, z
        )
        lower = np.where(bounded, _ratio(b - root, np.where(bounded, a, 1.0)), 0.0)
        upper = np.where(bounded, _ratio(b + root, np.where(bounded, a, 1.0)), 1.0)
        return _joined(Interval(lower, upper), wilson)

    def _lift_interval(self, z: float) -> Interval:
        lift, stderr = self.estimates["lift"], self.estimates["lift_stderr"]
        positive = lift > 0
        reach = np.exp(z * np.divide(stderr, lift, out=np.full_like(lift, np.nan), where=positive))
        lower = np.where(positive, lift / reach, 0.0)
        upper = np.where(positive, lift * reach, np.maximum(lift + z * stderr, 0))
        return Interval(np.where(np.isnan(lift), np.nan, lower), upper)

    def _delta(self, slope: Array) -> Array:
        variance = np.einsum("ri,rij,rj->r", *_aligned(slope, self.moments.covariance))
        return np.asarray(np.sqrt(np.maximum(variance, 0)))


def share_interval(share: Array, stderr: Array, n_records: int, z: float) -> Interval:
    """The normal interval of shares of records, with that of Wilson."""
    wilson = _wilson(np.clip(share, 0, 1), np.full(len(share), float(n_records)), z)
    return _joined(Interval(share - z * stderr, share + z * stderr), wilson)


def _aligned(slope: Array, covariance: Array) -> tuple[Array, Array, Array]:
    whole = np.broadcast_to(slope, (len(covariance), slope.shape[1]))
    return whole, covariance, whole


def _ratio(above: Array, below: Array) -> Array:
    """above / below; NaN unless `below` is positive."""
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)


def _wilson(share: Array, n: Array, z: float) -> Interval:
    """Limits of a binomial share."""
    middle = (n * share + z**2 / 2) / (n + z**2)
    reach = z * np.sqrt(n * share * (1 - share) + z**2 / 4) / (n + z**2)
    return Interval(middle - reach, middle + reach)


def _joined(first: Interval, other: Interval) -> Interval:
    """The interval that contains both, inside [0, 1]."""
    lower = np.clip(np.minimum(first.lower, other.lower), 0, 1)
    return Interval(lower, np.clip(np.maximum(first.upper, other.upper), 0, 1))


def deviate(level: float) -> float:
    """The normal deviate of a two-sided level; checks the level."""
    from scipy.special import ndtri  # slow to load

    check_level(level)
    return float(ndtri((1 + level) / 2))
