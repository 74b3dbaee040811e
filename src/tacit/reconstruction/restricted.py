"""restricted: the estimate of a table in which some cells cannot occur. The default method.

A condition between questions (`asked_if`) makes structural zeros: columns that the channel never
uses. Without them M has more rows than columns, and the estimate is that of generalised least
squares on the cells S that can occur,

    p_S = (M_S^T D^-1 M_S)^-1 M_S^T D^-1 p*,    p = 0 elsewhere,    D = diag(M p)

which is restricted least squares: with p and V the estimate by inversion and its covariance, and Z
the other cells, p_S - V_SZ V_ZZ^-1 p_Z (Theil, 1971, ch. 6). It is linear in the reports, so
its covariance is that of a mean of weights, and it is no larger than that of `inversion`. D comes
from the most likely table, as in `gls`.

All questions that conditions tie together, a chain, are estimated at once, also if only one of them
is asked for: every table is a margin of the same estimate. So that this holds beside other
attributes too, W is the product of one for each chain and those of the other groups.

If all cells can occur, or a chain has more than 2,048, the estimate is that of `inversion`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from tacit.core.arrays import Array
from tacit.core.design import ProductChannel
from tacit.core.schema import Attribute
from tacit.errors import DataError
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.gls import gls, left_inverse
from tacit.reconstruction.inversion import inversion
from tacit.reconstruction.linear_estimate import covariance_of_means
from tacit.reconstruction.reported_shares import reported_table
from tacit.reconstruction.table_problem import TableProblem

#: Larger chains are not restricted, nor tables whose W has more entries than the square of this.
MAX_RESTRICTED = 2048


def is_small(cells: int, reports: int) -> bool:
    """Whether a table of so many cells can be restricted, from reports of so many kinds."""
    return cells * reports <= MAX_RESTRICTED**2


def estimable_together(channel: ProductChannel) -> bool:
    """Whether the attributes of a chain can be estimated together."""
    cells = max(math.prod(channel.true.sizes), math.prod(channel.reported.sizes))
    return cells <= MAX_RESTRICTED and channel.reconstructable


def restricted(problem: TableProblem) -> Estimate:
    """Estimate of the table asked for, 0 where a cell cannot occur."""
    shape = tuple(a.size for a in problem.attributes)
    if problem.impossible is None or not is_small(math.prod(shape), problem.counts.size):
        return inversion(problem)
    problem.channel.require_reconstructable()
    weights, frequencies = _weights(problem), problem.frequencies.ravel()
    mean, n = weights @ frequencies, problem.n_records
    second = (weights * frequencies) @ weights.T
    found = Estimate.of_covariance(
        problem.attributes,
        mean.reshape(shape),
        covariance_of_means(second, mean[:, None], mean, n),
        n,
        "restricted least squares",
        f"P({', '.join(a.name for a in problem.attributes)})",
    ).as_probability(((weights**3) @ frequencies).reshape(shape), problem.undisguised_shares)
    assert found.score is not None
    # What cannot occur is known, as if from endless records.
    others = tuple(range(problem.wanted, problem.impossible.ndim))
    impossible = np.asarray(problem.impossible.all(axis=others))
    found = replace(found, score_of=partial(found.score.known_to_be_0, impossible))
    if problem.spread is not None:
        covariance = problem.spread.of_means(weights.T)
        found = found.of_sample(covariance, problem.spread.df, problem.spread.weight_effect)
    return replace(found, reported_of=partial(reported_table, problem))


def _weights(problem: TableProblem) -> Array:
    """W, cells asked for x reports: the product of the parts, others than asked for summed out."""
    true, reported = problem.channel.true, problem.channel.reported
    weights: Array = np.ones((1, 1))
    cells: list[int] = []
    reports: list[int] = []
    for part in problem.parts:
        axes = [true.index(name) for name in part.true.names]
        others = tuple(i for i, axis in enumerate(axes) if axis >= problem.wanted)
        own = _part_weights(problem, part)
        own = own.reshape(*part.true.sizes, -1).sum(axis=others)
        weights = np.kron(weights, own.reshape(-1, own.shape[-1])).astype(np.float64)
        cells += [axis for axis in axes if axis < problem.wanted]
        reports += [reported.index(name) for name in part.reported.names]
    sizes = [*(true.sizes[axis] for axis in cells), *(reported.sizes[axis] for axis in reports)]
    order = [*np.argsort(cells), *(len(cells) + np.argsort(reports))]
    return weights.reshape(sizes).transpose(order).reshape(len(weights), -1)


def _part_weights(problem: TableProblem, part: ProductChannel) -> Array:
    """W of the attributes of one part, all cells x reports."""
    assert problem.impossible is not None
    axes = [problem.channel.true.index(name) for name in part.true.names]
    others = tuple(i for i in range(problem.impossible.ndim) if i not in axes)
    cells = np.asarray(problem.impossible.all(axis=others))
    cells = cells.transpose([sorted(axes).index(axis) for axis in axes])
    reports = tuple(problem.channel.reported.index(name) for name in part.reported.names)
    n, sizes = problem.n_records, part.reported.sizes
    if not cells.any() or not estimable_together(part):
        maps = [
            left_inverse(
                f.channel, partial(problem.margin, tuple(reports[a] for a in f.reported_axes)), n
            )
            for f in part.factors
        ]
        units = np.eye(math.prod(sizes)).reshape(-1, *sizes)
        return np.stack([part.to_true(maps, unit).ravel() for unit in units], axis=1)
    possible, frequencies = ~cells.ravel(), problem.margin(reports)
    matrix = part.matrix[:, possible]
    sent = matrix.any(axis=1)
    if frequencies[~sent].any():
        number = round(float(frequencies[~sent].sum()) * n)
        raise DataError(
            f"{number:,} reported records contradict the conditions of the questions; use "
            "method=inversion, which does not use them, or correct the records"
        )
    weights = np.zeros((possible.size, frequencies.size))
    weights[np.ix_(possible, sent)] = gls(matrix[sent], frequencies[sent], n).matrix()
    return weights


def sums_of_cells(
    table: Estimate, sums: Array, attributes: tuple[Attribute, ...], name: str
) -> Estimate:
    """Linear functions of the cells of a table, a row each, as a table of these attributes."""
    covariance = sums @ table.covariance @ sums.T
    value = (sums @ table.value.ravel()).reshape(tuple(a.size for a in attributes))
    found = Estimate.of_covariance(
        attributes, value, covariance, table.n_records, table.method, name
    )
    if table.simple is None:
        return found
    plain = sums_of_cells(table.simple, sums, attributes, name)
    return plain.of_sample(covariance, table.df)


def mean_of_cells(table: Estimate, h: Array, name: str) -> Estimate:
    """Mean of h over a table; a probability, on another scale, if h takes two values."""
    low, high = float(h.min()), float(h.max())
    two = low < high and bool(np.isin(h, (low, high)).all())
    rows = np.stack([(h == high if two else h).ravel(), np.zeros(h.size)])
    found = sums_of_cells(table, rows, (Attribute("mean", range(2)),), "")
    mean = found.part(np.array([0]), (), name)
    return mean.as_probability().scaled(low, high) if two else mean
