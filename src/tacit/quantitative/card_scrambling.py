"""CardScrambling: respondents draw a card with a number and combine it with the true number."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tacit.core.arrays import Array
from tacit.core.exact_draws import Draws, Source
from tacit.quantitative.known_numbers import KnownNumbers
from tacit.quantitative.scrambling import Scrambling


class CardScrambling(Scrambling):
    """Numbers are drawn from `noise`."""

    noise: KnownNumbers
    #: What a respondent does with a card.
    use_of_card: ClassVar[str]

    @property
    def ratio(self) -> Fraction | None:
        return None

    @abstractmethod
    def scrambled(self, true: Array, drawn: Array) -> Array:
        """The report, from true and drawn numbers."""


@dataclass(frozen=True)
class AlwaysScrambled(CardScrambling):
    """Everybody draws a card."""

    noise: KnownNumbers

    @property
    def instructions(self) -> str:
        return (
            f"Draw one card from a deck with these numbers (and shares): {self.noise}. "
            f"{self.use_of_card}"
        )

    def draw(self, true: Array, source: Source) -> Array:
        return self.scrambled(true, self.noise.draw(len(true), source))


@dataclass(frozen=True)
class TruthOrScrambled(CardScrambling):
    """The true number with probability p, else a card is drawn."""

    p: Fraction
    noise: KnownNumbers

    @property
    def instructions(self) -> str:
        return (
            f"Let chance decide: with probability {self.p} report your true answer. Otherwise draw "
            f"one card from a deck with these numbers (and shares): {self.noise}, "
            f"{self.use_of_card}"
        )

    def draw(self, true: Array, source: Source) -> Array:
        other = Draws([[self.p, 1 - self.p]]).draw(None, len(true), source) == 1
        drawn = self.noise.draw(len(true), source)
        return np.asarray(np.where(other, self.scrambled(true, drawn), true))
