"""BlockGrid: the EM sums of a model whose reports are two blocks, by matrix products.

If one group has two blocks, a report y = (i, j) is one cell of each, and

    P(y) = sum over (s, c) of  U[(s, c), i] V[(s, c), j]
    U = P(c) w_s P(i | s, c),  V = P(j | s, c)

so P of all reports is the product U^T V. With F the shares of the reports and Q = F / P, the sums
of the posterior of (s, c) by the cells of the blocks are U * (V Q^T) and V * (U Q). There is no
lookup and no sum per pattern. It pays if most combinations of two cells are reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from tacit.core.arrays import Array
from tacit.mine.block_units import ratio
from tacit.records.keys import Codes

#: Cells of the grid per pattern, at most.
_SPARSEST = 4


@dataclass(frozen=True, eq=False)
class BlockGrid:
    """Shares of the records by the cells of two blocks."""

    shares: Array

    @classmethod
    def of(cls, shares: Array, codes: tuple[Codes, Codes], n_cells: tuple[int, int]) -> Self | None:
        """The grid of patterns with these cells in the blocks; None if it would be sparse."""
        first, second = n_cells
        if first * second > _SPARSEST * len(shares):
            return None
        cells = codes[0].astype(np.intp) * second + codes[1]
        grid = np.bincount(cells, shares, first * second)
        return cls(np.asarray(grid, np.float64).reshape(first, second))

    def expectations(
        self, prior: Array, one: Array, two: Array
    ) -> tuple[float, Array, list[Array]]:
        """The log-likelihood, and posteriors summed by class and by the cells of each block.

        `one` and `two` are strategies x classes x cells, `one` with the weights of the strategies.
        """
        u = (one * prior[:, None]).reshape(-1, one.shape[2])
        v = two.reshape(-1, two.shape[2])
        chances = u.T @ v
        reported = self.shares > 0
        with np.errstate(divide="ignore"):
            logs = self.shares[reported] * np.log(chances[reported])
        ratios = ratio(self.shares, chances)
        first = (u * (v @ ratios.T)).reshape(one.shape)
        second = (v * (u @ ratios)).reshape(two.shape)
        return float(logs.sum()), first.sum(axis=(0, 2)), [first, second]
