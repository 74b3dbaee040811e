"""restricted: the estimate of a table in which some cells cannot occur. The default method.

A condition between questions (`asked_if`) makes structural zeros: columns that the channel never
uses. Without them M has more rows than columns, and the estimate is that of generalised least
squares on the cells S that can occur,

    p_S = (M_S^T D^-1 M_S)^-1 M_S^T D^-1 p*,    p = 0 elsewhere,    D = diag(M p)

which is restricted least squares: with p and V the estimate by inversion and its covariance, and Z
the other cells, p_S - V_SZ V_ZZ^-1 p_Z (Theil, 1971, ch. 6). It is linear in the reports, so
its covariance is that of a mean of weights, and it is no larger than that of `inversion`. D comes
from the most likely table, as in `gls`.

If all cells can occur, or there are more than 2,048, the estimate is that of `inversion`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from tacit.arrays import Array, Mask
from tacit.errors import DataError
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.gls import gls
from tacit.reconstruction.inversion import inversion
from tacit.reconstruction.linear_estimate import covariance_of_means
from tacit.reconstruction.reported_shares import reported_table
from tacit.reconstruction.table_problem import TableProblem
from tacit.schema import Attribute

#: Larger tables are not restricted.
MAX_RESTRICTED = 2048
_ENDLESS = 1e18


def restricted(problem: TableProblem) -> Estimate:
    """Estimate of the table asked for, 0 where a cell cannot occur."""
    size = max(problem.counts.size, int(np.prod(problem.channel.true.sizes)))
    if problem.impossible is None or size > MAX_RESTRICTED:
        return inversion(problem)
    problem.channel.require_reconstructable()
    weights, frequencies = (
        _weights(problem, problem.impossible.ravel()),
        problem.frequencies.ravel(),
    )
    mean, n = weights @ frequencies, problem.n_records
    second = (weights * frequencies) @ weights.T
    shape = tuple(a.size for a in problem.attributes)
    found = Estimate.of_covariance(
        problem.attributes,
        mean.reshape(shape),
        covariance_of_means(second, mean[:, None], mean, n),
        n,
        "restricted least squares",
        f"P({', '.join(a.name for a in problem.attributes)})",
    ).as_probability(((weights**3) @ frequencies).reshape(shape))
    assert found.score is not None
    # What cannot occur is known, as if from endless records.
    others = tuple(range(problem.wanted, problem.impossible.ndim))
    endless = np.where(problem.impossible.all(axis=others), _ENDLESS, float(n))
    found = replace(found, score_of=partial(found.score.with_records, endless))
    if problem.spread is not None:
        covariance = problem.spread.of_means(weights.T)
        found = found.of_sample(covariance, problem.spread.df, problem.spread.weight_effect)
    return replace(found, reported_of=partial(reported_table, problem))


def _weights(problem: TableProblem, impossible: Mask) -> Array:
    """W, cells asked for x reports."""
    matrix = problem.channel.matrix[:, ~impossible]
    frequencies = problem.frequencies.ravel()
    sent = matrix.any(axis=1)
    if frequencies[~sent].any():
        n = round(float(problem.counts.ravel()[~sent].sum()))
        raise DataError(
            f"{n:,} reported records contradict the conditions of the questions; use "
            "method=inversion, which does not use them, or correct the records"
        )
    weights = np.zeros((impossible.size, frequencies.size))
    weights[np.ix_(~impossible, sent)] = gls(
        matrix[sent], frequencies[sent], problem.n_records
    ).matrix()
    sizes = problem.channel.true.sizes
    others = tuple(range(problem.wanted, len(sizes)))
    rows: Array = weights.reshape(*sizes, -1).sum(axis=others)
    return rows.reshape(-1, frequencies.size)


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
