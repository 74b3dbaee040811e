"""The risk of a group too large for its joint table, by Monte Carlo over reports.

Such a group keeps the truth with probability theta or else disguises attribute by attribute,

    M[y, x] = theta [x = y] + (1 - theta) prod_a B_a[y_a, x_a],

and its prior is a product of small tables, so for a given report y every sum over true records
is a product of small sums:

    J(y)       = theta prod t_b(y) + (1 - theta) prod_b sum_x B_b t_b
    sum_x J^2  = theta^2 prod t_b(y)^2 + 2 theta (1 - theta) prod B_b(y, y) t_b(y)^2
                 + (1 - theta)^2 prod_b sum_x (B_b t_b)^2
    max_x J    = max( J at x = y, (1 - theta) prod_b max_x B_b t_b )

Reports are drawn, never their posteriors, so the standard error is that of a mean over y. The
worst posterior cannot be seen in a sample: its bound from epsilon is given instead, p e / (p e +
1 - p) with e = exp(epsilon) and p the largest prior (1 where epsilon is infinite).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.channel.distribution import Independent
from tacit.channel.linear import Array
from tacit.channel.product import Factor
from tacit.channel.related import AgreementChannel
from tacit.channel.replacing import ReplacementChannel
from tacit.errors import DataError
from tacit.privacy.prior import Block, Prior
from tacit.privacy.risk import Risk, sampled, slack_of, stacked

Codes = npt.NDArray[np.intp]

#: Priors of a stack that are sampled, and reports drawn for each but the first, at least.
_PRIORS, _FEWEST = 41, 500


@dataclass(frozen=True)
class Mixture:
    """theta, and for each attribute B_a[reported, true] of the other strategy."""

    theta: float
    rest: float
    others: tuple[Array, ...]


def mixture_of(factor: Factor) -> Mixture:
    """The group's two strategies, or an error if it is not of this kind."""
    channel = factor.channel
    if isinstance(channel, AgreementChannel):
        others = [(1 - np.eye(k)) / (k - 1) for k in channel.sizes]
        return Mixture(float(channel.theta), float(1 - channel.theta), tuple(others))
    if isinstance(channel, ReplacementChannel) and channel.theta >= 0:
        drawn = channel.drawn
        if isinstance(drawn, Independent):
            rows = [np.array(margin, dtype=np.float64) for margin in drawn.margins]
            others = [np.repeat(row[:, None], row.size, axis=1) for row in rows]
            return Mixture(float(channel.theta), float(1 - channel.theta), tuple(others))
    raise DataError(
        f"group [{', '.join(factor.names)}] {factor.coin} has too many joint categories to be "
        "measured; make the group smaller"
    )


@dataclass(frozen=True)
class _Seen:
    """For each drawn report and one block, over the block's true cells x."""

    kept: Array  # t(y)
    own: Array  # B(y, y) t(y)
    terms: Array  # B(y, x) t(x), draws x cells

    @classmethod
    def of(cls, block: Block, names: list[str], mixture: Mixture, reported: Codes) -> _Seen:
        """All on one scale a draw: it cancels in every ratio and keeps products from vanishing."""
        places = [names.index(name) for name in block.names]
        flat = np.ravel_multi_index([reported[:, a] for a in places], block.tables.shape)
        likely: Array = np.ones((len(reported), 1))
        for a in places:
            rows = mixture.others[a][reported[:, a]]
            likely = (likely[:, :, None] * rows[:, None, :]).reshape(len(reported), -1)
        terms = likely * block.tables.ravel()
        kept = block.tables.ravel()[flat]
        own = np.take_along_axis(terms, flat[:, None], axis=1)[:, 0]
        scale = np.maximum(kept, terms.sum(axis=1))
        return cls(kept / scale, own / scale, terms / scale[:, None])


def sampled_risks(
    factor: Factor, prior: Prior, draws: int, rng: np.random.Generator
) -> tuple[Risk, dict[str, Risk]]:
    """The risk of the whole group and of each of its attributes, for every prior of the stack.

    Of an estimated prior's draws only the first few are sampled, and more lightly, then taken in
    turn: they say how wide the interval is, the prior itself where it lies.
    """
    mixture = mixture_of(factor)
    own = prior.marginal(factor.names)
    seed = int(rng.integers(2**63))
    found = []
    for i in range(min(own.stacked, _PRIORS)):
        single = [Block(b.names, b.tables[..., min(i, b.tables.shape[-1] - 1)]) for b in own.blocks]
        # The same coins for every prior, so that their figures differ by the prior alone.
        chance = (draws if i == 0 else max(_FEWEST, draws // 10), np.random.default_rng(seed))
        sample = _Sample.drawn(factor, mixture, single, chance)
        found.append((sample.risk(), {name: sample.risk_of(name) for name in factor.names}))
    turns = [0, *(1 + i % (len(found) - 1) for i in range(own.stacked - 1))]
    whole = stacked([found[i][0] for i in turns])
    return whole, {n: stacked([found[i][1][n] for i in turns]) for n in factor.names}


@dataclass(frozen=True)
class _Sample:
    """Drawn reports of a group and what they say under one prior."""

    factor: Factor
    mixture: Mixture
    blocks: list[Block]
    true: Codes
    reported: Codes
    seen: list[_Seen]

    @classmethod
    def drawn(
        cls,
        factor: Factor,
        mixture: Mixture,
        blocks: list[Block],
        chance: tuple[int, np.random.Generator],
    ) -> _Sample:
        names = list(factor.names)
        true = _draw_true(blocks, names, *chance)
        reported = _draw_reported(mixture, true, chance[1])
        seen = [_Seen.of(block, names, mixture, reported) for block in blocks]
        return cls(factor, mixture, blocks, true, reported, seen)

    @property
    def slack(self) -> float:
        return slack_of(2 * sum(b.tables.size for b in self.blocks) + 8 * len(self.factor.names))

    def risk(self) -> Risk:
        """Of the group's whole joint answer."""
        theta, rest = self.mixture.theta, self.mixture.rest
        kept, own = _product([s.kept for s in self.seen]), _product([s.own for s in self.seen])
        total = theta * kept + rest * _product([s.terms.sum(axis=1) for s in self.seen])
        squares = theta * kept * (theta * kept + 2 * rest * own) + rest**2 * _product(
            [(s.terms**2).sum(axis=1) for s in self.seen]
        )
        elsewhere = rest * _product([s.terms.max(axis=1) for s in self.seen])
        peak = np.maximum(theta * kept + rest * own, elsewhere)
        largest = math.prod(float(block.tables.max()) for block in self.blocks)
        bits = np.log2(self._likelihood() / self._chance())
        return self._risk(squares / total**2, peak / total, bits, largest)

    def risk_of(self, name: str) -> Risk:
        """Of one attribute, by one who sees the whole report of the group."""
        b = next(i for i, block in enumerate(self.blocks) if name in block.names)
        block, theta, rest = self.blocks[b], self.mixture.theta, self.mixture.rest
        others = [s.terms.sum(axis=1) for i, s in enumerate(self.seen) if i != b]
        axes = tuple(i for i, other in enumerate(block.names) if other != name)
        terms = self.seen[b].terms.reshape(-1, *block.tables.shape)
        joint = terms.sum(axis=tuple(i + 1 for i in axes)) * (rest * _product(others))[..., None]
        code = self.reported[:, self.factor.names.index(name)]
        joint[np.arange(len(code)), code] += theta * _product([s.kept for s in self.seen])
        share = joint / joint.sum(axis=1, keepdims=True)
        prior = block.tables.sum(axis=axes)
        ratio = np.divide(share, prior, out=np.ones_like(share), where=share > 0)
        bits = (share * np.log2(ratio)).sum(axis=1)
        return self._risk((share**2).sum(axis=1), share.max(axis=1), bits, float(prior.max()))

    def _likelihood(self) -> Array:
        """M[y, x] of the true record behind each report."""
        columns = zip(self.mixture.others, self.reported.T, self.true.T, strict=True)
        other = self.mixture.rest * _product([made[y, x] for made, y, x in columns])
        kept: Array = (self.true == self.reported).all(axis=1).astype(np.float64)
        return other + self.mixture.theta * kept

    def _chance(self) -> Array:
        """J(y) itself, not on the scale of `seen`."""
        names, theta = list(self.factor.names), self.mixture.theta
        kept, total = [], []
        for block in self.blocks:
            table: Array = block.tables
            kept.append(table[tuple(self.reported[:, names.index(n)] for n in block.names)])
            for axis, n in enumerate(block.names):
                moved = np.tensordot(self.mixture.others[names.index(n)], table, (1, axis))
                table = np.moveaxis(moved, 0, axis)
            total.append(table[tuple(self.reported[:, names.index(n)] for n in block.names)])
        return np.asarray(theta * _product(kept) + self.mixture.rest * _product(total))

    def _risk(self, drawn: Array, best: Array, bits: Array, largest: float) -> Risk:
        """Means over the reports, with the variances of the means."""
        worst = bound_on_posterior(largest, self.factor.channel.epsilon)
        return sampled((drawn, best, bits), worst, largest, self.slack)


def bound_on_posterior(largest: float, epsilon: float) -> float:
    """The posterior of a cell whose odds a report raised by exp(epsilon), rounded up."""
    if math.isinf(epsilon):
        return 1.0
    odds = math.exp(-epsilon) * (1 - largest) / largest
    return min(1.0, (1 + 1e-15) / (1 + odds))


def _draw_true(
    blocks: list[Block], names: list[str], draws: int, rng: np.random.Generator
) -> Codes:
    true: Codes = np.empty((draws, len(names)), dtype=np.intp)
    for block in blocks:
        flat = rng.choice(block.tables.size, draws, p=block.tables.ravel())
        for name, codes in zip(
            block.names, np.unravel_index(flat, block.tables.shape), strict=True
        ):
            true[:, names.index(name)] = codes
    return true


def _draw_reported(mixture: Mixture, true: Codes, rng: np.random.Generator) -> Codes:
    kept = rng.random(len(true)) < mixture.theta
    reported = true.copy()
    for place, other in enumerate(mixture.others):
        reach = other.cumsum(axis=0)[:, true[:, place]]
        drawn = (rng.random(len(true)) * reach[-1] >= reach).sum(axis=0)
        reported[:, place] = np.where(kept, true[:, place], drawn)
    return reported


def _product(columns: list[Array]) -> Array:
    return np.asarray(np.prod(columns, axis=0)) if columns else np.ones(1)
