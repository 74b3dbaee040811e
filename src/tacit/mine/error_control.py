"""Which of many tests to accept, so that a stated error rate holds.

An itemset is claimed to be frequent if its support stands out from the threshold s by its noise:

    z = (estimate - s) / standard error,    p = P(Z >= z)

Estimates that are skewed to the left exceed s by many standard errors more often than a normal
variable: z is corrected by Hall's transformation (P. Hall, "On the removal of skewness by
transformation", Journal of the Royal Statistical Society B 54, 1992). Skewness to the right only
makes the test stricter, and is not used.

Level by level, the data choose which sets are tested. To stay valid, each set that could ever be
tested has a fixed share of the error, and the shares sum to 1: lengths k have (L+1)/(L k (k+1)) of
it for k up to the largest length L, equally divided among all sets of that length. Then

- `FamilyWise` accepts p <= error * share. By the union bound some accepted set is wrong with at
  most this probability.
- `FalseDiscovery` accepts p <= error * share * b(r), where r sets are accepted in total and
  b(r) = min(r, M) / (1 + 1/2 + ... + 1/M). M is how many sets could ever be tested, at most 10,000.
  Every set of r tests that meets this has a
  false discovery rate of at most `error` under any dependence, also if the tests depend on earlier
  ones (Blanchard & Roquain, "Two simple sufficient conditions for FDR control", Electronic Journal
  of Statistics 2, 2008; with equal shares and M tests it is the procedure of Benjamini &
  Yekutieli, Annals of Statistics 29, 2001).
- `PlainThreshold` accepts what is estimated at s or more: the plain Apriori, with no error rate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from tacit.core.argument_checks import check_rate
from tacit.core.arrays import Array, Mask

#: The largest M: more accepted sets than this do not make the tests milder.
_MOST = 10_000
#: A plain threshold is met up to rounding.
_ROUNDINGS = 1e-12
#: Numbers of sets beyond this do not fit a float, and no test would be accepted anyway.
_MANY = 10**300


@dataclass(frozen=True)
class ThresholdTests:
    """Tests of quantities against a threshold: estimate minus threshold, its standard error.

    `skewness` is that of the estimate: of one report, divided by the root of their number. `share`
    is the share of the error that each test has, of `possible` tests that there could be.
    """

    excess: Array
    stderr: Array
    skewness: Array
    share: Array
    possible: int

    @property
    def p_values(self) -> Array:
        """One-sided; a quantity without noise is on one side of the threshold for certain."""
        from scipy.special import ndtr  # slow to load

        certain = np.where(self.excess > 0, np.inf, -np.inf)
        noise = np.where(self.stderr > 0, self.stderr, 1.0)
        z, lean = self.excess / noise, np.minimum(self.skewness, 0)
        corrected = z + lean * (z**2 / 3 + 1 / 6) + lean**2 * z**3 / 27
        return np.asarray(ndtr(-np.where(self.stderr > 0, corrected, certain)))


class ErrorControl(ABC):
    """A rule for accepting tests; see the module."""

    @property
    @abstractmethod
    def says(self) -> str:
        """What is controlled, in words."""

    @abstractmethod
    def accepted(self, tests: ThresholdTests, before: int = 0) -> Mask:
        """Which tests to accept, after `before` others were accepted."""


@dataclass(frozen=True)
class ErrorRateControl(ErrorControl):
    """A rule that bounds an error rate."""

    error: float = 0.05
    #: What `error` bounds.
    rate: ClassVar[str]

    def __post_init__(self) -> None:
        check_rate("error", self.error)

    @property
    def says(self) -> str:
        return f"{self.rate} at most {self.error:g}"


@dataclass(frozen=True)
class FamilyWise(ErrorRateControl):
    """Some accepted claim is wrong with probability at most `error`."""

    rate = "probability of any wrong one"

    def accepted(self, tests: ThresholdTests, before: int = 0) -> Mask:
        return np.asarray(tests.p_values <= self.error * tests.share)


@dataclass(frozen=True)
class FalseDiscovery(ErrorRateControl):
    """The expected share of wrong claims among those accepted is at most `error`."""

    rate = "expected share of wrong ones"

    def accepted(self, tests: ThresholdTests, before: int = 0) -> Mask:
        scores = tests.p_values / tests.share
        most = max(1, min(tests.possible, _MOST))
        ranks = np.minimum(before + 1 + np.arange(len(scores)), most)
        bounds = self.error * ranks / _harmonic(most)
        met = np.flatnonzero(np.sort(scores) <= bounds)
        if not len(met):
            return np.zeros(len(scores), bool)
        return np.asarray(scores <= bounds[met[-1]])


@dataclass(frozen=True)
class PlainThreshold(ErrorControl):
    """Accept every estimate at the threshold or above; noise is not considered."""

    @property
    def says(self) -> str:
        return "estimates at the threshold or above, no error rate"

    def accepted(self, tests: ThresholdTests, before: int = 0) -> Mask:
        return np.asarray(tests.excess >= -_ROUNDINGS)


def shares_of_lengths(lengths: range, numbers: Sequence[int]) -> dict[int, float]:
    """The share of the error of each of `numbers[k]` sets of length k; all shares sum to 1.

    >>> shares_of_lengths(range(1, 3), [1, 4, 6])
    {1: 0.1875, 2: 0.041666666666666664}
    """
    whole = sum(1 / (k * (k + 1)) for k in lengths)
    return {k: 1 / (k * (k + 1)) / whole / min(numbers[k], _MANY) for k in lengths}


@cache
def _harmonic(n: int) -> float:
    return float(np.sum(1 / np.arange(1, n + 1)))
