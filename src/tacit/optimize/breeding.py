"""Operators on stacks of square channels: crossover, mutation, repair.

Huang & Du (2008), sections V-E to V-G. Every operator keeps columns summing to 1 and takes a
whole population at once.
"""

from __future__ import annotations

import numpy as np

from tacit.channel.linear import Array
from tacit.optimize.problem import Problem

#: How often the columns are gone through before a channel is mixed instead.
SWEEPS = 4


def crossover(first: Array, second: Array, rng: np.random.Generator) -> Array:
    """Both children of each pair: columns right of a random line are swapped."""
    pairs, n, _ = first.shape
    lines = rng.integers(1, n, (pairs, 1, 1))
    swapped = np.arange(n) >= lines
    return np.concatenate(
        [np.where(swapped, second, first), np.where(swapped, first, second)], axis=0
    )


def mutate(matrices: Array, rate: float, rng: np.random.Generator) -> Array:
    """With probability `rate` a random entry of a random column grows or shrinks by a random part
    of what it can; the others of the column make up for it, losing in proportion to themselves or
    gaining in proportion to 1 minus themselves.
    """
    count, n, _ = matrices.shape
    chosen = np.flatnonzero(rng.random(count) < rate)
    if not len(chosen):
        return matrices
    columns, entries = rng.integers(0, n, (2, len(chosen)))
    parts, grow = rng.random((2, len(chosen)))
    result = matrices.copy()
    result[chosen, :, columns] = _moved(matrices[chosen, :, columns], entries, parts, grow < 0.5)
    return result


def _moved(values: Array, entries: Array, parts: Array, grow: Array) -> Array:
    """Columns (as rows here) with one entry changed and the others in proportion."""
    own = np.zeros(values.shape, dtype=bool)
    own[np.arange(len(values)), entries] = True
    entry = values[own]
    others = np.where(own, 0, np.where(grow[:, None], values, 1 - values))
    total = np.maximum(others.sum(axis=1), 1e-300)
    amount = parts * np.where(grow, np.minimum(1 - entry, total), entry)
    sign = np.where(grow, 1.0, -1.0)
    moved = values - (sign * amount / total)[:, None] * others
    moved[own] = entry + sign * amount
    moved = np.clip(moved, 0, 1)
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))


def repair(matrices: Array, problem: Problem, sweeps: int = SWEEPS) -> Array:
    """The same channels within the bounds.

    Entries with a posterior above delta go down to where it is delta; the others of the column
    go up in proportion to how far each is below that. As this moves other rows' bounds, what is
    still outside is mixed with the channel that reports alike for everyone.
    """
    result, bad = matrices, np.flatnonzero(outside(matrices, problem))
    if len(bad):
        result = matrices.copy()
    for _ in range(sweeps if problem.cap < 1 else 0):
        if not len(bad):
            return result
        mended = _levelled(result[bad], problem)
        result[bad] = mended
        bad = bad[outside(mended, problem)]
    if len(bad):
        result[bad] = _mixed(result[bad], problem)
    return result


def outside(matrices: Array, problem: Problem) -> Array:
    """Which channels break a bound."""
    joint = matrices * problem.p
    bad = (joint.max(axis=2) > problem.cap * joint.sum(axis=2)).any(axis=1)
    if problem.epsilon is not None:
        ratios = matrices.max(axis=2) > problem.ratio * matrices.min(axis=2)
        bad |= ratios.any(axis=1)
    return np.asarray(bad)


def _levelled(matrices: Array, problem: Problem) -> Array:
    """Column after column within delta, as far as the column itself can be."""
    result = matrices.copy()
    reports = result @ problem.p
    odds = problem.cap / (1 - problem.cap)
    for x, p in enumerate(problem.p):
        column = result[:, :, x]
        rest = reports - column * p
        room = odds / p * rest - column
        over = np.minimum(room, 0).sum(axis=1)
        bad = np.flatnonzero(over < 0)
        if len(bad):
            spare = np.minimum(np.maximum(room[bad], 0), 1)
            share = np.minimum(-over[bad] / np.maximum(spare.sum(axis=1), 1e-300), 1)
            moved = column[bad] + np.minimum(room[bad], 0) + spare * share[:, None]
            moved = np.maximum(moved, 0)
            moved /= moved.sum(axis=1, keepdims=True)
            result[bad, :, x] = moved
            reports[bad] = rest[bad] + moved * p
    return result


def _mixed(matrices: Array, problem: Problem) -> Array:
    """The least share of a channel that tells nothing, which has the same reports, added."""
    joint = matrices * problem.p
    reports = joint.sum(axis=2)
    over = np.maximum(joint - problem.cap * reports[:, :, None], 0)
    room = (problem.cap - problem.p) * reports[:, :, None]
    share = (over / np.maximum(over + room, 1e-300)).max(axis=(1, 2))
    if problem.epsilon is not None:
        high, low = matrices.max(axis=2), matrices.min(axis=2)
        over = np.maximum(high - problem.ratio * low, 0)
        room = (problem.ratio - 1) * reports
        share = np.maximum(share, (over / np.maximum(over + room, 1e-300)).max(axis=1))
    share = np.where(share > 0, np.minimum(share * (1 + 1e-9) + 1e-12, 1), 0)[:, None, None]
    return np.asarray((1 - share) * matrices + share * reports[:, :, None])
