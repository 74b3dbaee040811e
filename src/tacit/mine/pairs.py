"""pairs: naive Bayes from reconstructed tables of the class and one attribute at a time.

Zhan & Matwin (2004, section 3.3) reconstruct P(c) and each P(a, c). `literal` does just that and
cuts negative cells at zero. `pairs` knows the noise: what a table says beyond independence,
d = P(c, a) - P(c) P(a), is kept by the share that stands out from its own covariance,

    max(0, 1 - df / (d^T Cov(d)^-1 d)),    df = (classes - 1) (categories - 1)

(James & Stein), so an attribute within noise does not vote.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from tacit.arrays import Array
from tacit.mine.learned_model import BayesParameters, Tables, logit_blocks, shares
from tacit.reconstruction import Estimate, Reconstruction
from tacit.reconstruction.simplex import project


def pairs(found: Reconstruction, target: str, alpha: float) -> BayesParameters:
    """P(c) and P(a | c) from pair tables, shrunk towards independence by their noise."""
    prior = _positive(project(found.table([target]).value), alpha, found.n_records)
    unbiased = pair_tables(found, target)
    tables = [
        np.eye(prior.size) if table is None else _shrunk(table, prior, alpha) for table in unbiased
    ]
    covariance = partial(_covariance, found, target, unbiased, prior, tables)
    return BayesParameters(prior, tables, found.n_records, "pairs", covariance_of=covariance)


def literal(found: Reconstruction, target: str, alpha: float) -> BayesParameters:
    """P(c) and P(a, c) as reconstructed, negative cells cut at zero, `alpha` records added."""
    share = alpha / found.n_records
    cut = np.maximum(found.table([target]).value, share)
    prior = np.asarray(cut / cut.sum())
    unbiased = pair_tables(found, target)
    tables = shares(
        [
            np.eye(prior.size) if table is None else np.maximum(table.value, 0) + share
            for table in unbiased
        ]
    )
    covariance = partial(_covariance, found, target, unbiased, prior, tables)
    return BayesParameters(prior, tables, found.n_records, "literal", covariance_of=covariance)


def pair_tables(found: Reconstruction, target: str) -> list[Estimate | None]:
    """Reconstructed P(c, a) of every attribute; None for the class itself."""
    names = found.design.schema.names
    return [None if name == target else found.table([target, name]) for name in names]


@dataclass(frozen=True, eq=False)
class Dependence:
    """What a pair table says beyond independence, and the chi-square of it with its freedom."""

    beyond: Array
    statistic: float
    freedom: int

    @property
    def kept(self) -> float:
        """The share that stands out from noise."""
        return max(0.0, 1 - self.freedom / max(self.statistic, 1e-300))


def dependence(table: Estimate) -> Dependence:
    """d = P(c, a) - P(c) P(a) and d^T Cov(d)^-1 d."""
    rows, columns = table.value.sum(axis=1), table.value.sum(axis=0)
    beyond = table.value - np.outer(rows, columns)
    slope = np.eye(beyond.size) - _margin_slopes(rows, columns)
    spread = np.linalg.pinv(slope @ table.covariance @ slope.T, rcond=1e-8, hermitian=True)
    statistic = float(beyond.ravel() @ spread @ beyond.ravel())
    return Dependence(beyond, statistic, (len(rows) - 1) * (len(columns) - 1))


def _shrunk(table: Estimate, prior: Array, alpha: float) -> Array:
    """P(a | c) with the dependence that stands out from its noise."""
    found = dependence(table)
    margin = margin_of(table, alpha)
    joint = np.outer(prior, margin) + found.kept * found.beyond
    return shares([np.maximum(joint, 0.5 / table.n_records)])[0]


def margin_of(table: Estimate, alpha: float) -> Array:
    """P(a) of a pair table, `alpha` records added."""
    return _positive(project(table.value.sum(axis=0)), alpha, table.n_records)


def _covariance(
    found: Reconstruction,
    target: str,
    unbiased: list[Estimate | None],
    prior: Array,
    tables: Tables,
) -> Array:
    """Covariance of the logits log P(c) and log P(c, a); between attributes it is not known."""
    blocks = logit_blocks(found.design, target)
    full = np.zeros((1 + max(map(max, blocks.values())),) * 2)
    own = blocks[target]
    for name, table, fitted in zip(found.design.schema.names, unbiased, tables, strict=True):
        if table is not None:
            cells = np.diag(1 / (prior[:, None] * fitted).ravel())
            sums = np.kron(np.diag(1 / prior), np.ones(fitted.shape[1]))
            slope = np.vstack([sums, cells])
            both = np.concatenate([own, blocks[name]])
            full[np.ix_(both, both)] = slope @ table.covariance @ slope.T
    return full


def _margin_slopes(rows: Array, columns: Array) -> Array:
    """Slopes of P(c) P(a) by the cells of the table."""
    by_row = np.kron(np.eye(len(rows)), np.outer(columns, np.ones(len(columns))))
    by_column = np.kron(np.outer(rows, np.ones(len(rows))), np.eye(len(columns)))
    return np.asarray(by_row + by_column)


def _positive(distribution: Array, alpha: float, n_records: int) -> Array:
    """A distribution with `alpha` records added to every category."""
    raised = distribution + alpha / n_records
    return np.asarray(raised / raised.sum())
