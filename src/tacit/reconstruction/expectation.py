"""expectation: the mean of any function h of the true record, with its standard error.

    E[h] = mean over reports of g(y),    g = W^T h

For one related yes/no group a reported record counts as itself with weight theta/(2 theta - 1)
and as its complement with weight -(1 - theta)/(2 theta - 1). If h is 0 or 1, the result is a
probability and gets an interval inside [0, 1].
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.arrays import Array
from tacit.errors import DataError
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.interval import EventMoments, ScoreTest
from tacit.reconstruction.linear_estimate import linear_estimate
from tacit.reconstruction.table_problem import TableProblem
from tacit.schema import Attribute


def expectation(problem: TableProblem, h: Array, name: str) -> Estimate:
    """Mean of h, a table over the attributes asked for; h in {0, 1} gives a probability."""
    channel = problem.channel
    channel.require_reconstructable()
    extra = (1,) * (len(channel.true.sizes) - problem.wanted)
    whole = np.broadcast_to(h.reshape(h.shape + extra), channel.true.sizes)
    weights = channel.to_reported([inverse.T for inverse in problem.inverses], whole)
    found = linear_estimate([(weights.ravel(), problem.counts.ravel())], name)
    if not np.isin(h, (0.0, 1.0)).all() or h.min() == h.max():
        return found
    inside = whole > 0
    second = channel.to_true([factor.channel.forward.T for factor in channel.factors], weights**2)
    each = (second[inside], second[~inside])
    moments = EventMoments(*((float(own.min()), float(own.max())) for own in each))
    table = channel.to_true(problem.inverses, problem.frequencies)
    total = float(np.sum((table * second)[inside]))
    score = ScoreTest.of_event(found.value, found.stderr, problem.n_records, moments, total)
    return replace(found, score=score)


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
