"""ProductChannel: the channel of any attribute set of a design, one factor a group.

Groups throw independent coins, so the channel is the Kronecker product of the groups' own. It
is applied along the axes of a table, group by group, and never built unless asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel.channel import WORST_CONDITION, Channel
from tacit.core.channel.coin import Coin
from tacit.core.channel.linear_maps import Linear, chain
from tacit.core.channel.numbers import sum_up
from tacit.core.schema import Schema
from tacit.errors import SingularChannelError

Axes = tuple[int, ...]


@dataclass(frozen=True)
class Factor:
    """One group's share: its channel and the axes it has in true and in reported tables."""

    names: tuple[str, ...]
    coin: Coin
    channel: Channel
    true_axes: Axes
    reported_axes: Axes

    def require_reconstructable(self) -> None:
        """Raise SingularChannelError, naming the group, its parameter and what would help."""
        if not self.channel.reconstructable:
            raise SingularChannelError(
                f"group [{', '.join(self.names)}] {self.coin} cannot be reconstructed: "
                + self.coin.remedy
            )


@dataclass(frozen=True)
class ProductChannel:
    """matrix[reported, true] of tables over `true`, as factors."""

    true: Schema
    reported: Schema
    factors: tuple[Factor, ...]

    @property
    def ratio(self) -> Fraction | None:
        """Largest within-row ratio; those of the groups multiply."""
        ratios = [factor.channel.ratio for factor in self.factors]
        known = [ratio for ratio in ratios if ratio is not None]
        return math.prod(known, start=Fraction(1)) if len(known) == len(ratios) else None

    @property
    def epsilon(self) -> float:
        """Local differential privacy of these attributes together; those of the groups add up."""
        return sum_up(factor.channel.epsilon for factor in self.factors)

    @property
    def condition(self) -> float:
        """Condition number; those of the groups multiply."""
        return math.prod(factor.channel.condition for factor in self.factors)

    @property
    def magnification(self) -> float:
        """By how much reconstruction may magnify an error; those of the groups multiply."""
        return math.prod(factor.channel.magnification for factor in self.factors)

    @property
    def reconstructable(self) -> bool:
        """Whether the true table can be told from the reported one."""
        return self.magnification < WORST_CONDITION

    def require_reconstructable(self) -> None:
        """Raise SingularChannelError unless all groups, and all together, can be told."""
        for factor in self.factors:
            factor.require_reconstructable()
        if not self.reconstructable:
            raise SingularChannelError(
                f"the groups together magnify errors {self.magnification:.2g}-fold, beyond what "
                "can be reconstructed; ask for fewer attributes at once or disguise them less"
            )

    def disguised(self, distribution: Array) -> Array:
        """The reported table that a true table leads to."""
        maps = [factor.channel.forward for factor in self.factors]
        return self.to_reported(maps, distribution)

    def to_reported(self, maps: Sequence[Linear], table: Array) -> Array:
        """Apply one map a group, from true axes to reported axes."""
        inward = [factor.true_axes for factor in self.factors]
        outward = [factor.reported_axes for factor in self.factors]
        return apply(maps, table, inward, outward, self.reported.sizes)

    def to_true(self, maps: Sequence[Linear], table: Array) -> Array:
        """Apply one map a group, from reported axes to true axes."""
        inward = [factor.reported_axes for factor in self.factors]
        outward = [factor.true_axes for factor in self.factors]
        return apply(maps, table, inward, outward, self.true.sizes)

    @property
    def matrix(self) -> Array:
        """All entries, cells flattened with the last attribute running fastest."""
        cells = math.prod(self.true.sizes)
        unit = np.eye(cells).reshape(*self.true.sizes, cells)
        columns = [self.disguised(unit[..., j]).ravel() for j in range(cells)]
        return np.stack(columns, axis=1)


def apply(
    maps: Sequence[Linear],
    table: Array,
    inward: Sequence[Axes],
    outward: Sequence[Axes],
    shape: tuple[int, ...],
) -> Array:
    """Apply kron(maps): map i takes the axes inward[i] to the axes outward[i] of the result."""
    before = [axis for axes in inward for axis in axes]
    return arranged(chain(maps, table.transpose(before).reshape(-1, 1)), outward, shape)


def arranged(flat: Array, groups: Sequence[Axes], shape: tuple[int, ...]) -> Array:
    """A flattened table in the order of the groups, each with these axes, in the order of axes."""
    axes = [axis for group in groups for axis in group]
    return flat.reshape([shape[axis] for axis in axes]).transpose(np.argsort(axes))
