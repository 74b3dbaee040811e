"""Quantities of a mixture as estimates with covariance and profile-likelihood intervals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tacit.compliance.profile_likelihood import Quantity, profile_intervals
from tacit.compliance.report_mixture import ReportMixture
from tacit.core.arrays import Array
from tacit.core.schema import Attribute
from tacit.errors import DataError
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.interval import Interval, check_level


def mixture_estimate(
    mixture: ReportMixture,
    quantities: Sequence[Quantity],
    attributes: tuple[Attribute, ...],
    name: str,
) -> Estimate:
    """The quantities as a table of these attributes; one quantity without attributes."""
    shares, log_likelihood = mixture.maximum
    if not np.isfinite(log_likelihood):
        raise DataError("some reports are impossible under their design")
    shape = tuple(a.size for a in attributes)
    value = np.array([quantity.value(shares) for quantity in quantities]).reshape(shape)
    gradients = np.array([q.gradient(shares, mixture.n_records) for q in quantities])
    covariance = mixture.covariance(gradients)
    return Estimate(
        attributes,
        value,
        np.sqrt(np.maximum(covariance.diagonal(), 0)).reshape(shape),
        mixture.n_records,
        "maximum likelihood",
        name,
        partial(np.asarray, covariance),
        interval_of=partial(_interval, mixture, tuple(quantities), shape),
        n_left_out=mixture.n_left_out,
    )


def _interval(
    mixture: ReportMixture, quantities: tuple[Quantity, ...], shape: tuple[int, ...], level: float
) -> Interval:
    check_level(level)
    lower, upper = profile_intervals(mixture, quantities, level)
    return Interval(lower.reshape(shape), upper.reshape(shape))


def share_of_all(part: Array) -> Quantity:
    """A sum of shares, as a share of everyone."""
    return Quantity(part, np.ones(part.size))
