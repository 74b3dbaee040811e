"""Populations to compare trees on: data sets that ship with packages, as codes.

Numbers are cut at their quantiles. Small data sets of numbers give large surveys: true records are
drawn from the training part with replacement, and get normal noise of a fifth of the standard
deviation before they are cut (a smoothed bootstrap), so that no record is reported many times. Data
sets of categories are reported once each.
statsmodels is only read from, not imported; its data sets are left out if it is not installed.
"""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn import datasets

from tacit import Attribute, Schema
from tacit.core.arrays import Array, Codes
from tacit.datasets import adult_binary, wisconsin_binary
from tests.support.breast_cancer import ljubljana

#: Reports of one survey; the share of records that trees learn from.
N_REPORTS, TRAINING = 4000, 0.7
_SMOOTHING = 0.2


@dataclass(frozen=True, eq=False)
class TreeData:
    """Records with the class last; numbers before they are cut, or codes with their schema."""

    values: Array
    classes: npt.NDArray[np.integer]
    bins: int
    schema: Schema

    def survey(self, rng: np.random.Generator) -> tuple[Codes, Codes]:
        """True records of respondents, and records to predict."""
        order = rng.permutation(len(self.values))
        cut = int(TRAINING * len(order))
        drawn = order[:cut]
        if self.bins and cut < N_REPORTS:
            drawn = rng.choice(drawn, N_REPORTS)
        values = self.values[drawn]
        if self.bins:
            noise = rng.normal(size=values.shape) * _SMOOTHING * self.values.std(axis=0)
            values = values + noise
        return self._coded(values, drawn), self._coded(self.values[order[cut:]], order[cut:])

    def _coded(self, values: Array, rows: npt.NDArray[np.integer]) -> Codes:
        columns = values
        if self.bins:
            edges = np.quantile(self.values, np.arange(1, self.bins) / self.bins, axis=0)
            columns = (values[None] >= edges[:, None]).sum(axis=0)
        return np.column_stack([columns, self.classes[rows]]).astype(np.uint8)


def _numbers(values: Array, classes: npt.NDArray[np.integer], bins: int) -> TreeData:
    """Numbers, each to be cut into as many categories."""
    labels = [f"part {i + 1}" for i in range(bins)]
    features = [Attribute(f"x{i}", labels) for i in range(values.shape[1])]
    own = Attribute("class", [f"class {i}" for i in range(int(classes.max()) + 1)])
    return TreeData(values.astype(np.float64), classes, bins, Schema([*features, own]))


def _coded(codes: Codes, schema: Schema) -> TreeData:
    """Codes that stay as they are."""
    return TreeData(codes[:, :-1].astype(np.float64), codes[:, -1], 0, schema)


def _of_sklearn(name: str, columns: slice, bins: int) -> TreeData:
    found = getattr(datasets, f"load_{name}")()
    classes = found.target
    if name == "diabetes":
        classes = (classes > np.median(classes)).astype(np.intp)
    return _numbers(found.data[:, columns], classes, bins)


def _digits() -> TreeData:
    """Digits by the mean brightness of 12 parts of the picture."""
    found = datasets.load_digits()
    parts = found.images[:, :, 1:7].reshape(-1, 4, 2, 3, 2).mean(axis=(2, 4))
    return _numbers(parts.reshape(-1, 12), found.target, 2)


def _of_statsmodels(name: str, target: str, above: float, bins: int) -> TreeData:
    """A table of numbers in statsmodels; the class is whether the target exceeds a number."""
    spec = importlib.util.find_spec("statsmodels")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("statsmodels")
    path = Path(spec.submodule_search_locations[0]) / "datasets" / name / f"{name}.csv"
    with path.open(newline="") as file:
        tabs = "\t" in file.readline()
        file.seek(0)
        rows = list(
            csv.DictReader(file, delimiter="\t" if tabs else ",", quotechar="'" if tabs else '"')
        )
    names = [column for column in rows[0] if column != target][:8]
    values = np.array([[float(row[column]) for column in names] for row in rows])
    classes = np.array([float(row[target]) > above for row in rows]).astype(np.intp)
    return _numbers(values, classes, bins)


def _adult() -> TreeData:
    codes, schema = adult_binary()
    return _coded(codes[:10_000], schema)


#: Data sets by name. New here: iris, digits, diabetes, fair, anes96.
LOADERS: dict[str, Callable[[], TreeData]] = {
    "adult": _adult,
    "wisconsin": lambda: _coded(*wisconsin_binary()),
    "ljubljana": lambda: _coded(*ljubljana()),
    "breast cancer": lambda: _of_sklearn("breast_cancer", slice(8), 2),
    "wine": lambda: _of_sklearn("wine", slice(7), 3),
    "iris": lambda: _of_sklearn("iris", slice(4), 4),
    "digits": _digits,
    "diabetes": lambda: _of_sklearn("diabetes", slice(10), 2),
    "fair": lambda: _of_statsmodels("fair", "affairs", 0.0, 2),
    "anes96": lambda: _of_statsmodels("anes96", "vote", 0.5, 2),
}


@cache
def tree_data(name: str) -> TreeData:
    """A data set by name."""
    return LOADERS[name]()
