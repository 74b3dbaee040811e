"""LatentModel: latent classes seen through a design (Lazarsfeld & Henry, 1968).

    P(x) = sum_c P(c) prod_a P(x_a | c)

is naive Bayes with a class that nobody reports, so the likelihood of a report, the steps of EM and
the information are those of `ConditionalModel`. Several numbers of classes and several parts of the
records share the patterns.

Logits of a distribution are known up to a constant. The covariance is therefore computed within
the directions that change a distribution:

    C = B (B^T I B)^-1 B^T,    I = information of the reports + curvature of the added records

with the columns of B orthogonal to a constant in every distribution. A direction in which the
reports have no information makes all figures that it changes unknown (NaN).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial, reduce
from itertools import product
from typing import Self

import numpy as np
from scipy.linalg import block_diag

from tacit.core.arrays import Array, Index, row_products
from tacit.core.channel.linear_maps import row_shares
from tacit.core.channel.strategies import UnitChannel
from tacit.core.design import Design
from tacit.models.naive_bayes import CHUNK, ConditionalModel, GroupBlocks, Tables
from tacit.models.tree_distribution import ROOT, TreeDistribution
from tacit.models.units import UnitLayout
from tacit.reconstruction.likelihood import Convergence, squarem
from tacit.records import PatternTable, Progress

#: Information below this share of a record counts as none.
_NO_INFORMATION = 1e-6
#: A class with a smaller share of a mixture is left out.
_NO_SHARE = 1e-9


@dataclass(frozen=True, eq=False)
class LatentClasses:
    """Shares of the classes, and P(category | class) of every attribute, a row per class."""

    shares: Array
    tables: Tables

    def joint(self, attributes: Sequence[int] | None = None) -> Array:
        """The joint table of some attributes, of all if None: one axis per attribute."""
        chosen = self.tables if attributes is None else [self.tables[a] for a in attributes]
        rows = reduce(row_products, chosen[:-1], self.shares[:, None])
        return np.asarray(rows.T @ chosen[-1]).reshape([table.shape[1] for table in chosen])

    def draws(self, n: int, rng: np.random.Generator) -> Index:
        """True records, n x attributes; the class is the root of a tree."""
        tree = TreeDistribution((ROOT, *(0 for _ in self.tables)), (self.shares, *self.tables))
        return tree.draws(n, rng)[:, 1:]

    @classmethod
    def mixed(cls, models: Sequence[LatentClasses], weights: Array) -> LatentClasses:
        """A mixture of such models, which has all their classes."""
        shares = np.concatenate([w * m.shares for m, w in zip(models, weights, strict=True)])
        used = shares > _NO_SHARE
        by_attribute = zip(*(m.tables for m in models), strict=True)
        tables = [np.concatenate(tables)[used] for tables in by_attribute]
        return cls(shares[used] / shares[used].sum(), tables)


class LatentModel(ConditionalModel):
    """Patterns, their design and a number of classes."""

    def __init__(self, patterns: PatternTable, design: Design, n_classes: int = 1) -> None:
        super().__init__(patterns, design, None, n_classes)

    @classmethod
    def of_units(cls, layout: UnitLayout, codes: Index, counts: Index) -> Self:
        """Latent classes of the units of a design; `codes` are reports, patterns x units.

        Groups of one unit are independent given the class, so they share blocks.
        """
        design, patterns = layout.unit_design, layout.patterns(codes, counts)
        model = cls(patterns, design)
        single = [group for group in layout.groups if group.single]
        if single:
            reported = tuple(design.reported.attributes[group.units[0]] for group in single)
            units = [UnitChannel(g.units, (i,), g.others[0]) for i, g in enumerate(single)]
            pairs = zip(model.groups, layout.groups, strict=True)
            several = [blocks for blocks, group in pairs if not group.single]
            model.groups = [GroupBlocks.packed(patterns, reported, [1.0], [units]), *several]
        return model

    def variant(self, n_classes: int, counts: Index | None = None) -> Self:
        """The same patterns with another number of classes, and with other counts if given."""
        other = copy(self)
        other.n_classes = n_classes
        if counts is not None:
            other.n_records = int(counts.sum())
            other.shares = counts / other.n_records
            other.__dict__.pop("_grid", None)
        return other

    @property
    def n_parameters(self) -> int:
        """Free parameters: shares and tables, less one for every distribution."""
        return n_parameters(self.sizes, self.n_classes)

    def logs(self, parameters: Array) -> Array:
        """log P(report) of every pattern."""
        chunks = self.posterior(*self.split(parameters), CHUNK)
        return np.concatenate([chunk.log_likelihood for chunk in chunks])

    def classes(self, parameters: Array) -> Array:
        """P(class | report), patterns x classes."""
        chunks = self.posterior(*self.split(parameters), CHUNK)
        return np.concatenate([chunk.classes.T for chunk in chunks])

    def covariance(self, parameters: Array, alpha: float) -> Array:
        """Covariance of shares and tables in the order of `join`; NaN where it is not known."""
        prior, tables = self.split(parameters)
        total = self.information(prior, tables)
        rows = [row for table in tables for row in table]
        added = [alpha * row.size * _slope(row) for row in rows]
        total += block_diag(np.zeros((len(prior), len(prior))), *added)
        basis = block_diag(*(_directions(row.size) for row in (prior, *rows)))
        values, vectors = np.linalg.eigh(basis.T @ total @ basis)
        slopes = block_diag(*(_slope(row) for row in (prior, *rows))) @ basis @ vectors
        informed = values > _NO_INFORMATION
        covariance = (slopes[:, informed] / values[informed]) @ slopes[:, informed].T
        lost = (np.abs(slopes[:, ~informed]) > _NO_INFORMATION).any(axis=1)
        covariance[lost], covariance[:, lost] = np.nan, np.nan
        return np.asarray(covariance)


def n_parameters(sizes: Sequence[int], n_classes: int) -> int:
    """Free parameters of so many classes."""
    return n_classes - 1 + n_classes * sum(size - 1 for size in sizes)


def ordered(prior: Array, tables: Tables) -> Index:
    """The order of the classes: larger shares first, equal ones by their profiles."""
    profile = [column for table in tables for column in table.T]
    keys = np.round(np.stack([prior, *profile]), 9)
    return np.lexsort(-keys[::-1])


def _slope(row: Array) -> Array:
    """Derivatives of a distribution by its logits."""
    return np.diag(row) - np.outer(row, row)


def _directions(size: int) -> Array:
    """An orthonormal basis of the directions whose entries sum to 0, size x (size - 1)."""
    return np.asarray(np.linalg.svd(np.ones((1, size)))[2][1:].T)


#: Standard deviation of the logits of a start around those of the margins.
_SPREAD = 1.0
#: Margins of a start are mixed with this share of the uniform distribution.
_UNIFORM = 0.1
#: Change of a probability at which EM ends until the best maximum is known.
COARSE = 1e-4
#: Log-likelihood by which a flipped class must be better.
_BETTER = 0.1
#: Maxima whose probabilities differ by less than this are one.
_SAME = 0.02


@dataclass(frozen=True, eq=False)
class LatentFit:
    """Shares and tables of the classes, the log-likelihood of all reports, and how EM ended.

    `reached` of the `finalists` ended at this maximum.
    """

    parameters: Array
    log_likelihood: float
    convergence: Convergence
    reached: int
    finalists: int


#: Parameters of a model, and how EM ended there.
Maximum = tuple[Array, Convergence]


@dataclass(frozen=True, eq=False)
class Search:
    """How the maximum is searched for.

    margins: a distribution per attribute that starts are drawn around. flipped: groups to flip
    classes in. alpha: records added to every category of every class. starts: random starts.
    tolerance: change of a probability at which EM ends. iterations: at most so many, each of two or
    three EM steps. finalists: how many of the starts go on to a maximum. first: iterations of every
    start.
    """

    margins: Sequence[Array]
    flipped: Sequence[Sequence[int]] = ()
    alpha: float = 0.5
    starts: int = 10
    tolerance: float = 1e-6
    iterations: int = 1000
    finalists: int = 3
    first: int = 8

    def draw(self, n_classes: int, rng: np.random.Generator) -> tuple[Array, Tables]:
        """Equal shares, and random profiles; the margins, moved inside, for one class."""
        spread = _SPREAD if n_classes > 1 else 0.0
        tables = []
        for margin in self.margins:
            inside = _UNIFORM / margin.size + (1 - _UNIFORM) * margin
            table = inside * np.exp(spread * rng.normal(size=(n_classes, margin.size)))
            tables.append(row_shares(table))
        return np.full(n_classes, 1 / n_classes), tables

    def fit(
        self, model: LatentModel, rng: np.random.Generator, tell: Progress = lambda _: None
    ) -> LatentFit:
        """The best maximum that was found; classes with larger shares come first.

        The likelihood of latent classes has local maxima. Every start draws its profiles around the
        reconstructed distributions of the attributes,

            P(x_a | c) proportional to P(x_a) exp(z),    z standard normal

        and takes a few steps of EM; the best few go on until they are close to a maximum. `related`
        flips all answers of a group together, which adds maxima of its own: a class with all its
        answers flipped in that group makes nearly the same reports. So, at the best maximum, each
        class is also flipped in each such group, and EM goes on from there if this is likelier.
        """
        best, *ended = self.near_maxima(model, rng, tell)
        points = [_in_order(model, parameters) for parameters, _ in (best, *ended)]
        close = sum(float(np.abs(point - points[0]).max()) < _SAME for point in points[1:])
        tell(0.95)
        return self.polished(model, best[0], max(1, close), len(ended))

    def near_maxima(
        self, model: LatentModel, rng: np.random.Generator, tell: Progress = lambda _: None
    ) -> list[Maximum]:
        """Parameters close to the best maximum, and then where each of the finalists ended."""
        starts = self.starts if model.n_classes > 1 else 1
        tried, ended = [], []
        for number in range(1, starts + 1):
            start = model.join(*self.draw(model.n_classes, rng))
            tried.append(self._coarse(model, start, self.first))
            tell(0.4 * number / starts)
        tried.sort(key=_likelihood, reverse=True)
        for number, (start, _) in enumerate(tried[: self.finalists], start=1):
            ended.append(self._coarse(model, start, self.iterations))
            tell(0.4 + 0.4 * number / self.finalists)
        best = max(ended, key=_likelihood)
        # Go on with one class flipped in one group, while this is likelier.
        improved = model.n_classes > 1
        while improved:
            improved = False
            for group, member in product(self.flipped, range(model.n_classes)):
                prior, tables = model.split(best[0].copy())
                for attribute in group:
                    tables[attribute][member] = tables[attribute][member][::-1]
                short = self._coarse(model, model.join(prior, tables), self.first)
                if _likelihood(short) > _likelihood(best) + _BETTER / model.n_records:
                    best, improved = self._coarse(model, short[0], self.iterations), True
                    break
        return [best, *ended]

    def _coarse(self, model: LatentModel, start: Array, iterations: int) -> Maximum:
        """Where EM ends after so many iterations, or close to a maximum."""
        step = partial(model.step, alpha=self.alpha)
        return squarem(step, start, model.repair, max(COARSE, self.tolerance), iterations)

    def polished(self, model: LatentModel, start: Array, reached: int, finalists: int) -> LatentFit:
        """The maximum above a point that is close to it; classes with larger shares come first."""
        step = partial(model.step, alpha=self.alpha)
        maximum, ended = squarem(step, start, model.repair, self.tolerance, self.iterations)
        parameters = _in_order(model, maximum)
        total = float(model.shares @ model.logs(parameters)) * model.n_records
        return LatentFit(parameters, total, ended, reached, finalists)


def _in_order(model: LatentModel, parameters: Array) -> Array:
    prior, tables = model.split(parameters)
    order = ordered(prior, tables)
    return model.join(prior[order], [table[order] for table in tables])


def _likelihood(maximum: Maximum) -> float:
    return maximum[1].log_likelihood


def flipped_groups(design: Design) -> list[list[int]]:
    """Places of the yes/no attributes of each group that is kept or flipped as a whole."""
    groups = []
    for group in design.groups:
        odds = group.coin.flip_odds(design.attributes_of(group))
        if odds is not None and min(odds) > 0:
            groups.append([design.schema.index(name) for name in group.attributes])
    return groups
