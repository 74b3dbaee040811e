"""ReportedAnswers: the reported codes of patterns, as a tree stores them, and their cells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from tacit.core.arrays import Array, Codes
from tacit.mine.tree.bit_counts import BitCells, Words, unpacked
from tacit.mine.tree.cell_counts import CellCounts
from tacit.mine.tree.code_counts import CodeCells, CodeRows


class ReportedAnswers(Protocol):
    """Reported answers to the true attributes."""

    @property
    def codes(self) -> Codes:
        """The reported codes, attributes x patterns."""

    def cells(self, sizes: tuple[int, ...], target: int, shares: Array, n: int) -> CellCounts:
        """One cell that has all patterns, each with its share of n records."""


@dataclass(frozen=True, eq=False)
class CodedAnswers:
    """Answers of any number of categories."""

    codes: Codes

    def cells(self, sizes: tuple[int, ...], target: int, shares: Array, n: int) -> CellCounts:
        """One cell that has all patterns, each with its share of n records."""
        if len(shares) == n:  # every record is a pattern of its own
            return CodeCells.of(CodeRows(self.codes, None), sizes, target, 1 / n)
        return CodeCells.of(CodeRows(self.codes, shares), sizes, target, 1.0)


@dataclass(frozen=True, eq=False)
class PackedAnswers:
    """Yes/no answers, one bit each. A pattern that was counted several times is repeated."""

    words: Words
    n_attributes: int

    @cached_property
    def codes(self) -> Codes:
        """The reported codes, attributes x patterns; only what goes from row to row needs them."""
        return np.ascontiguousarray(unpacked(self.words, self.n_attributes).T)

    def cells(self, sizes: tuple[int, ...], target: int, shares: Array, n: int) -> CellCounts:
        """One cell that has all records."""
        words = self.words
        if len(shares) < n:
            words = np.repeat(words, np.rint(shares * n).astype(np.intp), axis=0)
        return BitCells.of(words, self.n_attributes, target, 1 / n)
