"""PatternTable: the count table of whole records. CountEngine: what counts them where they are.

An engine gives two things, and all else follows from them:

    patterns   the distinct records with multiplicities, counted where the records are
    total      the sum over all records of a table that a function makes from a block of codes

Narrow data need only patterns: they are a small table, however many records there are. Wide data
have about as many patterns as records; they need totals (see `pair_tables`), which take the memory
of a block and of the result.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Codes, Mask
from tacit.core.label_codes import absent_cells, with_no_answer
from tacit.core.schema import Schema
from tacit.errors import DataError, MissingAnswersError, SchemaError, unknown
from tacit.output.number_text import number_of
from tacit.records import keys
from tacit.records.keys import Counts
from tacit.records.memory_limit import limited
from tacit.records.paths import Progress, silent
from tacit.records.sample import SampleRows

#: A table of numbers from a block of codes, records x attributes; it must be picklable.
BlockTable = Callable[[Codes], npt.NDArray[Any]]

MARGINAL_CELLS = 1 << 27  # one gigabyte of counts
#: Distinct records are fetched if they take at most this much memory.
MOST_BYTES = 1 << 32
#: Bytes per pattern for its count, and for its key while it is sorted.
_PER_PATTERN = 32
#: Entries of the one-hot columns of a block: they should stay in the cache.
_ENTRIES = 1 << 21
SAMPLED = 16  # one record in so many shows whether most records are distinct
FEW_RECORDS = 1 << 14
NO_RECORDS = "there are no records to count; at least one is needed"


@dataclass(frozen=True, eq=False, repr=False)
class PatternTable:
    """The distinct records, in the order of their codes, and how often each occurs.

    Everything that is counted or reconstructed later needs only this table: at most min(records,
    cells of the schema) patterns. `count_or_list` makes tables in which patterns may repeat, in any
    order; the same holds for them. The arrays are read-only.

    `sample` has the design weights, strata and clusters of a sample: then there is one pattern per
    row of the sample, and counts are sums of design weights with a mean of 1 per record, so that
    shares are weighted and there are as many records as were sampled.

    `absent` says which answers are missing, patterns x attributes. A missing answer was never
    disguised, so it is no category of a coin. Estimates use the records that have an answer to all
    attributes in question (`complete`), table by table.

    `engine` has records that stay where they are, because they do not fit in memory. They answer
    what can be counted in a pass over the records: marginals, patterns of some attributes, totals
    of blocks.

    What an analysis cannot use, `refuse` names.
    """

    schema: Schema
    _patterns: Codes
    _counts: npt.NDArray[Any]
    sample: SampleRows | None = None
    absent: Mask | None = None
    engine: CountEngine | None = None

    def __post_init__(self) -> None:
        shape = (len(self._counts), len(self.schema.names))
        if self._patterns.shape != shape:
            came = " x ".join(map(str, self._patterns.shape))
            raise DataError(
                f"patterns must be {shape[0]} x {shape[1]} as counts and schema are, got {came}"
            )
        object.__setattr__(self, "_patterns", _frozen(self._patterns))
        object.__setattr__(self, "_counts", _frozen(self._counts))

    @classmethod
    def of_sample(cls, schema: Schema, patterns: Codes, sample: SampleRows) -> PatternTable:
        """The patterns of the rows of a sample."""
        return cls(schema, patterns, sample.weight, sample)

    @classmethod
    def remote(cls, engine: CountEngine) -> PatternTable:
        """Records that stay where they are."""
        nothing = np.zeros((0, len(engine.schema)), np.uint8)
        return cls(engine.schema, nothing, np.zeros(0, np.int64), engine=engine)

    def refuse(
        self, *, weights: bool = False, missing: bool = False, remote: bool = False
    ) -> PatternTable:
        """The table; raise if it has what an analysis cannot use.

        Design weights would be taken for numbers of records, with wrong errors; missing answers for
        answers. Records that do not fit in memory have no patterns.
        """
        if weights and self.sample is not None:
            raise DataError(
                "the pattern table has the design weights, strata or clusters of a sample, which "
                "this does not use; give the records, or counts without them (reconstruct, tests, "
                "regression and evaluation take weights=, strata= and clusters= with the records)"
            )
        if missing and self.absent is not None:
            column = int(self.absent.any(axis=0).argmax())
            number = self._counts if self.sample is None else self.sample.number
            n = round(float(number[self.absent[:, column]].sum()))
            raise MissingAnswersError(
                f"attribute {self.schema.names[column]!r}: {number_of(n, 'missing answer')}; this "
                "needs complete records: leave out those with missing answers"
            )
        if remote and self.engine is not None:
            n_records = self.engine.n_records()
            many = "the" if n_records is None else f"{n_records:,}"
            raise DataError(
                f"{len(self.schema)} attributes of {many} distinct records do not fit in memory, "
                "which this needs; give fewer attributes or fewer records, or choose a method that "
                "needs only tables: DecisionTree(caution=2), naive Bayes from pairs"
            )
        return self

    @property
    def patterns(self) -> Codes:
        """The codes of the records, patterns x attributes."""
        return self.refuse(missing=True, remote=True)._patterns

    @property
    def counts(self) -> npt.NDArray[Any]:
        """How often each pattern occurs; in a sample, sums of design weights."""
        return self.refuse(missing=True, remote=True)._counts

    def __len__(self) -> int:
        """How many patterns occur."""
        return len(self.refuse(remote=True)._counts)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        records = "records" if self.engine else number_of(self.n_records, "record")
        return f"PatternTable({records} of {', '.join(self.schema.names)})"

    @cached_property
    def n_records(self) -> int:
        """How many records were counted, with those that have missing answers."""
        if self.engine is not None:
            return self.pairs.n_records
        if self.sample is None:
            return int(self._counts.sum())
        if self.absent is None:
            return self.sample.n_records
        return round(float(self.sample.number.sum()))

    @cached_property
    def pairs(self) -> PairTables:
        """The tables of all pairs of records that do not fit in memory, counted in one pass."""
        assert self.engine is not None, "records in memory have patterns"
        return pair_tables(self.engine)

    def marginal(self, names: Sequence[str]) -> npt.NDArray[Any]:
        """The count table of some attributes, one axis each, in the order of the names.

        No names: the number of records, as an array without axes.
        """
        if self.engine is not None:
            if len(names) == 1:
                return np.diagonal(self.pairs.table(names[0], names[0])).copy()
            if len(names) == 2 and names[0] != names[1]:
                return self.pairs.table(names[0], names[1])
            return self.subset(names).marginal(names)
        columns = _columns(self.schema, names)
        sizes = [self.schema.sizes[column] for column in columns]
        cells = math.prod(sizes)
        if cells > MARGINAL_CELLS:
            raise DataError(
                f"the count table of {len(columns)} attributes has {cells} cells, "
                f"at most {MARGINAL_CELLS} are allowed: ask for fewer attributes"
            )
        if not columns:
            return np.array(self.n_records)
        patterns, counts = self.patterns, self.counts
        table = np.zeros(cells, counts.dtype)
        start = 0
        for block in keys.column_blocks([patterns[:, column] for column in columns], sizes):
            stop = start + len(block)
            np.add.at(table, block.astype(np.intp), counts[start:stop])
            start = stop
        return table.reshape(sizes)

    def subset(self, names: Sequence[str]) -> PatternTable:
        """The table of these attributes of the records, in the order of the names."""
        if self.engine is not None:
            return self.engine.patterns(names)
        columns, schema = _columns(self.schema, names), self.schema.subset(names)
        if self.sample is not None:
            return PatternTable.of_sample(schema, self.patterns[:, columns], self.sample)
        if math.prod(schema.sizes) <= keys.ALWAYS_DENSE:
            table = self.marginal(names)
            cells = np.argwhere(table)
            codes = np.asarray(cells, keys.smallest(max(schema.sizes)), order="F")
            return PatternTable(schema, codes, table[tuple(cells.T)])
        codes = self.patterns[:, columns]
        return PatternTable(schema, *keys.distinct(codes, schema.sizes, self.counts))

    def only(self, names: Sequence[str]) -> PatternTable:
        """All records, with their answers to these attributes and the code 0 for all others."""
        part = self.subset(names)
        codes = np.zeros((len(part), len(self.schema)), self.patterns.dtype, order="F")
        codes[:, _columns(self.schema, names)] = part.patterns
        return PatternTable(self.schema, codes, part.counts)

    def __add__(self, other: PatternTable) -> PatternTable:
        """The table of the records of both: files are counted batch by batch."""
        if self.schema != other.schema:
            raise DataError("only tables of the same schema can be added")
        if self.engine is not None or other.engine is not None:
            raise DataError(
                "records that do not fit in memory cannot be added; count them together"
            )
        tables = [table.refuse(weights=True) for table in (self, other)]
        parts = [(table.patterns, table.counts) for table in tables]
        return PatternTable(self.schema, *keys.merged(parts, self.schema.sizes))

    def with_counts(self, counts: npt.NDArray[Any]) -> PatternTable:
        """The patterns with other counts, without those that have none."""
        positive = counts > 0
        return PatternTable(self.schema, self.patterns[positive], counts[positive])

    def folds(
        self, n: int, rng: np.random.Generator
    ) -> Iterator[tuple[PatternTable, PatternTable]]:
        """The records split at random into n folds: those to learn from and those held out."""
        left = self.counts.copy()
        for fold in range(n):
            size = int(left.sum()) // (n - fold)
            counts = rng.multivariate_hypergeometric(left, size, method="marginals")
            left = left - counts
            yield self.with_counts(self.counts - counts), self.with_counts(counts)

    # Missing answers --------------------------------------------------------------------------

    def answered(self, names: Sequence[str]) -> Mask:
        """Whether each pattern has answers to all of these attributes."""
        if self.absent is None:
            return np.ones(len(self), bool)
        columns = [self.schema.index(name) for name in names]
        return np.asarray(~self.absent[:, columns].any(axis=1))

    def complete(self, names: Sequence[str]) -> PatternTable:
        """The records that have answers to all of these attributes.

        Other attributes may hold anything. In a sample, the others count as members of their
        clusters with weight zero.
        """
        if self.absent is None:
            return self
        rows = self.answered(names)
        if not rows.any():
            raise DataError(f"no record has an answer to all of {', '.join(names)}")
        if self.sample is not None:
            sample = self.sample.restricted(rows)
            return PatternTable.of_sample(self.schema, self._patterns, sample)
        return PatternTable(self.schema, self._patterns[rows], self._counts[rows])

    def filled(self) -> PatternTable:
        """All records, with the code 0 for missing answers: only for what uses `answered`."""
        return PatternTable(self.schema, self._patterns, self._counts, self.sample)

    def with_no_answer(self) -> PatternTable:
        """The table as count files have it: with a category for missing answers, if there are any.

        Every attribute gets it, as the last one.
        """
        if self.absent is None:
            return self
        sizes = np.array(self.schema.sizes, np.min_scalar_type(max(self.schema.sizes)))
        codes = np.where(self.absent, sizes, self._patterns)
        counts = self.refuse(weights=True)._counts
        return PatternTable(with_no_answer(self.schema), codes, counts)

    # Samples ----------------------------------------------------------------------------------

    def expanded(self) -> PatternTable:
        """A row per record of a sample; counts of other records stay as they are."""
        if self.sample is None:
            return self
        sample, rows = self.sample.expanded()
        return PatternTable.of_sample(self.schema, self.patterns[rows], sample)


def answers_of(table: PatternTable, schema: Schema) -> PatternTable:
    """The table of a schema from one that may have a category for missing answers as well."""
    if table.schema == schema or table.schema != with_no_answer(schema):
        return table
    codes, absent = absent_cells(table.patterns, schema)
    return PatternTable(schema, codes, table.counts, table.sample, absent if absent.any() else None)


def count_answers(count: Callable[[Schema], PatternTable], schema: Schema) -> PatternTable:
    """Count records of a schema; if answers are missing, count again with these."""
    try:
        return answers_of(count(schema), schema)
    except MissingAnswersError:
        return answers_of(count(with_no_answer(schema)), schema)


def listed(codes: Codes, schema: Schema) -> PatternTable:
    """Every record as a pattern of its own, in the order given."""
    patterns = codes.astype(keys.smallest(max(schema.sizes)), copy=False)
    return PatternTable(schema, patterns, np.ones(len(codes), np.int64))


def mostly_distinct(codes: Codes, sizes: tuple[int, ...]) -> bool:
    """Whether hardly any of many records repeats, by a sample of them."""
    if len(codes) < FEW_RECORDS or math.prod(sizes) <= 4 * len(codes):
        return False
    sample = codes[::SAMPLED]
    return len(keys.distinct(sample, sizes)[1]) > 0.95 * len(sample)


def sorted_patterns(schema: Schema, patterns: Codes, counts: Counts) -> PatternTable:
    """The pattern table of counted records in any order, also if some repeat."""
    if not len(counts):
        raise DataError(NO_RECORDS)
    ordered = keys.ordered_keys(patterns, schema.sizes)
    if (ordered[1:] > ordered[:-1]).all():
        return PatternTable(schema, patterns, counts)
    return PatternTable(schema, *keys.distinct(patterns, schema.sizes, counts))


def patterns_of_keys(schema: Schema, runs: Sequence[Counts], counts: Counts) -> PatternTable:
    """The pattern table of counted keys in any order, also if some repeat."""
    if len(runs) > 1 or not len(counts):
        return sorted_patterns(schema, keys.codes_of_keys(runs, schema), counts)
    ordered, summed = keys.distinct_keys(runs[0].astype(np.uint64), counts)
    return PatternTable(schema, keys.codes_of_keys([ordered.astype(np.int64)], schema), summed)


def _columns(schema: Schema, names: Sequence[str]) -> list[int]:
    if isinstance(names, str):
        raise SchemaError(f"names must be a list of attribute names, got the text {names!r}")
    for i, name in enumerate(names):
        if name in names[:i]:
            raise SchemaError(f"attribute {name!r} is asked for twice; each may occur once")
    return [schema.index(name) for name in names]


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


# Engines --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PatternsBy:
    """Patterns counted by undisguised columns as well: strata, clusters, sampling weights.

    A row of `columns`, an Arrow table, belongs to the pattern at its position; patterns may repeat.
    `in_order` says that every record is a pattern of its own, in the order of the records.
    """

    patterns: PatternTable
    columns: Any
    in_order: bool = False


class CountEngine(ABC):
    """Reported records somewhere, with the schema that they are coded by."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._progress: Progress = silent

    def telling(self, progress: Progress | None) -> CountEngine:
        """The same engine, which calls `progress` with the share of the work that is done."""
        self._progress = progress or silent
        return self

    @abstractmethod
    def patterns(self, names: Sequence[str] | None = None) -> PatternTable:
        """The distinct records in the order of their codes; of some attributes, if given."""

    @abstractmethod
    def patterns_by(self, columns: Sequence[str]) -> PatternsBy:
        """The same by undisguised columns as well."""

    @abstractmethod
    def blocks(self) -> Iterator[Codes]:
        """All records as blocks of codes, records x attributes, in any order; at least one."""

    def column_names(self) -> Sequence[str]:
        """The columns of the records, as far as they can be used; only attributes by default."""
        return self.schema.names

    def total(self, table: BlockTable) -> npt.NDArray[Any]:
        """The sum of table(block) over all blocks: one pass over the records."""
        tables = map(table, self.blocks())
        total = next(tables)
        for block in tables:
            total = total + block
        return total

    def n_records(self) -> int | None:
        """How many records there are, if that is known without reading them."""
        return None

    def sample(self) -> Codes:
        """Some of the records."""
        return next(islice(self.blocks(), 1))

    def fitting_patterns(self, distinct: bool = True) -> PatternTable:
        """The distinct records, or, if hardly any repeats and they need not be, all records.

        Records that hardly repeat stay where they are if they need more than MOST_BYTES of memory;
        if they are not sorted, also if they need more than a quarter of what a limit leaves.
        """
        sizes, n_records = self.schema.sizes, self.n_records() or 0
        n_bytes = len(sizes) * keys.smallest(max(sizes)).itemsize
        room = MOST_BYTES // (n_bytes + _PER_PATTERN)
        if distinct and (math.prod(sizes) <= room or n_records <= room):
            return self.patterns()
        if not mostly_distinct(self.sample(), sizes):
            return self.patterns()
        blocks, room = [], limited(MOST_BYTES, 1 / 4) // n_bytes
        if distinct or n_records > room:
            return PatternTable.remote(self)
        for block in self.blocks():
            blocks.append(block.T)
            room -= len(block)
            if room < 0:
                return PatternTable.remote(self)
        return listed(np.concatenate(blocks, axis=1).T, self.schema)


def check_by(columns: Sequence[str], names: Sequence[str]) -> None:
    """Raise if there is no such column of the records."""
    for name in columns:
        if name not in names:
            raise DataError(unknown("column", name, names, " of the records"))


def common_columns(columns: Iterable[Sequence[str]]) -> list[str]:
    """The columns that all files have, in the order of the first."""
    first, *others = columns
    return [name for name in first if all(name in names for names in others)]


# Tables of pairs ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PairTables:
    """Counts of every pair of categories: categories x categories, of all attributes side by side.

    The diagonal has the counts of each attribute on its own.
    """

    schema: Schema
    counts: Counts

    @property
    def n_records(self) -> int:
        """How many records were counted."""
        return int(np.trace(self.table(self.schema.names[0], self.schema.names[0])))

    def table(self, first: str, second: str) -> Counts:
        """The count table of two attributes."""
        return self.counts[self._span(first), self._span(second)]

    def _span(self, name: str) -> slice:
        column = self.schema.index(name)
        start = sum(self.schema.sizes[:column])
        return slice(start, start + self.schema.sizes[column])


def pair_tables(engine: CountEngine) -> PairTables:
    """The count tables of all pairs of attributes, in one pass over the records.

    With one-hot columns H (records x categories of all attributes) the tables of all pairs are the
    blocks of H^T H. Sums of ones below 2^24 are exact in single precision, so blocks of records go
    through fast matrix products.
    """
    return PairTables(engine.schema, engine.total(partial(pair_counts, engine.schema.sizes)))


def pair_counts(sizes: tuple[int, ...], codes: Codes) -> Counts:
    """The products of one-hot columns of a block of codes."""
    width = sum(sizes)
    starts = np.cumsum(sizes) - sizes
    step = max(1, _ENTRIES // width)
    counts = np.zeros((width, width), np.int64)
    for first in range(0, len(codes), step):
        block = codes[first : first + step]
        hot = np.zeros((len(block), width), np.float32)
        rows = np.arange(len(block))
        for start, column in zip(starts, block.T, strict=True):
            hot[rows, start + column.astype(np.intp)] = 1
        counts += (hot.T @ hot).astype(np.int64)
    return counts
