"""Selection of SPEA2: fitness, environmental selection with truncation, binary tournament.

    strength S(i)  how many others i dominates
    raw fitness    sum of S(j) over the j that dominate i
    density        1 / (sigma_k + 2), sigma_k the distance to the k-th nearest
    fitness        raw + density; below 1 for what nothing dominates (Huang & Du 2008, eq. 11-12)

Distances are in privacy and error as they are. Errors are small numbers, so the archive spreads
along privacy; scaled to their range they would draw half of it to the end where errors explode.

Reference: E. Zitzler, M. Laumanns and L. Thiele, SPEA2 (2001); Huang & Du (2008), section V.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.core.arrays import Array, Index

#: Errors beyond this are all alike far away.
_HIGHEST = 1.0


def fitness(privacies: Array, errors: Array, neighbour: int) -> Array:
    """Fitness of each channel; lower is better."""
    better = (privacies[:, None] >= privacies) & (errors[:, None] <= errors)
    dominates = (better & ~better.T).astype(np.float64)
    raw = dominates.sum(axis=1) @ dominates
    heights = np.minimum(errors, _HIGHEST)
    squares = (privacies[:, None] - privacies) ** 2 + (heights[:, None] - heights) ** 2
    near = min(neighbour, len(errors) - 1)
    sigma = np.sqrt(np.partition(squares, near, axis=1)[:, near])
    return np.asarray(raw + 1 / (sigma + 2))


def select(privacies: Array, errors: Array, fit: Array, size: int) -> Index:
    """Index of the next archive: all that nothing dominates, cut or filled up to the size."""
    free = np.flatnonzero(fit < 1)
    if len(free) > size:
        points = np.stack([privacies[free], np.minimum(errors[free], _HIGHEST)], axis=1)
        order = np.argsort(points[:, 0], kind="stable")
        return free[order][spread(points[order], size)]
    if len(free) == size:
        return free
    return np.asarray(np.argsort(fit, kind="stable")[:size], dtype=np.intp)


def spread(points: Array, size: int) -> Index:
    """Which of the points of a front, in its order, stay when the closest are removed.

    On a front nearest neighbours are adjacent. Of the closest pair the one goes whose second
    nearest neighbour is nearer; so the ends stay.
    """
    at = points.tolist()
    left, right = list(range(-1, len(at) - 1)), [*range(1, len(at)), -1]
    gaps = [*map(math.dist, at[:-1], at[1:]), math.inf]  # from each to the next one alive
    gone = set()
    for _ in range(len(at) - size):
        first = gaps.index(min(gaps))
        second, before = right[first], left[first]
        closer = right[second] >= 0 and gaps[second] < gaps[before]
        goes = second if before < 0 or closer else first
        previous, following = left[goes], right[goes]
        gone.add(goes)
        gaps[goes] = math.inf
        if previous >= 0:
            right[previous] = following
            gaps[previous] = math.dist(at[previous], at[following]) if following >= 0 else math.inf
        if following >= 0:
            left[following] = previous
    return np.array([i for i in range(len(at)) if i not in gone], dtype=np.intp)


def tournament(fit: Array, size: int, rng: np.random.Generator) -> Index:
    """Winners of `size` duels between two drawn at random."""
    first, second = rng.integers(0, len(fit), (2, size))
    return np.asarray(np.where(fit[first] <= fit[second], first, second), dtype=np.intp)
