"""poststratify, rake: design weights that agree with known totals of undisguised columns.

    w_i -> w_i F(cell of i),    so that sum of w over each category = its known total

Post-stratification knows the total of every cell, raking those of several margins, met one after
the other until all hold (Deming & Stephan, 1940). The known totals do not vary from sample to
sample: errors are those of the residuals of a weighted regression of the weights of reports on the
margins (Deville & Särndal, 1992), with any method of errors. A margin of a disguised answer is an
error: its totals would have to be compared with reports.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.core.design import Design
from tacit.errors import DataError, unknown
from tacit.reconstruction.sampling.adjusted_weights import (
    AdjustedWeights,
    base_weights,
    known_columns,
    labels_of,
    opened,
)
from tacit.reconstruction.sampling.sample_rows import Calibration, joint_ranks

#: Raking ends when every margin agrees within this share.
_CLOSE, _ROUNDS = 1e-10, 10_000
#: Totals of two margins may differ by this share.
_SAME = 1e-6


def poststratify(
    data: Any, design: Design, by: Sequence[str], totals: Mapping[Any, float], weights: Any = None
) -> AdjustedWeights:
    """Weights that give every cell of undisguised columns its known total.

    `totals` maps a label, or a tuple of labels if there are several columns, to the number or the
    share of people in the population. `weights` are design weights to start from.
    """
    frame = opened(data, design)
    columns = [
        labels_of(column, name)
        for name, column in zip(by, known_columns(frame, design, by, "by"), strict=True)
    ]
    first, cell = joint_ranks([places for places, _ in columns])
    labels = [tuple(own[places[i]] for places, own in columns) for i in first]
    keys = labels if len(by) > 1 else [label[0] for label in labels]
    wanted = _totals(", ".join(by), keys, totals)
    start = base_weights(frame, design, weights)
    factors = wanted / np.bincount(cell, start, len(wanted))
    return AdjustedWeights(start * factors[cell], Calibration(cell, np.eye(len(wanted))))


def rake(
    data: Any, design: Design, margins: Mapping[str, Mapping[Any, float]], weights: Any = None
) -> AdjustedWeights:
    """Weights that give every category of some undisguised columns its known total.

    `margins` maps a column to the numbers or shares of people by label.
    """
    if not isinstance(margins, Mapping) or not margins:
        raise DataError(f"margins must map columns to totals by label, got {margins!r}")
    frame = opened(data, design)
    names = list(margins)
    columns = [
        labels_of(column, name)
        for name, column in zip(names, known_columns(frame, design, names, "margins"), strict=True)
    ]
    wanted = [
        _totals(name, labels, margins[name])
        for name, (_, labels) in zip(names, columns, strict=True)
    ]
    _check_sums(names, wanted)
    first, cell = joint_ranks([places for places, _ in columns])
    places = [own[first] for own, _ in columns]
    start = base_weights(frame, design, weights)
    factors = _raked(np.bincount(cell, start).astype(np.float64), places, wanted)
    indicators = [np.eye(len(own))[place] for own, place in zip(wanted, places, strict=True)]
    calibration = Calibration(cell, np.concatenate(indicators, axis=1))
    return AdjustedWeights(start * factors[cell], calibration)


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


def _check_sums(names: Sequence[str], wanted: Sequence[Array]) -> None:
    sums = [float(own.sum()) for own in wanted]
    for name, own in zip(names, sums, strict=True):
        if abs(own - sums[0]) > _SAME * sums[0]:
            raise DataError(
                f"the totals of {names[0]!r} sum to {sums[0]:,.6g}, those of {name!r} to "
                f"{own:,.6g}; they must be the same population"
            )


def _raked(cells: Array, places: Sequence[Index], wanted: Sequence[Array]) -> Array:
    """The factor of each cell by which all margins agree."""
    factors = np.ones(len(cells))
    for _ in range(_ROUNDS):
        off = 0.0
        for place, total in zip(places, wanted, strict=True):
            ratio = total / np.bincount(place, cells * factors, len(total))
            off = max(off, float(np.abs(ratio - 1).max()))
            factors = factors * ratio[place]
        if off < _CLOSE:
            return factors
    raise DataError(
        "raking did not converge: no weights agree with all margins; join categories with few "
        "records"
    )
