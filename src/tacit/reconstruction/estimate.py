"""Estimate: values with their standard errors, covariance and method; prints as a table."""

from __future__ import annotations

import html
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.arrays import Array
from tacit.errors import DataError
from tacit.label_codes import frame_of
from tacit.number_text import decimals, number_of, span
from tacit.reconstruction.interval import Interval, ScoreTest, normal_interval, score_interval
from tacit.reconstruction.likelihood import Convergence
from tacit.schema import Attribute, Label

#: Rows of a printed table before it is cut.
_SHOWN = 40


@dataclass(frozen=True, eq=False)
class Estimate:
    """A table of estimated quantities, one axis an attribute; no axis for a single number.

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
    score: ScoreTest | None = None
    convergence: Convergence | None = None
    covariance_of: Callable[[], Array] | None = None

    @property
    def covariance(self) -> Array:
        """Covariance matrix of the cells, flattened with the last attribute running fastest."""
        if self.covariance_of is None:
            return np.asarray(self.stderr**2).reshape(1, 1)
        return self.covariance_of()

    def interval(self, level: float = 0.95) -> Interval:
        """Confidence limits, cell by cell; within [0, 1] for probabilities."""
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
        numbers = {"estimate": self.value, "stderr": self.stderr, "lower": lower, "upper": upper}
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

    def rows(self, level: float = 0.95) -> list[list[str]]:
        """Header and rows as text, for anything that shows the table to a person."""
        columns = self.columns(level)
        lower, upper = columns.pop("lower"), columns.pop("upper")
        names = list(columns)[:-2]
        header = [*names, "estimate", "std. error", f"{100 * level:g} % interval"]
        body = [
            [
                *(str(columns[name][i]) for name in names),
                decimals(columns["estimate"][i]),
                decimals(columns["stderr"][i]),
                span(lower[i], upper[i]),
            ]
            for i in range(len(lower))
        ]
        return [header, *body]

    def caption(self) -> str:
        """One line on what the table is."""
        records = number_of(self.n_records, "reported record")
        text = f"{self.name} from {records}, by {self.method}"
        if self.convergence is not None:
            ended = "converged" if self.convergence.converged else "NOT converged"
            text += f" ({ended} after {number_of(self.convergence.iterations, 'iteration')})"
        return text + "; errors by inversion" if self.method in ("simplex", "em") else text

    def __str__(self) -> str:
        shown, left = _cut(self.rows())
        widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
        lines = [
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in shown
        ]
        return "\n".join([self.caption(), *(line.rstrip() for line in lines), *left])

    def _repr_html_(self) -> str:
        shown, left = _cut(self.rows())
        head, *body = ["".join(f"<td>{html.escape(c)}</td>" for c in row) for row in shown]
        rows = "".join(f"<tr>{row}</tr>" for row in body)
        note = "".join(f"<p>{html.escape(line)}</p>" for line in left)
        return (
            f"<table><caption>{html.escape(self.caption())}</caption>"
            f"<thead><tr>{head.replace('td>', 'th>')}</tr></thead>"
            f"<tbody>{rows}</tbody></table>{note}"
        )

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


def _cut(rows: Sequence[list[str]]) -> tuple[list[list[str]], list[str]]:
    """The rows that fit, and a line about those that do not."""
    left = len(rows) - 1 - _SHOWN
    return list(rows[: _SHOWN + 1]), _more(left)


def _more(left: int) -> list[str]:
    return [f"... {number_of(left, 'more row')}; see to_frame()"] if left > 0 else []
