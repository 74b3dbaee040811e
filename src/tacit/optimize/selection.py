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

import numpy as np
import numpy.typing as npt

from tacit.channel.linear import Array

Index = npt.NDArray[np.intp]


def places(privacies: Array, errors: Array) -> Array:
    """Where each channel stands for distances: its privacy and its error, as they are."""
    return np.stack([privacies, np.minimum(errors, 1.0)], axis=1)


def fitness(privacies: Array, errors: Array, neighbour: int) -> Array:
    """Fitness of each channel; lower is better."""
    better = (privacies[:, None] >= privacies) & (errors[:, None] <= errors)
    dominates = (better & ~better.T).astype(np.float64)
    raw = dominates.sum(axis=1) @ dominates
    points = places(privacies, errors)
    squares = ((points[:, None, :] - points) ** 2).sum(axis=2)
    near = min(neighbour, len(points) - 1)
    sigma = np.sqrt(np.partition(squares, near, axis=1)[:, near])
    return np.asarray(raw + 1 / (sigma + 2))


def select(privacies: Array, errors: Array, fit: Array, size: int) -> Index:
    """Places of the next archive: all that nothing dominates, cut or filled up to the size."""
    free = np.flatnonzero(fit < 1)
    if len(free) > size:
        points = places(privacies, errors)[free]
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
    left = list(range(-1, len(points) - 1))
    right = [*range(1, len(points)), -1]
    alive = np.ones(len(points), dtype=bool)
    steps = np.sqrt(((points[1:] - points[:-1]) ** 2).sum(axis=1))
    gaps = np.append(steps, np.inf)  # from each point to the next one alive
    for _ in range(len(points) - size):
        first = int(gaps.argmin())
        second = right[first]
        before, after = left[first], right[second]
        goes = first
        if before < 0 or (after >= 0 and gaps[second] < gaps[before]):
            goes = second
        previous, following = left[goes], right[goes]
        alive[goes] = False
        gaps[goes] = np.inf
        if previous >= 0:
            right[previous] = following
            gaps[previous] = _distance(points, previous, following)
        if following >= 0:
            left[following] = previous
    return np.flatnonzero(alive)


def _distance(points: Array, first: int, second: int) -> float:
    if second < 0:
        return np.inf
    (a, b), (c, d) = points[first], points[second]
    return float(np.hypot(a - c, b - d))


def tournament(fit: Array, size: int, rng: np.random.Generator) -> Index:
    """Winners of `size` duels between two drawn at random."""
    first, second = rng.integers(0, len(fit), (2, size))
    return np.asarray(np.where(fit[first] <= fit[second], first, second), dtype=np.intp)
