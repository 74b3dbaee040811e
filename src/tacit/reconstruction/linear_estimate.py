"""linear_estimate: the mean of the weights of reports, with its covariance.

    mean = sum_y p*(y) g(y),    Cov = (mean of g g^T - mean of g  mean of g^T) / n

Tables, probabilities, expectations, tree nodes and accuracies are all means of this kind.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Array
from tacit.core.schema import Attribute
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.sampling.sample_rows import SampleRows

Numbers = npt.NDArray[Any]


def covariance_of_means(
    second: Array | float, first: Array | float, other: Array | float, n_records: int
) -> Array:
    """Covariance of two means over n records, from the mean of the product of their weights."""
    return np.asarray((second - first * other) / n_records)


def stderr_of_means(second: Array, mean: Array, n_records: int) -> Array:
    """Standard errors of means, from the means of the squared weights."""
    variance = covariance_of_means(second, mean, mean, n_records)
    return np.asarray(np.sqrt(np.maximum(variance, 0)))


def linear_estimate(
    blocks: Iterable[tuple[Numbers, Numbers]],
    name: str,
    attributes: tuple[Attribute, ...] = (),
    probability: bool = False,
    sample: SampleRows | None = None,
    true_products: Array | None = None,
) -> Estimate:
    """Mean weights of reports: one number, or a table with one axis per attribute.

    A block is the weights of some reports (reports x quantities, or reports for one quantity) and
    how often each report counts. Intervals are normal; those of a `probability` stay inside [0, 1]
    and assume that all true answers get the same noise. Reports of a `sample` come with the weights
    of its rows; `true_products` are described there.
    """
    parts = list(blocks) if sample is not None else blocks
    mean, covariance, n, third = _means(parts)
    value = mean.reshape(tuple(a.size for a in attributes))
    found = Estimate.of_covariance(attributes, value, covariance, n, "inversion", name)
    if probability:
        found = found.as_probability(third.reshape(value.shape))
    return found if sample is None else sampled(found, parts, sample, true_products)


def sampled(
    simple: Estimate,
    blocks: Iterable[tuple[Numbers, Numbers]],
    sample: SampleRows,
    true_products: Array | None = None,
) -> Estimate:
    """An estimate by linear_estimate with the errors of a sample."""
    weights = np.concatenate([own.reshape(len(counts), -1) for own, counts in blocks])
    covariance = sample.covariance(weights, true_products)
    return simple.of_sample(covariance, sample.df, sample.weight_effect)


def mean_and_covariance(blocks: Iterable[tuple[Numbers, Numbers]]) -> tuple[Array, Array, int]:
    """Mean weights of reports, their covariance, and the number of reports."""
    return _means(blocks)[:3]


def _means(blocks: Iterable[tuple[Numbers, Numbers]]) -> tuple[Array, Array, int, Array]:
    """The same, and the means of the cubed weights."""
    n, total, squares, cubes = 0.0, np.zeros(1), np.zeros((1, 1)), np.zeros(1)
    for weights, counts in blocks:
        columns, times = weights.reshape(len(counts), -1).astype(np.float64), counts.astype(float)
        n += times.sum()
        total = total + times @ columns
        squares = squares + (columns.T * times) @ columns
        cubes = cubes + times @ columns**3
    mean, second = total / n, squares / n
    covariance = covariance_of_means(second, mean[:, None], mean, round(n))
    return mean, covariance, round(n), cubes / n
