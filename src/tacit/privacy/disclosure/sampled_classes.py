"""Figures of latent classes by Monte Carlo, where a joint table would be too large.

Reports are drawn from the model. Given a class, groups are independent, so the posterior of an
answer is a mixture over classes,

    P(x_u | y) = sum_c P(c | y) P(x_u | y_g, c)

and exact for every drawn report. The best guess of several units at once is searched for: each
class proposes its own best guess, the best of these is improved unit by unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tacit.core.arrays import TINY, Array, Index
from tacit.core.disguise import disguise
from tacit.privacy.disclosure.latent_classes import Evidence, LatentClasses
from tacit.privacy.disclosure.layout import CoinGroup, UnitLayout, unit_codes

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

    def __init__(self, model: LatentClasses, rng: np.random.Generator, draws: int = DRAWN) -> None:
        self.model, self.layout = model, model.layout
        self.true = model.draw(draws, rng)
        self.codes = _disguised(model.layout, self.true, rng)
        logs, self._parts = Evidence(model.layout, self.codes).logs(model)
        self.joint: Array = np.exp(logs - logs.max(axis=1, keepdims=True))
        self.chance: Array = self.joint.sum(axis=1)

    def attribute(self, name: str) -> GuessRates:
        """Of one attribute."""
        unit = self.layout.unit_of(name)
        categories = self.layout.categories_of(name)
        size = self.layout.design.schema[name].size
        weights, given = self.joint / self.chance[:, None], self._given(unit)
        cells = np.einsum("nc,nck->nk", weights, given, optimize=True)
        shares = cells @ np.eye(size)[categories]
        prior = np.bincount(categories, self.model.shares @ self.model.answers[unit], size)
        ratio = np.maximum(shares, TINY) / np.maximum(prior, TINY)
        bits = (shares * np.log2(ratio)).sum(axis=1)
        return GuessRates.of((shares**2).sum(axis=1), shares.max(axis=1), bits)

    def _given(self, unit: int) -> Array:
        """P(x_u | y_g, c): records by classes by cells."""
        group = self.layout.group_of(unit)
        answers, own = self.model.answers[unit], self.codes[:, unit]
        changed = np.repeat(answers[None], len(own), axis=0)
        if group.drawn is None:
            changed = group.others[group.units.index(unit)][own][:, None, :] * answers[None]
            changed = changed / np.maximum(changed.sum(axis=2, keepdims=True), TINY)
        if group.single:
            return changed
        kept, other = self._parts[group]
        joint = other[:, :, None] * changed
        joint[np.arange(len(own)), :, own] += kept
        return np.maximum(joint, 0) / np.maximum((kept + other)[:, :, None], TINY)

    def units(self, units: Sequence[int]) -> GuessRates:
        """Of several units at once: whole groups."""
        groups = [group for group in self.layout.groups if group.units[0] in units]
        guess = self._guess(groups)
        best = np.minimum(self._value(groups, guess) / self.chance, 1.0)
        truth = self._value(groups, self.true) / self.chance
        units_of = [unit for group in groups for unit in group.units]
        prior = self._answered(units_of, self.true) @ self.model.shares
        bits = np.log2(np.maximum(truth, TINY) / np.maximum(prior, TINY))
        return GuessRates.of(truth, best, bits)

    def _answered(self, units: Sequence[int], true: Index) -> Array:
        """P(x | c) of given answers to these units: records by classes."""
        picked = [self.model.answers[u][:, true[:, u]].T for u in units]
        return np.asarray(np.prod(picked, axis=0))

    def _value(self, groups: list[CoinGroup], true: Index) -> Array:
        """P(x, y) of given answers of these groups, on the scale of `joint`."""
        terms = [self._term(group, true) for group in groups]
        return np.asarray((self.joint * np.prod(terms, axis=0)).sum(axis=1))

    def _term(self, group: CoinGroup, true: Index) -> Array:
        """P(x_g | y_g, c): records by classes."""
        if group.single:
            (unit,) = group.units
            sent = (self.model.answers[unit] @ group.others[0].T)[:, self.codes[:, unit]].T
        else:
            sent = np.add(*self._parts[group])
        likely = _likely(group, self.codes, true)[:, None] * self._answered(group.units, true)
        return np.asarray(likely / np.maximum(sent, TINY))

    def _guess(self, groups: list[CoinGroup]) -> Index:
        """The best of the classes' own guesses, improved unit by unit."""
        found, value = self.true.copy(), np.full(len(self.codes), -1.0)
        for member in range(len(self.model.shares)):
            proposed = self.true.copy()
            for group in groups:
                self._propose(group, member, proposed)
            reached = self._value(groups, proposed)
            found = np.where((reached > value)[:, None], proposed, found)
            value = np.maximum(reached, value)
        terms = {group: self._term(group, found) for group in groups}
        for group in groups:
            rest = self.joint * np.prod([t for g, t in terms.items() if g is not group], axis=0)
            for unit in group.units:
                found = self._improved(group, unit, rest, found)
            terms[group] = self._term(group, found)
        return found

    def _improved(self, group: CoinGroup, unit: int, rest: Array, found: Index) -> Index:
        """The best cell of one unit, all other answers as they are."""
        scores = []
        for cell in range(self.layout.sizes[unit]):
            proposed = found.copy()
            proposed[:, unit] = cell
            scores.append((rest * self._term(group, proposed)).sum(axis=1))
        improved = found.copy()
        improved[:, unit] = np.argmax(scores, axis=0)
        return improved

    def _propose(self, group: CoinGroup, member: int, guess: Index) -> None:
        """The best guess of one group for a member of one class."""
        for place, unit in enumerate(group.units):
            answers = self.model.answers[unit][member]
            if group.drawn is None:
                scores = group.others[place][self.codes[:, unit]] * answers
                guess[:, unit] = scores.argmax(axis=1)
            else:
                guess[:, unit] = answers.argmax()
        if group.single:
            return
        replaced, kept = guess.copy(), guess.copy()
        kept[:, list(group.units)] = self.codes[:, list(group.units)]
        scores = [
            _likely(group, self.codes, x)
            * np.prod([self.model.answers[u][member][x[:, u]] for u in group.units], axis=0)
            for x in (kept, replaced)
        ]
        guess[:] = np.where((scores[0] > scores[1])[:, None], kept, replaced)


def _likely(group: CoinGroup, codes: Index, true: Index) -> Array:
    """M[y_g, x_g] for each record."""
    units = list(group.units)
    if group.drawn is not None:
        other = group.background(codes[:, units])
    else:
        each = [b[codes[:, u], true[:, u]] for u, b in zip(units, group.others, strict=True)]
        other = group.rest * np.prod(each, axis=0)
    same = (codes[:, units] == true[:, units]).all(axis=1)
    return np.asarray(other + group.theta * same)


def _disguised(layout: UnitLayout, true: Index, rng: np.random.Generator) -> Index:
    """Reports of true units, drawn with the design."""
    schema = layout.design.schema
    columns: dict[str, Index] = {}
    for unit, code in zip(layout.units, true.T, strict=True):
        sizes = [schema[name].size for name in unit.names]
        columns |= dict(zip(unit.names, np.unravel_index(code, sizes), strict=True))
    records = np.stack([columns[name] for name in schema.names], axis=1)
    return unit_codes(layout, disguise(records, layout.design, rng))
