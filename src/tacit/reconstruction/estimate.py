"""Estimate: values with their standard errors, covariance and method; prints as a table."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tacit.arrays import Array
from tacit.errors import DataError
from tacit.label_codes import frame_of
from tacit.number_text import decimals, number_of, span
from tacit.reconstruction.interval import Interval, ScoreTest, normal_interval, score_interval
from tacit.reconstruction.likelihood import Convergence
from tacit.schema import Attribute, Label
from tacit.table import Table

#: Rows of a printed table before it is cut.
_SHOWN = 40
_NUMBERS = ("estimate", "stderr", "lower", "upper")


@dataclass(frozen=True, eq=False)
class Estimate:
    """A table of estimated quantities, one axis per attribute; no axis for a single number.

    `stderr`, `covariance` and intervals are always those of the unbiased estimate, whatever the
    method: values moved into the simplex are biased, have no normal distribution at its border,
    and may lie outside the interval of their cell.
    """

    attributes: tuple[Attribute, ...]
    value: Array
    stderr: Array
    n_records: int
    method: str
    name: str
    covariance_of: Callable[[], Array]
    score: ScoreTest | None = None
    convergence: Convergence | None = None
    interval_of: Callable[[float], Interval] | None = None

    @classmethod
    def of_covariance(
        cls,
        attributes: tuple[Attribute, ...],
        value: Array,
        covariance: Array,
        n_records: int,
        method: str,
        name: str,
    ) -> Estimate:
        """An estimate with normal intervals from its covariance matrix."""
        stderr = np.sqrt(np.maximum(covariance.diagonal(), 0)).reshape(value.shape)
        found = partial(np.asarray, covariance)
        return cls(attributes, value, stderr, n_records, method, name, found)

    @property
    def covariance(self) -> Array:
        """Covariance matrix of the cells, flattened with the last attribute running fastest."""
        return self.covariance_of()

    def interval(self, level: float = 0.95) -> Interval:
        """Confidence limits, cell by cell; within [0, 1] for probabilities."""
        if self.interval_of is not None:
            return self.interval_of(level)
        if self.score is None:
            return normal_interval(self.value, self.stderr, level)
        return score_interval(self.score, level)

    def __float__(self) -> float:
        if self.attributes:
            raise DataError("a table is not one number; use .value")
        return float(self.value)

    def cells(self) -> list[tuple[Label, ...]]:
        """Labels of the cells, in the order of `value.ravel()`."""
        return list(itertools.product(*(a.categories for a in self.attributes)))

    def columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """The table as columns: labels, estimate, stderr, lower, upper.

        A column of labels gets underscores where an attribute is named like a column of numbers.
        """
        lower, upper = self.interval(level)
        labels = map(list, zip(*self.cells(), strict=True)) if self.attributes else ()
        numbers = dict(zip(_NUMBERS, (self.value, self.stderr, lower, upper), strict=True))
        names = free_names([a.name for a in self.attributes], numbers)
        result: dict[str, list[Any]] = dict(zip(names.values(), labels, strict=True))
        return result | {key: np.ravel(array).tolist() for key, array in numbers.items()}

    def to_frame(self, level: float = 0.95, backend: str | None = None) -> Any:
        """The table as a data frame; `backend` is pandas, polars or pyarrow, else what is there."""
        return frame_of(self.columns(level), backend)

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """JSON-ready table with method and convergence."""
        result: dict[str, Any] = {
            "name": self.name,
            "method": self.method,
            "n_records": self.n_records,
            "level": level,
            "attributes": [a.name for a in self.attributes],
            "table": self.columns(level),
        }
        if self.convergence is not None:
            result["convergence"] = vars(self.convergence)
        return result

    def to_table(self, level: float = 0.95) -> Table:
        """The table as a person reads it, under its caption."""
        columns = self.columns(level)
        estimates, errors, lower, upper = (columns.pop(name) for name in _NUMBERS)
        shown = map(decimals, estimates), map(decimals, errors), map(span, lower, upper)
        heads = [*columns, "estimate", "std. error", f"{100 * level:g} % interval"]
        labels = [map(str, column) for column in columns.values()]
        rows = list(zip(*labels, *shown, strict=True))
        return Table(heads, rows, self.caption(), "l" * len(labels) + "rrr")

    def caption(self) -> str:
        """One line on what the table is."""
        records = number_of(self.n_records, "reported record")
        text = f"{self.name} from {records}, by {self.method}"
        if self.convergence is not None:
            ended = "converged" if self.convergence.converged else "NOT converged"
            text += f" ({ended} after {number_of(self.convergence.iterations, 'iteration')})"
        return text + "; errors by inversion" if self.method in ("simplex", "em") else text

    def __str__(self) -> str:
        return self.to_table().cut(_SHOWN).text()

    def _repr_html_(self) -> str:
        return self.to_table().cut(_SHOWN).html()

    __repr__ = __str__


def free_names(names: Sequence[str], taken: Iterable[str]) -> dict[str, str]:
    """Each name with the column it gets: its own, or underscores added until one is free.

    >>> free_names(["sex", "estimate", "estimate_"], ["estimate", "stderr"])
    {'sex': 'sex', 'estimate': 'estimate__', 'estimate_': 'estimate_'}
    """
    fixed = set(taken)
    used = fixed | set(names)
    columns = {}
    for name in names:
        column = name
        while name in fixed and column in used:
            column += "_"
        used.add(column)
        columns[name] = column
    return columns
