"""wald: the unbiased estimate against the hypothesis, in units of its own errors.

    W = c^T Cov(c)^-1 c,    c the contrasts of the hypothesis at the unbiased estimate

with the covariance by the delta method. It needs no iteration and no table inside the simplex
(Wald, 1943). Directions in which the contrasts cannot vary are left out. In a sample the covariance
is that of its design, and the statistic is compared with an F distribution.
"""

from __future__ import annotations

import numpy as np

from tacit.reconstruction.hypothesis_test import HypothesisTest
from tacit.reconstruction.inference.hypotheses import Hypothesis, slopes
from tacit.reconstruction.inference.model_fit import check_size
from tacit.reconstruction.inversion import inversion
from tacit.reconstruction.table_problem import TableProblem

#: Variances below this share of the largest are rounding errors.
_SMALLEST = 1e-10


def wald(problem: TableProblem, hypothesis: Hypothesis) -> HypothesisTest:
    """The Wald test of a hypothesis about the table asked for."""
    check_size(problem)
    estimate = inversion(problem)
    contrasts = hypothesis.contrasts(estimate.value)
    slope = slopes(hypothesis.contrasts, estimate.value)
    covariance = slope @ estimate.covariance @ slope.T
    variances, directions = np.linalg.eigh((covariance + covariance.T) / 2)
    most = hypothesis.df(np.ones_like(estimate.value) / estimate.value.size)
    kept = np.argsort(variances)[::-1][:most]
    kept = kept[variances[kept] > _SMALLEST * variances.max()]
    along = directions[:, kept].T @ contrasts
    statistic = float(np.sum(along**2 / variances[kept]))
    return HypothesisTest.of_f(
        hypothesis.text, "Wald", statistic, len(kept), estimate.df, problem.n_records
    )
