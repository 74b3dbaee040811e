"""inversion: p = W p*, unbiased, with its covariance. The default method.

    p_hat = W p*,    Cov(p_hat) = (W diag(p*) W^T - p_hat p_hat^T) / n

W is the product of one left inverse per group: the closed form if M is square (Huang & Du
2008, eq. 2; Du & Zhan eq. 3; Zhan & Matwin eq. 1; Soni & Shrivastva eq. 4-9), else `gls`. The
diagonal of the covariance is the corrected form of Huang & Du's Theorem 6, whose sum over ordered
pairs must not carry the factor 2 as well.

Cells may be negative, as unbiased estimates of small values must be; `simplex` and `em` are not.
A singular channel is an error that names the group and the parameter.
"""

from __future__ import annotations

from functools import partial, reduce
from operator import mul

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.core.channel.channel import SecondMoments, moments_of
from tacit.core.channel.linear_maps import Dense, Linear
from tacit.core.design import Axes, Factor, apply, arranged
from tacit.errors import DataError
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.linear_estimate import covariance_of_means, stderr_of_means
from tacit.reconstruction.reported_shares import reported_table
from tacit.reconstruction.sampling.report_spread import ReportSpread
from tacit.reconstruction.score_test import KnownMoments, ScoreTest
from tacit.reconstruction.table_problem import TableProblem

#: A covariance matrix of more cells than this is refused.
MAX_COVARIANCE_CELLS = 4096
#: Errors below this are rounding errors.
_EDGE = 1e-7


def inversion(problem: TableProblem) -> Estimate:
    """Unbiased estimate of the table asked for."""
    problem.channel.require_reconstructable()
    maps = [
        _wanted_rows(problem, factor, inverse)
        for factor, inverse in zip(problem.channel.factors, problem.inverses, strict=True)
    ]
    value = _pull(problem, maps, problem.frequencies)
    second = _pull(problem, [m.squared() for m in maps], problem.frequencies)
    stderr = stderr_of_means(second, value, problem.n_records)
    score = partial(_score, problem, maps, value)
    impossible = (np.abs(value - 0.5) > 0.5 + _EDGE) & (stderr < _EDGE)
    found = Estimate(
        attributes=problem.attributes,
        value=value,
        stderr=score().nearest_stderr(stderr) if impossible.any() else stderr,
        n_records=problem.n_records,
        method="inversion",
        name=f"P({', '.join(a.name for a in problem.attributes)})",
        score_of=score,
        reported_of=partial(reported_table, problem),
        covariance_of=partial(_covariance, problem, maps, value),
    )
    spread = problem.spread
    if spread is None:
        return found
    covariance = _sampled_covariance(problem, maps, value, spread)
    return found.of_sample(covariance, spread.df, spread.weight_effect)


def _wanted_rows(problem: TableProblem, factor: Factor, inverse: Linear) -> Linear:
    """W of one group with the attributes that were not asked for summed out."""
    dropped = tuple(i for i, axis in enumerate(factor.true_axes) if axis >= problem.wanted)
    if not dropped:
        return inverse
    rows = inverse.matrix().reshape(*factor.channel.true_shape, -1)
    return Dense(rows.sum(axis=dropped).reshape(-1, rows.shape[-1]))


def _wanted_axes(problem: TableProblem) -> list[Axes]:
    return [tuple(a for a in f.true_axes if a < problem.wanted) for f in problem.channel.factors]


def _pull(problem: TableProblem, maps: list[Linear], reported: Array) -> Array:
    """Apply one map per group from the reported table to the table asked for."""
    inward = [factor.reported_axes for factor in problem.channel.factors]
    shape = tuple(a.size for a in problem.attributes)
    return apply(maps, reported, inward, _wanted_axes(problem), shape)


def _score(problem: TableProblem, maps: list[Linear], value: Array) -> ScoreTest:
    second, third = (_known(problem, maps, power) for power in (2, 3))
    shares = problem.undisguised_shares
    if shares is None:
        return ScoreTest.of(value, problem.n_records, second, third)
    return ScoreTest.within(value, shares, problem.n_records, second, third)


def _known(problem: TableProblem, maps: list[Linear], power: int) -> KnownMoments:
    """A power of each cell's weights: for all reports, and by whether the record is in the cell.

    Where some attributes are undisguised, only records with the same answers to them are compared.
    """
    mean = _pull(problem, [m.power(power) for m in maps], problem.frequencies)
    within = problem.undisguised_shares is not None
    parts = [
        (_moments(factor, used, power), axes)
        for factor, used, axes in zip(
            problem.channel.factors, maps, _wanted_axes(problem), strict=True
        )
        if not (within and problem.is_counted(factor))
    ]
    found, groups = reduce(mul, (m for m, _ in parts)), [axes for _, axes in parts]
    kept = [n if any(a in axes for axes in groups) else 1 for a, n in enumerate(mean.shape)]
    bounds = (arranged(b, groups, mean.shape) for b in (found.own, found.low, found.high))
    return KnownMoments(mean, *(np.broadcast_to(b.reshape(kept), mean.shape) for b in bounds))


def _moments(factor: Factor, used: Linear, power: int) -> SecondMoments:
    if used is factor.channel.inverse:
        return factor.channel.moments(power)
    return moments_of(Dense(factor.channel.matrix), Dense(used.matrix()), power)


def _covariance(problem: TableProblem, maps: list[Linear], value: Array) -> Array:
    """(W diag(p*) W^T - p p^T) / n, cells in the order of value.ravel()."""
    rows, order = _weight_rows(problem, maps, value)
    frequencies, means = problem.frequencies.ravel()[order], value.ravel()
    second = (rows * frequencies) @ rows.T
    return covariance_of_means(second, means[:, None], means, problem.n_records)


def _sampled_covariance(
    problem: TableProblem, maps: list[Linear], value: Array, spread: ReportSpread
) -> Array:
    """W Cov(p*) W^T in a sample."""
    rows, order = _weight_rows(problem, maps, value)
    weights = np.empty_like(rows.T)
    weights[order] = rows.T
    return spread.of_means(weights)


def _weight_rows(problem: TableProblem, maps: list[Linear], value: Array) -> tuple[Array, Index]:
    """W, cells x reports, and which cell of the reported table each of its columns is."""
    if value.size > MAX_COVARIANCE_CELLS:
        raise DataError(
            f"a covariance matrix of {value.size:,} cells is too large (at most "
            f"{MAX_COVARIANCE_CELLS:,}); ask for fewer attributes at once"
        )
    weights: Array = np.ones((1, 1))
    for step in maps:
        weights = np.kron(weights, step.matrix()).astype(np.float64)
    order = [axis for factor in problem.channel.factors for axis in factor.reported_axes]
    reports = np.arange(problem.counts.size).reshape(problem.counts.shape)
    cells = np.arange(value.size, dtype=np.float64)
    positions = arranged(cells, _wanted_axes(problem), value.shape).ravel().astype(int)
    return weights[positions], reports.transpose(order).ravel()
