"""mangat and triangular: a true yes always reports yes, a true no sometimes does.

    M = [[1 - q, 0],        P(reported yes) = pi + (1 - pi) q
         [q,     1]]

    mangat(p)      q = 1 - p: who truly says no follows Warner's device     (Mangat, 1994)
    triangular(p)  q = p: "no" is sent only if the answer and that to an innocent question of
                   prevalence p are both no                         (Yu, Tian & Tang, 2008)

Both are forced(1 - q, [0, 1]) in other words. A reported yes may come from anyone, but a reported
no is certainly true, so epsilon is infinite. At q = 1 no estimate exists.

References: N. S. Mangat, An improved randomized response strategy, Journal of the Royal Statistical
Society B 56 (1994) 93-95. J.-W. Yu, G.-L. Tian and M.-L. Tang, Two new models for survey sampling
with sensitive characteristic: design and analysis, Metrika 67 (2008) 251-263.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from tacit.core.channel.coin import Attributes, require_one_yes_no
from tacit.core.channel.distribution import Distribution
from tacit.core.channel.keep_or_draw import Replacing
from tacit.core.channel.numbers import Number, probability


class OneSided(Replacing):
    """Keep the answer with a probability, else report the second category."""

    def check(self, attributes: Attributes) -> None:
        require_one_yes_no(self.family, attributes)

    def drawn(self, attributes: Attributes) -> Distribution:
        return Distribution.independent([(Fraction(0), Fraction(1))])


@dataclass(frozen=True)
class Mangat(OneSided):
    """Yes is answered truthfully; no with probability p, else yes."""

    p: Fraction
    family: ClassVar[str] = "mangat"
    advice: ClassVar[str] = "take p above 0"

    def report_meaning(self, attributes: Attributes) -> str:
        no, yes = attributes[0].categories
        return f"{no} only if it is true; {yes} if it is true, or by chance"

    def weight(self, attributes: Attributes) -> Fraction:
        return self.p


@dataclass(frozen=True)
class Triangular(OneSided):
    """Yes means: my answer, or that to an innocent question of prevalence p, or both are yes."""

    p: Fraction
    family: ClassVar[str] = "triangular"
    advice: ClassVar[str] = (
        "choose an innocent question with p below 1 (born in the first quarter: 1/4)"
    )
    asks = "any_yes"
    report_words = ("both no", "at least one yes")

    def report_meaning(self, attributes: Attributes) -> str:
        no, yes = attributes[0].categories
        return f"{yes} if at least one of two answers is {yes}, {no} if both are {no}"

    def weight(self, attributes: Attributes) -> Fraction:
        return 1 - self.p


def mangat(p: Number) -> Mangat:
    """Yes always reports yes; no reports no with probability p, else yes. For one yes/no answer."""
    return Mangat(probability(p, "mangat: p"))


def triangular(p: Number) -> Triangular:
    """Report whether the answer or that to an innocent question of prevalence p is yes."""
    return Triangular(probability(p, "triangular: p"))
