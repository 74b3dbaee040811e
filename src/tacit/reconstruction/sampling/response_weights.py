"""response_cells, response_propensity: weights of people who answered, for those who did not.

    w_i -> w_i / P(answer | undisguised columns)

The chance of an answer is the weighted share in each cell of the columns (weighting classes), or
follows a logit of them (Rosenbaum & Rubin, 1983; Little, 1986). It removes the bias of missing
answers if people with the same columns answer independently of what they would answer. Errors take
the weights as given, which is usually on the safe side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.core.arrays import TINY, Array, Mask
from tacit.core.design import Design
from tacit.errors import DataError
from tacit.reconstruction.sampling.adjusted_weights import (
    AdjustedWeights,
    base_weights,
    known_columns,
    labels_of,
    opened,
)
from tacit.reconstruction.sampling.sample_rows import joint_ranks

_CLOSE, _STEPS = 1e-10, 100
#: Chances of an answer below this are no base for a weight.
_LEAST = 1e-3


def response_cells(
    data: Any, design: Design, items: Sequence[str], by: Sequence[str], weights: Any = None
) -> AdjustedWeights:
    """Weights by the share of people with answers to all `items` in each cell of columns `by`.

    `weights` are design weights to start from. Records without these answers are left out of every
    estimate that uses the result.
    """
    frame = opened(data, design)
    columns = known_columns(frame, design, by, "by")
    found = [labels_of(column, name) for name, column in zip(by, columns, strict=True)]
    first, cell = joint_ranks([places for places, _ in found])
    start, answered = base_weights(frame, design, weights), _answered(frame, design, items)
    share = np.bincount(cell, start * answered) / np.bincount(cell, start)
    if share.min() == 0:
        place = first[int(share.argmin())]
        where = ", ".join(
            f"{name} = {labels[places[place]]}"
            for name, (places, labels) in zip(by, found, strict=True)
        )
        raise DataError(f"nobody answered where {where}; join this cell with a similar one")
    return AdjustedWeights(np.where(answered, start / share[cell], start), answered=answered)


def response_propensity(
    data: Any, design: Design, items: Sequence[str], by: Sequence[str], weights: Any = None
) -> AdjustedWeights:
    """Weights by a logit of having answers to all `items` on columns `by`, without interactions.

    Numbers enter as they are, other columns as categories. The rest is as in `response_cells`.
    """
    frame = opened(data, design)
    columns = known_columns(frame, design, by, "by")
    start, answered = base_weights(frame, design, weights), _answered(frame, design, items)
    parts = [_terms(column, name) for name, column in zip(by, columns, strict=True)]
    chance = _fitted(np.column_stack([np.ones(len(start)), *parts]), answered, start)
    if chance.min() < _LEAST:
        raise DataError(
            "some people had almost no chance to answer; use fewer columns, or join categories"
        )
    return AdjustedWeights(np.where(answered, start / chance, start), answered=answered)


def _answered(frame: Any, design: Design, items: Sequence[str]) -> Mask:
    from tacit.core import frames

    if isinstance(items, str) or not len(items):
        raise DataError(f"items must be a list of attributes, got {items!r}")
    reported = design.channel(design.closure(items)).reported.names
    absent = np.zeros(len(frame), bool)
    for name in reported:
        seen = frames.distinct(frames.column(frame, name))
        absent |= np.array([value is None for value in seen.values])[seen.positions]
    if absent.all():
        raise DataError(f"nobody answered {', '.join(items)}")
    return np.asarray(~absent)


def _terms(column: Any, name: str) -> Array:
    """A column of numbers, scaled, or indicators of all categories but the first."""
    from tacit.core import frames

    if frames.is_numeric(column):
        values = frames.numbers(column)
        if not np.isfinite(values).all():
            raise DataError(f"column {name!r}: a number is missing or infinite")
        spread = float(values.std())
        return np.asarray((values - values.mean()) / (spread if spread > 0 else 1.0))[:, None]
    places, labels = labels_of(column, name)
    return np.eye(len(labels))[places][:, 1:]


def _fitted(matrix: Array, answered: Mask, weights: Array) -> Array:
    """Chances of an answer by weighted maximum likelihood, with Newton's method."""
    slopes = np.zeros(matrix.shape[1])
    weights = weights / weights.mean()
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(matrix @ slopes, -30, 30)))
        score = matrix.T @ (weights * (answered - chance))
        information = (matrix.T * (weights * chance * (1 - chance))) @ matrix
        step = np.linalg.lstsq(information, score, rcond=None)[0]
        slopes = slopes + step * min(1.0, 5 / max(float(np.abs(step).max()), TINY))
        if float(score @ step) < _CLOSE:
            return np.asarray(chance)
    raise DataError(
        "the model of who answers did not converge: some columns tell it with certainty; use "
        "fewer columns, or cells"
    )
