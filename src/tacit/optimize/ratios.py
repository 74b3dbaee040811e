"""Posteriors under an epsilon bound, alone or with delta.

A row of the channel, r_i / p_i up to a factor, lies between m and E m, E = e^epsilon. With t the
largest posterior the worth of r is convex in (r, m, t) on

    p_i m <= r_i <= min(E p_i m, t),    sum r = 1,    t <= delta,

so it is largest at a vertex of this polytope. Each r_i is at its lower or upper border; and
  - t/m is one of the ties E p_k, or max p (rows of {1, E}^n, cut off where they tie for largest);
  - or t = delta: then m follows from sum r = 1,
  - or t = delta and m is at a tie: then one r_i is free and takes what is left.
Up to MOST_ENUMERATED categories all are priced. Beyond, a local search finds good ones, and the
bound is that without epsilon: fewer constraints, so still a bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tacit.core.arrays import Array, Mask
from tacit.optimize.posteriors import (
    MOST_ENUMERATED,
    CappedPosteriors,
    PosteriorFamily,
    PricedPosteriors,
    Prices,
    largest_of,
    subset_forms,
    subset_members,
    subset_sums,
)

#: Categories from which the many vertices with a free entry wait until nothing else is found.
_PATIENT = 11


@dataclass(frozen=True, eq=False)
class BoundedRatios(PosteriorFamily):
    """All posteriors with entries up to `cap` whose row of the channel has ratios up to `ratio`.

    p: the prior.
    """

    p: Array
    cap: float
    ratio: float

    def sharpest(self) -> Array:
        return self._near(np.eye(self.n))

    def without_one(self) -> Array:
        return self._near(1 - np.eye(self.n))

    def price(self, prices: Prices, count: int) -> PricedPosteriors:
        if self.n > MOST_ENUMERATED:
            bound = CappedPosteriors(self.n, self.cap).price(prices, 1).largest
            return PricedPosteriors(self._searched(prices, count), bound)
        each = max(2, count // (len(self._ties) + 1))
        rows = np.concatenate([*self._at_ties(prices, each), *self._at_cap(prices, each)])
        best = float(prices.of(rows).max())
        scale = abs(float(prices.linear @ self.p)) + prices.multiplier * self.cap
        if self.n >= _PATIENT and best > 1e-5 * scale:
            return PricedPosteriors(rows, np.inf)
        rows = np.concatenate([rows, *self._at_both(prices, each)])
        return PricedPosteriors(rows, float(prices.of(rows).max()))

    @property
    def n(self) -> int:
        """The number of categories."""
        return len(self.p)

    def _near(self, raised: Array) -> Array:
        """Rows raised where that is 1, moved towards the prior until they keep the cap."""
        rows = self.p * (1 + (self.ratio - 1) * raised)
        rows /= rows.sum(axis=1, keepdims=True)
        over = np.where(rows > self.cap, (self.cap - self.p) / (rows - self.p), 1.0)
        return np.asarray(self.p + over.min(axis=1, keepdims=True) * (rows - self.p))

    @property
    def _ties(self) -> list[float]:
        """The values that t/m takes where an upper border meets the largest posterior."""
        largest, upper = float(self.p.max()), self.ratio * self.p
        return sorted({*upper[upper >= largest].tolist(), largest})

    def _at_ties(self, prices: Prices, count: int) -> Iterator[Array]:
        yield self.p[None, :]
        for tie in self._ties:
            steps = np.minimum(self.ratio * self.p, tie) - self.p
            total = 1 + subset_sums(steps)
            worth = subset_forms(prices.gram, self.p, steps) / total
            worth -= self.p @ prices.linear + subset_sums(prices.linear * steps)
            worth = (worth - prices.multiplier * tie) / total
            worth[tie > self.cap * total * (1 + 1e-12)] = -np.inf
            yield self._rows(subset_members(largest_of(worth, count), self.n), steps)

    def _at_cap(self, prices: Prices, count: int) -> Iterator[Array]:
        """t = delta: the largest priors are cut off at delta, m follows from the sum."""
        falling = np.argsort(-self.p)
        borders = np.append(self.cap / (self.ratio * self.p[falling]), np.inf)
        for cut in range(self.n + 1):
            low, high = borders[cut - 1] if cut else 0.0, borders[cut]
            if low > self.cap / self.p.max():
                break
            off = np.isin(np.arange(self.n), falling[:cut])
            yield self._cut(prices, count, off, (low, min(high, self.cap / self.p.max())))

    def _cut(self, prices: Prices, count: int, off: Mask, limits: tuple[float, float]) -> Array:
        """r = m a + delta b, where b is 1 on the chosen categories that are cut off."""
        to_a = np.where(off, -self.p, (self.ratio - 1) * self.p)
        to_b = off.astype(float)
        gram, zero = prices.gram, np.zeros(self.n)
        rest = 1 - self.cap * subset_sums(to_b)
        total = 1 + subset_sums(to_a)
        m = np.where(total > 1e-12, rest / np.maximum(total, 1e-12), 0.0)
        aa, bb = subset_forms(gram, self.p, to_a), subset_forms(gram, zero, to_b)
        ab = subset_forms(gram, self.p, to_a + to_b) - aa - bb
        worth = m * m * aa + m * self.cap * ab + self.cap**2 * bb - prices.multiplier * self.cap
        worth -= m * (self.p @ prices.linear + subset_sums(prices.linear * to_a))
        worth -= self.cap * subset_sums(prices.linear * to_b)
        worth[~((limits[0] <= m) & (m <= limits[1]) & (m > 0))] = -np.inf
        chosen = largest_of(worth, count)
        inside = subset_members(chosen, self.n)
        return np.asarray(m[chosen, None] * (self.p + inside * to_a) + self.cap * inside * to_b)

    def _at_both(self, prices: Prices, count: int) -> Iterator[Array]:
        """t = delta and m at a tie: all entries at a border but one."""
        for tie in self._ties:
            low = self.p * self.cap / tie
            high = np.minimum(self.ratio * low, self.cap)
            if low.sum() <= 1 <= high.sum():
                for free in range(self.n):
                    yield self._one_free(prices, count, low, high, free)

    def _one_free(self, prices: Prices, count: int, low: Array, high: Array, free: int) -> Array:
        gram, others = prices.gram, np.delete(np.arange(self.n), free)
        base, steps = low[others], (high - low)[others]
        left = 1 - base.sum() - subset_sums(steps)
        worth = subset_forms(gram[np.ix_(others, others)], base, steps)
        beside = gram[free, others] @ base + subset_sums(gram[free, others] * steps)
        worth += left * (2 * beside + left * gram[free, free] - prices.linear[free])
        worth -= prices.linear[others] @ base + subset_sums(prices.linear[others] * steps)
        worth -= prices.multiplier * self.cap
        worth[(left < low[free]) | (left > high[free])] = -np.inf
        chosen = largest_of(worth, count)
        rows = np.empty((len(chosen), self.n))
        rows[:, others] = base + subset_members(chosen, self.n - 1) * steps
        rows[:, free] = left[chosen]
        return rows

    def _searched(self, prices: Prices, count: int) -> Array:
        """Rows that no single entry moved to its other border improves, at every tie."""
        rng = np.random.default_rng(self.n)
        best = [self.p[None, :]]
        for tie in self._ties:
            steps = np.minimum(self.ratio * self.p, tie) - self.p
            inside = rng.random((8, self.n)) < rng.uniform(0, 1, (8, 1))
            worth = self._worth(prices, inside, steps)
            for _ in range(2 * self.n):
                flipped = inside[:, None, :] ^ np.eye(self.n, dtype=bool)
                offered = self._worth(prices, flipped.reshape(-1, self.n), steps).reshape(8, -1)
                move = offered.argmax(axis=1)
                gains = offered[np.arange(8), move] > worth + 1e-12
                if not gains.any():
                    break
                inside[gains, move[gains]] ^= True
                worth = np.maximum(worth, offered.max(axis=1))
            best.append(self._rows(inside[np.isfinite(worth)], steps))
        rows = np.unique(np.concatenate(best), axis=0)
        return np.asarray(rows[largest_of(prices.of(rows), count)])

    def _rows(self, inside: Array | Mask, steps: Array) -> Array:
        rows = self.p + inside * steps
        return np.asarray(rows / rows.sum(axis=1, keepdims=True))

    def _worth(self, prices: Prices, inside: Mask, steps: Array) -> Array:
        rows = self._rows(inside, steps)
        return np.where(rows.max(axis=1) <= self.cap, prices.of(rows), -np.inf)
