"""JointChannel: the channel of whole records as fast maps between flattened joint tables.

    q = M p,    M = kron over groups of M_G

A true table has one axis per attribute, the target last, so that a reshape gives features x
classes. A related group of yes/no attributes is a table and its reverse; EM applies this map some
hundred times, and it is many times faster than the general one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.core.channel.channel import Channel
from tacit.core.channel.linear_maps import Dense, Linear
from tacit.core.channel.product import ProductChannel
from tacit.core.channel.related import AgreementChannel
from tacit.records import PatternTable

#: Groups of at most this many cells are multiplied as matrices.
_SMALL = 64


@dataclass(frozen=True)
class Mirror(Linear):
    """theta * I + (1 - theta) * reverse: keep all yes/no answers of a group or turn all."""

    theta: float
    size: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, self.size

    def __matmul__(self, columns: Array) -> Array:
        return np.asarray(self.theta * columns + (1 - self.theta) * columns[::-1])

    @property
    def T(self) -> Mirror:
        return self

    def power(self, exponent: int) -> Linear:
        return Dense(self.matrix() ** exponent)


@dataclass(frozen=True, eq=False)
class JointChannel:
    """The channel of some attributes of a design, the target last."""

    channel: ProductChannel

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of categories of the features."""
        return self.channel.true.sizes[:-1]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.channel.true.sizes[-1]

    @cached_property
    def _forward(self) -> list[Linear]:
        return [_fast(factor.channel) for factor in self.channel.factors]

    @cached_property
    def _backward(self) -> list[Linear]:
        return [each.T for each in self._forward]

    @cached_property
    def codes(self) -> Index:
        """The features of each row of a table, rows x features."""
        return np.indices(self.sizes).reshape(len(self.sizes), -1).T

    def reported(self, table: Array) -> Array:
        """M p of a table with features x classes, flattened."""
        true = table.reshape(self.channel.true.sizes)
        return self.channel.to_reported(self._forward, true).ravel()

    def pulled_back(self, table: Array) -> Array:
        """M^T q, features x classes."""
        reported = table.reshape(self.channel.reported.sizes)
        return self.channel.to_true(self._backward, reported).reshape(-1, self.n_classes)

    def class_chances(self, reported: Array) -> Array:
        """P(reported class | the other reported answers), flattened.

        The table itself if the class is reported jointly with other attributes.
        """
        names = self.channel.reported.names
        target = self.channel.true.names[-1]
        if target not in names:
            return reported
        cube = reported.reshape(self.channel.reported.sizes)
        return np.asarray(cube / cube.sum(axis=names.index(target), keepdims=True)).ravel()

    def cells(self, patterns: PatternTable) -> Index:
        """The cell of each pattern in a reported table."""
        schema = self.channel.reported
        columns = patterns.patterns[:, [patterns.schema.index(name) for name in schema.names]]
        return np.asarray(np.ravel_multi_index(tuple(columns.T.astype(np.intp)), schema.sizes))


def _fast(channel: Channel) -> Linear:
    """The channel in the form that is applied fastest."""
    size = math.prod(channel.true_shape)
    if isinstance(channel, AgreementChannel) and set(channel.sizes) == {2}:
        return Mirror(float(channel.theta), size)
    return Dense(channel.matrix) if size <= _SMALL else channel.forward
