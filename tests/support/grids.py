"""Grids of test parameters: all pairs of properties by default, everything with --complete."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import combinations
from typing import Any

import pytest

Properties = tuple[Hashable, ...]


def all_pairs(properties: Iterable[Properties]) -> set[Properties]:
    """Some of the given tuples, in which every pair of values occurs that occurs in any of them.

    Greedy: each one adds as many new pairs as possible. Tuples of two values are all needed.
    """
    left = {one: set(combinations(enumerate(one), 2)) for one in properties}
    wanted = set().union(*left.values())
    chosen = set()
    while wanted:
        best = max(left, key=lambda one: len(wanted & left[one]))
        wanted -= left[best]
        chosen.add(best)
    return chosen


def slow_but_first(values: Iterable[Any], usual: int) -> list[Any]:
    """Values for `parametrize`: `make quick` runs the first, `make test` as many as are usual."""
    first, *others = values
    marks = [pytest.mark.slow] * (usual - 1) + [pytest.mark.complete] * len(others)
    more = zip(others, marks, strict=False)
    return [first, *(pytest.param(value, marks=mark) for value, mark in more)]


def thinned(chosen: Iterable[tuple[Any, ...]], others: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Values for `parametrize`: the chosen ones always, the others with --complete."""
    more = [pytest.param(*values, marks=pytest.mark.complete) for values in others]
    return [*chosen, *more]


def pairwise(
    values: Iterable[Any], properties: Callable[[Any], Properties], ids: Callable[[Any], str] = str
) -> list[Any]:
    """Values for `parametrize`; those that all pairs do not need are marked `complete`."""
    every = [(value, properties(value)) for value in values]
    chosen = all_pairs(own for _, own in every)
    found = []
    for value, own in every:
        marks = () if own in chosen else (pytest.mark.complete,)
        found.append(pytest.param(value, id=ids(value), marks=marks))
        chosen.discard(own)
    return found
