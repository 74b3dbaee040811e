"""The tables of the `data` folder, from UCI, all under licence CC BY 4.0 (`data/ATTRIBUTION.md`).

Zhan and Matwin tested on "Breast Cancer" without saying which one. On 80/20 splits naive Bayes gets
.96 of the Wisconsin records right (the larger class has .66), and .72 of the Ljubljana records
(.70), where a disguise makes little difference.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pyarrow as pa
import pyarrow.parquet


def load_adult() -> Any:
    """All 48,842 records as a PyArrow table: 14 attributes and income, `?` for unknown.

    In the order of the files, the 32,561 training records first; `adult.slice(0, 10_000)` are
    "the first 10,000 instances" of the papers. B. Becker and R. Kohavi (1996), Adult, UCI,
    doi:10.24432/C5XW20.

    >>> adult = load_adult()
    >>> adult.num_rows, adult.column_names[-1]
    (48842, 'income')
    """
    return _stored("adult")


def load_wisconsin() -> Any:
    """699 biopsies as a PyArrow table: id, nine marks from 1 to 10, class 2 benign or 4 malignant.

    In the order of the file. 16 cells of bare_nuclei are missing: nulls. The ids are not unique:
    there are 645. W. Wolberg (1990), Breast Cancer Wisconsin (Original), UCI, doi:10.24432/C5HP4Z.

    >>> load_wisconsin()["class"].value_counts().to_pylist()
    [{'values': 2, 'counts': 458}, {'values': 4, 'counts': 241}]
    """
    return _stored("breast_cancer_wisconsin")


def load_ljubljana() -> Any:
    """286 patients as a PyArrow table: nine attributes and whether the cancer came back (class).

    In the order of the file. Nine cells are missing: nulls, 8 in node-caps and 1 in breast-quad.
    M. Zwitter and M. Soklic (1988), Breast Cancer, UCI, doi:10.24432/C51P4M. Obtained from the
    University Medical Centre, Institute of Oncology, Ljubljana.

    >>> load_ljubljana().shape
    (286, 10)
    """
    return _stored("breast_cancer_ljubljana")


def _stored(name: str) -> Any:
    content = files("tacit.datasets").joinpath("data", f"{name}.parquet").read_bytes()
    return pyarrow.parquet.ParquetFile(pa.BufferReader(content)).read()
