"""MixtureResult: what every result of a fitted mixture has; likelihood-ratio tests of mixtures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tacit.core.arrays import Array
from tacit.core.imports import optional_imports
from tacit.output.number_text import decimals
from tacit.output.table import Table, latex_of, markdown_of
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.hypothesis_test import HypothesisTest
from tacit.reconstruction.interval import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Statistics below this are rounding errors.
_ROUNDING = 1e-7


class MixtureResult(ABC):
    """Estimates and tests; the first estimate is the distribution of the true answers."""

    @property
    @abstractmethod
    def estimates(self) -> list[Estimate]:
        """The distribution and what else was estimated."""

    @property
    @abstractmethod
    def tests(self) -> list[HypothesisTest]:
        """The tests of what the estimates assume."""

    @abstractmethod
    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """JSON-ready result."""

    @property
    def value(self) -> Array:
        """The estimated distribution, one axis per attribute."""
        return self.estimates[0].value

    @property
    def stderr(self) -> Array:
        """Its standard errors."""
        return self.estimates[0].stderr

    @property
    def covariance(self) -> Array:
        """Its covariance matrix, cells flattened with the last attribute running fastest."""
        return self.estimates[0].covariance

    @property
    def n_records(self) -> int:
        """Number of records of all samples."""
        return self.estimates[0].n_records

    def interval(self, level: float = 0.95) -> Interval:
        """Profile-likelihood limits of the distribution, within [0, 1]."""
        return self.estimates[0].interval(level)

    def to_frame(self, level: float = 0.95, backend: str | None = None) -> Any:
        """The distribution as a data frame."""
        return self.estimates[0].to_frame(level, backend)

    def tables(self, level: float = 0.95) -> list[Table]:
        """The estimates and the tests as people read them."""
        return [*(each.to_table(level) for each in self.estimates), _tests_table(self.tests)]

    def to_markdown(self, level: float = 0.95) -> str:
        """The tables in Markdown."""
        return markdown_of(self.tables(level))

    def to_latex(self, level: float = 0.95) -> str:
        """The tables in LaTeX, for the package booktabs."""
        return latex_of(self.tables(level))

    def plot(self, level: float = 0.95) -> Figure:
        """The estimates with their intervals; needs the extra `plot`."""
        with optional_imports():
            from tacit.reconstruction.plot import plot_estimates

        return plot_estimates(self.estimates, level, shares=True)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.estimates), *map(line, self.tests)])

    def _repr_html_(self) -> str:
        return "".join(table.html() for table in self.tables())

    def __repr__(self) -> str:
        return str(self)


def interior_test(hypothesis: str, gain: float, df: int, n_records: int) -> HypothesisTest:
    """2 * gain is chi-squared; without degrees of freedom the p-value is 1."""
    return HypothesisTest.of(hypothesis, "likelihood ratio", _statistic(gain), df, n_records)


def boundary_test(hypothesis: str, gain: float, n_records: int) -> HypothesisTest:
    """The hypothesis sets one share to 0, the least it can be.

    2 * gain is then 0 in half of all surveys, else chi-squared with 1 degree of freedom
    (Self & Liang, 1987, case 5).
    """
    found = interior_test(hypothesis, gain, 1, n_records)
    return replace(found, pvalue=found.pvalue / 2 if found.statistic > 0 else 1.0)


def line(test: HypothesisTest) -> str:
    """A test in one line."""
    shown = test.shown_p if test.shown_p.startswith("<") else f"= {test.shown_p}"
    return f"{test.hypothesis}: G = {test.statistic:.4f}, df = {test.df}, p {shown}"


def _tests_table(tests: list[HypothesisTest]) -> Table:
    heads = ("hypothesis", "likelihood ratio", "df", "p-value")
    rows = [(test.hypothesis, decimals(test.statistic), test.df, test.shown_p) for test in tests]
    return Table(heads, rows)


def _statistic(gain: float) -> float:
    return 2 * gain if 2 * gain > _ROUNDING else 0.0
