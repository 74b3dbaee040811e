"""IncompletePatterns: reported patterns in which some answers are missing.

A missing answer was never disguised, so it is no category of a coin. Estimates use the records that
have an answer to all attributes in question (complete cases), table by table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NoReturn

import numpy as np

from tacit.core.arrays import Codes, Mask
from tacit.core.label_codes import absent_cells, with_no_answer
from tacit.core.schema import Schema
from tacit.errors import DataError, MissingAnswersError
from tacit.output.number_text import number_of
from tacit.reconstruction.sampling.weighted_patterns import WeightedPatterns
from tacit.records import PatternTable, count


class IncompletePatterns(PatternTable):
    """Patterns of which only those without missing answers are used; `complete` gives them."""

    whole: PatternTable
    absent: Mask

    def __init__(self, whole: PatternTable, schema: Schema) -> None:
        """`whole` was counted with one more category per attribute, for missing answers."""
        codes, absent = absent_cells(whole.patterns, schema)
        if isinstance(whole, WeightedPatterns):
            filled: PatternTable = WeightedPatterns(schema, codes, whole.sample)
        else:
            filled = PatternTable(schema, codes, whole.counts)
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "whole", filled)
        object.__setattr__(self, "absent", absent)

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse `patterns` and `counts`, which a table without missing answers has."""
        if name not in ("patterns", "counts"):
            raise AttributeError(name)
        place = int(self.absent.any(axis=0).argmax())
        n = self._records(self.absent[:, place])
        raise MissingAnswersError(
            f"attribute {self.schema.names[place]!r}: {number_of(n, 'missing answer')}; this needs "
            "complete records: leave out those with missing answers"
        )

    def __len__(self) -> int:
        return len(self.absent)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"IncompletePatterns({number_of(self.n_records, 'record')})"

    def _records(self, rows: Mask) -> int:
        number = self.whole.counts
        if isinstance(self.whole, WeightedPatterns):
            number = self.whole.sample.number
        return round(float(number[rows].sum()))

    @cached_property
    def n_records(self) -> int:
        """How many records there are, with those that have missing answers."""
        return self._records(np.ones(len(self), bool))

    def answered(self, names: Sequence[str]) -> Mask:
        """Whether each pattern has answers to all of these attributes."""
        places = [self.schema.index(name) for name in names]
        return np.asarray(~self.absent[:, places].any(axis=1))

    @property
    def counted(self) -> PatternTable:
        """The distinct records with one more category per attribute, for missing answers."""
        sizes = np.array(self.schema.sizes, np.min_scalar_type(max(self.schema.sizes)))
        codes = np.where(self.absent, sizes, self.whole.patterns)
        return PatternTable(with_no_answer(self.schema), codes, self.whole.counts)

    def complete(self, names: Sequence[str]) -> PatternTable:
        """The records that have answers to all of these attributes.

        Other attributes may hold anything. In a sample, the others stay as people who are not in
        question: they belong to their clusters, but weigh nothing.
        """
        kept = self.answered(names)
        if not kept.any():
            raise DataError(f"no record has an answer to all of {', '.join(names)}")
        whole = self.whole
        if isinstance(whole, WeightedPatterns):
            sample = whole.sample.restricted(kept)
            return WeightedPatterns(self.schema, whole.patterns, sample)
        return PatternTable(self.schema, whole.patterns[kept], whole.counts[kept])


def with_missing(table: PatternTable) -> PatternTable:
    """The table as count files have it: with a category for missing answers, if there are any."""
    return table.counted if isinstance(table, IncompletePatterns) else table


def answers_of(table: PatternTable, schema: Schema) -> PatternTable:
    """The table of a schema from one that may have a category for missing answers as well."""
    if table.schema == schema or table.schema != with_no_answer(schema):
        return table
    if (table.patterns < np.array(schema.sizes)).all():
        return PatternTable(schema, table.patterns, table.counts)
    return IncompletePatterns(table, schema)


def count_codes(codes: Codes, schema: Schema) -> PatternTable:
    """Count the codes of a store; the code after the last category is a missing answer."""
    if (codes < np.array(schema.sizes)).all():
        return count(codes, schema)
    return IncompletePatterns(count(codes, with_no_answer(schema)), schema)


def answered(table: PatternTable, names: Sequence[str]) -> PatternTable:
    """The records that have answers to all of these attributes."""
    return table.complete(names) if isinstance(table, IncompletePatterns) else table


def count_answers(count: Callable[[Schema], PatternTable], schema: Schema) -> PatternTable:
    """Count records of a schema; if answers are missing, count again with these."""
    try:
        return answers_of(count(schema), schema)
    except MissingAnswersError:
        return IncompletePatterns(count(with_no_answer(schema)), schema)
