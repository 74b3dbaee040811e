"""The families of scrambling: frozen descriptions of how a number is disguised, and draws.

Each one tells what the mean and the mean square of a report are for a true number x:

    E[u | x] = slope x + shift        E[u^2 | x] = square x^2 + linear x + constant

where u is the report in units of the scrambling. That is all an estimate of the mean and the
variance needs. It also tells its epsilon, or why it has none.
"""

from __future__ import annotations

import inspect
import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel.channel import LocallyPrivate
from tacit.core.channel.families import Matrix, matrix
from tacit.core.channel.numbers import Number, fraction, probabilities, probability
from tacit.core.exact_draws import Draws, Source, source_of
from tacit.errors import DataError, DesignError, FileError, SingularChannelError, unknown
from tacit.output.json_documents import DocumentFormat, fingerprint_of, read_document
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


#: Points between low and high, if not stated.
STEPS = 256
_FEWEST, _MOST = 8, 1024
_LEAST_EPSILON, _MOST_EPSILON = Fraction(1, 100), Fraction(12)
#: The ratio is rounded down to a multiple of one over this, so epsilon is never exceeded.
_PARTS = 10**6
#: A report may miss its point by this share of the distance of two points: rounding of decimals.
_NEAR = 1e-3


@dataclass(frozen=True)
class SquareWave(Scrambling):
    """Report a point near the true number, more likely than any point further away.

    Numbers between low and high become one of d points v = 0, ..., d - 1. The report is one of the
    d + 2b points from -b to d - 1 + b:

        P(y | v) = r q  if |y - v| <= b,  q otherwise        q = 1 / ((2b + 1) r + d - 1)

    so epsilon = log r, exactly. b is the share of d that maximises the mutual information between
    report and truth, b / d = (e r - r + 1) / (2 r (r - 1 - e)) with e = log r, rounded down. A
    number between two points goes to either with the probability that keeps its mean: the mean of
    the points is that of the numbers, and their variance is larger by at most the squared distance
    of two points over 4.

        E[y | v] = A v + q (d + 2b)(d - 1)/2                        A = (r - 1) q (2b + 1)
        E[y^2 | v] = A (v^2 + b (b + 1)/3) + q sum over all y of y^2

    Reference: Z. Li, T. Wang, M. Lopuhaa-Zwakenberg, N. Li and B. Skoric, Estimating numerical
    distributions under local differential privacy, SIGMOD 2020, section 5 (square wave, discrete).
    """

    largest_ratio: Fraction
    low: Fraction
    high: Fraction
    steps: int
    family: ClassVar[str] = "square_wave"

    @property
    def ratio(self) -> Fraction:
        return self.largest_ratio

    @cached_property
    def reach(self) -> int:
        """b: how many points on each side are likely."""
        return best_reach(self.largest_ratio, self.steps)

    @cached_property
    def far(self) -> Fraction:
        """q: the probability of a point that is not near."""
        return 1 / ((2 * self.reach + 1) * self.largest_ratio + self.steps - 1)

    @property
    def points(self) -> int:
        """The number of points that may be reported."""
        return self.steps + 2 * self.reach

    @property
    def origin(self) -> Fraction:
        return self.low

    @property
    def unit(self) -> Fraction:
        return (self.high - self.low) / (self.steps - 1)

    @cached_property
    def moments(self) -> Moments:
        b, d, none = self.reach, self.steps, Fraction(0)
        slope = (self.largest_ratio - 1) * self.far * (2 * b + 1)
        shift = self.far * self.points * Fraction(d - 1, 2)
        squares = sum(y * y for y in range(-b, d + b))
        constant = slope * Fraction(b * (b + 1), 3) + self.far * squares
        return Moments(slope, shift, slope, none, constant)

    @property
    def privacy(self) -> str:
        return (
            f"epsilon {epsilon_text(self.epsilon)}, for any two numbers from {self.low} to "
            f"{self.high}."
        )

    @property
    def instructions(self) -> str:
        return "A device has to draw: no coin, die or deck of cards has so many outcomes."

    def codes(self, reported: Array) -> Any:
        """The point of each report, counted from the first that may be reported."""
        places = (reported - float(self.low)) / float(self.unit) + self.reach
        codes = np.rint(places)
        outside = (np.abs(places - codes) > _NEAR) | (codes < 0) | (codes >= self.points)
        wrong = np.flatnonzero(outside)
        if wrong.size:
            raise DataError(
                f"{reported[wrong[0]]:g} in place {wrong[0]} is not a report of {self}: reports "
                f"are {float(self.low):g} plus a whole multiple of {float(self.unit):g}"
            )
        return codes.astype(np.intp)

    def check_reported(self, reported: Array) -> None:
        self.codes(reported)

    def check_true(self, true: Array) -> None:
        low, high = float(self.low), float(self.high)
        wrong = np.flatnonzero((true < low) | (true > high))
        if wrong.size:
            raise DataError(
                f"{true[wrong[0]]:g} in place {wrong[0]} is not between {low:g} and {high:g}; "
                "the limits are part of the design and must hold for everyone"
            )

    def draw(self, true: Array, source: Source) -> Array:
        n, b = len(true), self.reach
        point = self._points(true, source)
        any_point = self.far * self.points
        near = Draws([[any_point, 1 - any_point]]).draw(None, n, source) == 1
        anywhere = _uniform(self.points).draw(None, n, source).astype(np.intp) - b
        window = point + _uniform(2 * b + 1).draw(None, n, source).astype(np.intp) - b
        return float(self.low) + np.where(near, window, anywhere) * float(self.unit)

    def _points(self, true: Array, source: Source) -> Any:
        """The point below or above each number, with the probability that keeps its mean."""
        places = np.clip((true - float(self.low)) / float(self.unit), 0, self.steps - 1)
        below = np.floor(places)
        words = source(8 * len(true)).view(np.uint64) >> np.uint64(11)
        above = words < (places - below) * 2.0**53
        return below.astype(np.intp) + above


@cache
def _uniform(size: int) -> Draws:
    return Draws([[Fraction(1, size)] * size])


def best_reach(ratio: Fraction, steps: int) -> int:
    """b: the share of the steps that tells most about the true point, rounded down.

    >>> best_reach(Fraction(3), 256), best_reach(Fraction(100), 256)
    (61, 4)
    """
    r = Decimal(ratio.numerator) / Decimal(ratio.denominator)
    e = r.ln()
    share = (e * r - r + 1) / (2 * r * (r - 1 - e))
    return int((share * steps).to_integral_value(ROUND_FLOOR))


def square_wave(epsilon: Number, low: Number, high: Number, steps: int = STEPS) -> SquareWave:
    """A number from low to high, reported as one of `steps` points or a little beyond."""
    given = fraction(epsilon, "square_wave: epsilon")
    if not _LEAST_EPSILON <= given <= _MOST_EPSILON:
        raise DesignError(
            f"square_wave: epsilon must lie between {float(_LEAST_EPSILON)} and "
            f"{float(_MOST_EPSILON):g}, got {epsilon}"
        )
    grown = (Decimal(given.numerator) / Decimal(given.denominator)).exp() * _PARTS
    return square_wave_of(Fraction(int(grown), _PARTS), low, high, steps)


def square_wave_of(
    largest_ratio: Number, low: Number, high: Number, steps: int = STEPS
) -> SquareWave:
    """The same with the ratio in place of epsilon, as a file holds it."""
    ratio = fraction(largest_ratio, "square_wave: largest_ratio")
    least, most = fraction(low, "square_wave: low"), fraction(high, "square_wave: high")
    if ratio <= 1:
        raise DesignError(f"square_wave: largest_ratio must be above 1, got {largest_ratio}")
    if least >= most:
        raise DesignError(f"square_wave: low must be below high, got {low} and {high}")
    if isinstance(steps, bool) or not isinstance(steps, int) or not _FEWEST <= steps <= _MOST:
        raise DesignError(
            f"square_wave: steps must be a whole number from {_FEWEST} to {_MOST}, got {steps!r}"
        )
    return SquareWave(ratio, least, most, steps)


#: Family -> the function that makes it from the parameters in a file.
FAMILIES: dict[str, Callable[..., Scrambling]] = {
    make.__name__: make for make in (additive, multiplicative, bar_lev, eriksson)
} | {"square_wave": square_wave_of}


def scramble(true: Any, scrambling: Scrambling, rng: np.random.Generator | None = None) -> Array:
    """A reported number for each true one.

    `rng` None draws from the operating system's entropy: use it for answers of real people. All
    probabilities are exact. Sums and products are floating point: true numbers with more digits
    than the noise can show in the last digits which number was drawn, so round them first.
    """
    check_scrambling(scrambling)
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise DataError(f"rng must be a numpy.random.Generator or None, got {rng!r}")
    numbers = numbers_of(true, "true numbers")
    scrambling.check_true(numbers)
    return scrambling.draw(numbers, source_of(rng))


def scrambling_from_json(text: str) -> Scrambling:
    """The scrambling that `to_json` describes."""
    content = read_document(text, FORMAT)
    family, given = content["family"], content["parameters"]
    if not isinstance(family, str) or family not in FAMILIES:
        raise FileError(unknown("family", family, FAMILIES, " in the scrambling file"))
    make = FAMILIES[family]
    allowed = list(inspect.signature(make).parameters)
    if not isinstance(given, Mapping) or set(given) != set(allowed):
        raise FileError(f"the parameters of {family} must be {', '.join(allowed)}")
    return make(**given)


def check_scrambling(scrambling: object) -> None:
    """Raise DesignError if something else was given."""
    if not isinstance(scrambling, Scrambling):
        raise DesignError(
            f"scrambling must be one of {', '.join(FAMILIES)}, got {type(scrambling).__name__}"
        )


#: More reports are not practical for people.
_MOST_REPORTS = 200


def as_matrix(scrambling: Scrambling, numbers: Iterable[Any]) -> Matrix:
    """The coin of a group with one attribute, whose categories are these numbers in order.

    Reports are numbers as text, from the smallest to the largest. Column x of the matrix has the
    probabilities of all reports of the true number x. With it a design, a survey and the
    respondent's page can ask for the number, and everything that takes a design can estimate from
    the reports.

    >>> from tacit.quantitative import additive
    >>> as_matrix(additive([0, 1]), [0, 1]).to_dict()["matrix"]
    [['1/2', '0'], ['1/2', '1/2'], ['0', '1/2']]
    """
    check_scrambling(scrambling)
    if not isinstance(scrambling, CardScrambling):
        raise DesignError(
            f"{scrambling.family} is not for cards and has no matrix; bin the numbers and use "
            "uniform_perturbation or frapp"
        )
    true = [fraction(number, "numbers: a number") for number in numbers]
    if len(set(true)) < max(2, len(true)):
        raise DataError("numbers must be at least two different numbers")
    scrambling.check_true(np.array([float(x) for x in true]))
    laws = [scrambling.law(x) for x in true]
    reports = sorted(set().union(*laws))
    if len(reports) > _MOST_REPORTS:
        raise DataError(
            f"{len(reports):,} different reports are possible, more than {_MOST_REPORTS}; take "
            "fewer numbers or cards"
        )
    rows = [[law.get(report, Fraction(0)) for law in laws] for report in reports]
    return matrix(rows, [str(report) for report in reports])
