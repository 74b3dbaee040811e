"""itemsets: frequent itemsets of the true records, mined from reported ones.

Apriori (Agrawal & Srikant, VLDB 1994) with the support of each set estimated through the disguise,
and claimed to be frequent only as far as its noise allows; see `error_control`. Supports estimated
from the reports that selected the sets are too high on average: estimate them from other records
(`Itemsets.estimated_on`); `split_records` makes two parts of one file.

An item is a category of an attribute. An itemset has at most one item of each attribute: no record
has two answers to one question.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from itertools import groupby
from operator import mul
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from tacit.core.argument_checks import check_whole, is_real
from tacit.core.arrays import Array, Index, Mask
from tacit.core.channel.numbers import quotient
from tacit.core.channel.weights import Events
from tacit.core.design import Design
from tacit.core.schema import Label, Schema
from tacit.errors import DataError, SchemaError
from tacit.mine.error_control import ErrorControl, FalseDiscovery, ThresholdTests, shares_of_lengths
from tacit.output.number_text import decimals, number_of, span
from tacit.output.table import Table, TabularResult
from tacit.reconstruction.estimate import covariance_of_means, stderr_of_means
from tacit.reconstruction.events import ReportWeights
from tacit.reconstruction.interval import Interval, check_level, t_deviate
from tacit.reconstruction.reconstruct import unweighted_patterns
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
        if chosen is None:
            pairs = [(a, code) for a, k in enumerate(schema.sizes) for code in default_codes(k)]
        else:
            pairs = sorted(_chosen(schema, chosen))
        groups = {name: g for g, group in enumerate(design.groups) for name in group.attributes}
        attribute, code = np.array(pairs, np.intp).T
        group = np.array([groups[schema.names[a]] for a in attribute], np.intp)
        return cls(schema, attribute, code, group)

    def __len__(self) -> int:
        return len(self.code)

    @cached_property
    def numbers(self) -> list[int]:
        """How many itemsets of length 0, 1, 2, ... there can be, whatever the records.

        They are the coefficients of the product of 1 + n x over the attributes, which have n items.
        """
        product: Any = np.ones(1, object)  # numbers may not fit a word
        for n in np.unique(self.attribute, return_counts=True)[1].tolist():
            product = np.convolve(product, np.array([1, n], object))
        return list(product)

    def labels(self, itemset: Iterable[int]) -> dict[str, Label]:
        """Attribute and category of each item."""
        items = [(self.schema.attributes[self.attribute[i]], self.code[i]) for i in itemset]
        return {attribute.name: attribute.categories[code] for attribute, code in items}

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


def _chosen(schema: Schema, chosen: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    if not isinstance(chosen, Mapping) or not chosen:
        raise SchemaError(
            "items must be a mapping from attribute to the categories that count, such as "
            f"{{'smokes': 'yes'}}, got {chosen!r}"
        )
    for name, categories in chosen.items():
        several = isinstance(categories, list | tuple | set | frozenset)
        labels = list(categories) if several else [categories]
        if not labels:
            raise SchemaError(f"items: no category of {name!r} is given; leave the attribute out")
        codes = [schema[name].code(label) for label in labels]
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
        places = np.searchsorted(keys, sought)
        return np.where(np.append(keys, -2)[places] == sought, places, -1)

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


class SetMoments(NamedTuple):
    """Means of g, g^2 and g^3, one entry per set."""

    mean: Array
    second: Array
    third: Array

    def stderr(self, n_records: int) -> Array:
        """Standard errors of the means."""
        return stderr_of_means(self.second, self.mean, n_records)

    def excess(
        self, threshold: float, least_variance: Array | float, n_records: int
    ) -> tuple[Array, Array, Array]:
        """Means minus a threshold, their standard errors and their skewness.

        The disguise only adds noise: `least_variance` is that of undisguised records.
        """
        stderr = np.sqrt(np.maximum(self.stderr(n_records) ** 2, least_variance))
        central = self.third - 3 * self.mean * self.second + 2 * self.mean**3
        cube = stderr**3 * n_records**2
        skewness = quotient(central, cube)
        return self.mean - threshold, stderr, skewness


class RuleMoments(NamedTuple):
    """Of all items of a rule, its conditions and its conclusion: means, and their covariance.

    `mean` is rules x 3, `covariance` rules x 3 x 3. `cubes` is rules x 4: means of a^3, a^2 b,
    a b^2 and b^3 for the weights a of all items and b of the conditions.
    """

    mean: Array
    covariance: Array
    cubes: Array

    @classmethod
    def of(cls, weights: Array, counts: Array | Counts, n_records: int) -> RuleMoments:
        """From weights of reports, rules x 3 x reports, and how often each report counts."""
        weighted, squares = weights * counts[:, None], weights[:, :2] ** 2
        mean = weighted.sum(axis=2) / n_records
        products = weighted @ weights.swapaxes(1, 2) / n_records
        cubes = (squares @ weighted[:, :2].swapaxes(1, 2)).reshape(-1, 4) / n_records
        outer = (mean[:, :, None], mean[:, None, :])
        return cls(mean, covariance_of_means(products, *outer, n_records), cubes)


Moments = TypeVar("Moments", SetMoments, RuleMoments)
NO_SETS = SetMoments(*np.empty((3, 0)))
NO_RULES = RuleMoments(np.empty((0, 3)), np.empty((0, 3, 3)), np.empty((0, 4)))


def joined(empty: Moments, blocks: Iterable[Moments]) -> Moments:
    """The moments of several blocks, one after the other."""
    return type(empty)(*map(np.concatenate, zip(empty, *blocks, strict=True)))


class Supports(ABC):
    """The moments of sets and rules in some reports.

        P(E) = mean of g(y; E) over the reports,    Var = (mean of g^2 - P(E)^2) / n

    Sets come level by level, subsets first. `supports_of` chooses the class: `ExactSupports` if
    reports are the truth, `HitSupports` if a weight depends only on which items a report has, and
    `WeightSupports` for any design.
    """

    def __init__(self, reports: ReportWeights, sets: FrequentSets) -> None:
        self._reports, self._sets, self._items = reports, sets, sets.items
        self.n_records = reports.patterns.n_records

    @abstractmethod
    def level(self, sets: Index, tell: Progress = lambda _: None) -> SetMoments:
        """The moments of the next level of sets; their subsets were kept."""

    def keep(self, chosen: Mask) -> None:
        """Keep these sets of the level that came last, for the next level and for rules."""

    @abstractmethod
    def rules(self, sets: Index, inside: Mask) -> RuleMoments:
        """The moments of rules within kept sets of one length."""


def halves(inside: Mask) -> tuple[Mask, Mask, Mask]:
    """All items of a rule; its conditions, which are `inside`; and its conclusion."""
    return np.ones_like(inside), inside, ~inside


Counts = npt.NDArray[np.int64]

#: Cells of hit tables at once.
_AT_ONCE = 1 << 20


class BitSupports(Supports):
    """Counts of the reports that have all items of a set, from a column of bits per item."""

    def __init__(self, reports: ReportWeights, sets: FrequentSets) -> None:
        super().__init__(reports, sets)
        places = zip(self._items.group, self._items.attribute, strict=True)
        columns = [reports.group(g).answers[a] for g, a in places]
        answers = list(zip(columns, self._items.code.tolist(), strict=True))
        self._bits = BitColumns(answers, reports.patterns.counts)
        #: By length: the counts of all candidates, then of those kept.
        self._counts: list[Counts] = [np.array([[self.n_records]])]

    def keep(self, chosen: Mask) -> None:
        self._counts[-1] = self._counts[-1][chosen]

    def _counted(self, sets: Index, tell: Progress) -> Counts:
        return self._bits.count(sets, lambda done: tell(done / len(sets)))

    def _kept(self, sets: Index) -> Counts:
        """The counts of kept sets of one length."""
        return np.asarray(self._counts[sets.shape[1]][self._sets.places(sets)])


class ExactSupports(BitSupports):
    """Reports are the truth: shares of records, as plain Apriori counts them."""

    def level(self, sets: Index, tell: Progress = lambda _: None) -> SetMoments:
        counts = self._counted(sets, tell)
        self._counts.append(counts)
        return SetMoments(*[counts / self.n_records] * 3)

    def rules(self, sets: Index, inside: Mask) -> RuleMoments:
        both, conditions, conclusion = (self._kept(sets[:, half]) for half in halves(inside))
        counts = np.stack([both, conditions - both, conclusion - both], axis=1)
        # Of records with both sides, with the conditions only, with the conclusion only.
        weights = np.array([[[1.0, 0, 0], [1, 1, 0], [1, 0, 1]]])
        return RuleMoments.of(weights, counts, self.n_records)


class HitSupports(BitSupports):
    """Weights depend on hits alone.

    In most families the weight of a report depends only on which items it has (its hits). So the
    moments of a set of k items need the 2^k counts of reports by hits, which follow from the counts
    N of the subsets by inclusion and exclusion:

        count of hits exactly on S = sum over T with S <= T <= E of (-1)^|T - S| N(T)

    All proper subsets were counted at earlier levels: each set costs one conjunction of bits. For
    independent yes/no items this is MASK (Rizvi & Haritsa, "Maintaining data privacy in association
    rule mining", VLDB 2002, section 4); here it serves any grouping and any number of categories.
    """

    def __init__(self, reports: ReportWeights, sets: FrequentSets) -> None:
        super().__init__(reports, sets)
        self._alone = self._tables(np.arange(len(self._items))[:, None])

    def level(self, sets: Index, tell: Progress = lambda _: None) -> SetMoments:
        """Counts of the subsets of each set, then its moments by hits."""
        length = sets.shape[1]
        counts = np.empty((len(sets), *(2,) * length), np.int64)
        counts[(slice(None), *(1,) * length)] = self._counted(sets, tell)
        for item in range(length):
            subsets = self._kept(np.delete(sets, item, axis=1))
            missed = (slice(None), *(0 if i == item else slice(None) for i in range(length)))
            counts[missed] = subsets.reshape(-1, *(2,) * (length - 1))
        self._counts.append(counts.reshape(len(sets), -1))
        moments = np.empty((3, len(sets)))
        for block in _blocks(sets):
            weights = self._weights(sets[block], np.ones(length, bool))
            weighted = _by_hits(self._counts[-1][block]).astype(np.float64)
            for power in range(3):
                weighted *= weights
                moments[power, block] = weighted.sum(axis=1)
        return SetMoments(*moments / self.n_records)

    def rules(self, sets: Index, inside: Mask) -> RuleMoments:
        blocks = []
        for block in _blocks(sets):
            weights = [self._weights(sets[block], half) for half in halves(inside)]
            hits = _by_hits(self._kept(sets[block]))
            blocks.append(RuleMoments.of(np.stack(weights, axis=1), hits, self.n_records))
        return joined(NO_RULES, blocks)

    def _weights(self, sets: Index, chosen: Mask) -> Array:
        """g of the chosen items by hits of all items, sets x hits."""
        axes, length = np.flatnonzero(chosen), len(chosen)
        weights = np.ones((len(sets), *(2,) * length))
        groups = self._items.group[sets[:, axes]]
        first = (groups[:, :, None] == groups[:, None, :]).argmax(axis=2)
        kinds, which = np.unique(first, axis=0, return_inverse=True)
        for number, kind in enumerate(kinds):
            rows = np.flatnonzero(which.ravel() == number)
            for leader in np.unique(kind):
                together = axes[kind == leader]
                shape = [2 if axis in together else 1 for axis in range(length)]
                items = sets[np.ix_(rows, together)]
                tables = self._alone[items[:, 0]] if len(together) == 1 else self._tables(items)
                weights[rows] *= tables.reshape(-1, *shape)
        return weights.reshape(len(sets), -1)

    def _tables(self, sets: Index) -> Array:
        """g by hits of sets that each lie in one group."""
        tables = np.empty((len(sets), 2 ** sets.shape[1]))
        groups = self._items.group[sets[:, 0]]
        for g in np.unique(groups):
            rows = groups == g
            events, attributes = self._items.events(sets[rows]), self._items.attribute[sets[rows]]
            tables[rows] = self._reports.group(int(g)).weights.hit_tables(events, attributes)
        return tables


def _by_hits(counts: Counts) -> Counts:
    """Counts of reports that hit exactly these items, from counts of those that hit at least."""
    length = counts.shape[1].bit_length() - 1
    exact = counts.reshape(-1, *(2,) * length).copy()
    for axis in range(1, length + 1):
        along = np.moveaxis(exact, axis, 0)
        along[0] -= along[1]
    return exact.reshape(counts.shape)


def _blocks(sets: Index) -> Iterator[slice]:
    """Rows whose hit tables fit in memory."""
    step = max(1, _AT_ONCE >> sets.shape[1])
    return (slice(start, start + step) for start in range(0, len(sets), step))


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

    def __init__(self, reports: ReportWeights, sets: FrequentSets) -> None:
        super().__init__(reports, sets)
        self._counts = reports.patterns.counts.astype(np.float64)
        cached = max(16, _KEPT // self._counts.nbytes)
        self._group_weights = lru_cache(maxsize=cached)(self._of_group)

    def level(self, sets: Index, tell: Progress = lambda _: None) -> SetMoments:
        sums = np.empty((3, len(sets)))
        for row, itemset in enumerate(sets.tolist()):
            g = self._weights(itemset)
            weighted = self._counts * g
            sums[:, row] = weighted.sum(), weighted @ g, weighted @ (g * g)
            tell((row + 1) / len(sets))
        return SetMoments(*sums / self.n_records)

    def rules(self, sets: Index, inside: Mask) -> RuleMoments:
        parts = [sets[:, half].tolist() for half in halves(inside)]
        return joined(NO_RULES, map(self._rule, *parts))

    def _rule(self, *itemsets: list[int]) -> RuleMoments:
        weights = np.stack([self._weights(itemset) for itemset in itemsets])
        return RuleMoments.of(weights[None], self._counts[None], self.n_records)

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


def share_interval(share: Array, stderr: Array, n_records: int, z: float) -> Interval:
    """The normal interval of shares of records, with that of Wilson."""
    n, inside = np.full(len(share), float(n_records)), np.clip(share, 0, 1)
    return with_wilson(share - z * stderr, share + z * stderr, inside, n, z)


def with_wilson(lower: Array, upper: Array, share: Array, n: Array, z: float) -> Interval:
    """An interval that also contains Wilson's limits of a binomial share, inside [0, 1]."""
    middle = (n * share + z**2 / 2) / (n + z**2)
    reach = z * np.sqrt(n * share * (1 - share) + z**2 / 4) / (n + z**2)
    widest = np.minimum(lower, middle - reach), np.maximum(upper, middle + reach)
    return Interval(*np.clip(widest, 0, 1))


def deviate(level: float) -> float:
    """The normal deviate of a two-sided level; checks the level."""
    check_level(level)
    return t_deviate((1 - level) / 2, math.inf)


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


def figure_columns(name: str, value: Array, stderr: Array, limits: Interval) -> dict[str, Any]:
    """Estimates, standard errors and limits as columns."""
    names = (name, f"{name}_stderr", f"{name}_lower", f"{name}_upper")
    columns = (value, stderr, *limits)
    return {key: column.tolist() for key, column in zip(names, columns, strict=True)}


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
        levels = []
        for sets in self.found:
            levels.append(supports.level(sets))
            supports.keep(np.ones(len(sets), bool))
        return replace(self, estimated=supports, moments=joined(NO_SETS, levels))

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
        limits = self.support_interval(level)
        return {
            "itemset": [words(labels) for labels in self._labels],
            "length": [len(labels) for labels in self._labels],
            **figure_columns("support", self.support, self.support_stderr, limits),
        }

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
    supports = supports_of(ReportWeights(patterns, design), sets)
    numbers = sets.items.numbers
    longest = min(max_length or len(numbers) - 1, len(numbers) - 1)
    if not isinstance(supports, ExactSupports):
        if max_length is not None and max_length > LONGEST:
            raise DataError(
                f"max_length is at most {LONGEST} for disguised records, got {max_length}: "
                "noise grows with each item"
            )
        longest = min(longest, LONGEST)
    lengths, possible = range(1, longest + 1), sum(numbers[1 : longest + 1])
    shares = shares_of_lengths(lengths, numbers)
    floor, levels, tested = least * (1 - least) / supports.n_records, [], 0
    for length in lengths:
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
    moments = joined(NO_SETS, levels)
    return Itemsets(design, sets, supports, supports, moments, least, longest, control, tested)


def _within(tell: Progress, length: int) -> Progress:
    """Progress of one level; nobody knows how many follow, so each counts half of the rest."""
    return lambda done: tell(1 - (2 - done) / 2**length)
