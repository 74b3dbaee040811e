"""expectation: the mean of any function of the true record, with its standard error.

    E[h] = sum_y p*(y) g(y),    g = W^T h,    Var = (sum_y p*(y) g(y)^2 - E[h]^2) / n

For one related yes/no group a reported record counts as itself with weight theta/(2 theta - 1)
and as its complement with weight -(1 - theta)/(2 theta - 1); g groups make 2^g signed copies.
The probability of an event is the case h = 0 or 1 and gets an interval inside [0, 1].
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tacit.arrays import Array, Mask
from tacit.errors import DataError
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.interval import ScoreTest
from tacit.reconstruction.inversion import other_moment
from tacit.reconstruction.table_problem import TableProblem
from tacit.schema import Attribute


def expectation(problem: TableProblem, h: Array, name: str) -> Estimate:
    """Mean of h, a table over the attributes asked for; h in {0, 1} gives a probability."""
    problem.channel.require_reconstructable()
    weights = weights_of_reports(problem, h)
    value = np.asarray(np.sum(problem.frequencies * weights))
    second = np.asarray(np.sum(problem.frequencies * weights**2))
    indicator = bool(np.isin(h, (0.0, 1.0)).all())
    return Estimate(
        attributes=(),
        value=value,
        stderr=np.sqrt(np.maximum(second - value**2, 0) / problem.n_records),
        n_records=problem.n_records,
        method="inversion",
        name=name,
        score=_score(problem, h, weights, value, second) if indicator else None,
    )


def weights_of_reports(problem: TableProblem, h: Array) -> Array:
    """g = W^T h: what each reported cell contributes to the mean of h."""
    channel = problem.channel
    transposed = [inverse.T for inverse in problem.inverses]
    return channel.to_reported(transposed, _spread(problem, h))


def _spread(problem: TableProblem, h: Array) -> Array:
    """h over all attributes of the channel; it does not depend on those not asked for."""
    extra = (1,) * (len(problem.channel.true.sizes) - problem.wanted)
    return np.broadcast_to(h.reshape(h.shape + extra), problem.channel.true.sizes)


def _score(
    problem: TableProblem, h: Array, weights: Array, value: Array, second: Array
) -> ScoreTest | None:
    """Second moments of the weights of records inside and outside the event.

    Inside, the estimate of the mean is held between the least and the largest of any cell.
    """
    channel = problem.channel
    transposed = [factor.channel.forward.T for factor in channel.factors]
    moments = channel.to_true(transposed, weights**2)
    inside = _spread(problem, h) > 0
    if inside.all() or not inside.any():
        return None  # certain or impossible, whatever was reported
    own = _mean_inside(problem, moments, inside, value)
    outside = moments[~inside]
    other = other_moment(value, second, own, outside.min(), outside.max())
    return ScoreTest(value, own, other, problem.n_records)


def _mean_inside(problem: TableProblem, moments: Array, inside: Mask, value: Array) -> Array:
    """Mean second moment over the event, weighted by the estimated table."""
    within = moments[inside]
    if value <= 1e-6:
        return np.asarray(within.max())
    table = problem.channel.to_true(problem.inverses, problem.frequencies)
    mean = np.sum((table * moments)[inside]) / value
    return np.asarray(np.clip(mean, within.min(), within.max()))


def tabulate(h: Any, attributes: tuple[Attribute, ...]) -> Array:
    """h as a table: an array of that shape, or a function of one label an attribute."""
    shape = tuple(a.size for a in attributes)
    try:
        if callable(h):
            cells = itertools.product(*(a.categories for a in attributes))
            table = np.array([float(h(*labels)) for labels in cells]).reshape(shape)
        else:
            table = np.asarray(h, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"h must give a number for every cell: {error}") from None
    if table.shape != shape or not np.isfinite(table).all():
        raise DataError(
            f"h must be finite and of shape {shape}, one axis an attribute, got shape {table.shape}"
        )
    return table
