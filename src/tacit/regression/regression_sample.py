"""RegressionSample: design weights, strata and clusters of the records of a regression.

Coefficients solve the weighted equations sum w s(b) = 0 (pseudo-likelihood: Binder, 1983), and

    Cov(b) = A^-1 V(sum w s) A^-1

with A the weighted information and V the variance between sampling units; see `linearised`. The
jackknife and the bootstrap solve the equations again for each replicate. Records that are left out
stay members of their strata and clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core.arrays import Array, Mask
from tacit.core.design import Design
from tacit.errors import DataError
from tacit.reconstruction.sampling.sample_columns import SampleData, Sampling
from tacit.reconstruction.sampling.sample_rows import SampleRows

#: How summaries call errors from the spread of the scores.
SANDWICH = "sandwich"


@dataclass(frozen=True, eq=False)
class RegressionSample:
    """A row per record; those that are left out weigh nothing."""

    rows: SampleRows
    kept: Mask

    @property
    def weights(self) -> Array:
        """The weight of each record that is used; their mean is 1."""
        return self.rows.weight[self.kept]

    @property
    def df(self) -> float:
        """Degrees of freedom of the variance."""
        return self.rows.df

    @property
    def error_method(self) -> str:
        """How standard errors were computed, for people."""
        if self.rows.resamples() is not None:
            return f"by {self.rows.errors}"
        return SANDWICH

    def covariance(
        self,
        estimate: Array,
        refitted: Callable[[Array], Array],
        scores: Array,
        inverse: Array,
    ) -> Array:
        """Covariance of estimates; `refitted` gives them for other weights of the records in use.

        Without replicates, from the scores and the inverse of the information.
        """
        resamples = self.rows.resamples()
        if resamples is None:
            return np.asarray(inverse @ self.total_covariance(scores) @ inverse)
        covariance = np.zeros((estimate.size, estimate.size))
        for factors, scale in resamples:
            gap = refitted(self.weights * factors[self.kept]) - estimate
            covariance += scale * np.outer(gap, gap)
        return covariance

    def total_covariance(self, scores: Array) -> Array:
        """Covariance of the weighted sum of scores, records in use x parameters."""
        every = np.zeros((len(self.kept), scores.shape[1]))
        every[self.kept] = scores
        return np.asarray(self.rows.covariance(every) * self.rows.weight.sum() ** 2)


def regression_sample(
    sampling: Sampling, records: Any, design: Design, kept: Mask
) -> RegressionSample | None:
    """The sample of records, an array of codes or an opened frame; None if it is a simple one."""
    if not sampling:
        return None
    sampling.check(design)
    if sampling.fpc is not None:
        raise DataError(
            "fpc: a regression describes how answers come about, not the finite population that "
            "was sampled; leave fpc out"
        )
    table: dict[str, Any] = {}
    if not isinstance(records, np.ndarray):
        from tacit.core import frames

        table = dict.fromkeys(records.columns)
        named = [name for name in sampling.columns if name in records.columns]
        table |= {name: frames.column(records, name) for name in named}
    rows = SampleData(sampling, table, None, len(records)).rows()
    return RegressionSample(rows.restricted(kept), kept)
