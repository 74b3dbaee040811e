"""TableProblem: the input of a reconstruction method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from tacit.core.arrays import Array, Mask
from tacit.core.channel.linear_maps import Linear, chain
from tacit.core.design import Design, Factor, ProductChannel, arranged
from tacit.core.schema import Attribute
from tacit.reconstruction.gls import left_inverse
from tacit.reconstruction.sampling.report_spread import ReportSpread
from tacit.reconstruction.sampling.weighted_patterns import WeightedPatterns
from tacit.records import PatternTable


@dataclass(frozen=True, eq=False)
class TableProblem:
    """Reported counts of a table, the channel they came through, and the attributes asked for.

    `channel.true` starts with the `wanted` attributes; more follow if a joint matrix ties others to
    them, and the method sums these out. `spread` says how reported shares vary in a sample with
    design weights or clusters. `impossible` are the cells of `channel.true` that conditions between
    questions exclude, None if there are none; `parts` are then channels whose product `channel` is,
    one for the attributes of each chain of conditions.
    """

    counts: Array
    channel: ProductChannel
    wanted: int
    n_records: int
    spread: ReportSpread | None = None
    impossible: Mask | None = None
    parts: tuple[ProductChannel, ...] = ()

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes asked for."""
        return self.channel.true.attributes[: self.wanted]

    @cached_property
    def frequencies(self) -> Array:
        """p*: the reported distribution."""
        return self.counts / self.n_records

    @cached_property
    def inverses(self) -> tuple[Linear, ...]:
        """W of each group."""
        return tuple(
            left_inverse(f.channel, partial(self.margin, f.reported_axes), self.n_records)
            for f in self.channel.factors
        )

    def is_counted(self, factor: Factor) -> bool:
        """Whether a group is undisguised, and all of its attributes are asked for."""
        return factor.channel.undisguised and max(factor.true_axes) < self.wanted

    @cached_property
    def undisguised_shares(self) -> Array | None:
        """For each cell of the table asked for, the share of records with its undisguised answers.

        None if all attributes asked for are disguised, or none is.
        """
        plain = [
            (factor, inverse)
            for factor, inverse in zip(self.channel.factors, self.inverses, strict=True)
            if self.is_counted(factor)
        ]
        axes = sorted(axis for factor, _ in plain for axis in factor.true_axes)
        if len(axes) in (0, self.wanted):
            return None
        reported = tuple(axis for factor, _ in plain for axis in factor.reported_axes)
        counted = chain([w for _, w in plain], self.margin(reported).reshape(-1, 1))
        outward = [tuple(map(axes.index, factor.true_axes)) for factor, _ in plain]
        sizes = [attribute.size for attribute in self.attributes]
        table = arranged(counted, outward, tuple(sizes[axis] for axis in axes))
        kept = [size if axis in axes else 1 for axis, size in enumerate(sizes)]
        return np.broadcast_to(table.reshape(kept), sizes)

    def margin(self, axes: tuple[int, ...]) -> Array:
        """p* of some reported axes, in that order, flattened."""
        others = tuple(i for i in range(self.frequencies.ndim) if i not in axes)
        kept = sorted(axes)
        table: Array = self.frequencies.sum(axis=others)
        return table.transpose([kept.index(axis) for axis in axes]).ravel()


def table_problem(patterns: PatternTable, design: Design, names: Sequence[str]) -> TableProblem:
    """The problem of a table of these attributes; `names` is closed (see `Design.closure`)."""
    channel = design.channel(names)
    return channel_problem(patterns, channel, len(names))


def channel_problem(
    patterns: PatternTable,
    channel: ProductChannel,
    wanted: int,
    impossible: Mask | None = None,
    parts: tuple[ProductChannel, ...] = (),
) -> TableProblem:
    """The problem of the reports that came through a channel."""
    names = channel.reported.names
    counts = patterns.marginal(names).astype(np.float64)
    spread = ReportSpread(patterns, names) if isinstance(patterns, WeightedPatterns) else None
    return TableProblem(counts, channel, wanted, patterns.n_records, spread, impossible, parts)
