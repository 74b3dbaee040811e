"""Warner: the matrices of Warner, uniform perturbation and FRAPP, which are the same (Theorem 2).

Theta on the diagonal, (1 - theta)/(n - 1) elsewhere, over a grid of theta as Huang & Du (2008,
section VI-B) draw it. Every other method is compared with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.core.arrays import Array
from tacit.optimize.objectives import epsilon, warner, worst_posterior
from tacit.optimize.problem import FrontProblem, SearchResult, check_size
from tacit.records import Progress


@dataclass(frozen=True)
class Warner:
    """steps: the number of steps of theta from 0 to 1."""

    steps: int = 1000

    def search(self, problem: FrontProblem, tell: Progress) -> SearchResult:
        """The matrices of the grid that keep the bounds."""
        steps = check_size(self.steps, "steps", 1)
        every = (warner(problem.p, theta) for theta in np.linspace(0, 1, steps + 1))
        return SearchResult(tuple(matrix for matrix in every if keeps(problem, matrix)))


def keeps(problem: FrontProblem, matrix: Array) -> bool:
    """Whether a matrix keeps the bounds as optimisers see them."""
    if worst_posterior(matrix, problem.p) > problem.cap * (1 + 1e-12):
        return False
    return problem.epsilon is None or epsilon(matrix) <= np.log(problem.ratio) * (1 + 1e-12)
