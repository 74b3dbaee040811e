"""Latent classes: within a class all units are independent (Lazarsfeld & Henry, 1968).

    p(x) = sum_c pi_c prod_u phi_u[c, x_u]

fitted to reports by expectation-maximisation over the channel, sped up by SQUAREM. For a group of
one unit P(y | c) = (B phi)[y]; for a group of several it is theta prod_u phi_u[y_u] + rest d[y], or
with prod_u (B_u phi_u)[y_u] in place of d[y]. Classes start around the inverted marginals.
A Dirichlet prior of few records keeps every share positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from tacit.core.arrays import TINY, Array, Index
from tacit.privacy.disclosure.layout import CodedReports, CoinGroup, UnitLayout
from tacit.reconstruction.likelihood import EMStep, squarem

#: Records that the marginals count for in each class.
_PRIOR_RECORDS = 0.5
#: Starts that are tried, iterations of each, and those that the best may take.
_STARTS, _FIRST, _ITERATIONS = 3, 4, 30
#: Change of a share at which the iteration ends.
_TOLERANCE = 3e-4


@dataclass(frozen=True, eq=False)
class LatentClasses:
    """Shares of the classes, and per unit P(category | class) with a row per class."""

    layout: UnitLayout
    shares: Array
    answers: tuple[Array, ...]

    def table(self, units: Sequence[int] | None = None) -> Array:
        """The joint table of some units, of all if None: one axis per unit."""
        chosen = range(len(self.answers)) if units is None else units
        made: Array = self.shares[:, None]
        for unit in chosen[:-1]:
            made = (made[:, :, None] * self.answers[unit][:, None, :]).reshape(len(made), -1)
        sizes = [self.layout.sizes[unit] for unit in chosen]
        return np.asarray(made.T @ self.answers[chosen[-1]]).reshape(sizes)

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


class _Indicators:
    """Reports of some units as a sparse matrix: a row per record, a 1 for each unit's category."""

    def __init__(self, codes: Index, sizes: list[int]) -> None:
        n, d = codes.shape
        stops = np.cumsum(sizes, dtype=np.intp)
        self._starts = stops - np.array(sizes, dtype=np.intp)
        columns = (codes + self._starts).ravel()
        self._matrix = csr_matrix((np.ones(n * d), columns, d * np.arange(n + 1)), (n, sum(sizes)))
        self._transposed = self._matrix.T

    def logs(self, tables: list[Array]) -> Array:
        """sum_u log P(y_u | c) from each unit's table[class, report]: records by classes."""
        return np.asarray(self._matrix @ _logs(np.concatenate(tables, axis=1)).T)

    def sent(self, shares: Array) -> list[Array]:
        """The reports of each unit, added up by the shares that records have in classes."""
        return np.split(np.asarray(self._transposed @ shares).T, self._starts[1:], axis=1)


#: For each group of several units, P(report | class) as two summands: truth kept, truth not kept.
Parts = dict[CoinGroup, tuple[Array, Array]]


class Evidence:
    """Reports as sparse indicators, so that a step needs no loop over records."""

    def __init__(self, layout: UnitLayout, codes: Index) -> None:
        self.n_records = len(codes)
        self.alone = [group for group in layout.groups if group.single]
        units = [group.units[0] for group in self.alone]
        self.single = _Indicators(codes[:, units], [layout.reports[u] for u in units])
        self.several: dict[CoinGroup, _Indicators] = {}
        self._background: dict[CoinGroup, Array] = {}
        for group in (group for group in layout.groups if not group.single):
            own = codes[:, list(group.units)]
            self.several[group] = _Indicators(own, [layout.sizes[u] for u in group.units])
            if group.drawn is not None:
                self._background[group] = group.background(own)[:, None]

    def logs(self, model: LatentClasses) -> tuple[Array, Parts]:
        """log pi_c P(y | c), records by classes, and its parts in groups of several units."""
        answers = model.answers
        total: Array = np.repeat(_logs(model.shares)[None], self.n_records, axis=0)
        if self.alone:
            told = [answers[group.units[0]] @ group.others[0].T for group in self.alone]
            total = total + self.single.logs(told)
        parts: Parts = {}
        for group, seen in self.several.items():
            kept = group.theta * np.exp(seen.logs([answers[u] for u in group.units]))
            if group.drawn is None:
                pairs = zip(group.units, group.others, strict=True)
                other = group.rest * np.exp(seen.logs([answers[u] @ b.T for u, b in pairs]))
            else:
                other = np.repeat(self._background[group], len(model.shares), axis=1)
            parts[group] = kept, other
            total = total + _logs(kept + other)
        return total, parts

    def likelihood(self, model: LatentClasses) -> Array:
        """The probability of each report."""
        return np.asarray(np.exp(self.logs(model)[0]).sum(axis=1))


def _logs(values: Array) -> Array:
    return np.asarray(np.log(np.maximum(values, TINY)))


class ClassFit:
    """Latent classes fitted to the same reports, for any number of classes."""

    def __init__(self, reports: CodedReports, margins: list[Array]) -> None:
        self.reports, self.layout = reports, reports.layout
        self.evidence = Evidence(reports.layout, reports.codes)
        inside = [np.maximum(margin, 0.02 / margin.size) for margin in margins]
        self.margins = [margin / margin.sum() for margin in inside]
        stops = 1 + np.cumsum(self.layout.sizes)
        self._spans = [slice(b - k, b) for b, k in zip(stops, self.layout.sizes, strict=True)]

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
        for span in self._spans:
            made[:, span] /= made[:, span].sum(axis=1)[:, None]
        return made

    def _model(self, flat: Array) -> LatentClasses:
        return LatentClasses(self.layout, flat[:, 0], tuple(flat[:, span] for span in self._spans))

    def _step(self, flat: Array) -> EMStep:
        """One step of expectation-maximisation; shares and answers side by side."""
        model, weights = self._model(flat), self.reports.weights
        logs, parts = self.evidence.logs(model)
        peak = logs.max(axis=1, keepdims=True)
        shares = np.exp(logs - peak)
        total = shares.sum(axis=1, keepdims=True)
        shares *= weights[:, None] / total
        counts = self._counts(model.answers, shares, parts)
        after = self._repaired(
            np.concatenate([shares.sum(axis=0)[:, None] + 1e-3, *counts], axis=1)
        )
        likelihood = float(weights @ (peak + np.log(total))[:, 0])
        pairs = zip(self.margins, model.answers, strict=True)
        prior = sum(float((_PRIOR_RECORDS * m * _logs(a)).sum()) for m, a in pairs)
        change = float(np.abs(after - flat).max())
        return EMStep(after, (likelihood + prior) / self.reports.total, change)

    def _counts(self, answers: tuple[Array, ...], shares: Array, parts: Parts) -> list[Array]:
        """Expected true answers to each unit, a row per class, with those of the prior."""
        counts = [
            _PRIOR_RECORDS * np.repeat(m[None], shares.shape[1], axis=0) for m in self.margins
        ]

        def add_changed(unit: int, other: Array, sent: Array) -> None:
            expected = np.maximum(answers[unit] @ other.T, TINY)
            counts[unit] += answers[unit] * ((sent / expected) @ other)

        if self.evidence.alone:
            sent = self.evidence.single.sent(shares)
            for group, own in zip(self.evidence.alone, sent, strict=True):
                add_changed(group.units[0], group.others[0], own)
        for group, (kept, other) in parts.items():
            seen, total = self.evidence.several[group], np.maximum(kept + other, TINY)
            for unit, own in zip(group.units, seen.sent(shares * kept / total), strict=True):
                counts[unit] += own
            changed = shares * other / total
            if group.drawn is not None:
                for unit in group.units:
                    counts[unit] += answers[unit] * changed.sum(axis=0)[:, None]
                continue
            for unit, b, own in zip(group.units, group.others, seen.sent(changed), strict=True):
                add_changed(unit, b, own)
        return counts
