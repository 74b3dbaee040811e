"""Data that come with the package: tables from UCI, all under licence CC BY 4.0.

Their attribution is in `data/ATTRIBUTION.md`.

Zhan and Matwin tested on "Breast Cancer" without saying which one. On 80/20 splits naive Bayes gets
.96 of the Wisconsin records right (the larger class has .66), and .72 of the Ljubljana records
(.70), where a disguise makes little difference.

Du and Zhan (Using Randomized Response Techniques for Privacy-Preserving Data Mining, KDD 2003), and
after them Zhan and Matwin, cut each attribute to yes/no at "the median point of the range of the
attribute" and do not explain it. Here a nominal attribute is cut at the middle of its list of
categories, a numeric one at the median of its values: naive Bayes then gets .82 of Adult right, as
Zhan and Matwin published. Cuts halfway between the smallest and largest value give at most .785.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from tacit.core.arrays import Array, Codes
from tacit.core.channel import related, unrelated
from tacit.core.design import Design, Group
from tacit.core.frames import numbers
from tacit.core.label_codes import encode
from tacit.core.schema import Attribute, Schema, median, quantiles

__all__ = [
    "adult_binary",
    "adult_native",
    "adult_survey",
    "load_adult",
    "load_ljubljana",
    "load_wisconsin",
    "wisconsin_binary",
]


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
    return pyarrow.parquet.ParquetFile(pa.BufferReader(_content(f"{name}.parquet"))).read()


def _content(file: str) -> bytes:
    return files("tacit.datasets").joinpath("data", file).read_bytes()


def adult_native(bins: int = 5) -> tuple[Codes, Schema]:
    """Adult with its own categories, and its numeric attributes cut at their quantiles.

    All 14 attributes, the census weight fnlwgt among them, and income last. Nominal categories
    come in the order of UCI's `adult.names` (Schema.infer would sort them) with `?`, unknown, last.
    Only income is reversed, so that code 1 is the sensitive answer. Numeric attributes have up to
    `bins` categories; capital-gain and capital-loss, over nine tenths of them 0, keep two: none,
    and some.

    >>> codes, schema = adult_native()
    >>> codes.shape, schema["race"].categories[:2]
    ((48842, 15), ('White', 'Asian-Pac-Islander'))
    """
    adult, nominal = load_adult(), json.loads(_content("adult_categories.json"))
    schema = Schema(
        Attribute(name, nominal[name])
        if name in nominal
        else quantiles(bins)(name, numbers(adult[name]))
        for name in adult.column_names
    )
    return encode(adult, schema), schema


#: The class of a malignant sample in the Wisconsin file.
MALIGNANT = 4


def adult_binary() -> tuple[Codes, Schema]:
    """Adult as yes/no: codes of 48,842 records x 15 attributes, income last.

    A nominal attribute of k categories, in the order of UCI's `adult.names` with `?` last, has
    code 0 for the first (k+1)//2 of them and 1 for the rest. A numeric one has code 1 above its
    median over all records; that of capital-gain and capital-loss is 0, so 1 means "some".

    >>> codes, schema = adult_binary()
    >>> schema["age"].categories, schema["race"].categories
    (('<= 37', '> 37'), ('White..Amer-Indian-Eskimo', 'Other..Black'))
    """
    codes, schema = adult_native(bins=2)
    upper = codes >= np.array([_middle(attribute) for attribute in schema], dtype=codes.dtype)
    return upper.view(np.uint8), Schema([_halves(attribute) for attribute in schema])


def wisconsin_binary() -> tuple[Codes, Schema]:
    """The Wisconsin breast cancer data as yes/no: codes of 699 records x 10, class last.

    Each mark from 1 to 10 has code 1 above its median; a missing bare_nuclei (16 records) counts
    as the median, so 0. The id is left out. Naive Bayes gets .959 right (mean of 10,000
    splits 80/20); without the 16 records it would be .961, with all marks cut after 5 .958.

    >>> codes, schema = wisconsin_binary()
    >>> schema["bare_nuclei"].categories, schema["class"].categories
    (('<= 1', '> 1'), ('benign', 'malignant'))
    """
    table = load_wisconsin()
    values = {name: _filled(numbers(table[name])) for name in table.column_names[1:-1]}
    marks = [median()(name, column) for name, column in values.items()]
    schema = Schema([*marks, Attribute("class", ["benign", "malignant"])])
    kind = pc.if_else(pc.equal(table["class"], MALIGNANT), "malignant", "benign")
    return encode(pa.table({**values, "class": kind}), schema), schema


def _middle(attribute: Attribute) -> int:
    """The first code of the second half; the first half is the larger one."""
    return (attribute.size + 1) // 2


def _halves(attribute: Attribute) -> Attribute:
    """Two categories named by the first and last of their own; two stay as they are."""
    if attribute.size == 2:
        return attribute
    middle, labels = _middle(attribute), attribute.categories
    halves = labels[:middle], labels[middle:]
    return Attribute(attribute.name, [f"{half[0]}..{half[-1]}" for half in halves])


def _filled(values: Array) -> Array:
    """Missing values replaced by the median of the others."""
    return np.where(np.isnan(values), np.nanmedian(values), values)


MARITAL = {
    "Never-married": "single",
    "Married-civ-spouse": "married",
    "Married-AF-spouse": "married",
    "Married-spouse-absent": "married",
    "Divorced": "formerly",
    "Separated": "formerly",
    "Widowed": "formerly",
}
SCHEMA = Schema(
    [
        Attribute("income", ["<=50K", ">50K"]),
        Attribute("sex", ["Female", "Male"]),
        Attribute("age", ["up to 30", "31 to 45", "over 45"], edges=[30, 45]),
        Attribute("marital", ["single", "married", "formerly"]),
        Attribute("hours", ["under 40", "40 hours", "over 40"], edges=[39, 40]),
    ]
)


def adult_survey() -> tuple[Any, Design]:
    """True records of five questions, and a design that asks them.

    Income has a coin of its own: the truth with probability 3/4, else the opposite. The other
    four share one: all true with probability 1/3, else each drawn uniformly from its categories.
    """
    adult = load_adult()
    married = pc.index_in(adult["marital-status"], value_set=pa.array(list(MARITAL)))
    records = pa.table(
        {
            "income": adult["income"],
            "sex": adult["sex"],
            "age": adult["age"],
            "marital": pa.array(list(MARITAL.values())).take(married.combine_chunks()),
            "hours": adult["hours-per-week"],
        }
    )
    others = [attribute for attribute in SCHEMA if attribute.name != "income"]
    alike = {a.name: [f"1/{a.size}"] * a.size for a in others}
    groups = [
        Group(["income"], related(theta="3/4")),
        Group(list(alike), unrelated(theta="1/3", personal=alike)),
    ]
    return records, Design(SCHEMA, groups)
