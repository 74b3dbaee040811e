"""HypothesisTest: the result of a test, with its statistic, degrees of freedom and p-value."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from tacit.output.number_text import decimals, number_of
from tacit.output.table import Table, TabularResult

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
    n_left_out: int = 0

    @classmethod
    def of(
        cls, hypothesis: str, method: str, statistic: float, df: int, n_records: int
    ) -> HypothesisTest:
        """The test with the p-value of its statistic; without degrees of freedom it is 1."""
        from scipy.special import chdtrc  # slow to load

        pvalue = float(chdtrc(df, statistic)) if df > 0 else 1.0
        return cls(hypothesis, method, float(statistic), int(df), pvalue, n_records)

    @classmethod
    def of_f(
        cls, hypothesis: str, statistic: float, df: int, error_df: float, n: int
    ) -> HypothesisTest:
        """A Wald test whose covariance has `error_df` degrees of freedom (Korn & Graubard, 1990).

        (error_df - df + 1) / (df error_df) W is F with df and error_df - df + 1.
        """
        if math.isinf(error_df):
            return cls.of(hypothesis, "Wald", statistic, df, n)
        from scipy.special import fdtrc  # slow to load

        left = error_df - df + 1
        if df < 1 or left < 1:  # no test, or more restrictions than the covariance can bear
            return cls(hypothesis, "Wald", float(statistic), int(df), 1.0, n)
        pvalue = float(fdtrc(df, left, left / (df * error_df) * statistic))
        return cls(hypothesis, "Wald", float(statistic), int(df), pvalue, n)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready result."""
        return {k: v for k, v in asdict(self).items() if k != "n_left_out" or v}

    def to_table(self) -> Table:
        """The result as a person reads it."""
        heads = ("hypothesis", "method", "statistic", "df", "p-value")
        infinite = math.isinf(self.statistic)
        statistic = "infinite" if infinite else decimals(self.statistic, scale=1.0)
        row = (self.hypothesis, self.method, statistic, self.df, self.shown_p)
        title = f"Test from {number_of(self.n_records, 'reported record')}"
        if self.n_left_out:
            title += f" ({self.n_left_out:,} without an answer left out)"
        return Table(heads, [row], title, "llrrr")

    @property
    def shown_p(self) -> str:
        """The p-value with four decimals, or a bound."""
        return f"{self.pvalue:.4f}" if self.pvalue >= _SMALLEST else f"< {_SMALLEST:.4f}"


#: A misfit is reported if its p-value is below this: once in 1,000 surveys by chance.
MISFIT_LEVEL = 0.001


def misfit(test: HypothesisTest | None) -> str:
    """What is printed above estimates from reports that contradict the design; else nothing."""
    if test is None or test.pvalue >= MISFIT_LEVEL:
        return ""
    return (
        "MISFIT: these reports contradict the design (likelihood ratio "
        f"{test.statistic:.1f} on {test.df} df, p {test.shown_p}); the estimates do not hold"
    )
