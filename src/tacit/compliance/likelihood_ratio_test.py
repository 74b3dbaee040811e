"""LikelihoodRatioTest: the result of a likelihood-ratio test between two mixtures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tacit.number_text import decimals
from tacit.reconstruction.hypothesis_test import small_p
from tacit.table import Table

#: Statistics below this are rounding errors.
_ROUNDING = 1e-7


@dataclass(frozen=True)
class LikelihoodRatioTest:
    """Small p-values contradict the hypothesis."""

    hypothesis: str
    statistic: float
    df: int
    pvalue: float

    @classmethod
    def interior(cls, hypothesis: str, gain: float, df: int) -> LikelihoodRatioTest:
        """2 * gain is chi-squared; without degrees of freedom the p-value is 1."""
        from scipy.special import chdtrc  # slow to load

        statistic = _statistic(gain)
        pvalue = float(chdtrc(df, statistic)) if df > 0 else 1.0
        return cls(hypothesis, statistic, df, pvalue)

    @classmethod
    def boundary(cls, hypothesis: str, gain: float) -> LikelihoodRatioTest:
        """The hypothesis sets one share to 0, the least it can be.

        2 * gain is then 0 in half of all surveys, else chi-squared with 1 degree of freedom
        (Self & Liang, 1987, case 5).
        """
        from scipy.special import chdtrc  # slow to load

        statistic = _statistic(gain)
        pvalue = float(chdtrc(1, statistic)) / 2 if statistic > 0 else 1.0
        return cls(hypothesis, statistic, 1, pvalue)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready result."""
        return asdict(self)

    def __str__(self) -> str:
        shown = f"= {self.pvalue:.4f}" if self.pvalue >= 1e-4 else "< 0.0001"
        return f"{self.hypothesis}: G = {self.statistic:.4f}, df = {self.df}, p {shown}"


def tests_table(tests: Sequence[LikelihoodRatioTest]) -> Table:
    """Tests as people read them."""
    heads = ("hypothesis", "likelihood ratio", "df", "p-value")
    rows = [
        (each.hypothesis, decimals(each.statistic), each.df, small_p(each.pvalue)) for each in tests
    ]
    return Table(heads, rows)


def _statistic(gain: float) -> float:
    return 2 * gain if 2 * gain > _ROUNDING else 0.0
