"""Figures of latent classes by Monte Carlo, where a joint table would be too large.

Reports are drawn from the model. Given a class, groups are independent, so the posterior of an
answer is a mixture over classes,

    P(x_u | y) = sum_c P(c | y) P(x_u | y_g, c)

and exact for every drawn report. The best guess of several units at once is searched for: each
class proposes its own best guess, the best of these is improved unit by unit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tacit.core.arrays import TINY, Array, Index
from tacit.core.channel.numbers import Distribution
from tacit.core.disguise import disguise
from tacit.models.latent_classes import LatentClasses, LatentModel
from tacit.models.units import CoinGroup, UnitLayout

#: Reports drawn per model.
DRAWN = 2500


class GuessRates(NamedTuple):
    """How often guesses are right, the largest posterior that was drawn, and information."""

    drawn: float
    best: float
    worst: float
    information: float

    @classmethod
    def of(cls, drawn: Array, best: Array, bits: Array) -> GuessRates:
        """From each drawn report."""
        return cls(*map(float, (drawn.mean(), best.mean(), best.max(), max(0.0, bits.mean()))))


class Sample:
    """Reports drawn from latent classes, with the posterior of the class."""

    def __init__(
        self,
        layout: UnitLayout,
        classes: LatentClasses,
        rng: np.random.Generator,
        draws: int = DRAWN,
    ) -> None:
        self.layout, self.model = layout, classes
        self.true = classes.draws(draws, rng)
        self.codes: Index = disguise(self.true, layout.unit_design, rng).astype(np.intp)
        model = LatentModel.of_units(layout, self.codes, np.ones(draws, np.int64))
        model = model.variant(len(classes.shares))
        #: P(class | report), records by classes.
        self.classes = model.classes(model.join(classes.shares, classes.tables))
        self._parts = {g: self._strategies(g) for g in layout.groups if not g.single}

    def attribute(self, name: str) -> GuessRates:
        """Of one attribute."""
        unit = self.layout.unit_of(name)
        categories = self.layout.categories_of(name)
        size = self.layout.design.schema[name].size
        cells = np.einsum("nc,nck->nk", self.classes, self._given(unit), optimize=True)
        shares = cells @ np.eye(size)[categories]
        prior = np.bincount(categories, self.model.shares @ self.model.tables[unit], size)
        ratio = np.maximum(shares, TINY) / np.maximum(prior, TINY)
        bits = (shares * np.log2(ratio)).sum(axis=1)
        return GuessRates.of((shares**2).sum(axis=1), shares.max(axis=1), bits)

    def _given(self, unit: int) -> Array:
        """P(x_u | y_g, c): records by classes by cells."""
        group = self.layout.group_of(unit)
        answers, reported = self.model.tables[unit], self.codes[:, unit]
        changed = np.repeat(answers[None], len(reported), axis=0)
        if group.drawn is None:
            changed = group.others[group.units.index(unit)][reported][:, None, :] * answers[None]
            changed = changed / np.maximum(changed.sum(axis=2, keepdims=True), TINY)
        if group.single:
            return changed
        truth, other = self._parts[group]
        joint = other[:, :, None] * changed
        joint[np.arange(len(reported)), :, reported] += truth
        return np.maximum(joint, 0) / np.maximum((truth + other)[:, :, None], TINY)

    def _strategies(self, group: CoinGroup) -> tuple[Array, Array]:
        """P(report of a group | class) as two summands: truth kept, truth not kept."""
        answers = [self.model.tables[u] for u in group.units]
        columns = [self.codes[:, u] for u in group.units]
        truth = np.prod([a[:, y].T for a, y in zip(answers, columns, strict=True)], axis=0)
        if group.drawn is not None:
            background = group.background(self.codes[:, list(group.units)])
            return group.theta * truth, np.repeat(background[:, None], truth.shape[1], axis=1)
        changed = [a @ other.T for a, other in zip(answers, group.others, strict=True)]
        other = np.prod([a[:, y].T for a, y in zip(changed, columns, strict=True)], axis=0)
        return group.theta * truth, group.rest * other

    def units(self, units: Sequence[int]) -> GuessRates:
        """Of several units at once: whole groups."""
        groups = [group for group in self.layout.groups if group.units[0] in units]
        guess = self._guess(groups)
        best = np.minimum(self._value(groups, guess), 1.0)
        truth = self._value(groups, self.true)
        units_of = [unit for group in groups for unit in group.units]
        prior = self._answered(units_of, self.true) @ self.model.shares
        bits = np.log2(np.maximum(truth, TINY) / np.maximum(prior, TINY))
        return GuessRates.of(truth, best, bits)

    def _answered(self, units: Sequence[int], true: Index) -> Array:
        """P(x | c) of given answers to these units: records by classes."""
        picked = [self.model.tables[u][:, true[:, u]].T for u in units]
        return np.asarray(np.prod(picked, axis=0))

    def _value(self, groups: list[CoinGroup], true: Index) -> Array:
        """P(x | y) of given answers of these groups."""
        terms = [self._term(group, true) for group in groups]
        return np.asarray((self.classes * np.prod(terms, axis=0)).sum(axis=1))

    def _term(self, group: CoinGroup, true: Index) -> Array:
        """P(x_g | y_g, c): records by classes."""
        if group.single:
            (unit,) = group.units
            sent = (self.model.tables[unit] @ group.others[0].T)[:, self.codes[:, unit]].T
        else:
            sent = np.add(*self._parts[group])
        likely = _likely(group, self.codes, true)[:, None] * self._answered(group.units, true)
        return np.asarray(likely / np.maximum(sent, TINY))

    def _guess(self, groups: list[CoinGroup]) -> Index:
        """The best of the classes' own guesses, improved unit by unit."""
        guess, value = self.true.copy(), np.full(len(self.codes), -1.0)
        for member in range(len(self.model.shares)):
            proposed = self.true.copy()
            for group in groups:
                self._propose(group, member, proposed)
            reached = self._value(groups, proposed)
            guess = np.where((reached > value)[:, None], proposed, guess)
            value = np.maximum(reached, value)
        terms = {group: self._term(group, guess) for group in groups}
        for group in groups:
            rest = self.classes * np.prod([t for g, t in terms.items() if g is not group], axis=0)
            for unit in group.units:
                guess = self._improved(group, unit, rest, guess)
            terms[group] = self._term(group, guess)
        return guess

    def _improved(self, group: CoinGroup, unit: int, rest: Array, guess: Index) -> Index:
        """The best cell of one unit, all other answers as they are."""
        scores = []
        for cell in range(self.layout.sizes[unit]):
            proposed = guess.copy()
            proposed[:, unit] = cell
            scores.append((rest * self._term(group, proposed)).sum(axis=1))
        improved = guess.copy()
        improved[:, unit] = np.argmax(scores, axis=0)
        return improved

    def _propose(self, group: CoinGroup, member: int, guess: Index) -> None:
        """The best guess of one group for a member of one class."""
        for number, unit in enumerate(group.units):
            answers = self.model.tables[unit][member]
            if group.drawn is None:
                scores = group.others[number][self.codes[:, unit]] * answers
                guess[:, unit] = scores.argmax(axis=1)
            else:
                guess[:, unit] = answers.argmax()
        if group.single:
            return
        replaced, truth = guess.copy(), guess.copy()
        truth[:, list(group.units)] = self.codes[:, list(group.units)]
        scores = [
            _likely(group, self.codes, x)
            * np.prod([self.model.tables[u][member][x[:, u]] for u in group.units], axis=0)
            for x in (truth, replaced)
        ]
        guess[:] = np.where((scores[0] > scores[1])[:, None], truth, replaced)


def _likely(group: CoinGroup, codes: Index, true: Index) -> Array:
    """M[y_g, x_g] for each record."""
    units = list(group.units)
    if group.drawn is not None:
        other = group.background(codes[:, units])
    else:
        entries = [b[codes[:, u], true[:, u]] for u, b in zip(units, group.others, strict=True)]
        other = group.rest * np.prod(entries, axis=0)
    same = (codes[:, units] == true[:, units]).all(axis=1)
    return np.asarray(other + group.theta * same)


def agreement(layout: UnitLayout, classes: LatentClasses) -> float:
    """How often two reports agree: the sum of the squared probabilities of all reports.

    It is sum_cc' P(c) P(c') prod_g A_g[c, c'], with A_g[c, c'] = sum_y P(y | c) P(y | c') over the
    reports of a group.
    """
    both = np.prod([_agreement(classes, group) for group in layout.groups], axis=0)
    return float(classes.shares @ both @ classes.shares)


def _agreement(classes: LatentClasses, group: CoinGroup) -> Array:
    """A_g of one group."""
    answers = [classes.tables[u] for u in group.units]
    if group.single:
        reported = answers[0] @ group.others[0].T
        return np.asarray(reported @ reported.T)
    both = np.prod([a @ a.T for a in answers], axis=0)
    if group.drawn is None:
        changed = [a @ other.T for a, other in zip(answers, group.others, strict=True)]
        mixed = np.prod([a @ c.T for a, c in zip(answers, changed, strict=True)], axis=0)
        other = np.prod([c @ c.T for c in changed], axis=0)
    else:
        mixed = np.repeat(_hit(answers, group.drawn)[:, None], len(both), axis=1)
        cells = math.prod(float(k) for k in group.drawn.shape)
        other = np.full_like(both, group.drawn.concentration / cells)
    theta, rest = group.theta, group.rest
    return np.asarray(theta**2 * both + theta * rest * (mixed + mixed.T) + rest**2 * other)


def _hit(answers: list[Array], drawn: Distribution) -> Array:
    """How often a draw equals the truth, for each class."""
    hit: Array = np.ones(len(answers[0]))
    for positions, law in zip(*drawn.units, strict=True):
        chance = np.repeat(np.array(law, dtype=np.float64)[None], len(hit), axis=0)
        for table in (answers[position] for position in positions):
            chance = np.einsum("ck,ckr->cr", table, chance.reshape(*table.shape, -1))
        hit = hit * chance[:, 0]
    return hit
