"""Signed records: the mean over true records of any function of a record, from reported ones.

    E[h] = mean over reported records of g(y) = (W^T h)(y),    W = kron over groups of W_G

Each group's W is a signed mixture of kernels (`signed_kernels`), so g(y) is a sum over copies of
the record, one per choice of a kernel for each group, of the product of the kernels' weights times
h(copy). The copies are plain records: h may be whatever a classifier predicts for them. g groups
with two kernels each make 2^g copies (METHODS 2).

Kernels that draw do so independently for every record, and the mean of `draws` draws is taken: g
stays unbiased and independent from record to record, so its empirical variance is correct.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from tacit.core.arrays import Array, Codes
from tacit.core.design import Design
from tacit.core.label_codes import code_type
from tacit.errors import DataError, DesignError
from tacit.reconstruction.report_weights import ReportWeights
from tacit.reconstruction.sampling.weighted_patterns import WeightedPatterns
from tacit.reconstruction.signed_kernels import SignedKernel, cell_kernels
from tacit.records import PatternTable

Kernels = tuple[SignedKernel, ...]

#: More copies of each record than this are refused.
MAX_COPIES = 4096
#: With at most this many copies, true cells are enumerated instead of drawn: exact.
FEW_COPIES = 64
#: Reported records at a time, and copies of them given to a classifier in one call.
RECORD_BLOCK, COPY_BLOCK = 1 << 14, 1 << 18


@dataclass(frozen=True, eq=False)
class SignedRecords:
    """The copies that undo a design: the kernels of each group."""

    design: Design
    groups: tuple[Kernels, ...]
    draws: int

    @property
    def random(self) -> bool:
        """Whether some copies are drawn."""
        return any(kernel.random for kernels in self.groups for kernel in kernels)

    @cached_property
    def _choices(self) -> list[tuple[Kernels, float]]:
        """One kernel per group, with its share of the weight: repeated draws share one weight."""
        choices = []
        for kernels in product(*self.groups):
            repeats = self.draws if any(kernel.random for kernel in kernels) else 1
            choices += [(kernels, 1 / repeats)] * repeats
        return choices

    def of(self, reported: Codes, rng: np.random.Generator) -> Iterator[tuple[Codes, Array]]:
        """Batches of (copies x records x attributes, weights of copies x records)."""
        n = len(reported)
        step = max(1, COPY_BLOCK // n)
        for start in range(0, len(self._choices), step):
            chosen = self._choices[start : start + step]
            shape = (len(chosen), n, len(self.design.schema))
            copies = np.empty(shape, code_type(self.design.schema))
            weights = np.empty(shape[:2])
            for (kernels, share), copy, weight in zip(chosen, copies, weights, strict=True):
                weight[:] = share
                for kernel in kernels:
                    kernel.write(reported, copy, rng)
                    weight *= kernel.weights(reported)
            yield copies, weights

    def blocks(self, table: PatternTable, size: int) -> Iterator[tuple[Codes, Array]]:
        """Reported records and how often each counts: patterns, or all records if some are drawn.

        Records of one pattern must not share their draws, or they would not be independent. A
        sample comes with a row per record if some are drawn.
        """
        if not self.random or isinstance(table, WeightedPatterns):
            for start in range(0, len(table), size):
                block = slice(start, start + size)
                yield table.patterns[block], table.counts[block].astype(np.float64)
            return
        ends = np.cumsum(table.counts)
        for start in range(0, table.n_records, size):
            records = np.arange(start, min(start + size, table.n_records))
            rows = np.searchsorted(ends, records, side="right")
            yield table.patterns[rows], np.ones(len(rows))


def signed_records(design: Design, table: PatternTable, draws: int) -> SignedRecords:
    """The copies that undo a design.

    If enumerating all cells of the groups that would be drawn makes few copies, they are
    enumerated. A matrix with more reported than true categories takes its inverse from `table`.
    """
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < 1:
        raise DataError(f"draws must be a whole number of at least 1, got {draws!r}")
    design.channel(design.schema.names).require_reconstructable()
    reports = ReportWeights(table, design)
    few = [reports.group(g).weights.kernels(own) for g, own in enumerate(reports.factors)]
    cells = [math.prod(factor.channel.true_shape) for factor in reports.factors]
    fixed = [None if kernels and any(k.random for k in kernels) else kernels for kernels in few]
    chosen = fixed if math.prod(_numbers(fixed, cells)) <= FEW_COPIES else few
    numbers = _numbers(chosen, cells)
    copies, worst = math.prod(numbers), int(np.argmax(numbers))
    if copies > MAX_COPIES:
        raise DesignError(
            f"testing on this design needs {copies:,} copies of every record, more than the "
            f"{MAX_COPIES:,} allowed, most of them ({numbers[worst]:,}) for group "
            f"{design.groups[worst]}; use fewer groups, smaller matrix groups, and theta above 1/2 "
            "for related groups of more than two categories"
        )
    groups = tuple(
        kernels or cell_kernels(reports.factors[g], reports.inverse(g))
        for g, kernels in enumerate(chosen)
    )
    return SignedRecords(design, groups, draws)


def _numbers(chosen: Sequence[Kernels | None], cells: Sequence[int]) -> list[int]:
    """How many kernels each group has; None stands for one per cell."""
    return [len(kernels) if kernels else n for kernels, n in zip(chosen, cells, strict=True)]
