"""Attempts to find out in which order responses came, and how sure a finding is.

An order of record numbers that has nothing to do with their arrival is a random permutation. Two
statistics see what is not: the rank correlation (a global order) and the number of ascents between
neighbours (an order within pages, whose own order is random).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
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


def order_in(content: bytes, marks: Sequence[bytes]) -> list[list[int]]:
    """Numbers of the marks in the order of the places where bytes hold them: first, and last."""
    first = {number: content.find(mark) for number, mark in enumerate(marks)}
    last = {number: content.rfind(mark) for number, mark in enumerate(marks)}
    return [
        [number for number in sorted(places, key=places.__getitem__) if places[number] >= 0]
        for places in (first, last)
    ]


def files_below(folder: Path, since: float = 0.0) -> Iterable[tuple[Path, bytes]]:
    """Every file that was changed since a moment, and its bytes but for zeros at the end."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.stat().st_mtime >= since:
            yield path, path.read_bytes().rstrip(b"\0")
