"""Posteriors that a reported category may have, under a bound delta on the largest entry.

Where x is the likeliest, the gain r^T G r - u^T r - lambda max(r) is a convex quadratic of r, so
it is largest at a vertex of {r : 0 <= r_i <= r_x <= delta, sum r = 1}:

    alike on a subset of j categories, 1/j <= delta;  or
    delta on k = floor(1/delta) categories and the rest, 1 - k delta, on one more.

Up to MOST_ENUMERATED categories all of them are priced, so the largest gain is exact. Beyond, a
local search finds good ones and a bound of Gilmore and Lawler's kind covers those it misses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb, floor

import numpy as np

from tacit.core.arrays import Array, Index

#: Categories up to which every subset is priced.
MOST_ENUMERATED = 20
#: Vertices of the second kind up to which all are priced.
_MOST_SPLIT = 2_000_000


@dataclass(frozen=True)
class Prices:
    """What a posterior r is worth: r^T gram r - linear^T r - multiplier * max(r)."""

    gram: Array
    linear: Array
    multiplier: float

    def of(self, posteriors: Array) -> Array:
        """The worth of each row."""
        quadratic = np.einsum("vx,xy,vy->v", posteriors, self.gram, posteriors)
        return np.asarray(
            quadratic - posteriors @ self.linear - self.multiplier * posteriors.max(axis=1)
        )


@dataclass(frozen=True)
class PricedPosteriors:
    """Posteriors worth adding, and a value that no posterior exceeds."""

    posteriors: Array
    largest: float


class PosteriorFamily(ABC):
    """Posteriors that a front may use."""

    @abstractmethod
    def sharpest(self) -> Array:
        """For each category a posterior as sure of it as allowed, or nearly so, to start from."""

    @abstractmethod
    def without_one(self) -> Array:
        """For each category a posterior that only excludes it: near the end of a front reports of
        categories that are alike are of this kind, and none of them is worth much alone.
        """

    @abstractmethod
    def price(self, prices: Prices, count: int) -> PricedPosteriors:
        """Posteriors of large worth, and a value that none exceeds (infinite: not known yet)."""


@dataclass(frozen=True)
class CappedPosteriors(PosteriorFamily):
    """All posteriors with no entry above `cap`."""

    n: int
    cap: float

    def sharpest(self) -> Array:
        k, rest = self.full, 1 - self.full * self.cap
        values = [self.cap] * k + [rest] if k else [1 / self.smallest] * self.smallest
        rows = np.zeros((self.n, self.n))
        for i in range(self.n):
            rows[i, (i + np.arange(len(values))) % self.n] = values
        return rows

    def without_one(self) -> Array:
        rows = (1 - np.eye(self.n)) / max(self.n - 1, 1)
        return rows if self.n - 1 >= self.smallest else rows[:0]

    def price(self, prices: Prices, count: int) -> PricedPosteriors:
        """The `count` posteriors of largest worth of each kind, and the largest worth of all."""
        enumerated = self.n <= MOST_ENUMERATED
        rows = [self._best_subsets(prices, count) if enumerated else self._searched(prices, count)]
        if self.full:
            rows.append(self._best_splits(prices, count))
        posteriors = np.concatenate(rows)
        known = float(prices.of(posteriors).max())
        if enumerated and self._all_splits:
            return PricedPosteriors(posteriors, known)
        return PricedPosteriors(posteriors, max(known, self._bound(prices)))

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

    @cached_property
    def _sizes(self) -> Array:
        """Sizes of all subsets by their code, bit i for category i; too small ones infinite."""
        sizes = subset_sums(np.ones(self.n))
        sizes[sizes < self.smallest] = np.inf
        return sizes

    def _best_subsets(self, prices: Prices, count: int) -> Array:
        j = self._sizes
        quadratic = subset_forms(prices.gram, np.zeros(self.n), np.ones(self.n))
        worth = (quadratic / j - subset_sums(prices.linear) - prices.multiplier) / j
        worth[np.isinf(j)] = -np.inf
        chosen = largest_of(worth, count)
        members = subset_members(chosen, self.n)
        return np.asarray(members / members.sum(axis=1, keepdims=True))

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
        distinct = np.unique(members, axis=0)
        rows = distinct / distinct.sum(axis=1, keepdims=True)
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
        own = np.diag(prices.gram)
        others = prices.gram - np.diag(np.full(self.n, np.inf))
        beside = -np.sort(-others, axis=1)
        return max(self._assigned(prices, share, own, beside) for share in shares)

    def _assigned(self, prices: Prices, share: Array, own: Array, beside: Array) -> float:
        """The bound for posteriors whose entries are `share`, largest first."""
        best = np.full(self.n, -np.inf)
        for place in {0, len(share) - 1}:
            rest = np.delete(share, place)
            mutual = beside[:, : len(rest)] @ rest if len(rest) else np.zeros(self.n)
            best = np.maximum(best, share[place] * own + mutual - prices.linear)
        taken = -np.sort(-best)[: len(share)]
        return float(taken @ share - prices.multiplier * share.max())


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


def largest_of(worth: Array, count: int) -> Index:
    """Positions of the largest finite values, at most `count`."""
    size = min(count, len(worth))
    chosen = np.argpartition(worth, len(worth) - size)[len(worth) - size :]
    return np.asarray(chosen[np.isfinite(worth[chosen])], dtype=np.intp)
