"""related, crosswise, mangat_singh: the truth, or the opposite, about all answers of the group.

    M = theta * I + (1 - theta) * kron_a L_a,    L_a = (J - I) / (k_a - 1)

For yes/no answers L is the complement: one group is the scheme of Du & Zhan (2003, eq. 3),
g groups those of Soni & Shrivastva (2013, eq. 4-9; their M_3 has an error in entry (2,6) and
eq. 9 lists 17 entries for 16, so we take Kronecker products). One attribute of any k is Warner's
scheme as Huang & Du (2008, section III-B) extend it.

crosswise(p) is related(p) for one yes/no answer (Yu, Tian & Tang, 2008). mangat_singh(truth, p) has
two stages: the truth with probability `truth`, else Warner's device with p. That is related with
theta = truth + (1 - truth) p (Mangat & Singh, 1990).

At theta = 1/2 for yes/no answers (1/k for one attribute of k categories; in general where
theta/(1-theta) is the product of 1/(k_a - 1) over an odd number of attributes) M is singular: no
estimate exists, although the papers' grids of theta list 1/2.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from tacit.core.channel.channel import Channel, Outcomes, SecondMoments, Target, erasure
from tacit.core.channel.coin import (
    Attributes,
    Coin,
    Differ,
    Keep,
    Strategy,
    Unit,
    all_positions,
    require_one_yes_no,
)
from tacit.core.channel.linear_maps import Agreement
from tacit.core.channel.numbers import Number, probability

#: Products of (k - 1) beyond this no longer change an eigenvalue that a double can hold.
_LARGEST_PRODUCT = 10**13


@dataclass(frozen=True)
class Related(Coin):
    """With probability theta all true, else all other than true."""

    theta: Fraction
    family: ClassVar[str] = "related"

    def strategies(self, attributes: Attributes) -> tuple[tuple[Fraction, Strategy], ...]:
        units = tuple((i,) for i in range(len(attributes)))
        return ((self.theta, Keep()), (1 - self.theta, Differ(units)))

    def channel(self, attributes: Attributes, kept: Unit | None = None) -> AgreementChannel:
        positions = all_positions(attributes, kept)
        return AgreementChannel(self.theta, tuple(attributes[i].size for i in positions))

    @property
    def remedy(self) -> str:
        return (
            f"at theta = {self.theta} the truth and its opposite cannot be told apart; "
            "move theta away from it, for yes/no answers away from 1/2 (a die gives 2/3 or 5/6)"
        )


class RelatedDevice(Coin):
    """Another device with the channel of a related one."""

    @property
    @abstractmethod
    def equivalent(self) -> Related:
        """The one device with the same channel."""

    def strategies(self, attributes: Attributes) -> tuple[tuple[Fraction, Strategy], ...]:
        return self.equivalent.strategies(attributes)

    def channel(self, attributes: Attributes, kept: Unit | None = None) -> AgreementChannel:
        return self.equivalent.channel(attributes, kept)


@dataclass(frozen=True)
class Crosswise(RelatedDevice):
    """Yes means: my answer and that to an innocent question of prevalence p are the same.

    Algebraically related(p) on one yes/no attribute; the second category reports "the same".
    """

    p: Fraction
    family: ClassVar[str] = "crosswise"
    asks = "comparison"
    report_words = ("different", "same")
    remedy = (
        "an innocent question with p = 1/2 hides the answer from everyone; "
        "choose one whose prevalence is away from 1/2 (born in the first quarter: 1/4)"
    )

    def check(self, attributes: Attributes) -> None:
        require_one_yes_no(self.family, attributes)

    def report_meaning(self, attributes: Attributes) -> str:
        no, yes = attributes[0].categories
        return f"{yes} if both answers are the same, {no} if they are different"

    @property
    def equivalent(self) -> Related:
        return Related(self.p)


@dataclass(frozen=True)
class MangatSingh(RelatedDevice):
    """The truth with probability `truth`, else related(p): two devices one after the other."""

    truth: Fraction
    p: Fraction
    family: ClassVar[str] = "mangat_singh"

    @property
    def equivalent(self) -> Related:
        return Related(self.truth + (1 - self.truth) * self.p)

    @property
    def remedy(self) -> str:
        theta = self.equivalent.theta
        return (
            f"both devices together give the truth with probability {theta}, at which the truth "
            "and its opposite cannot be told apart; take a larger truth or another p"
        )


@dataclass(frozen=True)
class AgreementChannel(Channel):
    """theta * I + (1 - theta) * kron L: entries depend only on which attributes agree."""

    theta: Fraction
    sizes: tuple[int, ...]

    @property
    def true_shape(self) -> tuple[int, ...]:
        return self.sizes

    @property
    def ratio(self) -> Fraction | None:
        """Two or more attributes: reports that mix truth and lie never occur, so None."""
        lie = (1 - self.theta) / math.prod(k - 1 for k in self.sizes)
        if len(self.sizes) > 1 or self.theta == 0 or lie == 0:
            return None
        return max(self.theta, lie) / min(self.theta, lie)

    @property
    def overlap(self) -> Fraction:
        if len(self.sizes) > 1:
            return Fraction(0)
        (k,) = self.sizes
        return k * min(self.theta, (1 - self.theta) / (k - 1))

    def experiments(self, target: Target | None = None) -> list[Outcomes]:
        """Cells that differ in all attributes; of several, also cells that agree in one."""
        theta, sizes, none = self.theta, self.sizes, Fraction(0)
        off = (1 - theta) / math.prod(k - 1 for k in sizes)
        both = off * math.prod(k - 2 for k in sizes)
        alone = 1 - theta - off - both
        experiments = [[(theta, off), (off, theta), (alone, none), (none, alone), (both, both)]]
        if len(sizes) > 1:
            shared = min(
                (1 - theta)
                * math.prod(Fraction(k - 2, k - 1) for j, k in enumerate(sizes) if j != i)
                for i in range(len(sizes))
                if target is None or i != target[0]
            )
            experiments.append(erasure(shared))
        return experiments

    @property
    def condition(self) -> float:
        """The eigenvalues are theta + (1 - theta) * prod of -1/(k - 1); the largest is 1.

        Floats find the smallest, fractions settle it.
        """
        theta, rest = float(self.theta), float(1 - self.theta)
        nearest = min(self._products(), key=lambda product: abs(theta + rest / product))
        smallest = abs(self.theta + (1 - self.theta) / nearest)
        return math.inf if smallest == 0 else float(1 / smallest)

    def _products(self) -> set[int]:
        """prod -(k_a - 1) over the subsets of attributes, each value once."""
        products = {1}
        for k in self.sizes:
            products |= {-p * (k - 1) for p in products if abs(p) < _LARGEST_PRODUCT}
        return products

    @cached_property
    def forward(self) -> Agreement:
        contrast = np.ones(())
        for k in self.sizes:
            contrast = np.multiply.outer(contrast, np.array([1.0, -1 / (k - 1)]))
        theta = float(self.theta)
        return Agreement(self.sizes, theta + (1 - theta) * contrast)

    @cached_property
    def inverse(self) -> Agreement:
        """For one yes/no group P(E) = (theta P*(E) - (1-theta) P*(not E)) / (2 theta - 1)."""
        return self.forward.inverse()

    def moments(self, power: int) -> SecondMoments:
        powers = self.inverse.power(power)
        product = Agreement(self.sizes, powers.eigenvalues * self.forward.eigenvalues)
        *others, same = product.coefficients().ravel()
        alike = np.ones(math.prod(self.sizes))
        return SecondMoments(same * alike, min(others) * alike, max(others) * alike)


def related(theta: Number) -> Related:
    """Truth about the whole group with probability theta, else the opposite (Warner; Du & Zhan)."""
    return Related(probability(theta, "related: theta"))


def crosswise(p: Number) -> Crosswise:
    """Report whether the answer equals that to an innocent question of known prevalence p."""
    return Crosswise(probability(p, "crosswise: p"))


def mangat_singh(truth: Number, p: Number) -> MangatSingh:
    """The truth with probability `truth`, else Warner's device: the truth with probability p."""
    return MangatSingh(probability(truth, "mangat_singh: truth"), probability(p, "mangat_singh: p"))
