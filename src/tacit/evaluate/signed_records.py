"""Signed copies: the mean over true records of any function of a record, from reported ones.

    E[h] = mean over reported records of g(y) = (W^T h)(y),    W = kron over groups of W_G

Each group's W is a signed mixture of ways (`signed_kernels`), so g(y) is a sum over copies of the
record, one for each choice of a way a group, of the product of their weights times h(copy). The
copies are plain records: h may be whatever a classifier says of them. With g two-way groups there
are 2^g copies (METHODS 2).

Where a way draws, it does so afresh for every record, and the mean of `draws` draws is taken: g
stays unbiased and independent from record to record, so its empirical variance is the right one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from tacit.arrays import Array, Codes
from tacit.channel.keep_or_draw import ReplacementChannel
from tacit.channel.product import Factor
from tacit.channel.related import AgreementChannel
from tacit.counting import PatternTable
from tacit.design import Design
from tacit.errors import DesignError
from tacit.evaluate.signed_kernels import (
    Columns,
    SignedKernel,
    cells_of,
    even_or_odd,
    keep_or_complement,
    keep_or_draw,
)
from tacit.label_codes import code_type
from tacit.reconstruction.gls import gls

SignedKernels = tuple[SignedKernel, ...]

#: More copies of each record than this are refused.
MAX_COPIES = 4096
#: With at most this many copies, true cells are listed where a draw would do: exact, no chance.
FEW_COPIES = 64
#: Reported records at a time, and copies of them given to a classifier in one call.
RECORD_BLOCK, COPY_BLOCK = 1 << 14, 1 << 18


@dataclass(frozen=True, eq=False)
class SignedRecords:
    """The copies that undo a design: for each group, the ways to choose from."""

    design: Design
    groups: tuple[SignedKernels, ...]
    draws: int

    @property
    def random(self) -> bool:
        """Whether some copies are drawn."""
        return any(way.random for ways in self.groups for way in ways)

    @cached_property
    def _choices(self) -> list[tuple[SignedKernels, float]]:
        """One way a group, with the share of its weight: several draws share one weight."""
        choices = []
        for ways in product(*self.groups):
            repeats = self.draws if any(way.random for way in ways) else 1
            choices += [(ways, 1 / repeats)] * repeats
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
            for (ways, share), copy, weight in zip(chosen, copies, weights, strict=True):
                weight[:] = share
                for way in ways:
                    way.write(reported, copy, rng)
                    weight *= way.weights(reported)
            yield copies, weights

    def blocks(self, table: PatternTable, size: int) -> Iterator[tuple[Codes, Array]]:
        """Reported records and how often each counts: patterns, or all records if some are drawn.

        Records of one pattern must not share their draws, or they would not be independent.
        """
        if not self.random:
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

    Where listing all cells of the groups that would be drawn makes few copies, they are listed. A
    matrix with more reported than true categories takes its inverse from the reports in `table`.
    """
    channel = design.channel(design.schema.names)
    channel.require_reconstructable()
    brief = [_brief(factor, _columns(design, factor)) for factor in channel.factors]
    cells = [math.prod(factor.channel.true_shape) for factor in channel.factors]
    fixed = [None if ways and any(way.random for way in ways) else ways for ways in brief]
    chosen = fixed if _copies(fixed, cells) <= FEW_COPIES else brief
    if _copies(chosen, cells) > MAX_COPIES:
        raise DesignError(_too_many(channel.factors, chosen, cells))
    groups = tuple(
        ways or cells_of(_columns(design, factor), inverse_of(factor, design, table))
        for factor, ways in zip(channel.factors, chosen, strict=True)
    )
    return SignedRecords(design, groups, draws)


def _copies(chosen: Sequence[SignedKernels | None], cells: Sequence[int]) -> int:
    """How many copies of a record these ways make; None stands for one way a cell."""
    return math.prod(len(w) if w else n for w, n in zip(chosen, cells, strict=True))


def _columns(design: Design, factor: Factor) -> Columns:
    names = reports_of(design, factor)
    return Columns(
        tuple(design.schema.index(name) for name in factor.names),
        factor.channel.true_shape,
        tuple(design.reported.index(name) for name in names),
        factor.channel.reported_shape,
    )


def reports_of(design: Design, factor: Factor) -> list[str]:
    """The names under which a group is reported."""
    own = factor.coin.reported(tuple(design.schema[name] for name in factor.names))
    return [attribute.name for attribute in own]


def _brief(factor: Factor, columns: Columns) -> SignedKernels | None:
    """One or two ways that do not grow with the number of cells; None where there are none."""
    match factor.channel:
        case ReplacementChannel(theta, drawn):
            return keep_or_draw(columns, float(theta), drawn)
        case AgreementChannel(theta, sizes) if set(sizes) == {2}:
            return keep_or_complement(columns, float(theta))
        case AgreementChannel(theta) if 2 * theta > 1:
            return even_or_odd(columns, float(theta))
        case _:
            return None


def inverse_of(factor: Factor, design: Design, table: PatternTable) -> Array:
    """W of one group, all entries; from the reports in `table` where it is not square."""
    if factor.channel.inverse is not None:
        return factor.channel.inverse.matrix()
    margin = table.marginal(reports_of(design, factor)).ravel() / table.n_records
    return gls(factor.channel.matrix, margin, table.n_records).matrix()


def _too_many(
    factors: Sequence[Factor], chosen: Sequence[SignedKernels | None], cells: Sequence[int]
) -> str:
    """What to do when there are too many copies, by the group that makes the most."""
    sizes = [len(w) if w else n for w, n in zip(chosen, cells, strict=True)]
    worst = int(np.argmax(sizes))
    group = f"group [{', '.join(factors[worst].names)}] {factors[worst].coin}"
    return (
        f"testing on this design needs {math.prod(sizes):,} copies of every record, more than the "
        f"{MAX_COPIES:,} allowed, most of them ({sizes[worst]:,}) for {group}; use fewer groups, "
        "smaller matrix groups, and theta above 1/2 for related groups of more than two categories"
    )
