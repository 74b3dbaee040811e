"""One scrambling of each family, and the exact probability of every report."""

from __future__ import annotations

from fractions import Fraction

from tacit.quantitative import additive, bar_lev, eriksson, multiplicative, square_wave
from tacit.quantitative.families import (
    Additive,
    BarLev,
    Eriksson,
    KnownNumbers,
    Multiplicative,
    Scrambling,
    SquareWave,
)

DECK = {-20: "1/4", 5: "1/2", 30: "1/4"}
FACTORS = {"1/2": "1/3", 1: "1/3", 3: "1/3"}
LIST = [0, 10, 25]
SCRAMBLINGS: dict[str, Scrambling] = {
    "additive": additive(DECK),
    "multiplicative": multiplicative(FACTORS),
    "bar_lev": bar_lev("2/5", FACTORS),
    "eriksson": eriksson("3/5", LIST),
    "eriksson, listed": eriksson("3/5", {0: "1/2", 10: "1/4", 20: "1/8", 40: "1/8"}, listed=True),
    "square_wave": square_wave("3/2", 0, 40, 9),
}
#: True numbers that every one of them accepts, and that are points of the square wave.
TRUE = [0, 10, 20, 40]


def law(scrambling: Scrambling, x: int | Fraction) -> dict[Fraction, Fraction]:
    """Exact probabilities of the reports of a true number."""
    found: dict[Fraction, Fraction] = {}
    for report, share in _outcomes(scrambling, Fraction(x)):
        found[report] = found.get(report, Fraction(0)) + share
    return found


def _outcomes(scrambling: Scrambling, x: Fraction) -> list[tuple[Fraction, Fraction]]:
    match scrambling:
        case Additive(noise):
            return [(x + s, share) for s, share in _cards(noise)]
        case Multiplicative(noise):
            return [(x * s, share) for s, share in _cards(noise)]
        case BarLev(p, noise):
            return [(x, p), *((x * s, (1 - p) * share) for s, share in _cards(noise))]
        case Eriksson(p, noise, _):
            return [(x, p), *((s, (1 - p) * share) for s, share in _cards(noise))]
        case SquareWave():
            return _wave(scrambling, x)
    raise AssertionError(scrambling)


def _cards(noise: KnownNumbers) -> list[tuple[Fraction, Fraction]]:
    return list(zip(noise.values, noise.shares, strict=True))


def _wave(wave: SquareWave, x: Fraction) -> list[tuple[Fraction, Fraction]]:
    """x is one of the points."""
    point, reach = (x - wave.low) / wave.unit, wave.reach
    return [
        (
            wave.low + y * wave.unit,
            wave.far * (wave.largest_ratio if abs(y - point) <= reach else 1),
        )
        for y in range(-reach, wave.steps + reach)
    ]
