"""Design effects of the contrasts that a hypothesis excludes (Rao & Scott, 1981, 1984).

    Delta = Cov_simple(c)^-1 Cov(c),    c the contrasts of the hypothesis

A likelihood-ratio or Pearson statistic computed as if from a simple random sample is then a sum of
chi-squared variables times the eigenvalues of Delta.
"""

from __future__ import annotations

import numpy as np

from tacit.core.arrays import Array
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.hypothesis_test import HypothesisTest
from tacit.reconstruction.inference.hypotheses import Hypothesis, slopes
from tacit.reconstruction.inversion import inversion
from tacit.reconstruction.table_problem import TableProblem

#: Variances below this share of the largest are rounding errors.
_SMALLEST = 1e-10


def tested(
    problem: TableProblem,
    hypothesis: Hypothesis,
    method: str,
    statistic: float,
    df: int,
    allowed: Array,
) -> HypothesisTest:
    """The test of a statistic of all records; corrected if they are a sample with a design.

    `allowed` is the table that the hypothesis makes most likely.
    """
    n = problem.n_records
    if problem.spread is None:
        return HypothesisTest.of(hypothesis.text, method, statistic, df, n)
    effects = design_effects(inversion(problem), hypothesis, allowed, df)
    return HypothesisTest.of_effects(
        hypothesis.text, method, statistic, effects, problem.spread.df, n
    )


def design_effects(estimate: Estimate, hypothesis: Hypothesis, table: Array, most: int) -> Array:
    """The eigenvalues of Delta at a table, in the `most` directions that vary most."""
    assert estimate.simple is not None
    slope = slopes(hypothesis.contrasts, table)
    simple = slope @ estimate.simple.covariance @ slope.T
    variances, directions = np.linalg.eigh((simple + simple.T) / 2)
    kept = np.argsort(variances)[::-1][:most]
    kept = kept[variances[kept] > _SMALLEST * variances.max()]
    scaled = directions[:, kept] / np.sqrt(variances[kept])
    return np.asarray(
        np.linalg.eigvalsh(scaled.T @ (slope @ estimate.covariance @ slope.T) @ scaled)
    )
