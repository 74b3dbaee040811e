"""multiplicative: report the product of the true number and a drawn one.

    y = x s        E[y | x] = x E s        E[y^2 | x] = x^2 E s^2

    mean(x) = mean(y) / E s        Var = (E s^2 E x^2 / (E s)^2 - (E x)^2) / n

A true 0 is always reported as 0 and a sign is never hidden, so epsilon is infinite.

Reference: B. H. Eichhorn and L. S. Hayre, Scrambled randomized response methods for obtaining
sensitive quantitative data, Journal of Statistical Planning and Inference 7 (1983) 307-316.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from tacit.core.arrays import Array
from tacit.quantitative.card_scrambling import AlwaysScrambled
from tacit.quantitative.known_numbers import known_numbers
from tacit.quantitative.scrambling import Moments


class Multiplicative(AlwaysScrambled):
    """The true number times a drawn one."""

    family: ClassVar[str] = "multiplicative"
    use_of_card: ClassVar[str] = "Multiply your true answer by its number. Report only the product."

    @cached_property
    def moments(self) -> Moments:
        none = Fraction(0)
        return Moments(self.noise.moment(1), none, self.noise.moment(2), none, none)

    @property
    def privacy(self) -> str:
        return (
            "No epsilon: a true 0 is always reported as 0, and a report can only come from the "
            f"{len(self.noise.values)} true numbers that times a drawn one give it."
        )

    def scrambled(self, true: Array, drawn: Array) -> Array:
        return true * drawn


def multiplicative(noise: Any) -> Multiplicative:
    """The true number times a draw from `noise`: numbers with probabilities, or a list of them."""
    found = Multiplicative(known_numbers(noise, "multiplicative: noise"))
    found.require_estimable()
    return found
