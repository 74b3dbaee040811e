"""Events: which categories of each attribute the nodes of a tree allow."""

from __future__ import annotations

import numpy as np

from tacit.core.channel.weights import Events

SIZES = (3, 2, 4)


def two() -> Events:
    """a in {0, 2}; and a = 1, c in {1, 2, 3}."""
    allowed = np.array([[1, 0, 1, 1, 1, 1, 1, 1, 1], [0, 1, 0, 1, 1, 0, 1, 1, 1]], dtype=bool)
    return Events(SIZES, allowed)


def test_the_certain_event_allows_every_category() -> None:
    certain = Events.certain(SIZES)
    assert len(certain) == 1
    assert certain.allowed.shape == (1, 9)
    assert certain.allowed.all()


def test_an_event_knows_what_it_allows_of_each_attribute() -> None:
    events = two()
    np.testing.assert_array_equal(events.of(0), [[1, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(events.of(2), [[1, 1, 1, 1], [0, 1, 1, 1]])
    np.testing.assert_array_equal(events.take(slice(1, 2)).of(0), [[0, 1, 0]])


def test_parts_fix_their_attributes_and_the_last_runs_fastest() -> None:
    parted = two().parted((0, 1))
    assert len(parted) == 2 * 3 * 2
    one, other = parted.of(0).argmax(axis=1), parted.of(1).argmax(axis=1)
    np.testing.assert_array_equal(one, [0, 0, 1, 1, 2, 2] * 2)
    np.testing.assert_array_equal(other, [0, 1] * 6)
    np.testing.assert_array_equal(parted.of(0).sum(axis=1), 1)
    np.testing.assert_array_equal(parted.of(2)[:6], np.ones((6, 4)))
    np.testing.assert_array_equal(parted.of(2)[6:], [[0, 1, 1, 1]] * 6)
