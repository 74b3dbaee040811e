"""A bound for any dependence between answers, from data.

Let z be the reports of all other groups, and q(z) = P(true answer | z). Two people with the same z
whose own reports are unbiased for their answers estimate q^2, whatever the joint distribution:

    E[w_v(y) w_v(y') | z] = q_v(z)^2,     W M = I

so E[q_v] and E[q_v^2] are known up to chance, without a model. Where z occurs once, q^2 <= q is
used. The accuracy of one who sees z and the own report is an average of F(q),

    F(q) = sum_y max_v M[y, v] q_v                      a group of its own
    F(q) = theta + (1 - theta) max_v q_v                a group that is kept or replaced by a draw

and a linear program over distributions of q on a grid finds the largest average that the moments
allow. F is convex, and moving q to the grid adds at most 1/(4 r^2) to a second moment.
In a related group of yes/no answers, whether two answers agree is reported as it is: those reports
join z, and the own report is one of a group of its own. For others no bound is known here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.models.units import CoinGroup, UnitReports
from tacit.privacy.repeated import compositions

#: Normal quantile of both ends of 95 % intervals of moments.
QUANTILE = 1.96
#: Steps of the grid over distributions, by number of cells; more cells are not bounded.
GRID = {2: 100, 3: 24, 4: 14, 5: 10, 6: 8, 8: 7, 9: 6}
#: Attributes among which pairs and triples are tried for the record.
_TRIED = 5


class PairMoments(NamedTuple):
    """Upper ends of E[q_v^2], and both ends of E[q_v]."""

    second: Array
    low: Array
    high: Array


def attribute_bound(reports: UnitReports, name: str) -> float:
    """The largest accuracy of a guess of one attribute that the reports allow."""
    layout = reports.layout
    unit = layout.unit_of(name)
    group = layout.group_of(unit)
    if group.single:
        return _target_bound(reports, (unit,), layout.categories_of(name))
    z = _others(reports, [group])
    if group.drawn is None:
        if any(layout.sizes[u] != 2 for u in group.units):
            return 1.0
        codes, sizes = z
        reported = reports.codes[:, unit]
        agree = [reports.codes[:, u] ^ reported for u in group.units if u != unit]
        z = np.column_stack([codes, *agree]), [*sizes, *[2] * len(agree)]
    elif group.theta < 0:
        return 1.0
    matrix = layout.matrix((unit,))
    pair_moments = moments(reports.codes[:, unit], reports.counts, z, matrix)
    # Where a draw replaces the truth, the group's other reports may tell if it was kept.
    targets = np.arange(matrix.shape[1])
    if group.drawn is not None:
        return _largest(pair_moments, targets, None, group.theta)
    return _largest(pair_moments, targets, matrix)


def record_bound(reports: UnitReports, attributes: dict[str, float]) -> float:
    """The largest accuracy of a guess of the whole record: of any few of its answers.

    `attributes` has the bounds of single attributes. Pairs and triples of units with a coin of
    their own are tried, those with the least bounds first.
    """
    layout = reports.layout
    best = min(attributes.values(), default=1.0)
    single = [g.units[0] for g in layout.groups if g.single]
    ranked = sorted(single, key=lambda u: min(attributes[n] for n in layout.units[u].names))[
        :_TRIED
    ]
    chosen: tuple[int, ...] = ()
    for size in (2, 3):
        sets = [
            tuple(sorted((*chosen, *more)))
            for more in combinations([u for u in ranked if u not in chosen], size - len(chosen))
        ]
        cells = [math.prod(layout.sizes[u] for u in units) for units in sets]
        scored = [
            (_target_bound(reports, units, np.arange(k)), units)
            for units, k in zip(sets, cells, strict=True)
        ]
        value, units = min(scored, default=(1.0, ()))
        if value >= best and size > 2:
            break
        best, chosen = min(best, value), units or chosen
    return best


def _target_bound(reports: UnitReports, units: tuple[int, ...], targets: Index) -> float:
    """The bound for a function of units that have coins of their own."""
    layout = reports.layout
    if math.prod(layout.sizes[u] for u in units) not in GRID:  # before the matrix is written out
        return 1.0
    matrix = layout.matrix(units)
    groups = [layout.group_of(u) for u in units]
    others = _others(reports, groups)
    pair_moments = moments(reports.cells(units), reports.counts, others, matrix)
    return _largest(pair_moments, targets, matrix)


def _others(reports: UnitReports, groups: Sequence[CoinGroup]) -> tuple[Index, list[int]]:
    """The reports of all other groups, and their numbers of categories."""
    units = [u for group in reports.layout.groups if group not in groups for u in group.units]
    return reports.codes[:, units], [reports.layout.reports[u] for u in units]


def moments(
    reported: Index, weights: Array | Index, z: tuple[Index, list[int]], matrix: Array
) -> PairMoments:
    """Moments of q from pairs of people with equal z; `matrix` is the channel of `own`."""
    codes, sizes = z
    if math.prod(sizes) < 2**62:
        keys = np.ravel_multi_index(tuple(codes.T), sizes) if sizes else np.zeros(len(codes))
        rank = np.unique(keys, return_inverse=True)[1]
    else:
        rank = np.unique(codes, axis=0, return_inverse=True)[1].ravel()
    people = np.bincount(rank, weights)
    many = people > 1
    safe = np.where(many, people, 2.0)
    n = float(weights.sum())
    second, low, high = [], [], []
    for row in np.linalg.pinv(matrix):
        w = row[reported]
        total, squares = np.bincount(rank, weights * w), np.bincount(rank, weights * w * w)
        pairs = np.where(many, (total**2 - squares) / (safe - 1), total)
        value = pairs.sum() / n
        mean = total / safe
        spread = np.maximum(squares / safe - mean**2, 0) * safe / (safe - 1)
        within = 2 * spread**2 * safe / (safe - 1) + 4 * spread * mean**2 * safe
        chance = np.where(many, within, squares).sum() / n**2
        between = max((pairs**2 / people).sum() / n - value**2, 0.0) / n
        second.append(value + QUANTILE * math.sqrt(chance + between))
        first = total.sum() / n
        error = math.sqrt(max(squares.sum() / n - first**2, 0.0) / n)
        low.append(first - QUANTILE * error)
        high.append(first + QUANTILE * error)
    return PairMoments(np.array(second), np.clip(low, 0, 1), np.clip(high, 0, 1))


def _largest(
    pair_moments: PairMoments, targets: Index, matrix: Array | None, theta: float = 0.0
) -> float:
    """The largest mean of F(q) over distributions of q with these moments."""
    from scipy.optimize import linprog  # slow to load

    cells = pair_moments.second.size
    if cells not in GRID:
        return 1.0
    grid = simplex_grid(cells, GRID[cells])
    sums = np.eye(int(targets.max()) + 1)[targets]
    if matrix is None:
        gains = theta + (1 - theta) * (grid @ sums).max(axis=1)
    else:
        gains = np.sum([((row * grid) @ sums).max(axis=1) for row in matrix], axis=0)
    # Ends between which there is a distribution.
    low, high = pair_moments.low, pair_moments.high
    if low.sum() > 1:
        low = low / low.sum() * (1 - 1e-9)
    if high.sum() < 1:
        high = high + (1 - high.sum()) + 1e-9
    second = np.maximum(pair_moments.second, low**2 + 1e-9) + 1 / (4 * GRID[cells] ** 2)
    optimum = linprog(
        -gains,
        A_ub=np.vstack([(grid**2).T, grid.T, -grid.T]),
        b_ub=np.concatenate([second, high, -low]),
        A_eq=np.ones((1, len(grid))),
        b_eq=[1.0],
        bounds=(0, None),
        method="highs",
    )
    return min(1.0, float(-optimum.fun) + 1e-6) if optimum.status == 0 else 1.0


@lru_cache(maxsize=16)
def simplex_grid(cells: int, steps: int) -> Array:
    """All distributions over `cells` whose probabilities are multiples of 1/steps."""
    return np.asarray(compositions(steps, cells) / steps)
