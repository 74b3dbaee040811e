"""The conditional-independence model seen through a design: likelihood, its steps, its information.

Naive Bayes says P(c, x) = P(c) prod_a P(x_a | c). A group's coin picks strategy s with probability
w_s and then disguises its units with B[s, u], so the probability of a report is

    P(y) = sum_c P(c) prod_G sum_s w_s prod_u (B[s,u] D_u(c))[y_u]

with D_u(c) the distribution of unit u in class c: a sum over classes and strategies, never over
true records. All of a report is used at once: under one related group the answers tell together
whether they were turned, which tables of one attribute and the class cannot see.

Patterns are looked up in the tables of `blocks`, some thousand at a time, so memory stays small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from tacit.arrays import Array, Index
from tacit.counting import PatternTable
from tacit.design import Design
from tacit.mine.blocks import BlockTables, ratio, rescale
from tacit.mine.joined_attributes import joined
from tacit.mine.learned_model import Tables
from tacit.reconstruction.likelihood import EMStep

#: Patterns that are looked at together: what is known of them stays in fast memory.
CHUNK = 1 << 14
#: The same for scores, which are many for each pattern.
_SCORED = 2048

#: A group and one of its blocks.
Place = tuple[int, int]
#: A block's strategy, attribute and what a report says of it there.
Known = list[tuple[int, int, Array]]


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the model thinks of some patterns, and their share of the records.

    `classes` is P(c | y), classes x patterns. Each group has its `ways` w_s P(y_G | s, c) up to
    scale, strategies x classes x patterns, with their `totals` over strategies, and `codes`: the
    patterns' cells in its blocks.
    """

    shares: Array
    log_likelihood: Array
    classes: Array
    ways: list[Array]
    totals: list[Array]
    codes: list[list[Index]]

    def strategies(self, classes: Array) -> Iterator[Array]:
        """P(s | c, y) of each group, times what is given for the classes of the patterns."""
        for ways, total in zip(self.ways, self.totals, strict=True):
            yield ways * ratio(classes, total)


class ConditionalModel:
    """Patterns and the design they came through; parameters are passed in and out."""

    def __init__(self, patterns: PatternTable, design: Design, target: str) -> None:
        self.shares = patterns.counts / patterns.n_records
        self.n_records = patterns.n_records
        self.target = design.schema.index(target)
        self.sizes = design.schema.sizes
        self.n_classes = self.sizes[self.target]
        self.names = design.schema.names
        self.groups = [joined(patterns, design, group) for group in design.groups]

    def posterior(self, prior: Array, tables: Tables, length: int) -> Iterator[Posterior]:
        """Classes and strategies given the reports, `length` patterns at a time."""
        looked = [group.look_up(tables) for group in self.groups]
        for start in range(0, len(self.shares), length):
            yield self._posterior(prior, looked, slice(start, start + length))

    def step(self, parameters: Array, alpha: float) -> EMStep:
        """One step of expectation-maximisation, with `alpha` records added to every category."""
        prior, tables = self.split(parameters)
        height, classes, sums = 0.0, np.zeros(self.n_classes), dict[Place, Array]()
        for found in self.posterior(prior, tables, CHUNK):
            height += float((found.shares * found.log_likelihood).sum())
            weights = found.shares * found.classes
            classes += weights.sum(axis=1)
            self._add_sums(sums, found, weights)
        counts = [np.zeros((self.n_classes, k)) for k in self.sizes]
        for (g, b), own in sums.items():
            self.groups[g].blocks[b].add(counts, tables, own)
        after = self.join(classes, [self._smoothed(c, alpha) for c in counts])
        penalty = alpha / self.n_records * sum(np.log(t).sum() for t in self._free(tables))
        return EMStep(after, height + float(penalty), float(np.abs(after - parameters).max()))

    def information(self, prior: Array, tables: Tables) -> Array:
        """Information matrix of the logits of prior and tables, from the scores of the reports.

        By Fisher's identity a report's score is its expected score given itself: how often the
        model thinks that class c came with category x, less how often it would by itself.
        """
        size = self.join(prior, tables).size
        total = np.zeros((size, size))
        known = [[list(b.posteriors(tables)) for b in group.blocks] for group in self.groups]
        for found in self.posterior(prior, tables, _SCORED):
            scores = self._scores(found, prior, tables, known)
            total += (scores * found.shares) @ scores.T
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

    def _posterior(self, prior: Array, looked: list[BlockTables], chunk: slice) -> Posterior:
        """Bayes' rule: P(c | y) is as P(c) prod_G sum_s w_s P(y_G | s, c)."""
        codes = [[b.codes[chunk].astype(np.intp) for b in group.blocks] for group in self.groups]
        found = [own.ways(cells) for own, cells in zip(looked, codes, strict=True)]
        totals = [ways.sum(axis=0) for ways, _ in found]
        classes, logs = prior[:, None].copy(), sum(scale for _, scale in found)
        for total in totals:
            logs = logs + rescale(classes)
            classes = classes * total
        likelihood = classes.sum(axis=0)
        with np.errstate(divide="ignore"):
            logs = logs + np.log(likelihood)
        ways = [ways for ways, _ in found]
        return Posterior(self.shares[chunk], logs, ratio(classes, likelihood), ways, totals, codes)

    def _add_sums(self, sums: dict[Place, Array], found: Posterior, weights: Array) -> None:
        """Add weights of patterns to the cells of the blocks, by strategy and class."""
        for g, (group, ways) in enumerate(zip(self.groups, found.strategies(weights), strict=True)):
            for b, (block, codes) in enumerate(zip(group.blocks, found.codes[g], strict=True)):
                own = block.sums(codes, ways)
                sums[g, b] = sums[g, b] + own if (g, b) in sums else own

    def _smoothed(self, counts: Array, alpha: float) -> Array:
        total = counts + alpha / self.n_records
        return np.asarray(total / total.sum(axis=1, keepdims=True))

    def _scores(
        self, found: Posterior, prior: Array, tables: Tables, known: list[list[Known]]
    ) -> Array:
        """Scores by the logits, parameters x patterns."""
        scores = [-table[:, :, None] * found.classes[:, None] for table in tables]
        strategies = found.strategies(found.classes)
        for ways, cells, blocks in zip(strategies, found.codes, known, strict=True):
            for codes, own in zip(cells, blocks, strict=True):
                for s, a, table in own:
                    scores[a] += table.take(codes, axis=2) * ways[s][:, None]
        kept = [s.reshape(-1, s.shape[-1]) for s in self._free(scores)]
        return np.concatenate([found.classes - prior[:, None], *kept])
