"""Latent classes: within a class all units are independent (Lazarsfeld & Henry, 1968).

    p(x) = sum_c pi_c prod_u phi_u[c, x_u]

fitted to reports by expectation-maximisation over the channel, sped up by SQUAREM. For a group of
one unit P(y | c) = (B phi)[y]; for a group of several it is theta prod_u phi_u[y_u] + rest d[y], or
with prod_u (B_u phi_u)[y_u] in place of d[y]. Classes start around the inverted marginals.
A Dirichlet prior of few records keeps every share positive.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix

from tacit.arrays import Array, Index
from tacit.privacy.disclosure.layout import CodedReports, CoinGroup, UnitLayout
from tacit.reconstruction.likelihood import EMStep, squarem

#: Records that the marginals count for in each class.
_PRIOR_RECORDS = 0.5
#: Starts that are tried, iterations of each, and those that the best may take.
_STARTS, _FIRST, _ITERATIONS = 3, 4, 30
#: Change of a share at which the iteration ends.
_TOLERANCE = 3e-4
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class LatentClasses:
    """Shares of the classes, and per unit P(category | class) with a row per class."""

    layout: UnitLayout
    shares: Array
    answers: tuple[Array, ...]

    def table(self) -> Array:
        """The joint table, one axis per unit."""
        made: Array = self.shares[:, None]
        for answers in self.answers[:-1]:
            made = (made[:, :, None] * answers[:, None, :]).reshape(len(self.shares), -1)
        return np.asarray(made.T @ self.answers[-1]).reshape(self.layout.sizes)

    def draw(self, n: int, rng: np.random.Generator) -> Index:
        """True records: a code per unit."""
        member = rng.choice(len(self.shares), n, p=self.shares / self.shares.sum())
        columns = []
        for answers in self.answers:
            steps = answers.cumsum(axis=1)[member]
            at = rng.random(n)[:, None] * steps[:, -1:]
            columns.append(np.minimum((at >= steps).sum(axis=1), answers.shape[1] - 1))
        return np.stack(columns, axis=1)


def mixed(models: list[LatentClasses], weights: Array) -> LatentClasses:
    """A mixture of such models is one with all their classes."""
    shares = np.concatenate([w * m.shares for m, w in zip(models, weights, strict=True)])
    kept = shares > 1e-9
    units = range(len(models[0].answers))
    answers = (np.concatenate([m.answers[u] for m in models])[kept] for u in units)
    return LatentClasses(models[0].layout, shares[kept] / shares[kept].sum(), tuple(answers))


@dataclass(frozen=True, eq=False)
class _Several:
    """Reports of one group of several units."""

    group: CoinGroup
    seen: csr_matrix
    background: Array | None

    def kept(self, answers: tuple[Array, ...]) -> Array:
        """theta prod_u phi_u[c, y_u]: records by classes."""
        own = np.concatenate([answers[u] for u in self.group.units], axis=1)
        return np.asarray(self.group.theta * np.exp(self.seen @ _logs(own).T))

    def other(self, answers: tuple[Array, ...]) -> Array:
        """The probability of the report if the truth is not kept: records by classes."""
        if self.background is not None:
            return np.repeat(self.background[:, None], len(answers[0]), axis=1)
        pairs = zip(self.group.units, self.group.others, strict=True)
        told = np.concatenate([answers[u] @ other.T for u, other in pairs], axis=1)
        return np.asarray(self.group.rest * np.exp(self.seen @ _logs(told).T))


class Evidence:
    """Reports as sparse indicators, so that a step needs no loop over records."""

    def __init__(self, layout: UnitLayout, codes: Index) -> None:
        self.layout, self.codes = layout, codes
        self.alone = [group for group in layout.groups if group.single]
        units = [group.units[0] for group in self.alone]
        self.single = _indicators(codes[:, units], [layout.reports[u] for u in units])
        self.several = [
            _Several(
                group,
                _indicators(codes[:, list(group.units)], [layout.sizes[u] for u in group.units]),
                None if group.drawn is None else group.background(codes[:, list(group.units)]),
            )
            for group in layout.groups
            if not group.single
        ]

    def told(self, answers: tuple[Array, ...]) -> list[Array]:
        """(B phi) of every group of one unit, a row per class."""
        return [answers[group.units[0]] @ group.others[0].T for group in self.alone]

    def logs(self, model: LatentClasses) -> Array:
        """log pi_c P(y | c): records by classes."""
        total: Array = np.repeat(_logs(model.shares)[None], len(self.codes), axis=0)
        if self.alone:
            total = total + self.single @ _logs(np.concatenate(self.told(model.answers), axis=1)).T
        for several in self.several:
            total = total + _logs(several.kept(model.answers) + several.other(model.answers))
        return np.asarray(total)

    def likelihood(self, model: LatentClasses) -> Array:
        """The probability of each report."""
        return np.asarray(np.exp(self.logs(model)).sum(axis=1))


def _indicators(codes: Index, sizes: list[int]) -> csr_matrix:
    """One row per record with a 1 for each unit's category."""
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    n, d = codes.shape
    columns = (codes + starts[:-1]).ravel()
    return csr_matrix((np.ones(n * d), columns, d * np.arange(n + 1)), (n, int(starts[-1])))


def _logs(values: Array) -> Array:
    return np.asarray(np.log(np.maximum(values, _TINY)))


class ClassFit:
    """Latent classes fitted to the same reports, for any number of classes."""

    def __init__(self, reports: CodedReports, margins: list[Array]) -> None:
        self.reports, self.layout = reports, reports.layout
        self.evidence = Evidence(reports.layout, reports.codes)
        inside = [np.maximum(margin, 0.02 / margin.size) for margin in margins]
        self.margins = [margin / margin.sum() for margin in inside]

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *np.cumsum(self.layout.sizes).tolist()]

    def fit(self, classes: int, rng: np.random.Generator) -> LatentClasses:
        """The most likely classes from the best of a few starts."""
        starts = [self._start(classes, rng) for _ in range(_STARTS if classes > 1 else 1)]
        tried = [self._climb(start, _FIRST) for start in starts]
        best, _ = max(tried, key=lambda found: found[1])
        return self._model(self._climb(best, _ITERATIONS)[0])

    def _climb(self, start: Array, iterations: int) -> tuple[Array, float]:
        found, ended = squarem(self._step, start, self._repaired, _TOLERANCE, iterations)
        return found, ended.log_likelihood

    def _start(self, classes: int, rng: np.random.Generator) -> Array:
        spread = 1.0 if classes > 1 else 0.0
        answers = [m * np.exp(spread * rng.normal(size=(classes, m.size))) for m in self.margins]
        return self._repaired(np.concatenate([np.ones((classes, 1)), *answers], axis=1))

    def _repaired(self, flat: Array) -> Array:
        """Shares that sum to 1, and answers of each class and unit that do."""
        made = np.maximum(flat, 1e-12)
        made[:, 0] /= made[:, 0].sum()
        for start, stop in zip(self._starts, self._starts[1:], strict=False):
            made[:, 1 + start : 1 + stop] /= made[:, 1 + start : 1 + stop].sum(axis=1)[:, None]
        return made

    def _model(self, flat: Array) -> LatentClasses:
        answers = [
            flat[:, 1 + start : 1 + stop]
            for start, stop in zip(self._starts, self._starts[1:], strict=False)
        ]
        return LatentClasses(self.layout, flat[:, 0], tuple(answers))

    def _step(self, flat: Array) -> EMStep:
        """One step of expectation-maximisation; shares and answers side by side."""
        model, evidence, weights = self._model(flat), self.evidence, self.reports.weights
        told, several = evidence.told(model.answers), []
        logs: Array = np.repeat(_logs(model.shares)[None], len(weights), axis=0)
        if told:
            logs = logs + evidence.single @ _logs(np.concatenate(told, axis=1)).T
        for group in evidence.several:
            kept, other = group.kept(model.answers), group.other(model.answers)
            several.append((group, kept, other))
            logs = logs + _logs(kept + other)
        peak = logs.max(axis=1, keepdims=True)
        shares = np.exp(logs - peak)
        total = shares.sum(axis=1, keepdims=True)
        shares *= weights[:, None] / total
        counts = self._counts(model, shares, told, several)
        after = self._repaired(np.concatenate([shares.sum(axis=0)[:, None] + 1e-3, counts], axis=1))
        likelihood = float(weights @ (peak + np.log(total))[:, 0])
        prior = sum(float((_PRIOR_RECORDS * m * _logs(a)).sum()) for m, a in self._paired(model))
        change = float(np.abs(after - flat).max())
        return EMStep(after, (likelihood + prior) / self.reports.total, change)

    def _paired(self, model: LatentClasses) -> list[tuple[Array, Array]]:
        return list(zip(self.margins, model.answers, strict=True))

    def _counts(
        self,
        model: LatentClasses,
        shares: Array,
        told: list[Array],
        several: list[tuple[_Several, Array, Array]],
    ) -> Array:
        """Expected true answers of each class, with those of the prior; units side by side."""
        counts = [
            _PRIOR_RECORDS * np.repeat(m[None], len(a), axis=0) for m, a in self._paired(model)
        ]
        sent = np.asarray(self.evidence.single.T @ shares).T if told else np.zeros((0, 0))
        start = 0
        for group, expected in zip(self.evidence.alone, told, strict=True):
            own = sent[:, start : start + expected.shape[1]] / np.maximum(expected, _TINY)
            counts[group.units[0]] += model.answers[group.units[0]] * (own @ group.others[0])
            start += expected.shape[1]
        for several_, kept, other in several:
            self._add(counts, model, several_, (shares * kept / np.maximum(kept + other, _TINY)))
            told_other = shares * other / np.maximum(kept + other, _TINY)
            self._add_other(counts, model, several_, told_other)
        return np.concatenate(counts, axis=1)

    def _add(
        self, counts: list[Array], model: LatentClasses, several: _Several, shares: Array
    ) -> None:
        """Truth that was kept."""
        sent, start = np.asarray(several.seen.T @ shares).T, 0
        for unit in several.group.units:
            stop = start + model.answers[unit].shape[1]
            counts[unit] += sent[:, start:stop]
            start = stop

    def _add_other(
        self, counts: list[Array], model: LatentClasses, several: _Several, shares: Array
    ) -> None:
        """Truth that was replaced or changed."""
        if several.group.drawn is not None:
            for unit in several.group.units:
                counts[unit] += model.answers[unit] * shares.sum(axis=0)[:, None]
            return
        sent, start = np.asarray(several.seen.T @ shares).T, 0
        for unit, other in zip(several.group.units, several.group.others, strict=True):
            answers = model.answers[unit]
            stop = start + answers.shape[1]
            expected = np.maximum(answers @ other.T, _TINY)
            counts[unit] += answers * ((sent[:, start:stop] / expected) @ other)
            start = stop
