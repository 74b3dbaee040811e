"""How many latent classes a table of these attributes can identify.

Kruskal's condition (Allman, Matias & Rhodes, 2009, theorem 4): if the attributes can be divided
into three parts of k1, k2 and k3 joint categories with

    min(C, k1) + min(C, k2) + min(C, k3) >= 2 C + 2

then almost every model with C classes is determined by the joint distribution, up to the order
of its classes. If no division satisfies it, the derivatives of the cells by the parameters decide:
at a random model, their rank must be the number of parameters (Goodman, 1974). A design whose
channel can be inverted changes neither.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tacit.core.arrays import Array
from tacit.mine.latent_model import n_parameters

#: Entries of the derivatives up to which their rank is computed.
_ENTRIES = 2**21


def is_identified(sizes: Sequence[int], n_classes: int) -> bool:
    """Whether almost every model with so many classes is determined by its joint distribution."""
    if n_classes == 1:
        return True
    free, cells = n_parameters(tuple(sizes), n_classes), math.prod(sizes)
    if free > cells - 1:
        return False
    parts = [1, 1, 1]
    for size in sorted(sizes, reverse=True):
        parts[parts.index(min(parts))] *= size
    if sum(min(n_classes, part) for part in parts) >= 2 * n_classes + 2:
        return True
    return free * cells <= _ENTRIES and _rank(sizes, n_classes) == free


def most_classes(sizes: Sequence[int], limit: int) -> int:
    """The largest number of classes that is identified, at most `limit`."""
    found = 1
    while found < limit and is_identified(sizes, found + 1):
        found += 1
    return found


def _rank(sizes: Sequence[int], n_classes: int) -> int:
    """The rank of the derivatives of all cells by all parameters, at a random model."""
    rng = np.random.default_rng(1)
    rows = []
    for share in rng.dirichlet(np.ones(n_classes)):
        tables = [rng.dirichlet(np.ones(size)) for size in sizes]
        rows.append(_product(tables))
        for place, size in enumerate(sizes):
            moved = np.eye(size)[1:] - np.eye(size)[0]
            rows += [share * _product([*tables[:place], m, *tables[place + 1 :]]) for m in moved]
    derivatives = np.stack(rows)
    scale = np.linalg.norm(derivatives, axis=1, keepdims=True)
    # The shares sum to 1: their derivatives are known up to one direction.
    return int(np.linalg.matrix_rank(derivatives / scale, tol=1e-9)) - 1


def _product(tables: Sequence[Array]) -> Array:
    """The joint distribution of independent answers."""
    joint: Array = np.ones(1)
    for table in tables:
        joint = np.outer(joint, table).ravel()
    return joint
