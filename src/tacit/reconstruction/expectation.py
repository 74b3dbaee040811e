"""expectation: the mean of any function h of the true record, with its standard error.

    E[h] = mean over reports of g(y),    g = W^T h

For one related yes/no group a reported record counts as itself with weight theta/(2 theta - 1)
and as its complement with weight -(1 - theta)/(2 theta - 1). If h takes two values, the result is a
probability on another scale, and its interval stays between both.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.schema import Attribute
from tacit.errors import DataError
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.linear_estimate import linear_estimate
from tacit.reconstruction.sampling.report_spread import ReportSpread
from tacit.reconstruction.score_test import EventMoments, KnownMoments, ScoreTest, event_moments
from tacit.reconstruction.table_problem import TableProblem


def expectation(problem: TableProblem, h: Array, name: str) -> Estimate:
    """Mean of h, a table over the attributes asked for; h in {0, 1} gives a probability."""
    problem.channel.require_reconstructable()
    if problem.spread is not None:
        return _sampled(problem, h, name, problem.spread)
    return _simple(problem, h, name)


def _sampled(problem: TableProblem, h: Array, name: str, spread: ReportSpread) -> Estimate:
    """The same with the errors of a sample."""
    weights, squares = (_weights(problem, own)[1].reshape(-1, 1) for own in (h, h**2))
    covariance = spread.of_means(weights, squares[:, :, None])
    plain = _simple(problem, h, name)
    if plain.interval_of is None:
        return plain.of_sample(covariance, spread.df, spread.weight_effect)
    low, high = float(h.min()), float(h.max())  # a share on another scale
    share = _share(problem, (h == high).astype(np.float64), name)
    found = share.of_sample(covariance / (high - low) ** 2, spread.df, spread.weight_effect)
    return found.scaled(low, high)


def _simple(problem: TableProblem, h: Array, name: str) -> Estimate:
    """The mean of h from a simple random sample."""
    low, high = float(h.min()), float(h.max())
    if low == high or not np.isin(h, (low, high)).all():
        return _mean(problem, h, name)[0]
    share = _share(problem, (h == high).astype(np.float64), name)
    return share if (low, high) == (0, 1) else share.scaled(low, high)


def _mean(problem: TableProblem, h: Array, name: str) -> tuple[Estimate, Array, Array]:
    """The estimate; h on all attributes of the channel; the weights of reports."""
    whole, weights = _weights(problem, h)
    return linear_estimate([(weights.ravel(), problem.counts.ravel())], name), whole, weights


def _weights(problem: TableProblem, h: Array) -> tuple[Array, Array]:
    """h on all attributes of the channel; the weights of reports."""
    channel = problem.channel
    extra = (1,) * (len(channel.true.sizes) - problem.wanted)
    whole = np.broadcast_to(h.reshape(h.shape + extra), channel.true.sizes)
    return whole, channel.to_reported([inverse.T for inverse in problem.inverses], whole)


def _share(problem: TableProblem, h: Array, name: str) -> Estimate:
    """Probability that h is 1."""
    found, whole, weights = _mean(problem, h, name)
    channel, inside = problem.channel, whole > 0
    table = channel.to_true(problem.inverses, problem.frequencies)

    def known(power: int) -> KnownMoments:
        transposed = [factor.channel.forward.T for factor in channel.factors]
        each = channel.to_true(transposed, weights**power)
        ranges = ((float(own.min()), float(own.max())) for own in (each[inside], each[~inside]))
        mean = float(np.sum(problem.frequencies * weights**power))
        total = float(np.sum((table * each)[inside]))
        return event_moments(mean, float(found.value), EventMoments(*ranges), total)

    return found.with_score(ScoreTest.of(found.value, problem.n_records, known(2), known(3)))


def tabulate(h: Any, attributes: tuple[Attribute, ...]) -> Array:
    """h as a table: an array of that shape, or a function of one label per attribute."""
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
            f"h must be finite and of shape {shape}, one axis per attribute, got {table.shape}"
        )
    return table
