"""combine: one estimate from independent estimates of the same table, also from several designs.

Generalised least squares: with estimates v_i and covariances C_i,

    C = (sum of C_i^-1)^-1,    v = C sum of C_i^-1 v_i.

The cells of a distribution sum to 1, so the C_i have no inverse in that direction; all v_i agree
there, and the pseudoinverse leaves it alone. Only estimates are needed: organisations combine
theirs without sharing records. Covariances are estimated, so the weights have errors of their own,
which matter only for few records. The population must be the same; nothing here checks it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.core.arrays import Array
from tacit.errors import DataError
from tacit.reconstruction.estimate import Estimate

#: Eigenvalues of a covariance below this share of the largest are rounding errors.
_ROUNDING = 1e-10


def combine(estimates: Sequence[Estimate]) -> Estimate:
    """The estimate of the same quantity from all records of independent estimates together."""
    if not estimates:
        raise DataError("there are no estimates to combine; give at least one")
    first = estimates[0]
    for other in estimates[1:]:
        if (other.name, other.attributes) != (first.name, first.attributes):
            raise DataError(
                f"estimates of different quantities cannot be combined: {first.name}, {other.name}"
            )
        if other is first:
            raise DataError("an estimate was given twice; only independent ones can be combined")
    for own in estimates:
        if own.method != "inversion":
            raise DataError(f"only estimates by inversion can be combined, not {own.method}")
    start = first.value.ravel()
    inverses = [_inverse(np.atleast_2d(own.covariance)) for own in estimates]
    covariance = _inverse(np.sum(inverses, axis=0))
    pulls = (W @ (own.value.ravel() - start) for W, own in zip(inverses, estimates, strict=True))
    value = start + covariance @ np.sum(list(pulls), axis=0)
    n_records = sum(own.n_records for own in estimates)
    return Estimate.of_covariance(
        first.attributes,
        value.reshape(first.value.shape),
        covariance,
        n_records,
        "inversion",
        first.name,
    )


def _inverse(matrix: Array) -> Array:
    return np.asarray(np.linalg.pinv(matrix, rcond=_ROUNDING, hermitian=True))
