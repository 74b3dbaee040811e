"""bar_lev: report the true number with probability p, else its product with a drawn one.

    E[y | x] = x (p + (1-p) E s)        E[y^2 | x] = x^2 (p + (1-p) E s^2)

With p = 0 it is `multiplicative`. A true 0 is always reported as 0, so epsilon is infinite.

Reference: S. K. Bar-Lev, E. Bobovitch and B. Boukai, A note on randomized response models for
quantitative data, Metrika 60 (2004) 255-260.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from tacit.core.arrays import Array
from tacit.core.channel.numbers import Number, probability
from tacit.quantitative.card_scrambling import TruthOrScrambled
from tacit.quantitative.known_numbers import known_numbers
from tacit.quantitative.scrambling import Moments


class BarLev(TruthOrScrambled):
    """The true number, or that times a drawn one."""

    family: ClassVar[str] = "bar_lev"
    use_of_card: ClassVar[str] = (
        "multiply your true answer by its number and report only the product."
    )

    @cached_property
    def moments(self) -> Moments:
        none, rest = Fraction(0), 1 - self.p
        first, second = (self.p + rest * self.noise.moment(power) for power in (1, 2))
        return Moments(first, none, second, none, none)

    @property
    def privacy(self) -> str:
        return (
            f"No epsilon: with probability {self.p} the report is the true number, and a true 0 "
            "is always reported as 0."
        )

    def scrambled(self, true: Array, drawn: Array) -> Array:
        return true * drawn


def bar_lev(p: Number, noise: Any) -> BarLev:
    """The true number with probability p, else that times a draw from `noise`."""
    found = BarLev(probability(p, "bar_lev: p"), known_numbers(noise, "bar_lev: noise"))
    found.require_estimable()
    return found
