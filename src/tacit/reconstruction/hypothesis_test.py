"""HypothesisTest: the result of a test, with its statistic, degrees of freedom and p-value."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from tacit.number_text import number_of
from tacit.table import Table, TabularResult

#: P-values below this are printed as a bound.
_SMALLEST = 1e-4


@dataclass(frozen=True)
class HypothesisTest(TabularResult):
    """A chi-squared test: small p-values contradict the hypothesis."""

    hypothesis: str
    method: str
    statistic: float
    df: int
    pvalue: float
    n_records: int

    @classmethod
    def of(
        cls, hypothesis: str, method: str, statistic: float, df: int, n_records: int
    ) -> HypothesisTest:
        """The test with the p-value of its statistic; without degrees of freedom it is 1."""
        from scipy.special import chdtrc  # slow to load

        pvalue = float(chdtrc(df, statistic)) if df > 0 else 1.0
        return cls(hypothesis, method, float(statistic), int(df), pvalue, n_records)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready result."""
        return asdict(self)

    def to_table(self) -> Table:
        """The result as a person reads it."""
        heads = ("hypothesis", "method", "statistic", "df", "p-value")
        row = (self.hypothesis, self.method, decimals_of(self.statistic), self.df, self.shown_p)
        title = f"Test from {number_of(self.n_records, 'reported record')}"
        return Table(heads, [row], title, "llrrr")

    @property
    def shown_p(self) -> str:
        """The p-value as text."""
        return small_p(self.pvalue)


def small_p(pvalue: float) -> str:
    """A p-value with four decimals, or a bound."""
    return f"{pvalue:.4f}" if pvalue >= _SMALLEST else f"< {_SMALLEST:.4f}"


def decimals_of(statistic: float) -> str:
    """A statistic with four decimals, or "infinite"."""
    return "infinite" if math.isinf(statistic) else f"{statistic:.4f}"
