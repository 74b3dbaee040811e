"""Matrices of floats as exact decimals whose columns sum to 1 and that keep the bounds.

A coin's parameters are fractions, and bounds that a respondent relies on must hold for what is
really drawn. Entries are cut to decimals and each column's rest goes to the entries that lost
most; zeros stay zero. Optimisers leave a guard, so nearly always this keeps delta and epsilon;
both are checked exactly; as long as one fails, the matrix is mixed with one that says nothing
(every column the distribution of the reports), which is strictly inside both bounds.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tacit.core.arrays import Array
from tacit.errors import DesignError
from tacit.optimize.front_problem import FrontProblem

Rows = tuple[tuple[Fraction, ...], ...]
_DIGITS = (12, 15)
_SHARES = (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)


def rational(matrix: Array, problem: FrontProblem) -> Rows:
    """The matrix as exact rows, nearly the same, and exactly within the bounds."""
    used = np.asarray(matrix, dtype=np.float64)
    used = used[(used @ problem.p) > 0]
    reports = (used @ problem.p)[:, None]
    for share in _SHARES:
        mixed = (1 - share) * used + share * reports
        for digits in _DIGITS:
            rows = _decimals(mixed, digits)
            if problem.holds(rows):
                return rows
    raise DesignError("the channel is too far outside its bounds to be fixed by rounding")


def _decimals(matrix: Array, digits: int) -> Rows:
    """Entries cut to `digits` decimals; the rest of a column goes to the entries that lost most."""
    one = 10**digits
    scaled = matrix / matrix.sum(axis=0) * one
    whole = np.floor(scaled)
    lost = np.where(scaled > 0, scaled - whole, -1.0)
    units = [[int(entry) for entry in row] for row in whole]
    for x in range(matrix.shape[1]):
        rest = one - sum(row[x] for row in units)
        order = np.argsort(-lost[:, x], kind="stable")
        share, extra = divmod(rest, len(order)) if rest < 0 or rest > len(order) else (0, rest)
        if share:
            units[int(scaled[:, x].argmax())][x] += share * len(order)
        for y in order[:extra]:
            units[int(y)][x] += 1
    return tuple(tuple(Fraction(unit, one) for unit in row) for row in units)
