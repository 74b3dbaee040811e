"""ForestImportances: how much each attribute contributes to a forest, with standard errors.

The importance of an attribute is the share of the reduction of impurity that splits by it have
(Breiman, 2001, section 10; the mean over trees). Trees come in bags of k that share one resample of
the reports, so that the means of the bags m_b vary with the reports, and trees within a bag only
with the attributes drawn (bootstrap of little bags: Sexton & Laake, 2009):

    Var(importance) = Var_b(m_b) - mean_b Var(trees of b) / k + mean_b Var(trees of b) / (B k)

The last term is what more trees would remove; the sum is at least this term. There are no
intervals: those of the normal distribution covered 80 to 92 instead of 95 %, because few bags
tell a variance only roughly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tacit.core.arrays import Array
from tacit.core.label_codes import frame_of
from tacit.output.number_text import decimals
from tacit.output.table import Table, TabularResult


@dataclass(frozen=True, eq=False)
class ForestImportances(TabularResult):
    """Importances of attributes, the largest first, and their standard errors."""

    target: str
    names: tuple[str, ...]
    value: Array
    stderr: Array

    @classmethod
    def of(cls, target: str, names: tuple[str, ...], value: Array, stderr: Array) -> Self:
        """Sorted by importance; equal ones stay in the order of the schema."""
        order = np.argsort(-value, kind="stable")
        return cls(target, tuple(names[a] for a in order), value[order], stderr[order])

    def columns(self) -> dict[str, list[Any]]:
        """Attribute, importance and standard error, as lists."""
        return {
            "attribute": list(self.names),
            "importance": self.value.tolist(),
            "stderr": self.stderr.tolist(),
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """The table as a data frame; `backend` is pandas, polars or pyarrow, else what is there."""
        return frame_of(self.columns(), backend)

    def to_table(self) -> Table:
        """The importances as a person reads them."""
        numbers = (map(decimals, self.value, self.stderr), map(decimals, self.stderr))
        rows = list(zip(self.names, *numbers, strict=True))
        heads = ("attribute", "importance", "std. error")
        return Table(heads, rows, f"importance for {self.target}", "lrr")


def importances_by_bag(gains: Array, size: int) -> tuple[Array, Array]:
    """Mean importances and standard errors from gains, trees x attributes, in bags of this size."""
    total = gains.sum(axis=1, keepdims=True)
    shares = np.divide(gains, total, out=np.zeros_like(gains), where=total > 0)
    value, n_bags = shares.mean(axis=0), len(shares) // size
    if not total.any():  # no tree has a split
        return value, np.zeros(len(value))
    if n_bags < 2:
        return value, np.full(len(value), np.nan)
    bags = shares[: n_bags * size].reshape(n_bags, size, -1)
    between, within = bags.mean(axis=1).var(axis=0, ddof=1), bags.var(axis=1, ddof=1).mean(axis=0)
    return value, np.sqrt(np.maximum(between - within / size, 0) + within / size / n_bags)
