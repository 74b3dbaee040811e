"""What a regression cannot estimate: collinear covariates, and effects without a finite maximum."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tacit.core.arrays import TINY, Array
from tacit.errors import DataError
from tacit.regression.newton import Maximum
from tacit.regression.report_likelihood import ReportLikelihood

#: Splines of formulaic whose columns add up to a constant.
_SPLINE = re.compile(r"(cr|cs|cc)\(")
#: Smallest eigenvalue of the scaled cross products that rounding does not explain.
_RANK = 1e-12
#: Share of a direction from which on a coefficient is named.
_NAMED = 0.1
#: How far predictors are moved, and the fall of the log-likelihood that shows a maximum.
_FAR, _FALL = 5.0, 0.01


def check_collinear(matrices: Sequence[Array], names: Sequence[str]) -> None:
    """Raise if some columns are linear combinations of others."""
    cross = sum(matrix.T @ matrix for matrix in matrices)
    size = np.sqrt(np.diag(np.asarray(cross)))
    if (size == 0).any():
        raise DataError(f"covariate {names[int((size == 0).argmax())]!r} is 0 in all records")
    values, vectors = np.linalg.eigh(cross / np.outer(size, size))
    if values[0] < _RANK * len(names):
        involved = [n for n, v in zip(names, vectors[:, 0], strict=True) if abs(v) > _NAMED / 10]
        remedy = "leave one of them out"
        if any(_SPLINE.match(name) for name in involved):
            remedy += ", or give the spline constraints='center'"
        raise DataError(f"the covariates are collinear: {', '.join(involved)}; {remedy}")


def unbounded_terms(
    likelihood: ReportLikelihood, found: Maximum, names: Sequence[str]
) -> list[str]:
    """The coefficients that may grow without bound while the likelihood does not fall.

    The direction in which the likelihood is flattest is followed in both senses, until a linear
    predictor has moved far. At a maximum the likelihood falls on both sides.
    """
    scale = np.sqrt(np.maximum(_spread(likelihood, len(found.theta)), TINY))
    scaled = found.information / np.outer(scale, scale)
    if not np.isfinite(scaled).all():
        return list(names)
    _, vectors = np.linalg.eigh(scaled)
    direction = vectors[:, 0] / scale
    n_effects = likelihood.n_effects
    moved = max(
        float(np.abs(likelihood.model.moves(matrix, direction[:n_effects])).max())
        for matrix in likelihood.matrices
    )
    if moved == 0:
        return []
    step = direction * (_FAR / moved)
    fall = [found.value - likelihood.value(found.theta + sign * step) for sign in (1, -1)]
    if min(fall) > _FALL:
        return []
    share = np.abs(vectors[: len(names), 0])
    return [name for name, own in zip(names, share, strict=True) if own > _NAMED * share.max()]


def _spread(likelihood: ReportLikelihood, size: int) -> Array:
    """The sum of squares of what multiplies each parameter."""
    model, matrix = likelihood.model, likelihood.matrices[-1]
    ones = np.ones((len(matrix), model.n_predictors)) / model.n_predictors
    effects = likelihood.counts @ model.scores(matrix, ones) ** 2
    n_others = size - effects.size
    if not n_others:
        return effects
    cells = likelihood.counts @ likelihood.cell_matrix**2
    return np.concatenate([effects, np.tile(cells, n_others // cells.size)])
