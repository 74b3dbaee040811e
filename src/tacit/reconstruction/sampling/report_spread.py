"""ReportSpread: how the reported shares of a table vary from sample to sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.errors import DataError
from tacit.records import PatternTable
from tacit.records.keys import column_blocks
from tacit.records.sample import SampleRows

#: Numbers that hold the reported cells of all rows of a sample.
_MOST_NUMBERS = 1 << 27


@dataclass(frozen=True, eq=False)
class ReportSpread:
    """Covariances of means of reports of some attributes, in a sample.

    A report is a cell of the reported table, the last attribute running fastest.
    """

    patterns: PatternTable
    sample: SampleRows
    names: tuple[str, ...]

    @property
    def df(self) -> float:
        """Degrees of freedom."""
        return self.sample.df

    @property
    def weight_effect(self) -> float:
        """The design effect of unequal weights alone."""
        return self.sample.weight_effect

    @cached_property
    def _rows(self) -> tuple[SampleRows, Index]:
        """The sample grouped by the joint report, and the report of each row."""
        schema = self.patterns.schema
        columns = [self.patterns.patterns[:, schema.index(name)] for name in self.names]
        blocks = column_blocks(columns, [schema[name].size for name in self.names])
        return self.sample.regrouped(np.concatenate([b.astype(np.intp) for b in blocks]))

    @property
    def _n_cells(self) -> int:
        return math.prod(self.patterns.schema[name].size for name in self.names)

    @cached_property
    def covariance(self) -> Array:
        """Covariance of the reported shares, cells x cells."""
        sample, cells = self._rows
        numbers = len(cells) * self._n_cells
        if numbers > _MOST_NUMBERS:
            raise DataError(
                f"a table of {', '.join(self.names)} is too large for a sample of "
                f"{len(cells):,} different records; ask for fewer attributes at once"
            )
        shares = np.zeros((len(cells), self._n_cells))
        shares[np.arange(len(cells)), cells] = 1.0
        return sample.covariance(shares)

    def of_means(self, weights: Array, true_products: Array | None = None) -> Array:
        """Covariance of means of weights of reports, cells x quantities.

        `true_products` are weights for the products of the true quantities, cells x quantities x
        quantities; if left out, quantities are shares of events that exclude each other.
        """
        covariance = weights.T @ self.covariance @ weights
        sample, cells = self._rows
        if not sample.fraction.any():
            return np.asarray(covariance)
        remaining = np.bincount(cells, sample.kept_noise, self._n_cells)
        noise = (weights.T * remaining) @ weights
        if true_products is None:
            return np.asarray(covariance + noise - np.diag(remaining @ weights))
        return np.asarray(covariance + noise - np.tensordot(remaining, true_products, axes=1))

    def largest_effect(self, shares: Array, n_records: int) -> float:
        """The largest design effect of any contrast of reported shares; at least 1."""
        seen = shares.ravel() > 0
        scale = np.sqrt(n_records / shares.ravel()[seen])
        matrix = self.covariance[np.ix_(seen, seen)] * np.outer(scale, scale)
        return max(1.0, float(np.linalg.eigvalsh(matrix)[-1]))
