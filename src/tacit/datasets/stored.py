"""Reading the tables of the `data` folder."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pyarrow as pa
import pyarrow.parquet


def stored_table(name: str) -> Any:
    """The PyArrow table of this name, in the order of the original file."""
    content = files("tacit.datasets").joinpath("data", f"{name}.parquet").read_bytes()
    return pyarrow.parquet.ParquetFile(pa.BufferReader(content)).read()
