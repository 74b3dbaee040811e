"""Tests of hypotheses about the true distribution, from reports alone.

Methods: `pearson` (score test, the default), `likelihood_ratio`, `wald`.
"""

from collections.abc import Callable

from tacit.reconstruction.hypothesis_test import HypothesisTest
from tacit.reconstruction.inference.hypotheses import Hypothesis
from tacit.reconstruction.inference.likelihood_ratio import likelihood_ratio
from tacit.reconstruction.inference.pearson import pearson
from tacit.reconstruction.inference.wald import wald
from tacit.reconstruction.table_problem import TableProblem

TestMethod = Callable[[TableProblem, Hypothesis], HypothesisTest]

#: Every method by its name on the command line.
TEST_METHODS: dict[str, TestMethod] = {
    method.__name__.replace("_", "-"): method for method in (likelihood_ratio, pearson, wald)
}

__all__ = ["TEST_METHODS", "Hypothesis", "TestMethod", "likelihood_ratio", "pearson", "wald"]
