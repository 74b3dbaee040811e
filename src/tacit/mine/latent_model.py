"""LatentModel: latent classes seen through a design (Lazarsfeld & Henry, 1968).

    P(x) = sum_c P(c) prod_a P(x_a | c)

is naive Bayes with a class that nobody reports, so the likelihood of a report, the steps of EM and
the information are those of `ConditionalModel`. Several numbers of classes and several parts of the
records share the patterns.

Logits of a distribution are known up to a constant. The covariance is therefore computed within
the directions that change a distribution:

    C = B (B^T I B)^-1 B^T,    I = information of the reports + curvature of the added records

with the columns of B orthogonal to a constant in every distribution. A direction in which the
reports have no information makes all figures that it changes unknown (NaN).
"""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.linalg import block_diag

from tacit.core.arrays import Array, Index
from tacit.core.design import Design
from tacit.mine.block_units import Tables
from tacit.mine.conditional_model import CHUNK, ConditionalModel
from tacit.records import PatternTable

#: Information below this share of a record counts as none.
_NO_INFORMATION = 1e-6


class LatentModel(ConditionalModel):
    """Patterns, their design and a number of classes."""

    def __init__(self, patterns: PatternTable, design: Design, n_classes: int = 1) -> None:
        super().__init__(patterns, design, None, n_classes)

    def variant(self, n_classes: int, counts: Index | None = None) -> Self:
        """The same patterns with another number of classes, and with other counts if given."""
        made = object.__new__(type(self))
        made.target, made.names, made.sizes = None, self.names, self.sizes
        made.groups, made.n_classes = self.groups, n_classes
        made.shares, made.n_records = self.shares, self.n_records
        if counts is not None:
            made.n_records = int(counts.sum())
            made.shares = counts / made.n_records
        return made

    @property
    def n_parameters(self) -> int:
        """Free parameters: shares and tables, less one for every distribution."""
        return n_parameters(self.sizes, self.n_classes)

    def logs(self, parameters: Array) -> Array:
        """log P(report) of every pattern."""
        chunks = self.posterior(*self.split(parameters), CHUNK)
        return np.concatenate([chunk.log_likelihood for chunk in chunks])

    def classes(self, parameters: Array) -> Array:
        """P(class | report), patterns x classes."""
        chunks = self.posterior(*self.split(parameters), CHUNK)
        return np.concatenate([chunk.classes.T for chunk in chunks])

    def covariance(self, parameters: Array, alpha: float) -> Array:
        """Covariance of shares and tables in the order of `join`; NaN where it is not known."""
        prior, tables = self.split(parameters)
        total = self.information(prior, tables)
        rows = [row for table in tables for row in table]
        added = [alpha * row.size * _slope(row) for row in rows]
        total += block_diag(np.zeros((len(prior), len(prior))), *added)
        basis = block_diag(*(_directions(row.size) for row in (prior, *rows)))
        values, vectors = np.linalg.eigh(basis.T @ total @ basis)
        slopes = block_diag(*(_slope(row) for row in (prior, *rows))) @ basis @ vectors
        known = values > _NO_INFORMATION
        found = (slopes[:, known] / values[known]) @ slopes[:, known].T
        lost = (np.abs(slopes[:, ~known]) > _NO_INFORMATION).any(axis=1)
        found[lost], found[:, lost] = np.nan, np.nan
        return np.asarray(found)


def n_parameters(sizes: tuple[int, ...], n_classes: int) -> int:
    """Free parameters of so many classes."""
    return n_classes - 1 + n_classes * sum(size - 1 for size in sizes)


def ordered(prior: Array, tables: Tables) -> Index:
    """The order of the classes: larger shares first, equal ones by their profiles."""
    profile = [column for table in tables for column in table.T]
    keys = np.round(np.stack([prior, *profile]), 9)
    return np.lexsort(-keys[::-1])


def _slope(row: Array) -> Array:
    """Derivatives of a distribution by its logits."""
    return np.diag(row) - np.outer(row, row)


def _directions(size: int) -> Array:
    """An orthonormal basis of the directions whose entries sum to 0, size x (size - 1)."""
    return np.asarray(np.linalg.svd(np.ones((1, size)))[2][1:].T)
