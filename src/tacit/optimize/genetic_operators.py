"""Operators on stacks of square channels: crossover, mutation, repair.

Huang & Du (2008), sections V-E to V-G. Every operator keeps columns summing to 1 and takes a
whole population at once.
"""

from __future__ import annotations

import numpy as np

from tacit.core.arrays import TINY, Array
from tacit.optimize.front_problem import FrontProblem

#: Columns that are levelled, one after the other, before a channel is mixed instead.
STEPS = 10


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
    total = np.maximum(others.sum(axis=1), TINY)
    amount = parts * np.where(grow, np.minimum(1 - entry, total), entry)
    sign = np.where(grow, 1.0, -1.0)
    moved = values - (sign * amount / total)[:, None] * others
    moved[own] = entry + sign * amount
    np.maximum(moved, 0, out=moved)
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))


def repair(matrices: Array, problem: FrontProblem, steps: int = STEPS) -> Array:
    """The same channels within the bounds.

    In the column of the worst posterior, entries above the bound go down to it and the others go
    up in proportion to how far each is below its own; so on, column after column. As this moves
    other rows' bounds it may not end; what is still outside is then mixed with the channel that
    reports alike for everyone.
    """
    result, bad = matrices, np.arange(len(matrices))
    for _ in range(steps if problem.cap < 1 else 0):
        mended = result[bad]
        joint = mended * problem.p
        reports = joint.sum(axis=2)
        over = (joint - problem.cap * reports[:, :, None]).max(axis=1)
        worst = over.argmax(axis=1)
        outer = np.flatnonzero(over[np.arange(len(bad)), worst] > 0)
        if not len(outer):
            bad = bad[:0]
            break
        result = matrices.copy() if result is matrices else result
        bad, worst = bad[outer], worst[outer]
        column = mended[outer, :, worst]
        result[bad, :, worst] = _levelled(column, reports[outer], problem.p[worst], problem.cap)
    if len(bad) or problem.epsilon is not None:
        bad = np.flatnonzero(outside(result, problem))
    if len(bad):
        result = matrices.copy() if result is matrices else result
        result[bad] = _mixed(result[bad], problem)
    return result


def outside(matrices: Array, problem: FrontProblem) -> Array:
    """Which channels break a bound."""
    joint = matrices * problem.p
    bad = (joint.max(axis=2) > problem.cap * joint.sum(axis=2)).any(axis=1)
    if problem.epsilon is not None:
        ratios = matrices.max(axis=2) > problem.ratio * matrices.min(axis=2)
        bad |= ratios.any(axis=1)
    return np.asarray(bad)


def _levelled(columns: Array, reports: Array, priors: Array, cap: float) -> Array:
    """Columns (as rows here) with no entry whose posterior is above the cap, other rows fixed."""
    p = priors[:, None]
    room = cap / (1 - cap) * (reports / p - columns) - columns
    lowered = np.minimum(room, 0)
    spare = np.minimum(room - lowered, 1)
    share = lowered.sum(axis=1) / np.maximum(spare.sum(axis=1), TINY)
    moved = np.maximum(columns + lowered - spare * np.maximum(share, -1)[:, None], 0)
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))


def _mixed(matrices: Array, problem: FrontProblem) -> Array:
    """The least share of a channel that says nothing, which has the same reports, added."""
    joint = matrices * problem.p
    reports = joint.sum(axis=2)
    over = np.maximum(joint - problem.cap * reports[:, :, None], 0)
    room = (problem.cap - problem.p) * reports[:, :, None]
    share = (over / np.maximum(over + room, TINY)).max(axis=(1, 2))
    if problem.epsilon is not None:
        high, low = matrices.max(axis=2), matrices.min(axis=2)
        over = np.maximum(high - problem.ratio * low, 0)
        room = (problem.ratio - 1) * reports
        share = np.maximum(share, (over / np.maximum(over + room, TINY)).max(axis=1))
    share = np.where(share > 0, np.minimum(share * (1 + 1e-9) + 1e-12, 1), 0)[:, None, None]
    return np.asarray((1 - share) * matrices + share * reports[:, :, None])
