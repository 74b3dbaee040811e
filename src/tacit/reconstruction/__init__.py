"""Reported counts and a design -> the true distribution, with its error.

Methods for `Reconstruction.table`: `restricted` (the default; 0 where conditions between questions
exclude a cell, else the same as `inversion`), `inversion` (unbiased, no condition used), `simplex`
(nearest distribution), `em` (most likely distribution).
"""

from collections.abc import Callable

from tacit.reconstruction.combined_estimate import combine
from tacit.reconstruction.em import em
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.hypothesis_test import HypothesisTest
from tacit.reconstruction.inference import TEST_METHODS, likelihood_ratio, pearson, wald
from tacit.reconstruction.inversion import inversion
from tacit.reconstruction.reconstruct import Reconstruction, reconstruct
from tacit.reconstruction.restricted import restricted
from tacit.reconstruction.share_bounds import ShareBounds
from tacit.reconstruction.simplex import simplex
from tacit.reconstruction.table_problem import TableProblem

#: Every method by its name on the command line.
METHODS: dict[str, Callable[[TableProblem], Estimate]] = {
    method.__name__: method for method in (inversion, restricted, simplex, em)
}

__all__ = [
    "METHODS",
    "TEST_METHODS",
    "Estimate",
    "HypothesisTest",
    "Reconstruction",
    "ShareBounds",
    "combine",
    "em",
    "inversion",
    "likelihood_ratio",
    "pearson",
    "reconstruct",
    "restricted",
    "simplex",
    "wald",
]
