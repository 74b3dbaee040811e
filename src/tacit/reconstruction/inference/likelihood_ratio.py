"""likelihood_ratio: twice the log-likelihood that a hypothesis costs.

    G = 2 n (max over all true tables - max over allowed ones) of sum_y p*(y) log (M p)(y)

Chi-squared under the hypothesis, if the true table is inside the simplex; fewer rejections than
stated if its best estimate is on the border. Without disguise it is the usual G test (Wilks, 1938).
In a sample with design weights or clusters it has Rao and Scott's correction, see `design_effects`.
"""

from __future__ import annotations

from tacit.errors import DataError
from tacit.reconstruction.hypothesis_test import HypothesisTest
from tacit.reconstruction.inference.design_effects import tested
from tacit.reconstruction.inference.hypotheses import Hypothesis
from tacit.reconstruction.inference.model_fit import (
    check_size,
    largest_log_likelihood,
    restricted_fit,
)
from tacit.reconstruction.table_problem import TableProblem


def likelihood_ratio(problem: TableProblem, hypothesis: Hypothesis) -> HypothesisTest:
    """The likelihood-ratio test of a hypothesis about the table asked for."""
    check_size(problem)
    if hypothesis.directed:
        raise DataError("a trend has no likelihood-ratio test; use pearson or wald")
    fitted = restricted_fit(problem, hypothesis)
    gain = max(largest_log_likelihood(problem) - fitted.log_likelihood, 0.0)
    df = hypothesis.df(hypothesis.asked(fitted.table))
    statistic, allowed = 2 * problem.n_records * gain, hypothesis.asked(fitted.table)
    return tested(problem, hypothesis, "likelihood ratio", statistic, df, allowed)
