"""mean and variance of true numbers, from the moments of reports.

With E[u | x] = slope x + shift and E[u^2 | x] = square x^2 + linear x + constant, the weights

    g = (u - shift) / slope        h = (u^2 - constant - linear g) / square

have the means x and x^2 for every true number x. So, without bias,

    mean(x) = mean(g)                             Var = var(g) / n
    var(x) = mean(h) - mean(g)^2 + var(g) / n     Var = var(h - 2 mean(g) g) / n + 2 V^2 n / (n - 1)

with V = var(g) / n. The last term is the variance of mean(g)^2 beyond linearisation (Hoeffding,
1948); it matters for few numbers, of which the deviations may all be alike. var(g) is at least the
variance of the noise, which is known: a few reports may be equal by chance. var(x) is that of the
population, and may be estimated below 0 when the noise is large.

Incomes and their squares are skewed, so the estimate minus the truth, T by its standard error, is
skewed too. With a = skewness of the weights / sqrt(n),

    ((1 + a T / 3)^3 - 1) / a + a / 6

is nearly normal, and intervals come from this (a = 0: Student's).

References: W. Hoeffding, A class of statistics with asymptotically normal distribution, Annals of
Mathematical Statistics 19 (1948) 293-325, equation 5.13. P. Hall, On the removal of skewness by
transformation, Journal of the Royal Statistical Society B 54 (1992) 221-228.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.errors import DataError
from tacit.quantitative.families import Scrambling, check_scrambling, numbers_of
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.interval import Interval, check_level, t_deviate
from tacit.reconstruction.sampling import SampleData, Sampling, function_of
from tacit.records.sample import SampleRows

#: Skewness below this is rounding.
_SYMMETRIC = 1e-9


@dataclass(frozen=True, eq=False)
class ScrambledNumbers(Sampling):
    """Reported numbers, how they were scrambled, and how people were sampled."""

    reported: Any
    scrambling: Scrambling

    def mean(self) -> Estimate:
        """The mean of the true numbers, with its standard error.

        `weights`, `strata` and `clusters` say how people were sampled, one value per number;
        `errors` is a method of `tacit.reconstruction.sampling`. `fpc` is refused.
        """
        g, _ = self._report_weights
        unit, origin = float(self.scrambling.unit), float(self.scrambling.origin)
        center = self._mean(g)
        floor = unit**2 * self._noise(center) / len(g)
        return self._estimate("mean", origin + unit * center, unit * g, floor=floor)

    def variance(self) -> Estimate:
        """The variance of the true numbers, with its standard error; limits are never below 0.

        Arguments as for `mean`.
        """
        first, second = self._report_weights
        n, center, square = len(first), self._mean(first), float(self.scrambling.unit) ** 2
        value = self._mean(second) - center**2 + self._variance_of_mean(first)
        influence = square * (second - 2 * center * first)
        error = max(self._variance_of_mean(first), self._noise(center) / n)
        more = 2 * (square * error) ** 2 * n / (n - 1)
        return self._estimate("variance", square * value, influence, least=0.0, more=more)

    @cached_property
    def _report_weights(self) -> tuple[Array, Array]:
        """g and h of each report, in units of the scrambling."""
        scrambling = self.scrambling
        check_scrambling(scrambling)
        numbers = numbers_of(self.reported, "reported numbers")
        if len(numbers) < 2:
            raise DataError("at least two reported numbers are needed for a standard error")
        scrambling.check_reported(numbers)
        units = (numbers - float(scrambling.origin)) / float(scrambling.unit)
        m = scrambling.moments
        first = (units - float(m.shift)) / float(m.slope)
        second = (units**2 - float(m.constant) - float(m.linear) * first) / float(m.square)
        return first, second

    def _noise(self, true: float) -> float:
        """The variance of g for one true number, in units of the scrambling."""
        m = self.scrambling.moments
        square = float(m.square) * true**2 + float(m.linear) * true + float(m.constant)
        noise = square - (float(m.slope) * true + float(m.shift)) ** 2
        return max(noise, 0.0) / float(m.slope) ** 2

    @cached_property
    def _sample(self) -> SampleRows | None:
        if self.fpc is not None:
            raise DataError("fpc is not used for scrambled numbers; leave it out")
        if self.columns:
            raise DataError("weights, strata and clusters need one value per reported number")
        return SampleData(self, {}, len(self._report_weights[0])).rows() if self else None

    def _mean(self, values: Array) -> float:
        """The weighted mean."""
        sample = self._sample
        return float(values.mean() if sample is None else sample.mean(values[:, None])[0])

    def _variance_of_mean(self, values: Array) -> float:
        """The variance of the weighted mean."""
        if self._sample is None:
            return float(values.var(ddof=1) / len(values))
        return float(self._sample.covariance(values[:, None])[0, 0])

    def _estimate(
        self,
        name: str,
        value: float,
        influence: Array,
        least: float = -math.inf,
        floor: float = 0.0,
        more: float = 0.0,
    ) -> Estimate:
        """An estimate that varies like the mean of the influence; no limit is below `least`.

        Its variance is at least `floor`, and `more` comes on top.
        """
        n, sample = len(influence), self._sample
        spread = self._mean((influence - self._mean(influence)) ** 2) / (n - 1)
        covariance = np.asarray([[max(spread, floor) + more]])
        simple = Estimate.of_covariance((), np.asarray(value), covariance, n, "moments", name)
        off = influence - influence.mean()
        deviation = math.sqrt(float((off**2).mean()))
        third = float((off**3).mean())
        df, skewness = n - 1.0, third / deviation**3 / math.sqrt(n) if deviation > 0 else 0.0
        if sample is not None:  # the skewness of totals of few clusters is not known
            variance = np.asarray([[max(self._variance_of_mean(influence), floor) + more]])
            df, skewness = sample.df, 0.0
            simple = simple.of_sample(variance, df)
        limits = partial(_limits, simple.value, simple.stderr, skewness, df, least)
        return replace(simple, interval_of=limits)


mean = function_of(ScrambledNumbers, ScrambledNumbers.mean)
variance = function_of(ScrambledNumbers, ScrambledNumbers.variance)


def _limits(
    value: Array, stderr: Array, skewness: float, df: float, least: float, level: float
) -> Interval:
    """The values that the transformed T does not reject."""
    check_level(level)
    t = t_deviate((1 - level) / 2, df)
    low, high = (value - _untransformed(t * side, skewness) * stderr for side in (1, -1))
    low, high = np.minimum(low, value), np.maximum(high, value)
    return Interval(np.asarray(np.maximum(low, least)), np.asarray(np.maximum(high, least)))


def _untransformed(deviate: float, skewness: float) -> float:
    """T from its transform.

    >>> round(_untransformed(2.0, 0.3), 3), _untransformed(2.0, 0.0)
    (1.659, 2.0)
    """
    if abs(skewness) < _SYMMETRIC:
        return deviate
    return 3 / skewness * (math.cbrt(1 + skewness * (deviate - skewness / 6)) - 1)
