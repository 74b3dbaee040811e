"""Attempts to find out in which order responses came, and how sure a finding is.

An order of record numbers that has nothing to do with their arrival is a random permutation. Two
statistics see what is not: the rank correlation (a global order) and the number of ascents between
neighbours (an order within pages, whose own order is random).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import norm, spearmanr

from tests.support.chance import FALSE_ALARM

#: Numbers from which the approximations below are good.
FEWEST = 100


def tells_arrival(order: Sequence[int]) -> bool:
    """Whether numbers in this order betray their own order; wrong once in a million if not.

    Both statistics are normal in good approximation here: for a random permutation
    of n, sqrt(n - 1) rho has variance 1, and ascents have mean (n - 1)/2 and variance (n + 1)/12.
    """
    n = len(order)
    assert n >= FEWEST, f"only {n} numbers: too few to tell"
    rho = float(spearmanr(np.arange(n), order).statistic)
    ascents = int(np.sum(np.diff(order) > 0))
    scores = [rho * math.sqrt(n - 1), (ascents - (n - 1) / 2) / math.sqrt((n + 1) / 12)]
    smallest = min(2 * float(norm.sf(abs(score))) for score in scores)
    return smallest * len(scores) < FALSE_ALARM


def places_in(content: bytes, marks: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Every place where bytes hold a mark, in order, with the number of the mark.

    One pass for all marks: a table of their first two bytes leaves few places to look at.
    """
    by_start: dict[bytes, list[int]] = {}
    for number, mark in enumerate(marks):
        by_start.setdefault(mark[:4], []).append(number)
    begins = np.zeros(1 << 16, bool)
    begins[np.frombuffer(b"".join(start[:2] for start in by_start), "<u2")] = True
    halves = [
        np.frombuffer(content, "<u2", (len(content) - skip) // 2, skip)
        for skip in (0, 1)
        if len(content) > 2
    ]
    places = [2 * np.flatnonzero(begins[half]) + skip for skip, half in enumerate(halves)]
    for place in np.sort(np.concatenate([*places, []]).astype(int)).tolist():
        for number in by_start.get(content[place : place + 4], ()):
            if content.startswith(marks[number], place):
                yield place, number


def order_in(content: bytes, marks: Sequence[bytes]) -> list[list[int]]:
    """Numbers of the marks in the order of the places where bytes hold them: first, and last."""
    found = list(places_in(content, marks))
    first = {number: place for place, number in reversed(found)}
    last = {number: place for place, number in found}
    return [sorted(places, key=places.__getitem__) for places in (first, last)]


def files_below(folder: Path, since: float = 0.0) -> Iterable[tuple[Path, bytes]]:
    """Every file that was changed since a moment, and its bytes but for zeros at the end."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.stat().st_mtime >= since:
            yield path, path.read_bytes().rstrip(b"\0")
