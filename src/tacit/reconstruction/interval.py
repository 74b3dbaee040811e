"""Confidence intervals for probabilities that keep their coverage near 0 and 1.

An interval contains every p in [0, 1] that the estimate does not reject, with the distribution
that p implies (see `ScoreTest`): exact if the reports are binomial (Clopper & Pearson, 1934), by
a binomial distribution with the same three moments if not, by the normal one if the noise is that
of many records.

An estimate below 0, which is common under randomized response, is tested like 0 itself: it may
come from chance or from reports that contradict the design, and must not shorten the interval. So
at p near 0 an estimate of 0 or less is likely. While it has more than half of the error
probability it cannot be rejected, and the whole error probability is that of large estimates; from
there on, both sides have a half. The same holds at 1. At every p the estimate is rejected with the
stated probability, or less.

The probability of an event with undisguised conditions is r s: s is the share of the records that
meet the conditions, and r that of the event among them. Both have exact limits of their own, l to u
and l' to u'. They are combined as independent deviations (MOVER: Zou & Donner, 2008), where s moves
from its estimate at the limit of r:

    lower = r s - sqrt((s (r - l))^2 + (l (s - l'))^2)
    upper = r s + sqrt((s (u - r))^2 + (u (u' - s))^2), at most u'

So the lower limit is 0 exactly if the reports of the group allow r = 0. u may exceed 1 here: cut at
1, it would not tell how far the reports are from contradicting r = 1. If all records meet the
conditions, the lower limit is l: the estimate of r s varies most if s = 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from tacit.core.arrays import TINY, Array, Index, Mask
from tacit.core.channel.event_moments import EventMoments
from tacit.errors import DataError

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


class KnownMoments(NamedTuple):
    """A power of the weights: its mean over the reports, that inside the event, bounds outside."""

    mean: Array
    inside: Array
    low: Array
    high: Array

    def outside(self, value: Array) -> Array:
        """The moment outside: mean = p inside + (1 - p) outside at the estimate, within bounds.

        The bounds also settle it where p is near 1.
        """
        safe = np.abs(1 - value) > _NEAR
        solved = (self.mean - value * self.inside) / np.where(safe, 1 - value, 1.0)
        return np.where(safe, np.clip(solved, self.low, self.high), self.high)


def event_moments(mean: float, value: float, moments: EventMoments, total: float) -> KnownMoments:
    """Those of one event; `total` estimates P(E) times the mean of E[g^k | x] inside."""
    low, high = moments.inside
    inside = high if value <= _NEAR else float(np.clip(total / value, low, high))
    return KnownMoments(*map(np.asarray, (mean, inside, *moments.outside)))


class TwoPoint(NamedTuple):
    """Weights of two values: `low`, and `low + span` with probability `share`."""

    low: Array
    span: Array
    share: Array


@dataclass(frozen=True)
class ScoreTest:
    """How an unbiased estimate of a probability varies, whatever the truth is.

    A report weighs g in the estimate, which is the mean of g over n reports. If the true
    probability is p, then per report

        Var(g) = p (1 - p) + noise(p),    third central moment = p (1 - p) (1 - 2p) + skew(p)

    The first terms are those of drawing a true record (Wilson, 1927), noise and skew what the
    disguise adds. For an event with moments E[g^k | true answer] inside and outside of it both are
    polynomials of p, 3 coefficients x cells. The sum of the weights is treated as lo + (hi - lo)
    times a binomial count that has the same mean, variance and third moment. If g takes two values
    only, this is its exact distribution.

    Undisguised attributes have no noise: how many of n records meet conditions on them is counted.
    The probability of an event with such conditions is the product of their share and of the share
    of the event among the records that meet them. The test is that of the latter: if `n_all` is not
    0, the estimate is that among `n_records` of `n_all` records, and the probability of the event
    and these conditions is center * n_records / n_all.
    """

    center: Array
    noise: Array
    skew: Array
    n_records: Array | float
    n_all: Array | float = 0.0

    def __post_init__(self) -> None:
        for name in ("n_records", "n_all"):
            numbers = np.broadcast_to(getattr(self, name), self.center.shape)
            object.__setattr__(self, name, numbers)

    @classmethod
    def of(
        cls,
        value: Array,
        n_records: Array | float,
        second: KnownMoments,
        third: KnownMoments,
        share: Array | None = None,
    ) -> ScoreTest:
        """The test of events, from moments of the weights.

        `share` is that of the records that meet the undisguised conditions of the events.
        """
        n_all: Array | float = 0.0
        if share is not None:
            value, n_all, n_records = _within(value, share), n_records, n_records * share
            second = second._replace(mean=_within(second.mean, share))
            third = third._replace(mean=_within(third.mean, share))
        inside2, inside3 = second.inside, third.inside
        outside2, outside3 = second.outside(value), third.outside(value)
        # Reports that contradict the design do not tell what the variance would be under it.
        away, most = np.abs(value - np.clip(value, 0, 1)), np.maximum(inside2, second.high)
        error = np.sqrt(most / np.maximum(n_records, NO_RECORDS))
        outside2 = np.where(away > _FAR * error, second.high, outside2)
        zero = np.zeros_like(value)
        noise = [outside2, inside2 - outside2 - 1, zero]
        skew = [outside3, inside3 - outside3 - 3 * outside2 - 1, 3 - 3 * (inside2 - outside2)]
        return cls(value, _stacked(noise, value), _stacked(skew, value), n_records, n_all)

    @classmethod
    def of_noise(
        cls,
        value: Array,
        stderr: Array,
        n_records: Array | float,
        third: Array | None = None,
        share: Array | None = None,
    ) -> ScoreTest:
        """The test if noise is the same for all true answers: from the error at the estimate.

        `third` is the mean of the cubed weights; `share` as for `of`.
        """
        n_all: Array | float = 0.0
        second = n_records * stderr**2 + value**2
        if share is not None:
            value, second = _within(value, share), _within(second, share)
            third = None if third is None else _within(third, share)
            n_all, n_records = n_records, n_records * share
        extra = np.maximum(second - value, 0.0)
        extra = np.where(np.isfinite(extra), extra, np.inf)
        skew = np.zeros_like(extra)
        if third is not None:
            mean = np.clip(value, 0, 1)
            central = third - 3 * value * second + 2 * value**3
            skew = np.where(extra > 0, central - mean * (1 - mean) * (1 - 2 * mean), 0.0)
        zero = np.zeros_like(extra)
        noise, skews = (_stacked([constant, zero, zero], value) for constant in (extra, skew))
        return cls(value, noise, skews, n_records, n_all)

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
        same_low = close(first.low / second.span, second.low / second.span)
        return np.asarray(same_low & close(first.span, second.span) & np.isfinite(first.span))

    def part(self, positions: Index, shape: tuple[int, ...]) -> ScoreTest:
        """The test of some cells, by their positions in the flattened table."""

        def picked(numbers: Array) -> Array:
            before = numbers.shape[: numbers.ndim - self.center.ndim]
            flat = numbers.reshape((*before, -1))
            return flat[..., positions].reshape((*before, *shape))

        return ScoreTest(*map(picked, vars(self).values()))

    def times(self, factor: Array | float) -> ScoreTest:
        """The same test from so many times the records."""
        return replace(self, n_records=self.n_records * factor, n_all=self.n_all * factor)

    def known_to_be_0(self, cells: Mask) -> ScoreTest:
        """The test with these cells known, as if from endless records."""
        n_records = np.where(cells, _ENDLESS, self.n_records)
        return replace(self, n_records=n_records, n_all=np.where(cells, 0.0, self.n_all))

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


#: Steps of the search for a limit, which ends when none moves further than this.
_STEPS, _CLOSE = 60, 1e-11
#: Reports with a variance of this many have nearly a normal sum.
_MANY = 400.0
#: Sums of shares of the records are rounded by this much.
_ROUNDING = 1e-12
#: Cells up to which all limits are searched at the same time, which takes six times the memory.
_FEW = 1 << 14


class Interval(NamedTuple):
    """Lower and upper limits, of the shape of the estimate."""

    lower: Array
    upper: Array


def check_level(level: float) -> float:
    """A confidence level, which lies strictly between 0 and 1."""
    number = isinstance(level, int | float | np.number) and not isinstance(level, bool)
    if not number or not 0 < level < 1 - 1e-15:
        raise DataError(f"the confidence level must lie between 0 and 1, got {level!r}")
    return level


def normal_interval(value: Array, stderr: Array, level: float, df: float = math.inf) -> Interval:
    """value -+ t * stderr, for quantities without bounds."""
    check_level(level)
    reach = t_deviate((1 - level) / 2, df) * stderr
    return Interval(value - reach, value + reach)


def score_interval(score: ScoreTest, level: float, df: float = math.inf) -> Interval:
    """All p in [0, 1] that the estimate does not reject; all of them if there are no records.

    If the variance is estimated with `df` degrees of freedom, the records count for fewer: by the
    squared ratio of the deviates of the normal and of Student's distribution (Korn & Graubard,
    1998).
    """
    check_level(level)
    tail = (1 - level) / 2
    score = score.times((t_deviate(tail, math.inf) / t_deviate(tail, df)) ** 2)
    inner, reach = _inner_interval(score, 1 - level)
    nobody, product = score.n_records < NO_RECORDS, np.asarray(score.n_all) > 0
    inner = Interval(np.where(nobody, 0.0, inner.lower), np.where(nobody, 1.0, inner.upper))
    if not product.any():
        return inner
    joint = _product_interval(score, inner.lower, reach, 1 - level)
    return Interval(*(np.where(product, *limits) for limits in zip(joint, inner, strict=True)))


def _inner_interval(score: ScoreTest, error: float) -> tuple[Interval, Array]:
    """The interval of the estimate among its records, and an upper limit that may exceed 1."""
    score = replace(score, n_records=np.maximum(score.n_records, NO_RECORDS))
    mirrored = score.mirrored()
    center = np.clip(score.center, 0.0, 1.0)
    ones = np.ones_like(center)
    # Below `from_zero` an estimate of 0 is not rejected, above `from_one` an estimate of 1.
    half, sides = error / 2, [(score, center), (mirrored, 1 - center)]
    limits = _limits(
        [(score, ones, half), (mirrored, ones, half)]
        + [(test, end, tail) for test, end in sides for tail in (half, error)]
    )
    reach = np.maximum(1 - limits[4], center)
    from_one, from_zero, low_half, low_whole, high_half, high_whole = (
        np.clip(x, 0.0, 1.0) for x in limits
    )
    low = _lower(center, low_half, low_whole, 1 - from_zero, from_one)
    high = 1 - _lower(1 - center, high_half, high_whole, 1 - from_one, from_zero)
    return Interval(np.minimum(low, center), np.maximum(high, center)), reach


def _product_interval(score: ScoreTest, low: Array, high: Array, error: float) -> Interval:
    """The interval of the estimate times the share of the records that it is from."""
    from scipy.special import betaincinv  # slow to load

    n, r = np.maximum(score.n_all, NO_RECORDS), np.clip(score.center, 0.0, 1.0)
    inside = np.clip(score.n_records, 0.0, n)
    share, outside = inside / n, n - inside
    least, rest = (
        np.where(count > 0, betaincinv(np.maximum(count, TINY), n - count + 1, error / 2), 0.0)
        for count in (inside, outside)
    )
    most = 1 - rest
    least = np.where(outside <= _ROUNDING * n, share, least)
    lower = r * share - np.hypot(share * (r - low), low * (share - least))
    upper = r * share + np.hypot(share * (high - r), high * (most - share))
    upper = np.where(inside < NO_RECORDS, most, np.minimum(upper, most))
    return Interval(np.maximum(lower, 0.0), upper)


def _lower(center: Array, half: Array, whole: Array, lower_end: Array, upper_end: Array) -> Array:
    """The least p that the estimate does not reject as too large for it.

    `half` and `whole` are the limits for a half of the error probability, and for all of it.
    """
    limit = np.where((half <= lower_end) & (whole <= lower_end), whole, np.maximum(half, lower_end))
    return np.asarray(np.where(center <= 0, 0.0, np.minimum(limit, upper_end)))


def _limits(searches: Sequence[tuple[ScoreTest, Array, float]]) -> list[Array]:
    """The p at which estimates of `centers` or more have the probabilities `tails`.

    All at once if the cells are few, as each step of a search then costs the same.
    """
    at_once = len(searches) if searches[0][1].size <= _FEW else 1
    limits: list[Array] = []
    for start in range(0, len(searches), at_once):
        tests, centers, tails = zip(*searches[start : start + at_once], strict=True)
        center = np.stack(centers)
        noise, skew = (
            np.stack(part, axis=1) for part in ([t.noise for t in tests], [t.skew for t in tests])
        )
        tail = np.reshape(tails, (-1, *[1] * (center.ndim - 1)))
        score = ScoreTest(center, noise, skew, tests[0].n_records)
        limits += list(_limit(score, np.broadcast_to(tail, center.shape)))
    return limits


def _limit(score: ScoreTest, tail: Array) -> Array:
    """The p at which an estimate of the center or more has this probability; it may be below 0."""
    binomial = np.asarray(score.binomial)
    limit = _normal_limit(score, tail)
    point = score.two_point(limit)
    rough = ~binomial & (score.n_records * point.share * (1 - point.share) < _MANY)
    if binomial.any():
        limit = np.where(binomial, _exact_limit(score, tail), limit)
    if rough.any():
        searched = _searched_limit(score, tail, rough)
        limit = np.where(rough & ((searched > 0) | (limit > 0)), searched, limit)
    return limit


def _normal_limit(score: ScoreTest, tail: Array) -> Array:
    """The lower root of n (x - p)^2 = z^2 Var(p)."""
    constant, linear, square = np.minimum(score.noise, 1e100)
    z2, n, center = _deviates(tail) ** 2, score.n_records, score.center
    a = n + z2 * (1 - square)
    b = n * center + z2 * (1 + linear) / 2
    c = n * center**2 - z2 * constant
    return np.asarray((b - np.sqrt(np.maximum(b**2 - a * c, 0.0))) / a)


def _exact_limit(score: ScoreTest, tail: Array) -> Array:
    """Clopper and Pearson's limit of the share of reports with the larger weight, as a p."""
    from scipy.special import betaincinv  # slow to load

    n, center = score.n_records, score.center
    point = score.two_point(np.full_like(center, 0.5))
    heavy = np.clip(n * (center - point.low) / point.span, 0.0, n)
    share = np.where(heavy > 0, betaincinv(np.maximum(heavy, TINY), n - heavy + 1, tail), 0.0)
    return np.asarray(point.low + point.span * share)


def _searched_limit(score: ScoreTest, tail: Array, cells: Mask) -> Array:
    """The same by a search, for these cells: 0 if that is not rejected."""
    positions = np.flatnonzero(cells)
    part, tail = score.part(positions, positions.shape), tail[cells]
    limits = np.zeros_like(part.center)
    inside = np.flatnonzero(_excess(part, limits, tail) < 0)
    limits[inside] = _root(part.part(inside, inside.shape), tail[inside])
    whole = np.zeros_like(score.center)
    whole[cells] = limits
    return whole


def _excess(part: ScoreTest, p: Array, tail: Array) -> Array:
    """By how many normal deviates the probability of the estimate or more exceeds `tail`.

    An estimate beyond the largest possible sum of the two values is no likelier than that sum, and
    no likelier than by the normal distribution.
    """
    from scipy.special import betainc, ndtri  # slow to load

    point, n = part.two_point(p), np.asarray(part.n_records)
    sum_of = n * (part.center - point.low) / point.span
    heavy = np.clip(sum_of, 0.0, n)
    chance = betainc(np.maximum(heavy, TINY), n - heavy + 1, point.share)
    chance = np.clip(np.where(heavy > 0, chance, 1.0), TINY, 1 - 1e-16)
    deviate = ndtri(chance)
    far = (p - part.center) / np.maximum(part.stderr(p), TINY)
    beyond = np.where(sum_of > n, np.minimum(deviate, far), deviate)
    return np.asarray(beyond + _deviates(tail))


def _root(part: ScoreTest, tail: Array) -> Array:
    """Where `_excess`, which increases, is 0, between 0 and the estimate.

    Secant steps from the normal limit; the function is nearly linear. The middle of the bracket is
    next where a step leaves it. Cells are left out when they are found.
    """
    roots = np.zeros_like(part.center)
    cells = np.arange(roots.size)
    low, high = np.zeros_like(roots), part.center
    point = np.clip(_normal_limit(part, tail), low, high)
    slope = 1 / np.maximum(part.stderr(point), TINY)
    before, change = np.zeros_like(roots), np.zeros_like(roots)
    for _ in range(_STEPS):
        above = _excess(part, point, tail)
        with np.errstate(divide="ignore", invalid="ignore"):
            risen = (above - before) / change
        slope = np.where((risen > 0) & np.isfinite(risen), risen, slope)
        low, high = np.where(above > 0, low, point), np.where(above > 0, point, high)
        following = point - above / slope
        inside = (following > low) & (following < high)
        following = np.where(inside, following, (low + high) / 2)
        before, change = above, following - point
        roots[cells] = point = following
        go = np.flatnonzero(np.abs(change) >= _CLOSE)
        if not go.size:
            break
        if go.size < cells.size:
            part, cells, tail = part.part(go, go.shape), cells[go], tail[go]
            low, high, point = low[go], high[go], point[go]
            slope, before, change = slope[go], before[go], change[go]
    return roots


def t_deviate(tail: float, df: float) -> float:
    """The deviate of Student's distribution that is exceeded with this probability."""
    from scipy.special import ndtri, stdtrit  # slow to load

    return -float(ndtri(tail) if math.isinf(df) else stdtrit(df, tail))


def _deviates(tails: Array) -> Array:
    """The normal deviates that are exceeded with these probabilities."""
    from scipy.special import ndtri  # slow to load

    return np.asarray(-ndtri(tails))
