"""correlation: Pearson's correlation of two numbers or answers, disguised or not.

The moments E[x], E[y], E[x^2], E[y^2], E[xy] of the true answers are means of the weights of the
reports (METHODS 8); the error of the correlation follows by the delta method, and its interval on
Fisher's scale, so that it stays within -1 and 1.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from tacit.core.arrays import Array
from tacit.core.design import Design
from tacit.core.schema import Attribute
from tacit.errors import DataError
from tacit.reconstruction import Estimate
from tacit.reconstruction.interval import Interval, check_level, t_deviate
from tacit.reconstruction.sampling.sample_columns import Sampling, SamplingArguments
from tacit.regression.covariates import CategoryColumn, Column, numbers_of
from tacit.regression.regression_problem import pair_problem
from tacit.regression.regression_sample import RegressionSample


def correlation(
    first: str, second: str, data: Any, design: Design, **sampling: Unpack[SamplingArguments]
) -> Estimate:
    """The correlation of two columns or attributes, with an interval.

    Categories must be numbers, or two: then the second counts 1 and the first 0. `weights`,
    `strata` and `clusters` say how people were sampled, as in `reconstruct`.
    """
    problem = pair_problem(first, second, data, design, Sampling(**sampling))
    labels = [_numbers(name, own) for name, own in zip((first, second), problem.pair, strict=True)]
    weights = problem.used.inverse()
    n, times = len(problem.used.reports), problem.used.row_counts
    rows = np.zeros((5, n))
    sizes = [range(own.size) if isinstance(own, Attribute) else range(1) for own in problem.pair]
    for cell, places in enumerate(itertools.product(*sizes)):
        g = weights[cell][problem.used.reports]
        x, y = (
            values[place] if isinstance(own, Attribute) else values
            for values, own, place in zip(labels, problem.pair, places, strict=True)
        )
        rows += g * np.stack([np.broadcast_to(part, n) for part in (x, y, x * x, y * y, x * y)])
    return _estimate(rows, times, f"correlation({first}, {second})", problem.sample)


def _estimate(rows: Array, times: Array, name: str, sample: RegressionSample | None) -> Estimate:
    """The correlation of moments that are means of `rows`, each of which counts `times`."""
    n = round(times.sum())
    weights = times if sample is None else sample.weights
    x, y, xx, yy, _ = means = rows @ weights / weights.sum()
    vx, vy = xx - x * x, yy - y * y
    r = _correlation(rows, name, weights)
    slopes = np.array([-y, -x, 0, 0, 1]) / np.sqrt(vx * vy) - r / 2 * np.array(
        [-2 * x / vx, -2 * y / vy, 1 / vx, 1 / vy, 0]
    )
    influence = slopes @ (rows - means[:, None])
    variance = float((times * influence) @ influence) / n**2
    found = Estimate.of_covariance((), np.array(r), np.array([[variance]]), n, "inversion", name)
    if sample is not None:
        refitted = partial(_correlation, rows, name)
        covariance = sample.covariance(r, refitted, influence[:, None], np.array([[1 / n]]))
        found = found.of_sample(covariance, sample.df)
    limits = partial(_interval, float(r), float(found.stderr), found.df)
    return replace(found, interval_of=limits, no_effect=0)


def _correlation(rows: Array, name: str, weights: Array) -> Array:
    """The correlation of moments that are means of `rows` with these weights."""
    x, y, xx, yy, xy = rows @ weights / weights.sum()
    vx, vy = xx - x * x, yy - y * y
    if vx <= 0 or vy <= 0:
        which = name.strip(")").partition("(")[2].split(", ")[0 if vx <= 0 else 1]
        raise DataError(
            f"{which!r} has no variance that can be told from the noise of the disguise; a "
            "correlation needs more records"
        )
    return np.asarray((xy - x * y) / np.sqrt(vx * vy))


def _interval(r: float, stderr: float, df: float, level: float) -> Interval:
    """Limits on Fisher's scale; by Student's distribution where noise gives |r| >= 1."""
    check_level(level)
    half = t_deviate((1 - level) / 2, df) * stderr
    if abs(r) < 1 - 1e-9:
        centre, half = np.arctanh(r), half / (1 - r * r)
        return Interval(np.array(np.tanh(centre - half)), np.array(np.tanh(centre + half)))
    return Interval(np.array(max(r - half, -1.0)), np.array(min(r + half, 1.0)))


def _numbers(name: str, own: Column | Attribute) -> Array:
    """The number of each category, or of each record."""
    if isinstance(own, Attribute):
        values = numbers_of(own)
        found = np.arange(2.0) if values is None and own.size == 2 else values
    elif isinstance(own, CategoryColumn):
        found = own.codes.astype(np.float64) if len(own.categories) == 2 else None
    else:
        found = own.values.astype(np.float64)
    if found is None:
        raise DataError(
            f"{name!r} has more than two categories that are not numbers; a correlation needs "
            "numbers or two categories"
        )
    return found
