"""ForestImportances: how much each attribute contributes to a forest, with standard errors.

The importance of an attribute is the share of the reduction of impurity that splits by it have
(Breiman, 2001, section 10; the mean over trees). Trees come in bags of k that share one resample of
the reports, so that the means of the bags m_b vary with the reports, and trees within a bag only
with the attributes drawn (bootstrap of little bags: Sexton & Laake, 2009):

    Var(importance) = Var_b(m_b) - mean_b Var(trees of b) / k + mean_b Var(trees of b) / (B k)

The last term is what more trees would remove; the sum is at least this term.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import ndtri

from tacit.arrays import Array
from tacit.label_codes import frame_of
from tacit.reconstruction.interval import check_level
from tacit.table import Table


@dataclass(frozen=True, eq=False)
class ForestImportances:
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

    def columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Attribute, importance, standard error and interval, as lists."""
        check_level(level)
        reach = float(ndtri((1 + level) / 2)) * self.stderr
        return {
            "attribute": list(self.names),
            "importance": self.value.tolist(),
            "stderr": self.stderr.tolist(),
            "lower": np.maximum(self.value - reach, 0).tolist(),
            "upper": np.minimum(self.value + reach, 1).tolist(),
        }

    def to_frame(self, level: float = 0.95, backend: str | None = None) -> Any:
        """The table as a data frame; `backend` is pandas, polars or pyarrow, else what is there."""
        return frame_of(self.columns(level), backend)

    def to_table(self, level: float = 0.95) -> Table:
        """The importances as a table."""
        columns = self.columns(level)
        rows = list(zip(*columns.values(), strict=True))
        return Table(tuple(columns), rows, title=f"importance for {self.target}")

    def __str__(self) -> str:
        return self.to_table().text()

    def _repr_html_(self) -> str:
        return self.to_table().html()


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
