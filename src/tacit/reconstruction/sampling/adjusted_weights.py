"""AdjustedWeights: design weights adjusted to known totals, or for missing answers.

The margins and cells are those of undisguised columns: the totals of a disguised answer would have
to be compared with reports.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import TINY, Array, Index, Mask
from tacit.core.design import Design, check_design
from tacit.errors import DataError, unknown
from tacit.reconstruction.sampling import sampled_records
from tacit.reconstruction.sampling.sampled_records import Sampling, labels_of
from tacit.records.sample import Calibration, joint_ranks

#: Raking ends when every margin agrees within this share.
_CLOSE, _ROUNDS = 1e-10, 10_000
#: Totals of two margins may differ by this share.
_SAME = 1e-6
#: Newton's steps of a logit; chances of an answer below the second are no base for a weight.
_STEPS, _LEAST = 100, 1e-3


@dataclass(frozen=True, eq=False)
class AdjustedWeights:
    """One weight per record, for `reconstruct(..., weights=)` on the same records.

    `numpy.asarray` gives the numbers. `calibration` makes errors smaller, because known totals do
    not vary; records that are not `answered` are left out.
    """

    values: Array
    calibration: Calibration | None = None
    answered: Mask | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.values, dtype=dtype)


def _opened(
    data: Any, design: Design, names: Sequence[str], what: str, weights: Any
) -> tuple[Any, list[Any], Array]:
    """Records in memory or of a file as a frame, undisguised columns, and their design weights.

    The weights are 1 if there are none.
    """
    from tacit.core import frames

    check_design(design)
    if isinstance(data, np.ndarray):
        raise DataError("an array of codes has no undisguised columns; give a frame")
    if isinstance(data, str | os.PathLike):
        from tacit.records import read_frame  # Arrow is slow to start

        data = read_frame(Path(data))
    frame = frames.open_frame(data)
    if isinstance(names, str) or not len(names):
        raise DataError(f"{what} must be a list of at least one column, got {names!r}")
    for name in names:
        if name not in frame.columns:
            raise DataError(f"{what}: {unknown('column', name, frame.columns)}")
        sampled_records.check_undisguised(design, name, what)
    sampling = Sampling(weights=weights)
    sampling.check(design)
    start = sampled_records.SampleData.of_frame(sampling, frame).design_weights()
    return frame, [frames.column(frame, name) for name in names], start


class _Cells:
    """The cell of each record; the code of each cell and all labels, by column."""

    def __init__(self, names: Sequence[str], columns: Sequence[Any]) -> None:
        named = zip(names, columns, strict=True)
        labelled = [labels_of(column, f"column {name!r}") for name, column in named]
        first, self.cell = joint_ranks([codes for codes, _ in labelled])
        self.codes = [codes[first] for codes, _ in labelled]
        self.labels = [labels for _, labels in labelled]

    @property
    def tuples(self) -> list[tuple[Any, ...]]:
        """The labels of each cell."""
        columns = zip(self.codes, self.labels, strict=True)
        return list(zip(*([labels[i] for i in codes] for codes, labels in columns), strict=True))


def poststratify(
    data: Any, design: Design, by: Sequence[str], totals: Mapping[Any, float], weights: Any = None
) -> AdjustedWeights:
    """Weights that give every cell of undisguised columns its known total.

        w_i -> w_i F(cell of i),    so that sum of w over each cell = its known total

    The known totals do not vary from sample to sample: errors are those of the residuals of a
    weighted regression of the weights of reports on the cells (Deville & Särndal, 1992), with any
    method of errors.

    `totals` maps a label, or a tuple of labels if there are several columns, to the number or the
    share of people in the population. `weights` are design weights to start from.
    """
    _, columns, start = _opened(data, design, by, "by", weights)
    cells = _Cells(by, columns)
    labels = cells.tuples if len(by) > 1 else [label for (label,) in cells.tuples]
    cell_totals = _totals(", ".join(by), labels, totals)
    return _raked(start, cells.cell, [np.arange(len(cell_totals))], [cell_totals])


def rake(
    data: Any, design: Design, margins: Mapping[str, Mapping[Any, float]], weights: Any = None
) -> AdjustedWeights:
    """Weights that give every category of some undisguised columns its known total.

    The margins are met one after the other until all hold (Deming & Stephan, 1940). Errors are as
    in `poststratify`.

    `margins` maps a column to the numbers or shares of people by label.
    """
    if not isinstance(margins, Mapping) or not margins:
        raise DataError(f"margins must map columns to totals by label, got {margins!r}")
    names = list(margins)
    _, columns, start = _opened(data, design, names, "margins", weights)
    cells = _Cells(names, columns)
    named = zip(names, cells.labels, strict=True)
    totals = [_totals(name, labels, margins[name]) for name, labels in named]
    sums = [float(column.sum()) for column in totals]
    for name, total in zip(names, sums, strict=True):
        if abs(total - sums[0]) > _SAME * sums[0]:
            raise DataError(
                f"the totals of {names[0]!r} sum to {sums[0]:,.6g}, those of {name!r} to "
                f"{total:,.6g}; they must be the same population"
            )
    return _raked(start, cells.cell, cells.codes, totals)


def _totals(name: str, labels: Sequence[Any], totals: Mapping[Any, float]) -> Array:
    """The total of each label that occurs, checked."""
    if not isinstance(totals, Mapping):
        raise DataError(f"{name}: totals must map labels to numbers, got {totals!r}")
    for label in labels:
        if label not in totals:
            raise DataError(f"{name}: {unknown('label', label, totals, ' in the records')}")
    for label, total in totals.items():
        number = isinstance(total, int | float | np.number) and math.isfinite(total)
        if not number or total <= 0:
            raise DataError(f"{name}: the total of {label!r} must be above 0, got {total!r}")
        if label not in labels:
            raise DataError(
                f"{name}: no record has {label!r}, so no weight can give it its total; join it "
                "with another category"
            )
    return np.array([float(totals[label]) for label in labels])


def _raked(
    start: Array, cell: Index, codes: Sequence[Index], totals: Sequence[Array]
) -> AdjustedWeights:
    """Weights of records in cells with which all margins agree; each has a code per cell."""
    weights = np.bincount(cell, start).astype(np.float64)
    factors = np.ones(len(weights))
    for _ in range(_ROUNDS):
        off = 0.0
        for column, total in zip(codes, totals, strict=True):
            ratio = total / np.bincount(column, weights * factors, len(total))
            off = max(off, float(np.abs(ratio - 1).max()))
            factors = factors * ratio[column]
        if off < _CLOSE:
            margins = [np.eye(len(t))[of_cell] for t, of_cell in zip(totals, codes, strict=True)]
            calibration = Calibration(cell, np.concatenate(margins, axis=1))
            return AdjustedWeights(start * factors[cell], calibration)
    raise DataError(
        "raking did not converge: no weights agree with all margins; join categories with few "
        "records"
    )


def response_cells(
    data: Any, design: Design, items: Sequence[str], by: Sequence[str], weights: Any = None
) -> AdjustedWeights:
    """Weights by the share of people with answers to all `items` in each cell of columns `by`.

        w_i -> w_i / P(answer | undisguised columns)

    These weighting classes remove the bias of missing answers if people with the same columns
    answer independently of what they would answer (Little, 1986). Errors take the weights as given,
    which is usually conservative.

    `weights` are design weights to start from. Records without these answers are left out of every
    estimate that uses the result.
    """
    frame, columns, start = _opened(data, design, by, "by", weights)
    cells, answered = _Cells(by, columns), _answered(frame, design, items)
    share = np.bincount(cells.cell, start * answered) / np.bincount(cells.cell, start)
    if share.min() == 0:
        labels = cells.tuples[int(share.argmin())]
        where = ", ".join(f"{name} = {label}" for name, label in zip(by, labels, strict=True))
        raise DataError(f"nobody answered where {where}; join this cell with a similar one")
    return AdjustedWeights(np.where(answered, start / share[cells.cell], start), answered=answered)


def response_propensity(
    data: Any, design: Design, items: Sequence[str], by: Sequence[str], weights: Any = None
) -> AdjustedWeights:
    """Weights by a logit of having answers to all `items` on columns `by`, without interactions.

    It is the propensity to answer (Rosenbaum & Rubin, 1983).

    Numbers enter as they are, other columns as categories. The rest is as in `response_cells`.
    """
    frame, columns, start = _opened(data, design, by, "by", weights)
    answered = _answered(frame, design, items)
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
    reported = design.channel(design.jointly_reported(items)).reported.names
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
    codes, labels = labels_of(column, f"column {name!r}")
    return np.eye(len(labels))[codes][:, 1:]


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
