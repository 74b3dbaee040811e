"""Hidden cells of small groups cannot be computed from what is shown."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tacit.studio.disclosure import SMALLEST_GROUP, Cells, determined
from tacit.studio.disclosure import hidden_cells as hidden_with

TABLES = st.sampled_from([(2, 2), (2, 3), (4, 3), (2, 2, 2), (2, 3, 2), (3, 4, 2)]).flatmap(
    lambda shape: arrays(float, shape, elements=st.integers(-5, 60).map(float))
)


def hidden_cells(people: np.ndarray) -> Cells:
    """The hidden cells if all numbers are exact."""

    def most(axes: tuple[int, ...]) -> np.ndarray:
        return people.sum(axis=tuple({*range(people.ndim)} - {*axes}))

    return hidden_with(people, most)


def computed(people: np.ndarray, shown: Cells) -> Cells:
    """The attack: what the shown cells and all sums over one axis say about every cell.

    A cell is known if all tables that agree with what is seen have the same number there.
    """
    size = people.size
    seen = [np.eye(size)[place] for place in np.flatnonzero(shown.ravel())]
    for axis in range(people.ndim):
        lines = np.moveaxis(np.arange(size).reshape(people.shape), axis, -1)
        each = lines.reshape(-1, people.shape[axis])
        seen += [np.isin(np.arange(size), line).astype(float) for line in each]
    matrix = np.array(seen)
    rank = np.linalg.matrix_rank(matrix)
    known = [np.linalg.matrix_rank(np.vstack([matrix, unit])) == rank for unit in np.eye(size)]
    return np.array(known).reshape(people.shape)


def small(people: np.ndarray) -> Cells:
    """Cells of an answer, or a pair of answers of three, with too few people."""
    found = np.zeros(people.shape, bool)
    for n in range(1, people.ndim):
        for axes in combinations(range(people.ndim), n):
            others = tuple({*range(people.ndim)} - {*axes})
            found |= people.sum(axis=others, keepdims=True) < SMALLEST_GROUP
    return found


@given(TABLES)
def test_no_small_cell_can_be_computed_from_the_table_and_its_sums(people: np.ndarray) -> None:
    hidden = hidden_cells(people)
    assert hidden[small(people)].all()
    assert not (computed(people, ~hidden) & small(people)).any()


@given(TABLES)
def test_what_is_determined_is_what_the_attack_computes(people: np.ndarray) -> None:
    hidden = small(people)
    np.testing.assert_array_equal(determined(hidden), computed(people, ~hidden) & hidden)


def test_hiding_small_cells_alone_is_not_enough() -> None:
    """The control: the attack finds a single small group."""
    people = np.array([[50.0, 60, 5], [40, 70, 6]])
    assert computed(people, ~small(people))[:, 2].all()
    assert hidden_cells(people).sum() == 4


def test_large_groups_are_all_shown() -> None:
    assert not hidden_cells(np.full((2, 3, 2), 20.0)).any()


@pytest.mark.parametrize("axis", [1, 2])
def test_what_a_table_of_two_questions_hides_is_hidden_in_that_of_three(axis: int) -> None:
    people = np.full((4, 3, 2), 30.0)
    people[0] = 1
    pair = np.expand_dims(hidden_cells(people.sum(axis=axis)), axis)
    assert 0 < pair.sum() < pair.size
    hidden = hidden_cells(people)
    assert hidden[np.broadcast_to(pair, people.shape)].all()
    assert not hidden.all()


def test_cells_that_cannot_occur_need_no_protection_and_give_none() -> None:
    """Everybody knows that they are 0: they are not small, and hiding one hides nothing."""
    people = np.array([[0.0, 300, 100], [400, 200, 100], [300, 300, 100]])
    impossible = people == 0

    def most(axes: tuple[int, ...]) -> np.ndarray:
        found = people.sum(axis=tuple({0, 1} - {*axes}))
        return np.where(impossible, np.inf, found) if len(axes) == 2 else found

    assert not hidden_with(people, most).any()
    people[:, 2] = 3
    hidden = hidden_with(people, most)
    np.testing.assert_array_equal(hidden[impossible], False)
    assert hidden[:, 2].all()
    assert not computed(people, ~hidden)[:, 2].any()


@pytest.mark.parametrize(("each", "hidden"), [(SMALLEST_GROUP / 2, False), (9.9, True)])
def test_an_answer_of_exactly_the_smallest_number_of_people_is_shown(
    each: float, hidden: bool
) -> None:
    people = np.full((2, 2), each)
    assert (hidden_cells(people) == hidden).all()
