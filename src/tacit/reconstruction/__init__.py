"""Reported counts and a design -> the true distribution, with its error.

Methods for `Reconstruction.table`: `restricted` (the default; 0 where conditions between questions
exclude a cell, else the same as `inversion`), `inversion` (unbiased, no condition used), `simplex`
(nearest distribution), `em` (most likely distribution).
"""

from tacit.reconstruction.estimate import Estimate, combine
from tacit.reconstruction.events import ShareBounds
from tacit.reconstruction.hypotheses import TEST_METHODS, likelihood_ratio, pearson, wald
from tacit.reconstruction.hypothesis_test import HypothesisTest
from tacit.reconstruction.reconstruct import Reconstruction, reconstruct
from tacit.reconstruction.tables import METHODS, em, inversion, restricted, simplex

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
