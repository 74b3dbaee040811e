"""What a coin, a die or a birth month can decide in one throw: halves, sixths or twelfths.

One throw must distinguish the truth and everything else that the group's coin may decide. So each
of these probabilities must be a multiple of 1/2 (coin), 1/6 (die) or 1/12 (birth month, assumed
uniform). For `kuk` every throw draws a card, red or black. Personal and innocent questions are
answered, not thrown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

from tacit.core.channel.coin import Differ, Keep, Replace, Strategy, Substitute
from tacit.core.design import Design, Group

#: Equally likely outcomes of one throw.
OUTCOMES = {"coin": 2, "die": 6, "birth_month": 12}
#: Parameters that are probabilities of the truth; others near them may be what a device can decide.
MOVABLE = ("theta", "q", "p")
#: For messages.
_PARTS = {"coin": "halves", "die": "sixths", "birth_month": "twelfths"}
_NAMES = {"coin": "a coin toss", "die": "a die roll", "birth_month": "a birth month"}
#: More joint draws of a group are not listed; no device has so many outcomes.
_MOST_CELLS = 1000


def fault(
    device: str, design: Design, main: str, at: Callable[[Fraction], Design | None]
) -> str | None:
    """Why a device cannot decide a design's coins, with the nearest possible thetas.

    `main` is the name of the parameter, such as theta; `at` gives the same design with another
    value of it, None if there is none or it is singular.
    """
    unfit = _unfit(design, OUTCOMES[device]) if device in OUTCOMES else []
    if not unfit:
        return None
    group = design.groups[0]
    asked = group.coin.strategies(design.attributes_of(group))[0][0]
    what = f"{_NAMES[device]} gives only {_PARTS[device]}, not {unfit[0]}"
    near = _nearest(device, asked, at)
    if near:
        return f"{what}; the nearest possible {main}: {' or '.join(map(str, near))}"
    each = " or throw: each" if any(len(g.attributes) > 1 for g in design.groups) else ""
    if main in MOVABLE:
        return f"{what}; no {main} works here: use another family, another device{each}"
    return f"{what}; use other probabilities, another family, another device{each}"


def _nearest(
    device: str, asked: Fraction, at: Callable[[Fraction], Design | None]
) -> list[Fraction]:
    """Up to two thetas that the device can decide, nearest to this one, in order."""
    outcomes = OUTCOMES[device]
    made = {theta: at(theta) for theta in (Fraction(n, outcomes) for n in range(1, outcomes))}
    able = [t for t, design in made.items() if design is not None and not _unfit(design, outcomes)]
    return sorted(sorted(able, key=lambda theta: abs(theta - asked))[:2])


def _unfit(design: Design, outcomes: int) -> list[Fraction]:
    """Probabilities of the design's coins that the device cannot produce."""
    chances = (chance for group in design.groups for chance in _thrown(design, group))
    return [chance for chance in chances if (chance * outcomes).denominator != 1]


def _thrown(design: Design, group: Group) -> Iterator[Fraction]:
    """The probabilities that the device decides for a group; the rest is answered."""
    if group.coin.asks in ("comparison", "any_yes") or group.coin.family == "truthful":
        return
    if group.coin.each_throw is not None:
        yield from group.coin.each_throw
        return
    attributes = design.attributes_of(group)
    for weight, strategy in group.coin.strategies(attributes):
        if group.coin.asks == "either":
            yield weight
        else:
            yield from _chances(weight, strategy, [a.size for a in attributes])


def _chances(weight: Fraction, strategy: Strategy, sizes: list[int]) -> Iterator[Fraction]:
    """The probability of each result that one throw must distinguish."""
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
