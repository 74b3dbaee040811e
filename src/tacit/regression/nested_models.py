"""A nested model, fitted to the reports that the full model uses.

A likelihood-ratio test compares likelihoods of the same reports. If the full model has disguised
predictors, the nested one gets their reports and their distribution too, without their effects.
"""

from __future__ import annotations

import itertools

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.errors import DataError
from tacit.regression.newton import Maximum, maximum
from tacit.regression.regression_problem import RegressionProblem
from tacit.regression.report_likelihood import ReportLikelihood, cell_matrix
from tacit.regression.row_patterns import row_patterns


def nested_maximum(
    full: RegressionProblem,
    nested: RegressionProblem,
    likelihood: ReportLikelihood,
    reports: Index,
    start: Array,
) -> Maximum:
    """The maximum of the nested model, with everything but its terms from the full model.

    `likelihood` and `reports` are those of the full model; `start` has the nested effects first.
    """
    own = nested.terms.matrices()
    matrices = tuple(own[place] for place in _places(full, nested))
    others = cell_matrix(full.terms.matrices())
    first, which = row_patterns((*matrices, others), reports)
    counts = np.bincount(which, full.row_counts).astype(np.float64)
    found = ReportLikelihood(
        likelihood.model,
        likelihood.channel,
        tuple(matrix[first] for matrix in matrices),
        reports[first],
        counts,
        others[first],
    )
    return maximum(found, start)


def _places(full: RegressionProblem, nested: RegressionProblem) -> list[int]:
    """The cell of the nested model in which each cell of the full model lies."""
    names = [a.name for a in full.disguised]
    kept = [a.name for a in nested.disguised]
    if not set(kept) <= set(names):
        raise DataError(
            "the other model is not nested in this one: only it has the disguised predictor "
            + repr(next(name for name in kept if name not in names))
        )
    sizes = tuple(a.size for a in nested.disguised)
    cells = itertools.product(*(range(a.size) for a in full.disguised))
    return [
        int(np.ravel_multi_index([cell[names.index(name)] for name in kept], sizes)) if kept else 0
        for cell in cells
    ]
