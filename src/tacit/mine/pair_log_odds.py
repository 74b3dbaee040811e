"""pair_log_odds: log-odds with limits from the unbiased table of class and attribute, any noise.

By Bayes' rule, with w = P(c | x) and p = P(c),

    log-odds(c, x) = log P(x | c) - log P(x | not c) = logit(w) - logit(p).

A value of the log-odds, and with it a w, is inside the interval if

    (P(c, x) - w P(x))^2  <=  z^2 (h' D h + variance of true records under w) / n
    h = 1(c, x) - w 1(x) - k 1(c),    k = P(c, x) (1 - w) / (1 - p) + P(not c, x) w / p

where D is what the disguise adds to the covariance of one report, and k accounts for the estimated
P(c). Nothing is divided by a share that may be zero (Fieller, 1954), and the variance of the true
records is that under the hypothesis (Wilson, 1927). If P(c, x) or P(not c, x) is within noise of
zero, a limit is infinite: any value on that side agrees with the reports.

The estimate is shrunk towards no influence by one record that has the answer. It is finite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logit, ndtri

from tacit.core.arrays import Array, Mask
from tacit.reconstruction import Estimate
from tacit.reconstruction.interval import Interval, check_level

#: Bisection steps for a limit.
_STEPS = 60


@dataclass(frozen=True, eq=False)
class PairLogOdds:
    """Shares of (c, x), x and c, classes x categories, and the noise between the three.

    `source` has these three as events of the cells, and the table they come from.
    """

    both: Array
    answer: Array
    prior: Array
    noise: Array
    n_records: int
    source: tuple[Array, Estimate]

    @classmethod
    def of(cls, pair: Estimate) -> PairLogOdds:
        """From a table of class and attribute."""
        classes, categories = pair.value.shape
        n, own = pair.n_records, pair.value.ravel()
        noise = n * pair.covariance + np.outer(own, own) - np.diag(own)
        cells = np.eye(own.size).reshape(classes, categories, classes, categories)
        of_x = np.broadcast_to(cells.sum(axis=0), cells.shape)
        of_c = np.broadcast_to(cells.sum(axis=1, keepdims=True), cells.shape)
        events = np.stack([cells, of_x, of_c], axis=2).reshape(classes, categories, 3, -1)
        inside = np.maximum(pair.value, 0)
        outside = np.maximum(pair.value.sum(axis=0) - pair.value, 0)
        prior = np.broadcast_to(pair.value.sum(axis=1, keepdims=True), inside.shape)
        return cls(
            inside,
            inside + outside,
            np.clip(prior, 0.5 / n, 1 - 0.5 / n),
            events @ noise @ np.swapaxes(events, 2, 3),
            n,
            (events, pair),
        )

    @property
    def value(self) -> Array:
        """Estimated log-odds."""
        return np.asarray(logit(self._likely()) - logit(self.prior))

    @property
    def stderr(self) -> Array:
        """Standard errors at the estimate."""
        w = self._likely()
        share = np.maximum(self.answer, 1 / self.n_records)
        spread = np.maximum(self._variance(w), 1 / self.n_records**2)
        return np.asarray(np.sqrt(spread) / (share * w * (1 - w)))

    def covariance(self) -> Array:
        """Covariance of all cells: the standard errors, correlated as the table is."""
        events, pair = self.source
        w = self._likely()
        slopes = (self._slopes(w)[:, :, None] @ events).reshape(w.size, -1)
        linear = slopes @ pair.covariance @ slopes.T
        spread = np.sqrt(np.maximum(np.diagonal(linear), 0))
        scale = np.divide(self.stderr.ravel(), spread, out=np.zeros(w.size), where=spread > 0)
        found = linear * np.outer(scale, scale)
        np.fill_diagonal(found, self.stderr.ravel() ** 2)
        return np.asarray(found)

    def interval(self, level: float = 0.95) -> Interval:
        """Limits, infinite where the reports set none."""
        check_level(level)
        z = float(ndtri((1 + level) / 2))
        best = np.stack([self._observed()] * 2)
        ends = np.zeros_like(best)
        ends[1] = 1.0
        lower, upper = logit(self._edge(best, ends, z)) - logit(self.prior)
        return Interval(lower, upper)

    def _observed(self) -> Array:
        """P(c | x); P(c) where nobody seems to answer x."""
        known = self.answer > 0
        return np.divide(self.both, self.answer, out=self.prior.copy(), where=known)

    def _likely(self) -> Array:
        """P(c | x) with one more record that is of class c with probability P(c)."""
        p = self.prior
        spread = np.maximum(self._variance(p), 1 / self.n_records**2)
        records = p * (1 - p) * self.answer**2 / spread
        return np.asarray((records * self._observed() + p) / (records + 1))

    def _variance(self, w: Array) -> Array:
        """Variance of the estimate of P(c, x) - w P(x) if P(c | x) is w."""
        p, t = self.prior, np.minimum(self.answer, 1)
        h = self._slopes(w)
        k = -h[..., 2]
        disguise = np.einsum("...i,...ij,...j->...", h, self.noise, h)
        rest = np.clip(p - t * w, 0, 1 - t)
        square = t * w * (1 - w - k) ** 2 + t * (1 - w) * w**2 + rest * k**2
        mean = t * w * (1 - w - k) - t * (1 - w) * w - rest * k
        sampling = np.maximum(square - mean**2, 0)
        return np.asarray((np.maximum(disguise, 0) + sampling) / self.n_records)

    def _slopes(self, w: Array) -> Array:
        """h of the three events."""
        k = self.both * (1 - w) / (1 - self.prior) + (self.answer - self.both) * w / self.prior
        return np.stack([np.ones_like(w), -w, -k], axis=-1)

    def _accepted(self, w: Array, z: float) -> Mask:
        gap = self.both - w * self.answer
        return np.asarray(gap**2 <= z**2 * self._variance(w))

    def _edge(self, inside: Array, end: Array, z: float) -> Array:
        """The last accepted value on the way to an end; the end itself if it is accepted."""
        outside, free = end, self._accepted(end, z)
        for _ in range(_STEPS):
            middle = (inside + outside) / 2
            good = self._accepted(middle, z)
            inside, outside = np.where(good, middle, inside), np.where(good, outside, middle)
        return np.where(free, end, inside)
