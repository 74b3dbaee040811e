"""Attempts to find out in which order and by which links responses came, and how sure it is.

An order of record numbers that has nothing to do with their arrival is a random permutation. Two
statistics see what is not: the rank correlation (a global order) and the number of ascents between
neighbours (an order within pages, whose own order is random).

Guesses of links that have nothing to do with the responses are right as often as a random
permutation has fixed points: nearly Poisson with mean 1.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import norm, poisson, spearmanr

from tests.support.chance import FALSE_ALARM

#: Pairs of an id and a hash that are said to belong together.
Pairs = set[tuple[bytes, bytes]]
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


def right_guesses(tied: Pairs, pairs: Pairs, chance: random.Random) -> int:
    """How many answers somebody ties to the right links who guesses where nothing ties them."""
    ids, hashes = ({pair[side] for pair in pairs} for side in (0, 1))
    other_ids = sorted(ids - {id_ for id_, _ in tied})
    other_hashes = sorted(hashes - {hash_ for _, hash_ in tied})
    chance.shuffle(other_hashes)
    return len((tied | set(zip(other_ids, other_hashes, strict=False))) & pairs)


def most_by_chance(copies: int) -> int:
    """More right guesses than these come by chance once in a million tests of so many copies."""
    return int(poisson.isf(FALSE_ALARM / copies, 1)) + 1


#: Where PostgreSQL puts the key of a row after the row's begin: a head of 24 bytes, the number of
#: the survey, and one byte for the length. The head begins with xmin and xmax.
_KEY_IN_ROW = 29


def row_transactions(content: bytes, keys: Sequence[bytes]) -> Iterator[tuple[int, int, int]]:
    """The number of a key, and xmin and xmax of its row, wherever a file of PostgreSQL has one.

    Reads raw bytes, so it also finds rows that were deleted, and remains in the gaps of pages.
    """
    for place, number in places_in(content, keys):
        if place >= _KEY_IN_ROW:
            xmin, xmax = np.frombuffer(content, "<u4", 2, place - _KEY_IN_ROW).tolist()
            yield number, xmin, xmax


def tied_by_transactions(
    records: bytes, links: bytes, ids: Sequence[bytes], hashes: Sequence[bytes]
) -> Pairs:
    """The pairs that two files of PostgreSQL tie: those of the records and of the links.

    A transaction that stored one record and deleted one link ties the two. If none did both, the
    last record is tied to the last link, the one before to the one before, and so on.
    """
    stored, deleted = defaultdict[int, set[bytes]](set), defaultdict[int, set[bytes]](set)
    for number, xmin, _ in row_transactions(records, ids):
        stored[xmin].add(ids[number])
    for number, _, xmax in row_transactions(links, hashes):
        if xmax:
            deleted[xmax].add(hashes[number])
    both = [(stored[xid], deleted[xid]) for xid in stored.keys() & deleted.keys()]
    if both:
        return {(*a, *b) for a, b in both if len(a) == len(b) == 1}
    latest = [
        [keys for _, keys in sorted(rows.items(), reverse=True) if len(keys) == 1]
        for rows in (stored, deleted)
    ]
    return {(*a, *b) for a, b in zip(*latest, strict=False)}
