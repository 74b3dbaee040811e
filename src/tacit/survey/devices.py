"""What a respondent's own device can decide: halves, sixths or twelfths, in one throw.

A group is thrown once: the device must tell apart the truth and everything else the coin may
decide, so each of these chances is a multiple of 1/2 (coin), 1/6 (die) or 1/12 (birth month,
taken as uniform). Personal and innocent questions are answered, not thrown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

from tacit.channel.coin import Differ, Keep, Replace, Strategy, Substitute
from tacit.design import Design, Group

#: Equally likely outcomes of one throw.
OUTCOMES = {"coin": 2, "die": 6, "birth_month": 12}
#: Told in messages.
_PARTS = {"coin": "halves", "die": "sixths", "birth_month": "twelfths"}
_SAID = {"coin": "a coin", "die": "a die", "birth_month": "a birth month"}
#: Joint draws of a group beyond these are not listed; no device has as many outcomes.
_MOST_CELLS = 1000


def fault(device: str, design: Design, at: Callable[[Fraction], Design | None]) -> str | None:
    """Why a device cannot throw the coins of a design, with the nearest thetas that it can.

    `at` makes the same design with another theta; None where there is none or it is singular.
    """
    unfit = [] if device not in OUTCOMES else list(_unfit(design, OUTCOMES[device]))
    if not unfit:
        return None
    said = f"{_SAID[device]} makes {_PARTS[device]} only, in one throw, not {unfit[0]}"
    near = _nearest(device, _truth(design), at)
    if near:
        return f"{said}; the nearest theta that it can: {' or '.join(map(str, near))}"
    each = " or throw: each" if any(len(g.attributes) > 1 for g in design.groups) else ""
    return f"{said}; no theta would do here: take another family, another device{each}"


def _truth(design: Design) -> Fraction:
    """The chance of the first thing that the coin may decide."""
    group = design.groups[0]
    return group.coin.strategies(design.attributes_of(group))[0][0]


def _nearest(
    device: str, asked: Fraction, at: Callable[[Fraction], Design | None]
) -> list[Fraction]:
    """Up to two thetas that the device can throw, in order."""
    outcomes = OUTCOMES[device]
    able: list[Fraction] = []
    for count in sorted(range(1, outcomes), key=lambda n: abs(Fraction(n, outcomes) - asked)):
        design = at(Fraction(count, outcomes))
        if design is not None and not any(True for _ in _unfit(design, outcomes)):
            able.append(Fraction(count, outcomes))
    return sorted(able[:2])


def _unfit(design: Design, outcomes: int) -> Iterator[Fraction]:
    """Chances of the design's coins that are not multiples of one outcome's."""
    for group in design.groups:
        for chance in _thrown(design, group):
            if (chance * outcomes).denominator != 1:
                yield chance


def _thrown(design: Design, group: Group) -> Iterator[Fraction]:
    """What the device decides for a group; the rest is answered."""
    if group.coin.asks == "comparison" or group.coin.family == "truthful":
        return
    attributes = design.attributes_of(group)
    for weight, strategy in group.coin.strategies(attributes):
        if group.coin.asks == "either":
            yield weight
        else:
            yield from _chances(weight, strategy, [a.size for a in attributes])


def _chances(weight: Fraction, strategy: Strategy, sizes: list[int]) -> Iterator[Fraction]:
    """The chance of each thing that one throw must tell apart."""
    match strategy:
        case Keep():
            yield weight
        case Differ(units):
            yield weight / math.prod(math.prod(sizes[i] for i in unit) - 1 for unit in units)
        case Replace(_, distributions):
            listed = math.prod(map(len, distributions)) <= _MOST_CELLS
            cells = product(*distributions) if listed else iter([(Fraction(1, 10**9),)])
            yield from (weight * math.prod(cell, start=Fraction(1)) for cell in cells)
        case Substitute(columns):
            yield from (weight * entry for column in columns for entry in column)
