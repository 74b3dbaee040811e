"""Posteriors that a reported category may have, under a bound delta on the largest entry.

Where x is the likeliest, the gain r^T G r - u^T r - lambda max(r) is a convex quadratic of r, so
it is largest at a vertex of {r : 0 <= r_i <= r_x <= delta, sum r = 1}:

    alike on a subset of j categories, 1/j <= delta;  or
    delta on k = floor(1/delta) categories and the rest, 1 - k delta, on one more.

Up to MOST_ENUMERATED categories all of them are priced, so the largest gain is exact. Beyond, a
local search finds good ones and a bound of Gilmore and Lawler's kind covers those it misses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb, floor

import numpy as np

from tacit.core.arrays import Array, Index, Mask
from tacit.core.channel.linear_maps import row_shares
from tacit.optimize.weight_solver import Prices

#: Categories up to which every subset is priced.
MOST_ENUMERATED = 20
#: Vertices of the second kind up to which all are priced.
_MOST_SPLIT = 2_000_000


@dataclass(frozen=True)
class PricedPosteriors:
    """Posteriors worth adding, and a value that no posterior exceeds."""

    posteriors: Array
    largest: float


@dataclass(frozen=True)
class CappedPosteriors:
    """All posteriors with no entry above `cap`."""

    n: int
    cap: float

    def sharpest(self) -> Array:
        """For each category a posterior as sure of it as allowed, or nearly so, to start from."""
        k, rest = self.full, 1 - self.full * self.cap
        values = [self.cap] * k + [rest] if k else [1 / self.smallest] * self.smallest
        rows = np.zeros((self.n, self.n))
        for i in range(self.n):
            rows[i, (i + np.arange(len(values))) % self.n] = values
        return rows

    def without_one(self) -> Array:
        """For each category a posterior that only excludes it: near the end of a front reports of
        categories that are alike are of this kind, and none of them is worth much alone.
        """
        rows = (1 - np.eye(self.n)) / max(self.n - 1, 1)
        return rows if self.n - 1 >= self.smallest else rows[:0]

    def price(self, prices: Prices, count: int) -> PricedPosteriors:
        """The `count` posteriors of largest worth of each kind, and the largest worth of all."""
        enumerated = self.n <= MOST_ENUMERATED
        if enumerated:
            rows = [best_subsets(prices, np.zeros(self.n), np.ones(self.n), 1.0, self.cap, count)]
        else:
            rows = [self._searched(prices, count)]
        if self.full:
            rows.append(self._best_splits(prices, count))
        posteriors = np.concatenate(rows)
        largest = float(prices.of(posteriors).max())
        if enumerated and self._all_splits:
            return PricedPosteriors(posteriors, largest)
        return PricedPosteriors(posteriors, max(largest, self._bound(prices)))

    @property
    def smallest(self) -> int:
        """The smallest subset that may be alike."""
        return next(j for j in range(1, self.n + 1) if 1 / j <= self.cap)

    @property
    def full(self) -> int:
        """k, the number of entries at the cap in a vertex of the second kind; 0 if there is none.

        None if 1/cap is whole, or if n entries at the cap do not reach 1.
        """
        k = floor(1 / self.cap)
        return k if 0 < k < self.n and 1 - k * self.cap > 1e-12 else 0

    @property
    def _all_splits(self) -> bool:
        return not self.full or comb(self.n, self.full) * (self.n - self.full) <= _MOST_SPLIT

    # Alike on a subset ------------------------------------------------------------------------

    def _searched(self, prices: Prices, count: int) -> Array:
        """Subsets that no single category added or removed improves, from many starts."""
        rng = np.random.default_rng(self.n)
        members = rng.random((4 * self.n, self.n)) < rng.uniform(0, 1, (4 * self.n, 1)) ** 2
        members |= rng.random(members.shape).argsort(axis=1) < self.smallest
        for _ in range(4 * self.n):
            sign = 1 - 2.0 * members
            size = members.sum(axis=1, keepdims=True)
            inside = members @ prices.gram
            now = np.einsum("bx,bx->b", inside, members)[:, None]
            quadratic = now + 2 * sign * inside + np.diag(prices.gram)
            j = np.maximum(size + sign, 1)
            line = (members @ prices.linear)[:, None] + sign * prices.linear
            worth = (quadratic / j - line - prices.multiplier) / j
            worth[np.broadcast_to(size + sign < self.smallest, worth.shape)] = -np.inf
            present = (now / size - (members @ prices.linear)[:, None] - prices.multiplier) / size
            best = worth.argmax(axis=1)
            gains = worth[np.arange(len(best)), best] > present[:, 0] + 1e-12
            if not gains.any():
                break
            members[gains, best[gains]] ^= True
        rows = row_shares(np.unique(members, axis=0))
        return np.asarray(rows[largest_of(prices.of(rows), count)])

    # Delta on k, the rest on one more ---------------------------------------------------------

    @cached_property
    def _tops(self) -> Array:
        """Which categories are at the cap: all subsets of k, or a sample where these are many."""
        if self._all_splits:
            chosen = np.array(list(combinations(range(self.n), self.full)))
        else:
            rng = np.random.default_rng(self.n)
            chosen = rng.random((20_000, self.n)).argsort(axis=1)[:, : self.full]
        tops = np.zeros((len(chosen), self.n))
        np.put_along_axis(tops, chosen, 1.0, axis=1)
        return tops

    def _best_splits(self, prices: Prices, count: int) -> Array:
        tops, rest = self._tops, 1 - self.full * self.cap
        inside = tops @ prices.gram
        base = self.cap**2 * np.einsum("vx,vx->v", inside, tops) - self.cap * (
            tops @ prices.linear + prices.multiplier
        )
        worth = base[:, None] + 2 * self.cap * rest * inside
        worth += rest**2 * np.diag(prices.gram) - rest * prices.linear
        worth[tops > 0] = -np.inf
        which, last = np.unravel_index(largest_of(worth.ravel(), count), worth.shape)
        rows = self.cap * tops[which]
        rows[np.arange(len(last)), last] = rest
        return rows

    # Beyond enumeration -----------------------------------------------------------------------

    def _bound(self, prices: Prices) -> float:
        """No worth exceeds this. For weights r on few categories, each r_i (G r)_i is at most
        r_i times the best that i can have beside it; then the best categories are taken.
        """
        shares = [np.full(j, 1 / j) for j in range(self.smallest, self.n + 1)]
        if self.full:
            shares.append(np.array([self.cap] * self.full + [1 - self.full * self.cap]))
        others = prices.gram - np.diag(np.full(self.n, np.inf))
        beside, bound = -np.sort(-others, axis=1), -np.inf
        for share in shares:  # the entries of a posterior, largest first
            best = np.full(self.n, -np.inf)
            for end in {0, len(share) - 1}:
                rest = np.delete(share, end)
                mutual = beside[:, : len(rest)] @ rest
                worth = share[end] * np.diag(prices.gram) + mutual - prices.linear
                best = np.maximum(best, worth)
            taken = -np.sort(-best)[: len(share)]
            bound = max(bound, float(taken @ share - prices.multiplier * share.max()))
        return bound


def subset_sums(values: Array) -> Array:
    """Sum of values over every subset; bit i of the position says whether i is in it."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


def subset_members(codes: Index, n: int) -> Array:
    """Which categories are in each subset, from its position in `subset_sums`."""
    return ((codes[:, None] >> np.arange(n)) & 1).astype(np.float64)


def subset_forms(gram: Array, base: Array, steps: Array) -> Array:
    """x^T gram x for every subset, where x is base plus steps on the subset."""
    forms = np.array([base @ gram @ base])
    around = gram @ base
    for i, step in enumerate(steps):
        beside = subset_sums(gram[i, :i] * steps[:i]) + around[i]
        forms = np.concatenate([forms, forms + step * (2 * beside + step * gram[i, i])])
    return forms


def best_subsets(
    prices: Prices, base: Array, steps: Array, tie: float, cap: float, count: int
) -> Array:
    """The posteriors of largest worth that are base plus steps on a subset, scaled to sum to 1.

    The largest entry counts as `tie` before the scaling; those where that exceeds the cap are out.
    """
    total = base.sum() + subset_sums(steps)
    possible = tie <= cap * total * (1 + 1e-12)
    total = np.where(possible, total, np.inf)
    worth = subset_forms(prices.gram, base, steps) / total
    worth -= base @ prices.linear + subset_sums(prices.linear * steps)
    worth = np.where(possible, (worth - prices.multiplier * tie) / total, -np.inf)
    return row_shares(base + subset_members(largest_of(worth, count), len(base)) * steps)


def largest_of(worth: Array, count: int) -> Index:
    """Positions of the largest finite values, at most `count`."""
    size = min(count, len(worth))
    chosen = np.argpartition(worth, len(worth) - size)[len(worth) - size :]
    return np.asarray(chosen[np.isfinite(worth[chosen])], dtype=np.intp)


#: Categories from which the many vertices with a free entry wait until nothing else is found.
_PATIENT = 11


@dataclass(frozen=True, eq=False)
class BoundedRatios:
    """All posteriors with entries up to `cap` whose row of the channel has ratios up to `ratio`.

    p: the prior. A row of the channel, r_i / p_i up to a factor, lies between m and E m,
    E = e^epsilon. With t the largest posterior the worth of r is convex in (r, m, t) on

        p_i m <= r_i <= min(E p_i m, t),    sum r = 1,    t <= delta,

    so it is largest at a vertex of this polytope. Each r_i is at its lower or upper border; and
      - t/m is one of the ties E p_k, or max p (rows of {1, E}^n, cut off where they tie for
        largest);
      - or t = delta: then m follows from sum r = 1,
      - or t = delta and m is at a tie: then one r_i is free and takes what is left.
    Up to MOST_ENUMERATED categories all are priced. Beyond, a local search finds good ones, and
    the bound is that without epsilon: fewer constraints, so still a bound.
    """

    p: Array
    cap: float
    ratio: float

    def sharpest(self) -> Array:
        """See `CappedPosteriors`."""
        return self._near(np.eye(self.n))

    def without_one(self) -> Array:
        """See `CappedPosteriors`."""
        return self._near(1 - np.eye(self.n))

    def price(self, prices: Prices, count: int) -> PricedPosteriors:
        """Posteriors of large worth, and a value that none exceeds (infinite: not known yet)."""
        if self.n > MOST_ENUMERATED:
            bound = CappedPosteriors(self.n, self.cap).price(prices, 1).largest
            return PricedPosteriors(self._searched(prices, count), bound)
        quota = max(2, count // (len(self._ties) + 1))
        at_ties = [
            best_subsets(prices, self.p, self._steps(tie), tie, self.cap, quota)
            for tie in self._ties
        ]
        rows = np.concatenate([self.p[None, :], *at_ties, *self._at_cap(prices, quota)])
        best = float(prices.of(rows).max())
        scale = abs(float(prices.linear @ self.p)) + prices.multiplier * self.cap
        if self.n >= _PATIENT and best > 1e-5 * scale:
            return PricedPosteriors(rows, np.inf)
        rows = np.concatenate([rows, *self._at_both(prices, quota)])
        return PricedPosteriors(rows, float(prices.of(rows).max()))

    @property
    def n(self) -> int:
        """The number of categories."""
        return len(self.p)

    def _near(self, raised: Array) -> Array:
        """Rows raised where that is 1, moved towards the prior until they keep the cap."""
        rows = row_shares(self.p * (1 + (self.ratio - 1) * raised))
        over = np.where(rows > self.cap, (self.cap - self.p) / (rows - self.p), 1.0)
        return np.asarray(self.p + over.min(axis=1, keepdims=True) * (rows - self.p))

    @property
    def _ties(self) -> list[float]:
        """The values that t/m takes where an upper border meets the largest posterior."""
        largest, upper = float(self.p.max()), self.ratio * self.p
        return sorted({*upper[upper >= largest].tolist(), largest})

    def _steps(self, tie: float) -> Array:
        """From the lower to the upper borders where t/m is `tie`."""
        return np.asarray(np.minimum(self.ratio * self.p, tie) - self.p)

    def _at_cap(self, prices: Prices, count: int) -> Iterator[Array]:
        """t = delta: the largest priors are cut off at delta, m follows from the sum."""
        falling = np.argsort(-self.p)
        borders = np.append(self.cap / (self.ratio * self.p[falling]), np.inf)
        for cut in range(self.n + 1):
            low, high = borders[cut - 1] if cut else 0.0, borders[cut]
            if low > self.cap / self.p.max():
                break
            off = np.isin(np.arange(self.n), falling[:cut])
            # r = m a + delta b, where b is 1 on the chosen categories that are cut off.
            to_a, to_b = np.where(off, -self.p, (self.ratio - 1) * self.p), off.astype(float)
            total = 1 + subset_sums(to_a)
            m = (1 - self.cap * subset_sums(to_b)) / np.maximum(total, 1e-12)
            m = np.where(total > 1e-12, m, 0.0)
            aa = subset_forms(prices.gram, self.p, to_a)
            bb = subset_forms(prices.gram, np.zeros(self.n), to_b)
            ab = subset_forms(prices.gram, self.p, to_a + to_b) - aa - bb
            worth = m * m * aa + m * self.cap * ab + self.cap**2 * bb - prices.multiplier * self.cap
            worth -= m * (self.p @ prices.linear + subset_sums(prices.linear * to_a))
            worth -= self.cap * subset_sums(prices.linear * to_b)
            high = min(high, self.cap / self.p.max())
            worth[~((low <= m) & (m <= high) & (m > 0))] = -np.inf
            chosen = largest_of(worth, count)
            inside = subset_members(chosen, self.n)
            yield m[chosen, None] * (self.p + inside * to_a) + self.cap * inside * to_b

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
            steps = self._steps(tie)
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
            best.append(row_shares(self.p + inside[np.isfinite(worth)] * steps))
        rows = np.unique(np.concatenate(best), axis=0)
        return np.asarray(rows[largest_of(prices.of(rows), count)])

    def _worth(self, prices: Prices, inside: Mask, steps: Array) -> Array:
        rows = row_shares(self.p + inside * steps)
        return np.where(rows.max(axis=1) <= self.cap, prices.of(rows), -np.inf)


#: Posteriors that a front may use.
PosteriorFamily = CappedPosteriors | BoundedRatios
