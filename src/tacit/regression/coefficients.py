"""Coefficients with their covariance: standard errors, tests, intervals, and how they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from tacit.core.arrays import Array, Index
from tacit.core.imports import optional_imports
from tacit.errors import DataError, unknown
from tacit.output.number_text import decimals, number_of, span
from tacit.output.table import Figure, Table, TabularResult
from tacit.reconstruction.hypothesis_test import HypothesisTest
from tacit.regression.problem import RegressionProblem

#: Rows of a printed table before it is cut.
_SHOWN = 60


def check_alpha(alpha: float) -> None:
    """An error rate lies between 0 and 1."""
    if not 0 < alpha < 1:
        raise DataError(f"alpha must be between 0 and 1, got {alpha!r}")


class Coefficients(dict[str, float]):
    """Numbers by the names of coefficients; `numpy.asarray` gives them as an array."""

    def __init__(self, names: Sequence[str], values: Array) -> None:
        super().__init__(zip(names, values.tolist(), strict=True))

    def __missing__(self, name: str) -> float:
        raise KeyError(unknown("coefficient", name, self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(list(self.values()), dtype=dtype)

    def __repr__(self) -> str:
        return Table(("coefficient", "value"), list(self.items())).text()


@dataclass(frozen=True, eq=False, repr=False)
class CoefficientTable(TabularResult):
    """Named estimates; normal intervals from their covariance, or Student's in a sample."""

    title: str
    names: tuple[str, ...]
    values: Array
    covariance: Array
    problem: RegressionProblem
    warnings: tuple[str, ...]

    #: The number of records, that with missing cells, and the degrees of freedom of the variance.
    nobs = property(attrgetter("problem.n_records"))
    n_left_out = property(attrgetter("problem.n_left_out"))
    df = property(attrgetter("problem.df"))

    @property
    def params(self) -> Coefficients:
        """The estimates."""
        return Coefficients(self.names, self.values)

    @property
    def bse(self) -> Coefficients:
        """The standard errors."""
        return Coefficients(self.names, self._errors)

    @property
    def tvalues(self) -> Coefficients:
        """The estimates in standard errors."""
        return Coefficients(self.names, self._ratios)

    @property
    def pvalues(self) -> Coefficients:
        """Two-sided p-values of the hypotheses that a coefficient is 0."""
        return Coefficients(self.names, 2 * stdtr(self.df, -np.abs(self._ratios)))

    @property
    def _errors(self) -> Array:
        return np.sqrt(np.diag(self.covariance))

    @property
    def _ratios(self) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.values / self._errors)

    def cov_params(self) -> Array:
        """The covariance matrix of the estimates."""
        return self.covariance.copy()

    def conf_int(self, alpha: float = 0.05) -> Array:
        """Confidence limits, one row per coefficient, with confidence 1 - alpha."""
        check_alpha(alpha)
        half = -stdtrit(self.df, alpha / 2) * self._errors
        return np.stack([self.values - half, self.values + half], axis=1)

    def wald_test(self, hypothesis: Any, value: Any = 0) -> HypothesisTest:
        """Test that coefficients, or linear combinations of them, have a value (0 if left out).

        `hypothesis` is the name of a coefficient or of a term such as "C(region)", a list of such
        names, or a matrix with one combination per row.
        """
        rows, name = self._combinations(hypothesis)
        gap = rows @ self.values - value
        spread = rows @ self.covariance @ rows.T
        if np.linalg.matrix_rank(spread) < len(rows):
            raise DataError("the combinations of a Wald test must be independent")
        statistic = float(gap @ np.linalg.solve(spread, gap))
        tested = f"{name} = {np.asarray(value).tolist()}"
        return HypothesisTest.of_f(tested, statistic, len(rows), self.df, self.nobs)

    def _combinations(self, hypothesis: Any) -> tuple[Array, str]:
        texts = [hypothesis] if isinstance(hypothesis, str) else list(hypothesis)
        if texts and all(isinstance(text, str) for text in texts):
            chosen = np.unique(np.concatenate([self._indexes(text) for text in texts]))
            return np.eye(len(self.names))[chosen], ", ".join(texts)
        rows = np.atleast_2d(np.asarray(hypothesis, np.float64))
        if rows.ndim != 2 or rows.shape[1] != len(self.names) or not rows.size:
            raise DataError(
                f"a hypothesis must be names of coefficients or a matrix with {len(self.names)} "
                f"columns, got shape {rows.shape}"
            )
        return rows, number_of(len(rows), "combination")

    def _indexes(self, name: str) -> Index:
        """The coefficients of a name or of a term, in every equation."""
        indexes = [
            i
            for i, coefficient in enumerate(self.names)
            for part in (coefficient, coefficient.rpartition(": ")[2])
            if part == name or part.startswith(f"{name}[")
        ]
        if not indexes:
            raise DataError(unknown("coefficient", name, self.names))
        return np.unique(indexes)

    def columns(self, alpha: float = 0.05) -> dict[str, list[Any]]:
        """The table as columns."""
        limits = self.conf_int(alpha)
        return {
            "coefficient": list(self.names),
            "estimate": self.values.tolist(),
            "stderr": self._errors.tolist(),
            "z": self._ratios.tolist(),
            "pvalue": list(self.pvalues.values()),
            "lower": limits[:, 0].tolist(),
            "upper": limits[:, 1].tolist(),
        }

    def to_dict(self, alpha: float = 0.05) -> dict[str, Any]:
        """JSON-ready table."""
        return {
            "title": self.title,
            "nobs": self.nobs,
            "n_left_out": self.n_left_out,
            "level": 1 - alpha,
            "warnings": list(self.warnings),
            "table": self.columns(alpha),
        }

    def to_table(self, alpha: float = 0.05) -> Table:
        """The table as a person reads it, with figures of the fit and warnings below."""
        names, values, errors, ratios, pvalues, lower, upper = self.columns(alpha).values()
        numbers = map(decimals, values, errors), map(decimals, errors)
        chances = (f"{p:.4f}" if p >= 5e-5 else "<.0001" for p in pvalues)
        shown = names, *numbers, (f"{z:.2f}" for z in ratios), chances, map(span, lower, upper)
        interval = f"{100 - 100 * alpha:g} % interval"
        heads = ("coefficient", "estimate", "std. error", "z", "p", interval)
        rows = list(zip(*shown, strict=True))
        cut = Table(heads, rows, self.title).cut(_SHOWN, "coefficient")
        notes = [cut.note, *self.notes(), *(f"Warning: {text}" for text in self.warnings)]
        return Table(heads, cut.rows, self.title, note="\n".join(filter(None, notes)))

    def plot(self, alpha: float = 0.05) -> Figure:
        """The coefficients with their intervals, without constants; needs the extra `plot`.

        A ring marks an interval that contains 0.
        """
        with optional_imports():
            from matplotlib.figure import Figure

            from tacit.output.plot_style import INK, short_label
            from tacit.reconstruction.plot import MOST_ROWS, draw_intervals

        terms = [i for i, name in enumerate(self.names) if not self.is_constant(name)]
        shown = (terms or list(range(len(self.names))))[:MOST_ROWS]
        lower, upper = self.conf_int(alpha)[shown].T
        figure = Figure(figsize=(6.4, 1.2 + 0.3 * len(shown)), layout="constrained")
        axes = figure.subplots()
        axes.axvline(0, color=INK, linewidth=0.8, zorder=2)
        names, numbers = [self.names[i] for i in shown], (self.values[shown], lower, upper)
        draw_intervals(axes, "", names, numbers, hollow=(lower <= 0) & (upper >= 0))
        title = short_label(self.title.partition(" from ")[0], 70)
        axes.set_title(title, fontsize="medium", loc="left")
        left_out = len(terms) - len(shown)
        more = f"; {left_out} more are not shown" if left_out > 0 else ""
        axes.set_xlabel(f"estimate with {100 - 100 * alpha:g} % interval{more}")
        return figure

    def is_constant(self, name: str) -> bool:
        """Whether this coefficient is a constant, which is 0 in no hypothesis of interest."""
        return name.rpartition(": ")[2] == "Intercept"

    def notes(self) -> list[str]:
        """Lines below the table."""
        lines = []
        if np.isfinite(self.df):
            lines.append(f"errors of a sample with {self.df:,.0f} degrees of freedom")
        if self.n_left_out:
            lines.append(f"{number_of(self.n_left_out, 'record')} with missing cells left out")
        return lines

    def summary(self, alpha: float = 0.05) -> Table:
        """The same as `to_table`, by the name that statsmodels uses."""
        return self.to_table(alpha)
