"""Records as a few 64-bit integers: what an engine groups by, and what it sends.

Attributes are taken in runs whose cells fit 63 bits; each run is one mixed-radix key (see `keys`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Codes
from tacit.core.schema import Schema
from tacit.errors import EngineError
from tacit.records.keys import smallest, split

KEY_LIMIT = 1 << 63


def key_runs(sizes: Sequence[int]) -> list[range]:
    """Runs of attributes, each with fewer than 2^63 cells."""
    runs, start = [], 0
    for stop in range(1, len(sizes) + 1):
        if stop == len(sizes) or math.prod(sizes[start : stop + 1]) >= KEY_LIMIT:
            runs.append(range(start, stop))
            start = stop
    return runs


def codes_of_keys(keys: Sequence[npt.NDArray[np.int64]], schema: Schema) -> Codes:
    """The codes that the keys of each run stand for, records x attributes."""
    sizes = schema.sizes
    codes = np.empty((len(keys[0]), len(sizes)), smallest(max(sizes)), order="F")
    for run, own in zip(key_runs(sizes), keys, strict=True):
        cells = math.prod(sizes[run.start : run.stop])
        if len(own) and not 0 <= int(own.min()) <= int(own.max()) < cells:
            raise EngineError("the engine sent a key that stands for no record")
        narrow = own.astype(smallest(cells))
        codes[:, run.start : run.stop] = split(narrow, sizes[run.start : run.stop])
    return codes
