"""eriksson: report the true number with probability p, else one from a known list.

    E[y | x] = p x + (1-p) E s        E[y^2 | x] = p x^2 + (1-p) E s^2

    mean(x) = (mean(y) - (1-p) E s) / p

A number that is not on the list is certainly true, so epsilon is infinite, unless all true numbers
are on the list (`listed`). Then the report is that of `forced` for these numbers, and

    epsilon = log((p + (1-p) q) / ((1-p) q))        q: the smallest probability on the list

Reference: S. A. Eriksson, A new model for randomized response, International Statistical Review 41
(1973) 101-113.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel.numbers import Number, probability
from tacit.errors import DataError, DesignError
from tacit.output.rounding import epsilon as epsilon_text
from tacit.quantitative.card_scrambling import TruthOrScrambled
from tacit.quantitative.known_numbers import known_numbers
from tacit.quantitative.scrambling import Moments


@dataclass(frozen=True)
class Eriksson(TruthOrScrambled):
    """The true number, or one from the list."""

    listed: bool
    family: ClassVar[str] = "eriksson"
    use_of_card: ClassVar[str] = "and report its number."

    @cached_property
    def moments(self) -> Moments:
        none, rest = Fraction(0), 1 - self.p
        first, second = (rest * self.noise.moment(power) for power in (1, 2))
        return Moments(self.p, first, self.p, none, second)

    @property
    def ratio(self) -> Fraction | None:
        if not self.listed or self.p == 1:
            return None
        drawn = (1 - self.p) * min(self.noise.shares)
        return (self.p + drawn) / drawn

    @property
    def privacy(self) -> str:
        if self.ratio is not None:
            return f"epsilon {epsilon_text(self.epsilon)}: only numbers on the list are answered."
        return (
            "No epsilon: a report that is not on the list is certainly the true number. If all "
            "true answers are on the list, say so with listed=True."
        )

    def check_true(self, true: Array) -> None:
        if self.listed:
            self._check_listed(true)

    def check_reported(self, reported: Array) -> None:
        if self.listed:
            self._check_listed(reported)

    def _check_listed(self, numbers: Array) -> None:
        known = [float(value) for value in self.noise.values]
        wrong = np.flatnonzero(~np.isin(numbers, known))
        if wrong.size:
            raise DataError(
                f"{numbers[wrong[0]]:g} in place {wrong[0]} is not on the list of eriksson: "
                + ", ".join(f"{value:g}" for value in known[:12])
                + (", ..." if len(known) > 12 else "")
            )

    def scrambled(self, true: Array, drawn: Array) -> Array:
        return drawn


def eriksson(p: Number, noise: Any, listed: bool = False) -> Eriksson:
    """The true number with probability p, else a draw from `noise`.

    listed: all true numbers are among those of `noise`; others are then refused.
    """
    if not isinstance(listed, bool):
        raise DesignError(f"eriksson: listed must be True or False, got {listed!r}")
    found = Eriksson(probability(p, "eriksson: p"), known_numbers(noise, "eriksson: noise"), listed)
    found.require_estimable()
    return found
