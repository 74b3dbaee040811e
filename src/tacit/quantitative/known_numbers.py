"""KnownNumbers: a known distribution of finitely many numbers, such as the cards of a deck."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel.numbers import distribution, fraction
from tacit.core.exact_draws import Draws, Source
from tacit.errors import DesignError


@dataclass(frozen=True)
class KnownNumbers:
    """Distinct numbers in increasing order, and the exact probability of each."""

    values: tuple[Fraction, ...]
    shares: tuple[Fraction, ...]

    def moment(self, power: int) -> Fraction:
        """The mean of the numbers to a power."""
        return sum(
            (s * v**power for v, s in zip(self.values, self.shares, strict=True)), Fraction(0)
        )

    def draw(self, size: int, source: Source) -> Array:
        """Independent draws, exact for the shares."""
        numbers = np.array([float(value) for value in self.values])
        return np.asarray(numbers[Draws([self.shares]).draw(None, size, source)])

    def to_dict(self) -> dict[str, str]:
        """Each number with its share, exact."""
        return {str(v): str(s) for v, s in zip(self.values, self.shares, strict=True)}

    def __str__(self) -> str:
        """The cards in words, as in '-10 (1/4), 0 (1/2), 10 (1/4)'."""
        return ", ".join(f"{v} ({s})" for v, s in zip(self.values, self.shares, strict=True))


def known_numbers(given: Any, what: str) -> KnownNumbers:
    """From a mapping of numbers to probabilities, or from a list of equally likely numbers."""
    if isinstance(given, KnownNumbers):
        return given
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise DesignError(
            f"{what} must be a mapping from numbers to probabilities, or a list of equally "
            f"likely numbers, got {given!r}"
        )
    if isinstance(given, Mapping):
        listed, weights = list(given), distribution(list(given.values()), what)
    else:
        listed = list(given)
        weights = tuple(Fraction(1, len(listed)) for _ in listed)
    numbers = [fraction(value, f"{what}: a number") for value in listed]
    shares: dict[Fraction, Fraction] = {}
    for number, share in zip(numbers, weights, strict=True):
        shares[number] = shares.get(number, Fraction(0)) + share
    kept = sorted((number, share) for number, share in shares.items() if share > 0)
    if not kept:
        raise DesignError(f"{what} must have at least one number")
    return KnownNumbers(*zip(*kept, strict=True))
