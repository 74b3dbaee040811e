"""Which cells of a table of groups are not shown.

A cell is small if an answer, or a pair of answers in a table of three questions, that it belongs to
has fewer than 20 people, even if the noise of the disguise is allowed for. Small cells are hidden,
whichever question the groups are made of: a table with rows and columns exchanged has the same
cells. A hidden cell could be computed from the other cells of its line and their sum, which another
table shows. So further cells are hidden until the shown ones and all sums leave every small cell
undetermined (Cox, L. H. (1980). Suppression methodology and statistical disclosure control. JASA,
75(370), 377-385).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import numpy.typing as npt

from tacit.arrays import Array

#: A table of groups shows no group that is estimated to have fewer people than this.
SMALLEST_GROUP = 20
#: A cell whose row of the projection has this much in the space of the sums is determined.
_DETERMINED = 1 - 1e-9

Cells = npt.NDArray[np.bool_]


def hidden_cells(people: Array, most: Callable[[tuple[int, ...]], Array]) -> Cells:
    """The cells of a joint table of people, with two or three axes, that are not shown.

    `most` says for some of the axes how many people each cell of their table has at most; a cell
    that cannot occur, as everybody knows, has infinitely many. What the tables of two questions
    hide is hidden in that of three too. The same questions must come in the same order of axes
    every time: the choice of further cells depends on it.
    """
    return _hidden(people, tuple(range(people.ndim)), most)


def _hidden(
    people: Array, axes: tuple[int, ...], most: Callable[[tuple[int, ...]], Array]
) -> Cells:
    """The same for the table of some axes."""
    small = np.zeros(people.shape, bool)
    for n in range(1, len(axes)):
        for places in combinations(range(len(axes)), n):
            others = tuple(place for place in range(len(axes)) if place not in places)
            own = tuple(axes[place] for place in places)
            hidden = most(own) < SMALLEST_GROUP
            if n > 1:
                hidden = hidden | _hidden(people.sum(axis=others), own, most)
            small |= np.expand_dims(hidden, others)
    impossible = np.isinf(most(axes))
    return _completed(np.where(impossible, np.inf, people), small & ~impossible)


def _completed(people: Array, small: Cells) -> Cells:
    """The small cells, and as many others as protect them."""
    hidden = small.copy()
    while True:
        open_cells = list(np.argwhere(determined(hidden) & small))
        if not open_cells:
            return hidden
        before = int(hidden.sum())
        for place in open_cells:
            hidden[_neighbour(people, hidden, place)] = True
        if int(hidden.sum()) == before:  # nothing is left to hide beside them
            return np.isfinite(people)


def _neighbour(people: Array, hidden: Cells, place: npt.NDArray[np.intp]) -> tuple[int, ...]:
    """The shown cell with the fewest people in a line with this one; itself if there is none."""
    best, fewest = tuple(map(int, place)), np.inf
    for axis, size in enumerate(people.shape):
        for step in range(size):
            other = (*map(int, place[:axis]), step, *map(int, place[axis + 1 :]))
            if not hidden[other] and people[other] < fewest:
                best, fewest = other, float(people[other])
    return best


def determined(hidden: Cells) -> Cells:
    """The hidden cells that follow from the shown ones and the sums along every axis."""
    found = np.zeros(hidden.shape, bool)
    places = np.argwhere(hidden)
    if not len(places):
        return found
    lines = []
    for axis in range(hidden.ndim):
        rest = np.delete(places, axis, axis=1)
        _, line = np.unique(rest, axis=0, return_inverse=True)
        lines.append(np.eye(int(line.max()) + 1)[:, line.ravel()])
    _, sizes, right = np.linalg.svd(np.concatenate(lines), full_matrices=False)
    known = (right[sizes > 1e-9] ** 2).sum(axis=0)
    found[hidden] = known > _DETERMINED
    return found
