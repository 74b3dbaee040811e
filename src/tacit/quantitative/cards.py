"""Scrambling by cards: respondents draw a number and combine it with the true one."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel.numbers import Number, probability
from tacit.core.exact_draws import Draws, Source
from tacit.errors import DataError, DesignError
from tacit.output.rounding import epsilon as epsilon_text
from tacit.quantitative.scrambling import KnownNumbers, Moments, Scrambling, known_numbers


class CardScrambling(Scrambling):
    """Numbers are drawn from `noise`; with probability p the true number is reported instead."""

    p: Fraction
    noise: KnownNumbers
    #: What a respondent does with a card.
    use_of_card: ClassVar[str]

    @property
    def ratio(self) -> Fraction | None:
        return None

    @abstractmethod
    def scrambled(self, true: Any, drawn: Any) -> Any:
        """The report, a linear function of the true number; of arrays or exact fractions."""

    def law(self, true: Fraction) -> dict[Fraction, Fraction]:
        """The exact probability of each report of a true number."""
        chances = {true: self.p}
        for card, share in zip(self.noise.values, self.noise.shares, strict=True):
            report = self.scrambled(true, card)
            chances[report] = chances.get(report, Fraction(0)) + (1 - self.p) * share
        return {report: chance for report, chance in chances.items() if chance}

    @cached_property
    def moments(self) -> Moments:
        # A line and a parabola in the true number are fixed by their values at -1, 0 and 1.
        laws = [self.law(Fraction(x)) for x in (-1, 0, 1)]
        _, shift, line = (sum((y * p for y, p in law.items()), Fraction(0)) for law in laws)
        low, constant, high = (
            sum((y * y * p for y, p in law.items()), Fraction(0)) for law in laws
        )
        return Moments(line - shift, shift, (high + low) / 2 - constant, (high - low) / 2, constant)


@dataclass(frozen=True)
class AlwaysScrambled(CardScrambling):
    """Everybody draws a card."""

    noise: KnownNumbers
    p: ClassVar[Fraction] = Fraction(0)  # type: ignore[misc]

    @property
    def instructions(self) -> str:
        return (
            f"Draw one card from a deck with these numbers (and shares): {self.noise}. "
            f"{self.use_of_card}"
        )

    def draw(self, true: Array, source: Source) -> Array:
        return np.asarray(self.scrambled(true, self.noise.draw(len(true), source)))


@dataclass(frozen=True)
class TruthOrScrambled(CardScrambling):
    """The true number with probability p, else a card is drawn."""

    p: Fraction
    noise: KnownNumbers

    @property
    def instructions(self) -> str:
        return (
            f"Let chance decide: with probability {self.p} report your true answer. Otherwise draw "
            f"one card from a deck with these numbers (and shares): {self.noise}, "
            f"{self.use_of_card}"
        )

    def draw(self, true: Array, source: Source) -> Array:
        other = Draws([[self.p, 1 - self.p]]).draw(None, len(true), source) == 1
        drawn = self.noise.draw(len(true), source)
        return np.asarray(np.where(other, self.scrambled(true, drawn), true))


class Additive(AlwaysScrambled):
    """Report the sum of the true number and a drawn one.

        y = x + s        E[y | x] = x + E s        E[y^2 | x] = x^2 + 2 x E s + E s^2

        mean(x) = mean(y) - E s        var(x) = var(y) - var(s)

    The noise s has a known distribution over finitely many numbers. So a report says how far away
    the true number may be, and epsilon is infinite.

    Reference: K. H. Pollock and Y. Bek, A comparison of three randomized response models for
    quantitative data, Journal of the American Statistical Association 71 (1976) 884-886.
    """

    family: ClassVar[str] = "additive"
    use_of_card: ClassVar[str] = "Add its number to your true answer. Report only the sum."

    @property
    def privacy(self) -> str:
        low, high = (
            f"y - {number}" if number >= 0 else f"y + {-number}"
            for number in (self.noise.values[-1], self.noise.values[0])
        )
        return (
            f"No epsilon: a report y shows that the true number lies between {low} and {high}, "
            "and numbers outside are ruled out."
        )

    def scrambled(self, true: Any, drawn: Any) -> Any:
        return true + drawn


def additive(noise: Any) -> Additive:
    """The true number plus a draw from `noise`: numbers with probabilities, or a list of them."""
    return Additive(known_numbers(noise, "additive: noise"))


class Multiplicative(AlwaysScrambled):
    """Report the product of the true number and a drawn one.

        y = x s        E[y | x] = x E s        E[y^2 | x] = x^2 E s^2

        mean(x) = mean(y) / E s        Var = (E s^2 E x^2 / (E s)^2 - (E x)^2) / n

    A true 0 is always reported as 0 and a sign is never hidden, so epsilon is infinite.

    Reference: B. H. Eichhorn and L. S. Hayre, Scrambled randomized response methods for obtaining
    sensitive quantitative data, Journal of Statistical Planning and Inference 7 (1983) 307-316.
    """

    family: ClassVar[str] = "multiplicative"
    use_of_card: ClassVar[str] = "Multiply your true answer by its number. Report only the product."

    @property
    def privacy(self) -> str:
        return (
            "No epsilon: a true 0 is always reported as 0, and a report can only come from the "
            f"{len(self.noise.values)} true numbers that times a drawn one give it."
        )

    def scrambled(self, true: Any, drawn: Any) -> Any:
        return true * drawn


def multiplicative(noise: Any) -> Multiplicative:
    """The true number times a draw from `noise`: numbers with probabilities, or a list of them."""
    scrambling = Multiplicative(known_numbers(noise, "multiplicative: noise"))
    scrambling.require_estimable()
    return scrambling


class BarLev(TruthOrScrambled):
    """Report the true number with probability p, else its product with a drawn one.

        E[y | x] = x (p + (1-p) E s)        E[y^2 | x] = x^2 (p + (1-p) E s^2)

    With p = 0 it is `multiplicative`. A true 0 is always reported as 0, so epsilon is infinite.

    Reference: S. K. Bar-Lev, E. Bobovitch and B. Boukai, A note on randomized response models for
    quantitative data, Metrika 60 (2004) 255-260.
    """

    family: ClassVar[str] = "bar_lev"
    use_of_card: ClassVar[str] = (
        "multiply your true answer by its number and report only the product."
    )

    @property
    def privacy(self) -> str:
        return (
            f"No epsilon: with probability {self.p} the report is the true number, and a true 0 "
            "is always reported as 0."
        )

    def scrambled(self, true: Any, drawn: Any) -> Any:
        return true * drawn


def bar_lev(p: Number, noise: Any) -> BarLev:
    """The true number with probability p, else that times a draw from `noise`."""
    scrambling = BarLev(probability(p, "bar_lev: p"), known_numbers(noise, "bar_lev: noise"))
    scrambling.require_estimable()
    return scrambling


@dataclass(frozen=True)
class Eriksson(TruthOrScrambled):
    """Report the true number with probability p, else one from a known list.

        E[y | x] = p x + (1-p) E s        E[y^2 | x] = p x^2 + (1-p) E s^2

        mean(x) = (mean(y) - (1-p) E s) / p

    A number that is not on the list is certainly true, so epsilon is infinite, unless all true
    numbers are on the list (`listed`). Then the report is that of `forced` for these numbers, and

        epsilon = log((p + (1-p) q) / ((1-p) q))        q: the smallest probability on the list

    Reference: S. A. Eriksson, A new model for randomized response, International Statistical
    Review 41 (1973) 101-113.
    """

    listed: bool
    family: ClassVar[str] = "eriksson"
    use_of_card: ClassVar[str] = "and report its number."

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
        listed = [float(value) for value in self.noise.values]
        wrong = np.flatnonzero(~np.isin(true, listed))
        if self.listed and wrong.size:
            raise DataError(
                f"{true[wrong[0]]:g} in place {wrong[0]} is not on the list of eriksson: "
                + ", ".join(f"{value:g}" for value in listed[:12])
                + (", ..." if len(listed) > 12 else "")
            )

    def check_reported(self, reported: Array) -> None:
        self.check_true(reported)

    def scrambled(self, true: Any, drawn: Any) -> Any:
        return drawn


def eriksson(p: Number, noise: Any, listed: bool = False) -> Eriksson:
    """The true number with probability p, else a draw from `noise`.

    listed: all true numbers are among those of `noise`; others are then refused.
    """
    if not isinstance(listed, bool):
        raise DesignError(f"eriksson: listed must be True or False, got {listed!r}")
    numbers = known_numbers(noise, "eriksson: noise")
    scrambling = Eriksson(probability(p, "eriksson: p"), numbers, listed)
    scrambling.require_estimable()
    return scrambling
