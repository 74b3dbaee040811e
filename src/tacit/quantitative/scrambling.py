"""Scrambling: the frozen description of how a number is disguised.

Each one tells what the mean and the mean square of a report are for a true number x:

    E[u | x] = slope x + shift        E[u^2 | x] = square x^2 + linear x + constant

where u is the report in units of the scrambling. That is all an estimate of the mean and the
variance needs. It also tells its epsilon, or why it has none.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel.channel import LocallyPrivate
from tacit.core.channel.numbers import Number, fraction, probabilities, probability
from tacit.core.exact_draws import Draws, Source
from tacit.errors import DataError, DesignError, SingularChannelError
from tacit.output.json_documents import DocumentFormat, fingerprint_of
from tacit.output.rounding import epsilon as epsilon_text


@dataclass(frozen=True)
class KnownNumbers:
    """A known distribution of finitely many numbers, such as the cards of a deck.

    Distinct numbers in increasing order, and the exact probability of each.
    """

    values: tuple[Fraction, ...]
    shares: tuple[Fraction, ...]

    def draw(self, size: int, source: Source) -> Array:
        """Independent draws, exact for the shares."""
        numbers = np.array([float(value) for value in self.values])
        return np.asarray(numbers[Draws([self.shares]).draw(None, size, source)])

    def to_dict(self) -> dict[str, str]:
        """Each number with its share, exact."""
        return {str(v): str(s) for v, s in zip(self.values, self.shares, strict=True)}

    def __str__(self) -> str:
        """The cards in words, as in '-10 (1/4), 0 (1/2), 10 (1/4)'."""
        return ", ".join(f"{v} ({s})" for v, s in zip(self.values, self.shares, strict=True))


def known_numbers(given: Any, what: str) -> KnownNumbers:
    """From a mapping of numbers to probabilities, or from a list of equally likely numbers."""
    if isinstance(given, KnownNumbers):
        return given
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise DesignError(
            f"{what} must be a mapping from numbers to probabilities, or a list of equally "
            f"likely numbers, got {given!r}"
        )
    if isinstance(given, Mapping):
        listed, weights = list(given), probabilities(list(given.values()), what)
    else:
        listed = list(given)
        weights = tuple(Fraction(1, len(listed)) for _ in listed)
    numbers = [fraction(value, f"{what}: a number") for value in listed]
    shares: dict[Fraction, Fraction] = {}
    for number, share in zip(numbers, weights, strict=True):
        shares[number] = shares.get(number, Fraction(0)) + share
    possible = sorted((number, share) for number, share in shares.items() if share > 0)
    if not possible:
        raise DesignError(f"{what} must have at least one number")
    return KnownNumbers(*zip(*possible, strict=True))


FORMAT = DocumentFormat("scrambling", "scrambling file", (("family", "parameters"),))


@dataclass(frozen=True)
class Moments:
    """The first two moments of a report, as polynomials of the true number."""

    slope: Fraction
    shift: Fraction
    square: Fraction
    linear: Fraction
    constant: Fraction


class Scrambling(LocallyPrivate):
    """How a number is disguised. Subclasses are equal when their parameters are."""

    family: ClassVar[str]

    @property
    @abstractmethod
    def moments(self) -> Moments:
        """Mean and mean square of a report for a true number, both in units of `unit`."""

    @property
    def origin(self) -> Fraction:
        """The number that is 0 in units of the scrambling."""
        return Fraction(0)

    @property
    def unit(self) -> Fraction:
        """The length of one unit."""
        return Fraction(1)

    @property
    @abstractmethod
    def privacy(self) -> str:
        """A sentence on epsilon: its value, or why there is none."""

    @property
    @abstractmethod
    def instructions(self) -> str:
        """What a respondent does with cards of her own, or why a device has to do it."""

    @abstractmethod
    def draw(self, true: Array, source: Source) -> Array:
        """A reported number for each true one."""

    def check_true(self, true: Array) -> None:
        """Raise DataError if a number cannot be scrambled."""

    def check_reported(self, reported: Array) -> None:
        """Raise DataError if a number cannot be a report."""

    def __post_init__(self) -> None:
        """Raise SingularChannelError if the mean cannot be estimated."""
        if self.moments.slope == 0:
            raise SingularChannelError(
                f"{self}: the mean of the reports does not depend on the true numbers, so it "
                "cannot be estimated; choose numbers whose mean is not 0, or another probability"
            )

    def parameters(self) -> dict[str, Any]:
        """JSON-ready parameters with exact numbers."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready description."""
        return {**FORMAT.header, "family": self.family, "parameters": self.parameters()}

    def to_json(self) -> str:
        """The description as JSON; `scrambling_from_json` reads it back."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the description in canonical form."""
        return fingerprint_of(self.to_dict())

    def __str__(self) -> str:
        given = ", ".join(f"{k}={v}" for k, v in self.parameters().items())
        return f"{self.family}({given})".replace("'", "")


def _plain(value: Any) -> Any:
    if isinstance(value, KnownNumbers):
        return value.to_dict()
    return str(value) if isinstance(value, Fraction) else value


def numbers_of(given: Any, what: str) -> Array:
    """A column of numbers as an array; they must be finite."""
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what} must be a column of numbers, got {given!r:.60}") from None
    if array.ndim != 1 or array.size == 0:
        raise DataError(f"{what} must be one column with at least one number")
    wrong = np.flatnonzero(~np.isfinite(array))
    if wrong.size:
        raise DataError(
            f"{what} must be numbers; {array[wrong[0]]} in place {wrong[0]} is none. Leave "
            "missing answers out: they are not disguised"
        )
    return array


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
    return Multiplicative(known_numbers(noise, "multiplicative: noise"))


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
    return BarLev(probability(p, "bar_lev: p"), known_numbers(noise, "bar_lev: noise"))


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
    return Eriksson(probability(p, "eriksson: p"), numbers, listed)
