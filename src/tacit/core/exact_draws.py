"""Exact draws from rational distributions, by lazy comparison of digits.

A uniform number U in [0, 1) is revealed one base-256 digit (one random byte) at a time and the
category drawn is the number of cumulative thresholds T_1 <= T_2 <= ... that are <= U. The first
digit decides most draws; only a draw whose digits so far equal those of a threshold that has
more digits needs another one. Nothing is rounded: the probability of every category is exactly
the fraction asked for, whatever its denominator. With m thresholds a draw takes at most
1 + m/255 digits on average.

The digits of the thresholds make a tree. A node holds the thresholds that share a prefix; its row
of 256 entries says, for each next digit, the category (>= 0) or the child node (~id, negative).
A level of the tree is built only when a draw reaches it.

Reference: D. E. Knuth and A. C. Yao, The complexity of nonuniform random number generation,
Algorithms and Complexity (1976), here with bytes in place of bits.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, count
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Index

BASE = 256
BLOCK = 1 << 18  # draws at a time: their digits stay in the cache

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.integer[Any]]


#: A source of random digits: n independent uniform bytes for a number n.
Source = Callable[[int], Bytes]


def entropy(n: int) -> Bytes:
    """Digits of the operating system's entropy: for the answers of real respondents."""
    return np.frombuffer(os.urandom(n), dtype=np.uint8)


def source_of(rng: np.random.Generator | None) -> Source:
    """Digits of a generator, repeatable, for simulation only; None is the system's entropy."""
    if rng is None:
        return entropy

    def simulated(n: int) -> Bytes:
        words = rng.integers(0, 1 << 64, size=-(-n // 8), dtype=np.uint64)
        return words.view(np.uint8)[:n]

    return simulated


def seeded_source(seed: int, *position: int) -> Source:
    """Digits of a child of a seed, for simulation only: each place has its own.

    Without a place, they are those of numpy.random.default_rng(seed).
    """
    return source_of(np.random.default_rng(np.random.SeedSequence(seed, spawn_key=position)))


def keyed_source(key: bytes, position: int) -> Source:
    """Digits that only those who have the key can repeat: SHAKE-256 of the key and the place.

    For answers of real people that may have to be drawn again, such as those of a lost executor:
    two different reports of a person would disclose more than one. The key is the operating
    system's entropy.
    """
    calls = count()

    def keyed(n: int) -> Bytes:
        message = key + position.to_bytes(8) + next(calls).to_bytes(8)
        return np.frombuffer(hashlib.shake_256(message).digest(n), dtype=np.uint8)

    return keyed


class Draws:
    """Distributions prepared for drawing. Each must sum to 1: the caller checks."""

    def __init__(self, distributions: Sequence[Sequence[Fraction]]) -> None:
        self._frontier = [_root(distribution) for distribution in distributions]
        self._levels: list[npt.NDArray[np.int32]] = []
        self._coin = len(distributions) == 1 and len(distributions[0]) == 2
        self._type = np.min_scalar_type(max(map(len, distributions)) - 1)

    def draw(self, which: Integers | None, size: int, source: Source) -> Integers:
        """Draw `size` categories; draw i comes from distributions[which[i]], exactly.

        `which` None: all draws come from the first distribution. The result has the smallest
        unsigned dtype that holds every category. One of probability 0 is never drawn.
        """
        drawn = np.empty(size, self._type)
        for start in range(0, size, BLOCK):
            part = drawn[start : start + BLOCK]
            digits = source(len(part))
            if self._coin:
                tied, nodes = self._toss(digits, part)
            else:
                chosen = None if which is None else which[start : start + BLOCK]
                tied, nodes = self._choose(digits, chosen, part)
            self._settle(part, tied, nodes, source)
        return drawn

    def _level(self, depth: int) -> npt.NDArray[np.int32]:
        """Rows of the nodes at this depth, one after the other: entry node * 256 + digit."""
        while len(self._levels) <= depth:
            rows = np.empty((len(self._frontier), BASE), np.int32)
            children: list[_Node] = []
            for node, row in zip(self._frontier, rows, strict=True):
                _grow(node, row, children)
            self._frontier = children
            self._levels.append(rows.reshape(-1))
        return self._levels[depth]

    def _toss(self, digits: Bytes, out: Integers) -> tuple[Index, Index]:
        """First digit of draws from one distribution of two categories: a plain comparison."""
        row = self._level(0)
        pending = np.flatnonzero(row < 0)
        first_one = int(np.count_nonzero(row <= 0))
        np.greater_equal(digits, first_one, out=out.view(np.bool_))
        if not pending.size:
            return pending, pending
        tied = np.flatnonzero(digits == pending[0])
        return tied, np.zeros_like(tied)

    def _choose(self, digits: Bytes, which: Integers | None, out: Integers) -> tuple[Index, Index]:
        """First digit of any draws, by lookup: the draws still tied and their nodes."""
        entries = digits if which is None else which.astype(np.intp) * BASE + digits
        decisions = self._level(0).take(entries)
        out[...] = decisions
        tied = np.flatnonzero(decisions < 0)
        return tied, (~decisions[tied]).astype(np.intp)

    def _settle(self, out: Integers, tied: Index, nodes: Index, source: Source) -> None:
        """Draw further digits for the tied draws until each is decided."""
        depth = 1
        while tied.size:
            decisions = self._level(depth)[nodes * BASE + source(len(tied))]
            decided = decisions >= 0
            out[tied[decided]] = decisions[decided]
            tied, nodes = tied[~decided], (~decisions[~decided]).astype(np.intp)
            depth += 1


@dataclass(frozen=True)
class _Node:
    """Thresholds that share their digits so far: what is left of each, over `denominator`.

    `passed` thresholds of the distribution are already known to be <= U.
    """

    passed: int
    rests: list[int]
    denominator: int


def _root(distribution: Sequence[Fraction]) -> _Node:
    """The node before any digit: every threshold below 1 (U never reaches 1)."""
    denominator = math.lcm(*(p.denominator for p in distribution))
    shares = (p.numerator * (denominator // p.denominator) for p in distribution)
    thresholds = list(accumulate(shares))[:-1]
    return _Node(0, [t for t in thresholds if t < denominator], denominator)


def _grow(node: _Node, row: npt.NDArray[np.int32], children: list[_Node]) -> None:
    """Fill the row of a node and append its children.

    A threshold with next digit c and nothing left after it is passed by every digit >= c; with
    something left it is passed by every digit > c and is tied with the digit c.
    """
    split = [divmod(BASE * rest, node.denominator) for rest in node.rests]
    passed_from = np.array([digit + (rest > 0) for digit, rest in split], dtype=np.intp)
    row[:] = node.passed + np.cumsum(np.bincount(passed_from, minlength=BASE + 1))[:BASE]
    ties: dict[int, list[int]] = {}
    for digit, rest in split:
        if rest > 0:
            ties.setdefault(digit, []).append(rest)
    for digit, rests in ties.items():
        child = _Node(int(row[digit]), rests, node.denominator)
        row[digit] = ~len(children)
        children.append(child)
