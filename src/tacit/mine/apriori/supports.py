"""Supports: moments of the weights of reports for itemsets; one class per way to get them.

    P(E) = mean of g(y; E) over the reports,    Var = (mean of g^2 - P(E)^2) / n

Sets come level by level, subsets first. `supports_of` chooses the class: `ExactSupports` if reports
are the truth, `HitSupports` if a weight depends only on which items a report has, and
`WeightSupports` for any design.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tacit.arrays import Array, Index, Mask
from tacit.reconstruction.linear_estimate import covariance_of_means, stderr_of_means

#: Called with the share of the level that is done.
Tell = Callable[[float], None]
#: The items of a rule that are conditions; the others are its conclusion.
Inside = tuple[bool, ...]


class SetMoments(NamedTuple):
    """Means of g and of g^2, one entry per set."""

    mean: Array
    second: Array

    def stderr(self, n_records: int) -> Array:
        """Standard errors of the means."""
        return stderr_of_means(self.second, self.mean, n_records)

    @classmethod
    def joined(cls, levels: Sequence[SetMoments]) -> SetMoments:
        """The moments of several levels, one after the other."""
        nothing = np.empty(0)
        means, seconds = [level.mean for level in levels], [level.second for level in levels]
        return cls(np.concatenate([nothing, *means]), np.concatenate([nothing, *seconds]))


class RuleMoments(NamedTuple):
    """Of all items of a rule, its conditions and its conclusion: means, and their covariance.

    `mean` is rules x 3, `covariance` rules x 3 x 3.
    """

    mean: Array
    covariance: Array

    @classmethod
    def of(cls, mean: Array, products: Array, n_records: int) -> RuleMoments:
        """From means of g and of products of two weights."""
        outer = (mean[:, :, None], mean[:, None, :])
        return cls(mean, covariance_of_means(products, *outer, n_records))


class Supports(ABC):
    """The moments of sets and rules in some reports."""

    n_records: int

    @abstractmethod
    def level(self, sets: Index, tell: Tell | None = None) -> SetMoments:
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


def part(sets: Index, chosen: Inside) -> Index:
    """Some of the items of each set."""
    return sets[:, np.flatnonzero(chosen)]
