"""additive: report the sum of the true number and a drawn one.

    y = x + s        E[y | x] = x + E s        E[y^2 | x] = x^2 + 2 x E s + E s^2

    mean(x) = mean(y) - E s        var(x) = var(y) - var(s)

The noise s has a known distribution over finitely many numbers. So a report says how far away the
true number may be, and epsilon is infinite.

References: K. H. Pollock and Y. Bek, A comparison of three randomized response models for
quantitative data, Journal of the American Statistical Association 71 (1976) 884-886.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from tacit.core.arrays import Array
from tacit.quantitative.card_scrambling import AlwaysScrambled
from tacit.quantitative.known_numbers import known_numbers
from tacit.quantitative.scrambling import Moments


class Additive(AlwaysScrambled):
    """The true number plus a drawn one."""

    family: ClassVar[str] = "additive"
    use_of_card: ClassVar[str] = "Add its number to your true answer. Report only the sum."

    @cached_property
    def moments(self) -> Moments:
        mean, one = self.noise.moment(1), Fraction(1)
        return Moments(one, mean, one, 2 * mean, self.noise.moment(2))

    @property
    def privacy(self) -> str:
        low, high = (_less(self.noise.values[place]) for place in (-1, 0))
        return (
            f"No epsilon: a report y shows that the true number lies between {low} and {high}, "
            "and numbers outside are ruled out."
        )

    def scrambled(self, true: Array, drawn: Array) -> Array:
        return true + drawn


def _less(number: Fraction) -> str:
    return f"y - {number}" if number >= 0 else f"y + {-number}"


def additive(noise: Any) -> Additive:
    """The true number plus a draw from `noise`: numbers with probabilities, or a list of them."""
    return Additive(known_numbers(noise, "additive: noise"))
