"""ScoreTest: how an unbiased estimate of a probability varies, whatever the truth is.

A report weighs g in the estimate, which is the mean of g over n reports. If the true probability
is p, then per report

    Var(g) = p (1 - p) + noise(p),    third central moment = p (1 - p) (1 - 2p) + skew(p)

The first terms are those of drawing a true record (Wilson, 1927), noise and skew what the disguise
adds. For an event with moments E[g^k | true answer] inside and outside of it both are polynomials
of p. The sum of the weights is treated as lo + (hi - lo) times a binomial count that has the same
mean, variance and third moment. If g takes two values only, this is its exact distribution.

Undisguised attributes have no noise: how many of n records meet conditions on them is counted. The
probability of an event with such conditions is the product of their share and of the share r of the
event among the m records that meet them. The test is that of r, from these m records alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

from tacit.core.arrays import Array, Index, Mask

#: Probabilities this close to 0 or 1 are not divided by.
_NEAR = 1e-6
#: Distributions are evaluated this far from 0 and 1 at least, where a variance may vanish.
_EDGE = 1e-9
#: An estimate so many standard errors outside of [0, 1] contradicts the design.
_FAR = 4.0
#: Two hypotheses at which the two values of a weight are compared.
_PROBES = (0.3, 0.7)
_SAME = 1e-7
#: A share of the records below this is 0, but for rounding.
_NOBODY = 1e-13
_ENDLESS = 1e18
#: The number of no records, where it is divided by.
NO_RECORDS = 1e-9

Range = tuple[float, float]


@dataclass(frozen=True)
class EventMoments:
    """Least and largest E[g^k | true answers] over the answers inside and outside an event.

    g is the weight of a report for the event, k a power. The outside of a product of groups is
    where at least one group is outside its own event.
    """

    inside: Range
    outside: Range

    def __mul__(self, other: EventMoments) -> EventMoments:
        mixed = [(self.inside, other.outside), (self.outside, other.inside)]
        outside = [_products(*pair) for pair in [*mixed, (self.outside, other.outside)]]
        return EventMoments(
            _products(self.inside, other.inside),
            (min(low for low, _ in outside), max(high for _, high in outside)),
        )


#: The moments of an event whose conditions are all on undisguised attributes.
UNDISGUISED = EventMoments((1.0, 1.0), (0.0, 0.0))


def _products(first: Range, second: Range) -> Range:
    """Least and largest product; a moment of an odd power may be negative."""
    found = [a * b for a, b in product(first, second)]
    return min(found), max(found)


class KnownMoments(NamedTuple):
    """One power of the weights: its mean over the reports, `own` inside, bounds outside."""

    mean: Array
    own: Array
    low: Array
    high: Array

    def other(self, value: Array) -> Array:
        """The moment outside: mean = p own + (1 - p) other at the estimate, kept within bounds.

        The bounds also settle it where p is near 1.
        """
        safe = np.abs(1 - value) > _NEAR
        solved = (self.mean - value * self.own) / np.where(safe, 1 - value, 1.0)
        return np.where(safe, np.clip(solved, self.low, self.high), self.high)

    def within(self, share: Array) -> KnownMoments:
        """The same among a share of the reports, if all others weigh nothing."""
        return self._replace(mean=_within(self.mean, share))


def event_moments(mean: float, value: float, moments: EventMoments, total: float) -> KnownMoments:
    """Those of one event; `total` estimates P(E) times the mean of E[g^k | x] inside."""
    low, high = moments.inside
    own = high if value <= _NEAR else float(np.clip(total / value, low, high))
    return KnownMoments(*map(np.asarray, (mean, own, *moments.outside)))


class TwoPoint(NamedTuple):
    """Weights of two values: `low`, and `low + span` with probability `share`."""

    low: Array
    span: Array
    share: Array


@dataclass(frozen=True)
class ScoreTest:
    """An unbiased estimate and how it varies; noise and skew are 3 coefficients x cells.

    If `n_all` is not 0, the estimate is that among the `n_records` of `n_all` records that meet
    conditions on undisguised attributes. What is estimated is the probability of the event and
    these conditions, center * n_records / n_all.
    """

    center: Array
    noise: Array
    skew: Array
    n_records: Array | float
    n_all: Array | float = 0.0

    @classmethod
    def of(
        cls, value: Array, n_records: Array | float, second: KnownMoments, third: KnownMoments
    ) -> ScoreTest:
        """The test of events, from moments of the weights."""
        own2, own3 = second.own, third.own
        other2, other3 = second.other(value), third.other(value)
        # Reports that contradict the design do not tell what the variance would be under it.
        away, most = np.abs(value - np.clip(value, 0, 1)), np.maximum(own2, second.high)
        error = np.sqrt(most / np.maximum(n_records, NO_RECORDS))
        other2 = np.where(away > _FAR * error, second.high, other2)
        zero = np.zeros_like(value)
        noise = [other2, own2 - other2 - 1, zero]
        skew = [other3, own3 - other3 - 3 * other2 - 1, 3 - 3 * (own2 - other2)]
        return cls(value, _stacked(noise, value), _stacked(skew, value), n_records)

    @classmethod
    def of_noise(
        cls, value: Array, stderr: Array, n_records: float, third: Array | None = None
    ) -> ScoreTest:
        """The test if noise is the same for all true answers: from the error at the estimate.

        `third` is the mean of the cubed weights.
        """
        return cls._of_second(value, n_records * stderr**2 + value**2, n_records, third)

    @classmethod
    def _of_second(
        cls, value: Array, second: Array, n_records: Array | float, third: Array | None
    ) -> ScoreTest:
        """The same from the mean of the squared weights."""
        extra = np.maximum(second - value, 0.0)
        extra = np.where(np.isfinite(extra), extra, np.inf)
        skew = np.zeros_like(extra)
        if third is not None:
            mean = np.clip(value, 0, 1)
            central = third - 3 * value * second + 2 * value**3
            skew = np.where(extra > 0, central - mean * (1 - mean) * (1 - 2 * mean), 0.0)
        zero = np.zeros_like(extra)
        noise = _stacked([extra, zero, zero], value)
        return cls(value, noise, _stacked([skew, zero, zero], value), n_records)

    @classmethod
    def within(
        cls,
        value: Array,
        share: Array,
        n_records: float,
        second: KnownMoments,
        third: KnownMoments,
    ) -> ScoreTest:
        """The test of events with undisguised conditions that a share of the records meets."""
        center = _within(value, share)
        test = cls.of(center, n_records * share, second.within(share), third.within(share))
        return replace(test, n_all=np.full(center.shape, float(n_records)))

    @classmethod
    def of_noise_within(
        cls, value: Array, share: Array, stderr: Array, n_records: float, third: Array | None
    ) -> ScoreTest:
        """The same if noise is the same for all true answers; see `of_noise`."""
        second = _within(n_records * stderr**2 + value**2, share)
        third = None if third is None else _within(third, share)
        test = cls._of_second(_within(value, share), second, n_records * share, third)
        return replace(test, n_all=np.full(value.shape, float(n_records)))

    def given(self, n_all: Array) -> ScoreTest:
        """The test among these records of an undisguised group, instead of all records."""
        apart = np.asarray(self.n_all) == 0
        alone = apart | (np.abs(n_all - self.n_records) <= _SAME * (1 + n_all))
        # Without further undisguised conditions all records of the group are those of the test.
        return replace(self, n_all=np.where(apart | alone.all(), 0.0, n_all))

    def variance(self, p0: Array) -> Array:
        """Variance of one weight if the truth is p0."""
        return np.asarray(p0 * (1 - p0) + np.maximum(_polynomial(self.noise, p0), 0.0))

    def stderr(self, p0: Array) -> Array:
        """Standard error of the estimate if the truth is p0."""
        return np.asarray(np.sqrt(self.variance(p0) / np.maximum(self.n_records, NO_RECORDS)))

    def nearest_stderr(self, stderr: Array) -> Array:
        """Standard errors, with that at the nearest possible truth where all reports are alike.

        They have no variance, but they do not make an impossible estimate certain.
        """
        nearest = np.clip(self.center, 0.0, 1.0)
        least = self.stderr(nearest)
        certain = (stderr < _NEAR * least) & (np.abs(self.center - nearest) > _EDGE)
        return np.asarray(np.where(certain, least, stderr))

    def two_point(self, p0: Array) -> TwoPoint:
        """The distribution of one weight on two values with the same three moments."""
        p = np.clip(p0, _EDGE, 1 - _EDGE)
        spread = np.sqrt(np.minimum(self.variance(p), 1e100))
        third = p * (1 - p) * (1 - 2 * p) + _polynomial(self.skew, p)
        skewness = np.clip(third / spread**3, -1e9, 1e9)
        root = np.sqrt(4 + skewness**2)
        rare = 2 / (root * (root + np.abs(skewness)))  # the smaller of both shares
        share = np.where(skewness >= 0, rare, 1 - rare)
        span = spread * root
        return TwoPoint(p - share * span, span, share)

    @property
    def binomial(self) -> Mask:
        """Whether the weight takes two values only: the number of either is binomial."""
        first, second = (self.two_point(np.full_like(self.center, p)) for p in _PROBES)
        close = partial(np.isclose, rtol=_SAME, atol=_SAME)
        return np.asarray(
            close(first.low / second.span, second.low / second.span)
            & close(first.span, second.span)
            & np.isfinite(first.span)
        )

    def part(self, places: Index, shape: tuple[int, ...]) -> ScoreTest:
        """The test of some cells, by their places in the flattened table."""
        center, n_records, n_all = (
            np.broadcast_to(each, self.center.shape).ravel()[places].reshape(shape)
            for each in (self.center, self.n_records, self.n_all)
        )
        noise, skew = (c.reshape(3, -1)[:, places].reshape(3, *shape) for c in self._coefficients)
        return ScoreTest(center, noise, skew, n_records, n_all)

    def with_cell(self, place: int, test: ScoreTest) -> ScoreTest:
        """The test with that of another estimate in one cell of the flattened table."""
        order = np.arange(self.center.size)
        parts = [self.part(order, order.shape), test.part(order[:1], (1,))]
        order[place] = self.center.size
        joined = ScoreTest(
            *(
                np.concatenate([getattr(each, name) for each in parts], axis=-1)
                for name in ("center", "noise", "skew", "n_records", "n_all")
            )
        )
        return joined.part(order, self.center.shape)

    def times(self, factor: Array | float) -> ScoreTest:
        """The same test from so many times the records."""
        return replace(self, n_records=self.n_records * factor, n_all=self.n_all * factor)

    def known_to_be_0(self, cells: Mask) -> ScoreTest:
        """The test with these cells known, as if from endless records."""
        n_records = np.where(cells, _ENDLESS, self.n_records)
        return replace(self, n_records=n_records, n_all=np.where(cells, 0.0, self.n_all))

    @property
    def _coefficients(self) -> tuple[Array, Array]:
        return self.noise, self.skew

    def mirrored(self) -> ScoreTest:
        """The test of the complement."""
        (a, b, c), (d, e, f) = self.noise, self.skew
        noise = np.stack([a + b + c, -b - 2 * c, c])
        skew = -np.stack([d + e + f, -e - 2 * f, f])
        return ScoreTest(np.asarray(1 - self.center), noise, skew, self.n_records)


def _within(mean: Array, share: Array) -> Array:
    """A mean over all records as one over a share of them, if all others are 0; 1/2 of nobody."""
    some = share > _NOBODY
    return np.where(some, mean / np.where(some, share, 1.0), 0.5)


def _stacked(coefficients: list[Array], value: Array) -> Array:
    return np.stack([np.broadcast_to(np.asarray(c, np.float64), value.shape) for c in coefficients])


def _polynomial(coefficients: Array, p: Array) -> Array:
    a, b, c = coefficients
    with np.errstate(invalid="ignore"):
        return np.asarray(a + p * (b + p * c))
