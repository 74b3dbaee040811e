"""Confidence intervals for probabilities that keep their coverage near 0 and 1.

An interval contains every p in [0, 1] that the estimate does not reject, with the distribution
that p implies (see `score_test`): exact if the reports are binomial (Clopper & Pearson, 1934), by
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
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tacit.arrays import TINY, Array, Mask
from tacit.errors import DataError
from tacit.reconstruction.score_test import NO_RECORDS, ScoreTest

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


def check_level(level: float) -> None:
    """A confidence level lies strictly between 0 and 1."""
    number = isinstance(level, int | float | np.number) and not isinstance(level, bool)
    if not number or not 0 < level < 1 - 1e-15:
        raise DataError(f"the confidence level must lie between 0 and 1, got {level!r}")


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
    if not math.isinf(df):
        tail = (1 - level) / 2
        score = score.times((_deviate(tail) / t_deviate(tail, df)) ** 2)
    inner, reach = _inner_interval(score, 1 - level)
    nobody = np.broadcast_to(score.n_records, score.center.shape) < NO_RECORDS
    inner = Interval(np.where(nobody, 0.0, inner.lower), np.where(nobody, 1.0, inner.upper))
    product = np.broadcast_to(score.n_all, score.center.shape) > 0
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
    # Below `zero` an estimate of 0 is not rejected, above `one` an estimate of 1.
    limits = _limits(
        [
            _Wanted(score, ones, error / 2),
            _Wanted(mirrored, ones, error / 2),
            _Wanted(score, center, error / 2),
            _Wanted(score, center, error),
            _Wanted(mirrored, 1 - center, error / 2),
            _Wanted(mirrored, 1 - center, error),
        ]
    )
    reach = np.maximum(1 - limits[4], center)
    one, zero, low_half, low_whole, high_half, high_whole = (np.clip(x, 0.0, 1.0) for x in limits)
    low = _lower(center, low_half, low_whole, 1 - zero, one)
    high = 1 - _lower(1 - center, high_half, high_whole, 1 - one, zero)
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


def _lower(center: Array, half: Array, whole: Array, zero: Array, one: Array) -> Array:
    """The least p that the estimate does not reject as too large for it.

    `half` and `whole` are the limits for a half of the error probability, and for all of it.
    """
    found = np.where((half <= zero) & (whole <= zero), whole, np.maximum(half, zero))
    return np.asarray(np.where(center <= 0, 0.0, np.minimum(found, one)))


class _Wanted(NamedTuple):
    """The p at which an estimate of `center` or more has the probability `tail`."""

    score: ScoreTest
    center: Array
    tail: float


def _limits(wanted: Sequence[_Wanted]) -> list[Array]:
    """Limits of the same cells; all at once if they are few, as each step of a search then costs
    the same."""
    at_once = len(wanted) if wanted[0].center.size <= _FEW else 1
    found: list[Array] = []
    for start in range(0, len(wanted), at_once):
        some = wanted[start : start + at_once]
        center = np.stack([one.center for one in some])
        noise = np.stack([one.score.noise for one in some], axis=1)
        skew = np.stack([one.score.skew for one in some], axis=1)
        tail = np.array([one.tail for one in some]).reshape(-1, *[1] * (center.ndim - 1))
        score = ScoreTest(center, noise, skew, some[0].score.n_records)
        found += list(_limit(score, np.broadcast_to(tail, center.shape)))
    return found


def _limit(score: ScoreTest, tail: Array) -> Array:
    """The p at which an estimate of the center or more has this probability; it may be below 0."""
    binomial = np.asarray(score.binomial)
    found = _normal_limit(score, tail)
    point = score.two_point(found)
    rough = ~binomial & (score.n_records * point.share * (1 - point.share) < _MANY)
    if binomial.any():
        found = np.where(binomial, _exact_limit(score, tail), found)
    if rough.any():
        searched = _searched_limit(score, tail, rough)
        found = np.where(rough & ((searched > 0) | (found > 0)), searched, found)
    return found


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


def _searched_limit(score: ScoreTest, tail: Array, wanted: Mask) -> Array:
    """The same by a search, for the cells that are wanted: 0 if that is not rejected."""
    places = np.flatnonzero(wanted)
    part, tail = score.part(places, places.shape), tail[wanted]
    limits = np.zeros_like(part.center)
    inside = np.flatnonzero(_excess(part, limits, tail) < 0)
    limits[inside] = _root(part.part(inside, inside.shape), tail[inside])
    found = np.zeros_like(score.center)
    found[wanted] = limits
    return found


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
    found = np.zeros_like(part.center)
    left = np.arange(found.size)
    low, high = np.zeros_like(found), part.center
    place = np.clip(_normal_limit(part, tail), low, high)
    slope = 1 / np.maximum(part.stderr(place), TINY)
    before, change = np.zeros_like(found), np.zeros_like(found)
    for _ in range(_STEPS):
        above = _excess(part, place, tail)
        with np.errstate(divide="ignore", invalid="ignore"):
            risen = (above - before) / change
        slope = np.where((risen > 0) & np.isfinite(risen), risen, slope)
        low, high = np.where(above > 0, low, place), np.where(above > 0, place, high)
        following = place - above / slope
        kept = (following > low) & (following < high)
        following = np.where(kept, following, (low + high) / 2)
        before, change = above, following - place
        found[left] = place = following
        go = np.flatnonzero(np.abs(change) >= _CLOSE)
        if not go.size:
            break
        if go.size < left.size:
            part, left, tail = part.part(go, go.shape), left[go], tail[go]
            low, high, place = low[go], high[go], place[go]
            slope, before, change = slope[go], before[go], change[go]
    return found


def t_deviate(tail: float, df: float) -> float:
    """The deviate of Student's distribution that is exceeded with this probability."""
    if math.isinf(df):
        return _deviate(tail)
    from scipy.special import stdtrit  # slow to load

    return -float(stdtrit(df, tail))


def _deviate(tail: float) -> float:
    """The normal deviate that is exceeded with this probability."""
    return float(_deviates(np.asarray(tail)))


def _deviates(tails: Array) -> Array:
    """The same of each probability."""
    from scipy.special import ndtri  # slow to load

    return np.asarray(-ndtri(tails))
