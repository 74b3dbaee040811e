"""The conditional-independence model seen through a design: likelihood, its steps, its information.

Naive Bayes says P(c, x) = P(c) prod_a P(x_a | c). A group's coin picks strategy s with probability
w_s and then disguises its units with B[s, u], so the probability of a report is

    P(y) = sum_c P(c) prod_G sum_s w_s prod_u (B[s,u] D_u(c))[y_u]

with D_u(c) the distribution of unit u in class c: a sum over classes and strategies, never over
true records. All of a report is used at once: under one related group the answers tell together
whether they were turned, which tables of one attribute and the class cannot see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from tacit.channel.coin import Differ, Keep, Replace, Strategy, Substitute, Unit
from tacit.channel.linear import Array
from tacit.climbing import Step
from tacit.counting import PatternTable
from tacit.design import Design, Group
from tacit.mine.learning import Tables

Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Part:
    """One unit under one strategy: its attributes, B[reported, true], and the reported codes."""

    attributes: Unit
    matrix: Array
    codes: Places

    def true(self, tables: Tables) -> Array:
        """D: distribution of the unit's joint answer, cells x classes."""
        columns = (tables[a].T for a in self.attributes)
        return reduce(lambda d, t: (d[:, None, :] * t[None]).reshape(-1, d.shape[1]), columns)


@dataclass(frozen=True, eq=False)
class Branch:
    """One strategy of one group."""

    log_weight: float
    parts: tuple[Part, ...]


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the model thinks of each pattern: its likelihood, class and groups' strategies."""

    log_likelihood: Array
    classes: Array
    strategies: list[Array]


class ConditionalModel:
    """Patterns and the design they came through; parameters are passed in and out."""

    def __init__(self, patterns: PatternTable, design: Design, target: str) -> None:
        self.shares = patterns.counts / patterns.n_records
        self.n_records = patterns.n_records
        self.target = design.schema.index(target)
        self.sizes = design.schema.sizes
        self.n_classes = self.sizes[self.target]
        self.names = design.schema.names
        self.groups = [_branches(patterns, design, group) for group in design.groups]

    def posterior(self, prior: Array, tables: Tables) -> Posterior:
        """Classes and strategies given the reports; arrays are classes x patterns."""
        with np.errstate(divide="ignore"):
            classes = np.repeat(np.log(prior)[:, None], len(self.shares), axis=1)
        strategies = []
        for branches in self.groups:
            found = np.stack([_log_branch(branch, tables) for branch in branches])
            total, share = _normalised(found)
            classes += total
            strategies.append(share)
        total, share = _normalised(classes)
        return Posterior(total, share, strategies)

    def step(self, parameters: Array, alpha: float) -> Step:
        """One step of expectation-maximisation, with `alpha` records added to every category."""
        prior, tables = self.split(parameters)
        found = self.posterior(prior, tables)
        weights = found.classes * self.shares
        counts = [np.zeros((self.n_classes, k)) for k in self.sizes]
        for branch, share in self._branches(found):
            for part in branch.parts:
                self._add(counts, part, tables, weights * share)
        after = self.join(weights.sum(axis=1), [self._smoothed(c, alpha) for c in counts])
        penalty = alpha / self.n_records * sum(np.log(t).sum() for t in self._free(tables))
        likelihood = float(self.shares @ found.log_likelihood) + float(penalty)
        return Step(after, likelihood, float(np.abs(after - parameters).max()))

    def information(self, prior: Array, tables: Tables) -> Array:
        """Information matrix of the logits of prior and tables, from the scores of the reports.

        By Fisher's identity a report's score is its expected score given itself: how often the
        model thinks that class c came with category x, less how often it would by itself.
        """
        found = self.posterior(prior, tables)
        size = self.join(prior, tables).size
        total = np.zeros((size, size))
        for start in range(0, len(self.shares), 4096):
            block = slice(start, start + 4096)
            scores = self._scores(found, prior, tables, block)
            total += (scores * self.shares[block]) @ scores.T
        return total * self.n_records

    def split(self, parameters: Array) -> tuple[Array, Tables]:
        """Prior and tables out of one vector."""
        lengths = [self.n_classes, *(self.n_classes * k for k in self._free_sizes())]
        prior, *parts = np.split(parameters, list(accumulate(lengths))[:-1])
        tables = [part.reshape(self.n_classes, -1) for part in parts]
        tables.insert(self.target, np.eye(self.n_classes))
        return prior, tables

    def join(self, prior: Array, tables: Tables) -> Array:
        """Prior and tables as one vector; that of the class itself is known and left out."""
        return np.concatenate([prior, *(table.ravel() for table in self._free(tables))])

    def repair(self, parameters: Array) -> Array:
        """Make every distribution sum to 1 again."""
        prior, tables = self.split(parameters)
        return self.join(prior / prior.sum(), [t / t.sum(axis=1, keepdims=True) for t in tables])

    def _free(self, tables: Tables) -> Tables:
        return [table for a, table in enumerate(tables) if a != self.target]

    def _free_sizes(self) -> list[int]:
        return [k for a, k in enumerate(self.sizes) if a != self.target]

    def _branches(self, found: Posterior) -> Iterator[tuple[Branch, Array]]:
        """Every branch with the probability that it came up, classes x patterns."""
        for branches, strategies in zip(self.groups, found.strategies, strict=True):
            yield from zip(branches, strategies, strict=True)

    def _add(self, counts: Tables, part: Part, tables: Tables, weights: Array) -> None:
        """Add the expected true categories of a unit's attributes, given its reports."""
        true = part.true(tables)
        expected = part.matrix @ true
        reports = np.empty_like(expected)
        for c, weight in enumerate(weights):
            reports[:, c] = np.bincount(part.codes, weight, len(expected))
        back = true * (part.matrix.T @ _ratio(reports, expected))
        joint = back.T.reshape(self.n_classes, *(self.sizes[a] for a in part.attributes))
        for axis, a in enumerate(part.attributes):
            others = tuple(i + 1 for i in range(len(part.attributes)) if i != axis)
            counts[a] += joint.sum(axis=others)

    def _smoothed(self, counts: Array, alpha: float) -> Array:
        total = counts + alpha / self.n_records
        return np.asarray(total / total.sum(axis=1, keepdims=True))

    def _scores(self, found: Posterior, prior: Array, tables: Tables, block: slice) -> Array:
        classes = found.classes[:, block]
        scores = [-table[:, :, None] * classes[:, None] for table in tables]
        for branch, share in self._branches(found):
            weights = classes * share[:, block]
            for part in branch.parts:
                self._add_scores(scores, part, tables, weights, part.codes[block])
        kept = [s.reshape(-1, s.shape[-1]) for s in self._free(scores)]
        return np.concatenate([classes - prior[:, None], *kept])

    def _add_scores(
        self, scores: Tables, part: Part, tables: Tables, weights: Array, codes: Places
    ) -> None:
        true = part.true(tables)
        expected = part.matrix @ true
        back = _ratio(part.matrix[:, :, None] * true[None], expected[:, None])[codes]
        joint = (back * weights.T[:, None]).T
        shape = (self.n_classes, *(self.sizes[a] for a in part.attributes), len(codes))
        for axis, a in enumerate(part.attributes):
            others = tuple(i + 1 for i in range(len(part.attributes)) if i != axis)
            scores[a] += joint.reshape(shape).sum(axis=others)


def _branches(patterns: PatternTable, design: Design, group: Group) -> list[Branch]:
    """The strategies of a group with the reported codes of their units."""
    attributes = design.attributes_of(group)
    places = [design.schema.index(a.name) for a in attributes]
    own = group.coin.reported(attributes)
    columns = [patterns.patterns[:, design.reported.index(a.name)] for a in own]
    weighted = [(w, s) for w, s in group.coin.strategies(attributes) if w > 0]
    return [
        Branch(
            float(np.log(float(weight))),
            tuple(
                Part(
                    tuple(places[i] for i in unit),
                    matrix,
                    np.ravel_multi_index(
                        [columns[i] for i in reports], [own[i].size for i in reports]
                    ),
                )
                for unit, reports, matrix in _units(strategy, [a.size for a in attributes], own)
            ),
        )
        for weight, strategy in weighted
    ]


def _units(
    strategy: Strategy, sizes: Sequence[int], own: Sequence[object]
) -> Iterator[tuple[Unit, Unit, Array]]:
    """Units of a strategy: true positions, reported positions, B[reported, true]."""
    match strategy:
        case Keep():
            for i, k in enumerate(sizes):
                yield (i,), (i,), np.eye(k)
        case Differ(units):
            for unit in units:
                cells = int(np.prod([sizes[i] for i in unit]))
                yield unit, unit, (1 - np.eye(cells)) / (cells - 1)
        case Replace(units, distributions):
            for unit, distribution in zip(units, distributions, strict=True):
                drawn = np.array(distribution, dtype=np.float64)
                yield unit, unit, np.repeat(drawn[:, None], drawn.size, axis=1)
        case Substitute(columns):
            every = tuple(range(len(sizes)))
            yield every, tuple(range(len(own))), np.array(columns, dtype=np.float64).T


def _log_branch(branch: Branch, tables: Tables) -> Array:
    """log of w_s prod_u q_u[y_u], classes x patterns."""
    total: Array = np.full((), branch.log_weight)
    with np.errstate(divide="ignore"):
        for part in branch.parts:
            total = total + np.log((part.matrix @ part.true(tables)).T)[:, part.codes]
    return total


def _normalised(logs: Array) -> tuple[Array, Array]:
    """log of the sum over the first axis, and the shares in it; zero where all are impossible."""
    top = logs.max(axis=0)
    safe = np.where(np.isfinite(top), top, 0.0)
    shares = np.exp(logs - safe)
    total = shares.sum(axis=0)
    with np.errstate(divide="ignore"):
        return safe + np.log(total), _ratio(shares, total)


def _ratio(over: Array, under: Array) -> Array:
    """over / under, zero where nothing is expected."""
    return np.divide(
        over, under, out=np.zeros(np.broadcast_shapes(over.shape, under.shape)), where=under > 0
    )
