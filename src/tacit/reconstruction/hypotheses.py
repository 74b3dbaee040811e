"""Hypotheses about a table of true answers, and tests of them from reports alone.

    independence of blocks b given g:   p = p(g) prod_b p(b | g)
    goodness of fit:                    p = p0
    no trend:                           Cov(score of a, score of b) = 0, tested within independence

A table of the problem may have further axes (attributes that a joint matrix ties to those asked
for); no hypothesis restricts these. Tests: `pearson` (score test, the default), `likelihood_ratio`
and `wald`. In a sample with design weights or clusters the first two have Rao and Scott's
correction (1981, 1984), and the covariance of the third is that of the sample.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel import Coin
from tacit.core.design import Design
from tacit.core.schema import Attribute
from tacit.errors import DataError, SchemaError, unknown
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.hypothesis_test import MISFIT_LEVEL, HypothesisTest
from tacit.reconstruction.likelihood import EMStep, log_likelihood, squarem
from tacit.reconstruction.tables import (
    TableProblem,
    inversion,
    most_likely_table,
    project,
    table_problem,
)
from tacit.records import PatternTable

Axes = tuple[int, ...]
#: Shares below this are taken for empty categories.
_EMPTY = 1e-7
#: Expected shares may miss a sum of 1 by this much.
_ROUNDED = 1e-6
#: A larger table is refused: its test would have no power and take long.
MOST_TEST_CELLS = 1 << 14
#: EM ends when no cell changes by more; the log-likelihood is then known far better.
_TOLERANCE, _ITERATIONS = 1e-9, 4000
#: Share of the uniform distribution at the start, so that no cell starts impossible.
_START = 0.05
#: Variances below this share of the largest are rounding errors.
_SMALLEST = 1e-10
#: Reports less likely than this are impossible.
_IMPOSSIBLE = 1e-12
#: Directions shorter than this share of the longest are rounding errors.
_RANK = 1e-9


@dataclass(frozen=True, eq=False)
class Hypothesis(ABC):
    """A set of tables of the attributes asked for."""

    text: str
    #: Whether only the contrasts are tested, not every departure.
    directed: ClassVar[bool] = False

    @abstractmethod
    def nearest(self, table: Array) -> Array:
        """The allowed table that is most likely if this table was observed."""

    @abstractmethod
    def contrasts(self, table: Array) -> Array:
        """Numbers that are 0 for allowed tables; smooth in the table."""

    @abstractmethod
    def df(self, table: Array) -> int:
        """By how much an allowed table is restricted, empty categories left out."""

    @abstractmethod
    def tangent(self, table: Array) -> Array:
        """Directions in which an allowed table can move and stay allowed, cells x directions.

        Multiplying it by a number is one of them.
        """


@dataclass(frozen=True, eq=False)
class Independence(Hypothesis):
    """Blocks of axes are independent of each other, given the axes `given`."""

    blocks: tuple[Axes, ...]
    given: Axes = ()

    def nearest(self, table: Array) -> Array:
        base = self._margin(table, ())
        nearest, safe = base, np.where(base > 0, base, 1.0)
        for block in self.blocks:
            nearest = nearest * self._margin(table, block) / safe
        return np.broadcast_to(nearest, table.shape)

    def tangent(self, table: Array) -> Array:
        """For each block, P(other blocks | given) within each of its categories."""
        base, directions = self._margin(table, ()), []
        safe = np.where(base > 0, base, 1.0)
        conditional = [self._margin(table, block) / safe for block in self.blocks]
        for i, shape in enumerate(shares.shape for shares in conditional):
            others = math.prod(conditional[:i] + conditional[i + 1 :], start=np.ones(table.shape))
            cells = np.broadcast_to(np.arange(math.prod(shape)).reshape(shape), table.shape)
            direction = np.zeros((table.size, math.prod(shape)))
            direction[np.arange(table.size), cells.ravel()] = others.ravel()
            directions.append(direction)
        return np.concatenate(directions, axis=1)

    def contrasts(self, table: Array) -> Array:
        """P(cell) P(given)^(blocks - 1) less the product of P(block, given)."""
        joint = table * self._margin(table, ()) ** (len(self.blocks) - 1)
        return np.ravel(joint - math.prod(self._margin(table, block) for block in self.blocks))

    def df(self, table: Array) -> int:
        filled = [
            (self._margin(table, block) > _EMPTY).sum(axis=block, keepdims=True)
            for block in self.blocks
        ]
        sizes = np.maximum(np.stack(filled), 1)
        free = sizes.prod(axis=0) - 1 - (sizes - 1).sum(axis=0)
        return int(free[self._margin(table, ()) > _EMPTY].sum())

    def _margin(self, table: Array, block: Axes) -> Array:
        """P(block, given) on the axes of the table."""
        others = tuple(axis for axis in range(table.ndim) if axis not in {*block, *self.given})
        return np.asarray(table.sum(axis=others, keepdims=True))


@dataclass(frozen=True, eq=False)
class Specified(Hypothesis):
    """The table is this one."""

    expected: Array

    def nearest(self, table: Array) -> Array:
        return self.expected

    def tangent(self, table: Array) -> Array:
        return self.expected.reshape(-1, 1)

    def contrasts(self, table: Array) -> Array:
        return np.ravel(table - self.expected)

    def df(self, table: Array) -> int:
        return int(np.sum(self.expected > 0)) - 1


@dataclass(frozen=True, eq=False)
class NoTrend(Independence):
    """The scores of the first two axes are not correlated, given the others."""

    scores: tuple[Array, Array] = (np.zeros(0), np.zeros(0))
    directed: ClassVar[bool] = True

    def contrasts(self, table: Array) -> Array:
        """Sum over groups of P(group) times the covariance of the scores in it."""
        first, second = self.scores
        shape = (1,) * (table.ndim - 2)
        a, b = first.reshape(-1, 1, *shape), second.reshape(1, -1, *shape)
        weighted = (table, table * a, table * b, table * a * b)
        total, mean_a, mean_b, both = (part.sum(axis=(0, 1)) for part in weighted)
        safe = np.where(np.abs(total) > _EMPTY, total, 1.0)
        return np.array([np.sum(both - mean_a * mean_b / safe)])

    def df(self, table: Array) -> int:
        return 1


def slopes(contrasts: Callable[[Array], Array], table: Array) -> Array:
    """Derivatives of contrasts by the cells, contrasts x cells: central differences."""
    step = 1e-5
    moves = (step * np.eye(table.size)).reshape(-1, *table.shape)
    columns = [(contrasts(table + move) - contrasts(table - move)) / (2 * step) for move in moves]
    return np.stack(columns, axis=1)


class ModelFit(NamedTuple):
    """The most likely allowed table, what is then reported, and the log-likelihood per record."""

    table: Array
    reported: Array
    log_likelihood: float


def check_size(problem: TableProblem) -> None:
    """An error if the table is too large to be tested."""
    cells = max(math.prod(problem.channel.true.sizes), math.prod(problem.channel.reported.sizes))
    if cells > MOST_TEST_CELLS:
        raise DataError(
            f"a test of {cells:,} cells is too large (at most {MOST_TEST_CELLS:,}); name fewer "
            "attributes"
        )
    problem.channel.require_reconstructable()


def restricted_fit(problem: TableProblem, hypothesis: Hypothesis) -> ModelFit:
    """The most likely table within the hypothesis: EM with the hypothesis as M step.

    E step: expected true table given the reports. M step: its nearest table in the hypothesis. The
    likelihood never falls, and SQUAREM extrapolates (see `likelihood`).
    """
    channel, observed = problem.channel, problem.frequencies

    def nearest(table: Array) -> Array:
        """Attributes that were not asked for keep their distribution given the others."""
        likely = problem.widened(hypothesis.nearest(problem.requested(table)))
        return likely * _further_axes(problem, table)

    def step(table: Array) -> EMStep:
        expected = np.where(observed > 0, channel.disguised(table), 1.0)
        after = nearest(table * problem.transposed(observed / expected))
        change = float(np.abs(after - table).max())
        return EMStep(after, log_likelihood(observed, expected), change)

    def repaired(table: Array) -> Array:
        return nearest(table / table.sum())

    start = project(problem.unbiased)
    start = repaired((1 - _START) * start + _START / start.size)
    table, ended = squarem(step, start, repaired, _TOLERANCE, _ITERATIONS)
    if not ended.converged:
        raise DataError(
            f"the test of {hypothesis.text} did not converge after {ended.iterations:,} "
            "iterations; use the Wald test, or name fewer attributes"
        )
    return ModelFit(table, np.maximum(channel.disguised(table), 0.0), step(table).log_likelihood)


def _tested(
    problem: TableProblem,
    hypothesis: Hypothesis,
    method: str,
    statistic: float,
    df: int,
    table: Array,
) -> HypothesisTest:
    """The test of a statistic of all records, from the table that the hypothesis makes most likely.

    In a sample with a design, a statistic computed as if from a simple random sample is a sum of
    chi-squared variables times the design effects of the contrasts c that the hypothesis excludes,

        eigenvalues of Cov_simple(c)^-1 Cov(c),    in the `df` widest directions

    (Rao & Scott, 1981). The test has their correction (1984): the statistic by the mean effect,
    with the p-value of an F distribution whose degrees of freedom have Satterthwaite's
    approximation.
    """
    n, text = problem.n_records, hypothesis.text
    if problem.spread is None:
        return HypothesisTest.of(text, method, statistic, df, n)
    from scipy.special import fdtrc  # slow to load

    estimate, slope = inversion(problem), slopes(hypothesis.contrasts, table)
    assert estimate.simple is not None
    variances, directions = _directions(slope @ estimate.simple.covariance @ slope.T, df)
    if not len(variances):
        return HypothesisTest.of(text, method, 0.0, 0, n)
    scaled = directions / np.sqrt(variances)
    effects = np.linalg.eigvalsh(scaled.T @ (slope @ estimate.covariance @ slope.T) @ scaled)
    total = float(effects.sum())
    free, corrected = total**2 / float((effects**2).sum()), statistic / total
    pvalue = float(fdtrc(free, free * problem.spread.sample.df, corrected))
    statistic, df = float(len(effects) * corrected), len(effects)
    return HypothesisTest(text, f"{method}, Rao-Scott", statistic, df, pvalue, n)


def _directions(covariance: Array, most: int) -> tuple[Array, Array]:
    """Variances and directions of the `most` widest ones that vary at all."""
    variances, directions = np.linalg.eigh((covariance + covariance.T) / 2)
    largest = np.argsort(variances)[::-1][:most]
    largest = largest[variances[largest] > _SMALLEST * variances.max()]
    return variances[largest], directions[:, largest]


def pearson(problem: TableProblem, hypothesis: Hypothesis) -> HypothesisTest:
    """The score test, from the table that the hypothesis makes most likely.

        X^2 = n (u^T I^- u - v^T (T^T I T)^- v),    I = M^T D^-1 M,  D = diag(M p0)
        u = M^T D^-1 (p* - M p0),                   v = T^T u

    T are the directions in which the hypothesis lets p0 move. If p0 is inside the simplex, v is 0,
    and for a square M this is Pearson's n sum (p* - M p0)^2 / (M p0) on the reports, without
    disguise the usual chi-squared test (Rao, 1948). If a share of p0 is held at 0, v takes out what
    only says that the best margins are impossible: Neyman's C(alpha) test (Neyman, 1959), which
    keeps its size there. A directed hypothesis, such as no trend, divides the square of its
    contrast by the variance that it has under the hypothesis: without disguise Mantel's test with n
    instead of n - 1, and that of Cochran and Armitage.

    References: C. R. Rao, Large sample tests of statistical hypotheses concerning several
    parameters, Proceedings of the Cambridge Philosophical Society 44 (1948) 50-57. J. Neyman,
    Optimal asymptotic tests of composite statistical hypotheses, in Probability and Statistics
    (1959) 213-234.
    """
    fitted, n = restricted_fit(problem, hypothesis), problem.n_records
    if hypothesis.directed:
        distance, df = _directed(problem, hypothesis, fitted), 1
    else:
        distance, df = _distance(problem, hypothesis, fitted)
    table = problem.requested(fitted.table)
    return _tested(problem, hypothesis, "Pearson", n * distance, df, table)


def _distance(problem: TableProblem, hypothesis: Hypothesis, fitted: ModelFit) -> tuple[float, int]:
    """X^2 per record, and its degrees of freedom: the rank of M less that of T.

    A report that the hypothesis makes impossible makes the distance infinite.
    """
    channel, likely = problem.channel, fitted.reported > _IMPOSSIBLE
    expected = np.where(likely, fitted.reported, 1.0)
    off = np.where(likely, problem.frequencies - fitted.reported, 0.0) / np.sqrt(expected)
    scale = np.where(likely, 1 / np.sqrt(expected), 0.0).ravel()
    if problem.square:
        distance, rank = float(np.sum(off**2)), int(likely.sum())
    else:
        distance, rank = _explained(off, scale[:, None] * channel.matrix)
    table, further = problem.requested(fitted.table), _further_axes(problem, fitted.table)
    directions = hypothesis.tangent(table).T.reshape(-1, *table.shape)
    moves = [channel.disguised(problem.widened(move) * further).ravel() for move in directions]
    allowed, free = _explained(off, scale[:, None] * np.stack(moves, axis=1))
    if (problem.frequencies[~likely] > 0).any():
        distance = math.inf
    return max(distance - allowed, 0.0), rank - free


def _explained(off: Array, directions: Array) -> tuple[float, int]:
    """The squared length of the part of `off` in the span of the directions, and their rank."""
    solved, _, rank, _ = np.linalg.lstsq(directions, off.ravel(), rcond=_RANK)
    return float(np.sum((directions @ solved) ** 2)), int(rank)


def _further_axes(problem: TableProblem, table: Array) -> Array:
    """The distribution of axes that no hypothesis restricts, given those asked for."""
    if problem.n_requested == table.ndim:
        return np.ones_like(table)
    total = problem.widened(problem.requested(table))
    return np.asarray(table / np.where(total > 0, total, 1.0))


def _directed(problem: TableProblem, hypothesis: Hypothesis, fitted: ModelFit) -> float:
    """The square of the contrast by its variance under the hypothesis, per record."""
    allowed = problem.requested(fitted.table)
    slope = slopes(hypothesis.contrasts, allowed)[0].reshape(allowed.shape)
    contrast = float(np.sum(slope * (problem.requested(problem.unbiased) - allowed)))
    weights = problem.report_weights(slope)
    mean = float(np.sum(weights * fitted.reported))
    variance = float(np.sum(weights**2 * fitted.reported)) - mean**2
    return contrast**2 / variance if variance > 0 else 0.0


def likelihood_ratio(problem: TableProblem, hypothesis: Hypothesis) -> HypothesisTest:
    """Twice the log-likelihood that a hypothesis costs.

        G = 2 n (max over all true tables - max over allowed ones) of sum_y p*(y) log (M p)(y)

    Chi-squared under the hypothesis, if the true table is inside the simplex; fewer rejections than
    stated if its best estimate is on the border. Without disguise it is the usual G test (Wilks,
    1938).
    """
    if hypothesis.directed:
        raise DataError("a trend has no likelihood-ratio test; use pearson or wald")
    fitted, observed = restricted_fit(problem, hypothesis), problem.frequencies
    if problem.saturated:
        most = log_likelihood(observed, observed)
    else:
        most = most_likely_table(problem)[1].log_likelihood
    gain = max(most - fitted.log_likelihood, 0.0)
    table, statistic = problem.requested(fitted.table), 2 * problem.n_records * gain
    return _tested(problem, hypothesis, "likelihood ratio", statistic, hypothesis.df(table), table)


def wald(problem: TableProblem, hypothesis: Hypothesis) -> HypothesisTest:
    """The unbiased estimate against the hypothesis, in units of its errors.

        W = c^T Cov(c)^-1 c,    c the contrasts of the hypothesis at the unbiased estimate

    with the covariance by the delta method. It needs no iteration and no table inside the simplex
    (Wald, 1943). Directions in which the contrasts cannot vary are left out. In a sample the
    covariance is that of its design, and the statistic is compared with an F distribution.
    """
    estimate = inversion(problem)
    contrasts = hypothesis.contrasts(estimate.value)
    slope = slopes(hypothesis.contrasts, estimate.value)
    most = hypothesis.df(np.ones_like(estimate.value) / estimate.value.size)
    variances, directions = _directions(slope @ estimate.covariance @ slope.T, most)
    statistic = float(np.sum((directions.T @ contrasts) ** 2 / variances))
    return HypothesisTest.of_f(
        hypothesis.text, statistic, len(variances), estimate.df, problem.n_records
    )


TestMethod = Callable[[TableProblem, Hypothesis], HypothesisTest]

#: Every method by its name on the command line.
TEST_METHODS: dict[str, TestMethod] = {
    method.__name__.replace("_", "-"): method for method in (likelihood_ratio, pearson, wald)
}


def expected_shares(expected: Any, attributes: Sequence[Attribute]) -> Array:
    """An expected distribution: a table with one axis per attribute, or a mapping from labels."""
    shape = tuple(a.size for a in attributes)
    if isinstance(expected, Mapping):
        expected = _from_mapping(expected, attributes)
    try:
        shares = np.asarray(expected, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"expected must be a table of shares: {error}") from None
    if shares.shape != shape or not np.isfinite(shares).all() or shares.min() < 0:
        raise DataError(
            f"expected must have shape {shape}, one axis per attribute, and no negative share; "
            f"got shape {shares.shape}"
        )
    if abs(shares.sum() - 1) > _ROUNDED:
        raise DataError(f"expected shares must sum to 1, got {shares.sum():.6g}")
    return np.asarray(shares / shares.sum())


def _from_mapping(expected: Mapping[Any, Any], attributes: Sequence[Attribute]) -> Array:
    """Shares by label, or by tuples of labels if there are several attributes."""
    table = np.full([a.size for a in attributes], np.nan)
    for key, share in expected.items():
        labels = key if isinstance(key, tuple) and len(attributes) > 1 else (key,)
        if len(labels) != len(attributes):
            raise SchemaError(
                f"expected names {key!r}; give one label for each of "
                f"{', '.join(a.name for a in attributes)}"
            )
        table[tuple(a.code(label) for a, label in zip(attributes, labels, strict=True))] = share
    for cell in np.argwhere(np.isnan(table)):
        missing = [str(a.categories[i]) for a, i in zip(attributes, cell, strict=True)]
        raise DataError(f"expected has no share of {', '.join(missing)}")
    return table


def scores_of(
    scores: Mapping[str, Sequence[float]] | None, attributes: Sequence[Attribute]
) -> tuple[Array, Array]:
    """A score for each category of both attributes: its place, unless scores are given."""
    given = dict(scores or {})
    names = [a.name for a in attributes]
    for name in given:
        if name not in names:
            raise SchemaError(unknown("attribute", name, names, " in scores"))
    standardised = []
    for attribute in attributes:
        numbers = list(given.get(attribute.name, range(attribute.size)))
        points = np.asarray(numbers, dtype=np.float64)
        if points.shape != (attribute.size,) or not np.isfinite(points).all():
            raise DataError(
                f"{attribute.name!r} has {attribute.size} categories and needs as many scores, "
                f"got {numbers}"
            )
        if points.min() == points.max():
            raise DataError(f"the scores of {attribute.name!r} are all {points[0]:g}")
        standardised.append((points - points.mean()) / points.std())
    return standardised[0], standardised[1]


#: Tables of more cells than this are not tested as a whole, nor those with fewer records per cell.
_MOST_CELLS, _PER_CELL = 4096, 5
#: The log-likelihood of all records is maximised within this.
_CLOSE = 1e-5
_FIT_ITERATIONS = 500

_HYPOTHESIS, _METHOD = "the reports come from this design", "likelihood ratio"


def design_fit(patterns: PatternTable, design: Design, names: Sequence[str]) -> HypothesisTest:
    """Whether the reports of these attributes could come from the design."""
    closure = design.jointly_reported(names)
    if _testable(design, closure, patterns.n_records):
        return table_fit(table_problem(patterns, design.channel(closure), len(closure)))
    alone = map(sorted, {frozenset(design.jointly_reported([name])): None for name in closure})
    tests = [
        table_fit(table_problem(patterns, design.channel(part), len(part)))
        for part in alone
        if _testable(design, part, 0)
    ]
    no_test = HypothesisTest.of(_HYPOTHESIS, _METHOD, 0.0, 0, patterns.n_records)
    worst = min(tests, key=lambda test: test.pvalue, default=no_test)
    return replace(worst, pvalue=min(1.0, worst.pvalue * max(1, len(tests))))


def _testable(design: Design, names: Sequence[str], n_records: int) -> bool:
    """Whether a table is small enough; with `n_records`, also whether it has enough of them."""
    sizes = [design.schema[name].size for name in names]
    if math.prod(sizes) > _MOST_CELLS:
        return False
    cells = math.prod(design.channel(names).reported.sizes)
    return cells <= _MOST_CELLS and (not n_records or n_records >= _PER_CELL * cells)


def table_fit(problem: TableProblem) -> HypothesisTest:
    """The test of one table."""
    observed, n = problem.frequencies, problem.n_records
    if problem.saturated:
        return HypothesisTest.of(_HYPOTHESIS, _METHOD, 0.0, 0, n)
    likely, ended = most_likely_table(problem, 1.0, _CLOSE / n, _FIT_ITERATIONS)
    most = log_likelihood(observed, observed)
    statistic = 2 * n * max(most - ended.log_likelihood, 0.0)
    if problem.spread is not None:
        statistic /= problem.spread.largest_effect(observed, n)
    excess = observed.size - likely.size
    return HypothesisTest.of(_HYPOTHESIS, _METHOD, statistic, excess + _at_zero(problem, likely), n)


def _at_zero(problem: TableProblem, likely: Array) -> int:
    """How many true cells are held at 0: a Newton step of the cell alone would make it negative."""
    channel = problem.channel
    expected = np.where(problem.frequencies > 0, channel.disguised(likely), 1.0)
    gradient = problem.transposed(problem.frequencies / expected)
    squares = [factor.channel.forward.power(2).T for factor in channel.factors]
    curvature = channel.to_true(squares, problem.frequencies / expected**2)
    return int(np.sum(likely * curvature < 1 - gradient))


def coding_warning(coin: Coin, estimate: Estimate) -> str:
    """A warning if the share of the second category suggests reversed reports; else nothing.

    `crosswise` and `triangular` report whether two answers are the same, or whether any is yes.
    Whoever codes "different" as yes gets 1 - share with crosswise, which no test of fit can see,
    and an impossible share with triangular. For crosswise, the interval lies above one half,
    although such questions are asked about what is rare. For triangular, the reports contradict the
    design, and exchanged ones would not.
    """
    if estimate.fit is None:
        return ""
    matrix = coin.channel(estimate.attributes).matrix
    exchanged = np.linalg.solve(matrix, (matrix @ estimate.value)[::-1])
    share, other = float(estimate.value[1]), float(exchanged[1])
    if coin.asks == "comparison":
        suspect = estimate.interval().lower[1] > 1 / 2
    else:
        suspect = share < 0 and 0 <= other <= 1 and estimate.fit.pvalue < MISFIT_LEVEL
    if not suspect:
        return ""
    meaning = coin.report_meaning(estimate.attributes)
    return (
        f"CODING: are the reports reversed? They mean {meaning}. If they are coded the other way "
        f"round, the share of {estimate.attributes[0].categories[1]} is {other:.4f}, not "
        f"{share:.4f}; records may also say {' and '.join(map(repr, coin.report_words))}"
    )
