"""square_wave: report a point near the true number, more likely than any point further away.

Numbers between low and high become one of d points v = 0, ..., d - 1. The report is one of the
d + 2b points from -b to d - 1 + b:

    P(y | v) = r q  if |y - v| <= b,  q otherwise        q = 1 / ((2b + 1) r + d - 1)

so epsilon = log r, exactly. b is the share of d that maximises the mutual information between
report and truth, b / d = (e r - r + 1) / (2 r (r - 1 - e)) with e = log r, rounded down. A number
between two points goes to either with the probability that keeps its mean: the mean of the points
is that of the numbers, and their variance is larger by at most the squared distance of two points
over 4.

    E[y | v] = A v + q (d + 2b)(d - 1)/2                        A = (r - 1) q (2b + 1)
    E[y^2 | v] = A (v^2 + b (b + 1)/3) + q sum over all y of y^2

Reference: Z. Li, T. Wang, M. Lopuhaa-Zwakenberg, N. Li and B. Skoric, Estimating numerical
distributions under local differential privacy, SIGMOD 2020, section 5 (square wave, discrete).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel.numbers import Number, fraction
from tacit.core.exact_draws import Draws, Source
from tacit.errors import DataError, DesignError
from tacit.output.rounding import epsilon as epsilon_text
from tacit.quantitative.scrambling import Moments, Scrambling

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
    """Points within `reach` of the true one are `largest_ratio` times as likely as others."""

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
