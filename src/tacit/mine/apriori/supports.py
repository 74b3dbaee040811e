"""Supports: moments of the weights of reports for itemsets; one class per way to get them.

    P(E) = mean of g(y; E) over the reports,    Var = (mean of g^2 - P(E)^2) / n

Sets come level by level, subsets first. `supports_of` chooses the class: `ExactSupports` if reports
are the truth, `HitSupports` if a weight depends only on which items a report has, and
`WeightSupports` for any design.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tacit.core.arrays import Array, Index, Mask
from tacit.reconstruction.linear_estimate import covariance_of_means, stderr_of_means
from tacit.records import Progress

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
    """The moments of sets and rules in some reports."""

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
