"""Which cells of a table of groups are not shown.

A cell is small if an answer, or a pair of answers in a table of three questions, that it belongs to
has fewer than 20 people, even if the noise of the disguise is allowed for. Small cells are hidden,
whichever question the groups are made of: a table with rows and columns exchanged has the same
cells. A hidden cell could be computed from the other cells of its line and their sum, which another
table shows. So further cells are hidden until the shown ones and all sums leave every small cell
undetermined (Cox, L. H. (1980). Suppression methodology and statistical disclosure control. JASA,
75(370), 377-385).

If tables of fewer records were shown before, the difference of both is a table of the people who
came later. Its cells are small too if they, or an answer that they belong to, have 1 to 19 of these
people. All sums are known for both tables, so a cell of the difference is undetermined if the cells
that are hidden now leave it undetermined, whatever was hidden before.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Array

#: A table of groups shows no group that is estimated to have fewer people than this.
SMALLEST_GROUP = 20
#: A cell whose row of the projection has this much in the space of the sums is determined.
_DETERMINED = 1 - 1e-9

Cells = npt.NDArray[np.bool_]


#: The figures of a table of some axes.
OfAxes = Callable[[tuple[int, ...]], Array]


def hidden_cells(people: Array, most: OfAxes, grown: OfAxes | None = None) -> Cells:
    """The cells of a joint table of people, with two or more axes, that are not shown.

    `most` says for some of the axes how many people each cell of their table has at most; a cell
    that cannot occur, as everybody knows, has infinitely many. `grown` says by how many people each
    has grown since an earlier table was shown. What the tables of two questions hide is hidden in
    that of three too. The same questions must come in the same order of axes every time: the choice
    of further cells depends on it.
    """
    return _Suppression(people, most, grown).hidden(tuple(range(people.ndim)))


class _Suppression:
    """The hidden cells of a table and of those that it contains, each found once."""

    def __init__(self, people: Array, most: OfAxes, grown: OfAxes | None) -> None:
        self._people, self._most, self._grown = people, most, grown
        self._hidden: dict[tuple[int, ...], Cells] = {}

    def hidden(self, axes: tuple[int, ...]) -> Cells:
        """The hidden cells of the table of some axes."""
        if axes not in self._hidden:
            self._hidden[axes] = self._found(axes)
        return self._hidden[axes]

    def _found(self, axes: tuple[int, ...]) -> Cells:
        others = tuple({*range(self._people.ndim)} - {*axes})
        people, impossible = self._people.sum(axis=others), np.isinf(self._most(axes))
        small = self._few_grown(axes)
        for n in range(1, len(axes)):
            for places in combinations(range(len(axes)), n):
                own = tuple(axes[place] for place in places)
                hidden = (self._most(own) < SMALLEST_GROUP) | self._few_grown(own)
                if n > 1:
                    hidden = hidden | self.hidden(own)
                rest = tuple(place for place in range(len(axes)) if place not in places)
                small = small | np.expand_dims(hidden, rest)
        return _completed(np.where(impossible, np.inf, people), small & ~impossible)

    def _few_grown(self, axes: tuple[int, ...]) -> Cells:
        if self._grown is None:
            return np.zeros(self._most(axes).shape, bool)
        return few_grown(self._grown(axes))


def few_grown(people: Array) -> Cells:
    """Cells that grew by so few people that the difference would be a small group."""
    return np.asarray((people > 0) & (people < SMALLEST_GROUP))


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
