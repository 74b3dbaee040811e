"""Adult: the census records of UCI, the common test bed of the literature that tacit implements.

B. Becker and R. Kohavi (1996), UCI Machine Learning Repository, doi:10.24432/C5XW20, licence
CC BY 4.0. What was changed is said in `data/ATTRIBUTION.md`.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pyarrow as pa
import pyarrow.parquet


def load_adult() -> Any:
    """All 48,842 records as a PyArrow table: 14 attributes and income, `?` for unknown.

    In the order of the files, the 32,561 training records first; `adult.slice(0, 10_000)` are
    "the first 10,000 instances" of the papers.

    >>> adult = load_adult()
    >>> adult.num_rows, adult.column_names[-1]
    (48842, 'income')
    """
    content = files("tacit.datasets").joinpath("data", "adult.parquet").read_bytes()
    return pyarrow.parquet.read_table(pa.BufferReader(content))
