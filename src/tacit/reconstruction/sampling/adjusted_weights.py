"""AdjustedWeights: design weights that were adjusted, with what their errors depend on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Array, Index, Mask
from tacit.core.design import Design, check_design
from tacit.core.label_codes import FROM_0
from tacit.errors import DataError, unknown
from tacit.reconstruction.sampling.sample_columns import SampleData, Sampling, check_undisguised
from tacit.reconstruction.sampling.sample_rows import Calibration


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


def opened(data: Any, design: Design) -> Any:
    """Records in memory as a frame of narwhals; the path of a file is read."""
    from tacit.core import frames

    check_design(design)
    if isinstance(data, np.ndarray):
        raise DataError("an array of codes has no undisguised columns; give a frame")
    if isinstance(data, str | os.PathLike):
        from tacit.records import read_frame  # Arrow is slow to start

        data = read_frame(Path(data))
    return frames.open_frame(data)


def base_weights(frame: Any, design: Design, weights: Any) -> Array:
    """The design weights to start from; 1 if there are none."""
    sampling = Sampling(weights=weights)
    sampling.check(design)
    from tacit.core import frames

    table = dict.fromkeys(frame.columns)
    table |= {n: frames.column(frame, n) for n in sampling.columns if n in frame.columns}
    return SampleData(sampling, table, None, len(frame)).design_weights()


def known_columns(frame: Any, design: Design, names: Sequence[str], what: str) -> list[Any]:
    """Undisguised columns as Arrow arrays, checked."""
    from tacit.core import frames

    if isinstance(names, str) or not len(names):
        raise DataError(f"{what} must be a list of at least one column, got {names!r}")
    for name in names:
        if name not in frame.columns:
            raise DataError(f"{what}: {unknown('column', name, frame.columns)}")
        check_undisguised(design, name, what)
    return [frames.column(frame, name) for name in names]


def labels_of(column: Any, name: str) -> tuple[Index, list[Any]]:
    """The place of each record's label, and the labels; an error if one is missing."""
    from tacit.core import frames

    seen = frames.distinct(column)
    absent = np.array([value is None for value in seen.values])[seen.positions]
    if absent.any():
        raise DataError(
            f"column {name!r}: missing at record {int(absent.argmax())} {FROM_0}; every record "
            "needs a value"
        )
    used, places = np.unique(seen.positions, return_inverse=True)
    return places.astype(np.intp), [seen.values[i] for i in used]
