"""kuk and christofides: one yes/no question whose report is a number.

    kuk(red_yes, red_no, cards)   The number of red cards among `cards` draws with replacement from
                                  one of two decks: P(y | truth) is binomial with the red share of
                                  the deck that the true answer selects.
    christofides(distribution)    A number y from 1 to L is drawn with known probabilities d_y. Who
                                  truly says no reports y, who truly says yes L + 1 - y.

The report is one of `cards` + 1 or L numbers, so M has as many rows and two columns. With more rows
than columns estimates use generalised least squares. No estimate exists if both decks are alike,
or if d is symmetric.

References: A. Y. C. Kuk, Asking sensitive questions indirectly, Biometrika 77 (1990) 436-438.
T. C. Christofides, A generalized randomized response technique, Metrika 57 (2003) 195-200.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any, ClassVar

from tacit.core.channel.coin import Attributes, Coin, Strategy, Substitute, Unit, require_one_yes_no
from tacit.core.channel.matrix import Columns, MatrixChannel
from tacit.core.channel.numbers import Number, probability
from tacit.core.channel.numbers import distribution as exact_shares
from tacit.core.schema import Attribute
from tacit.errors import DesignError

#: More draws per respondent are not practical.
MOST_CARDS = 50


class NumberedReports(Coin):
    """A column of probabilities for each of the two true answers."""

    #: The smallest number that is reported.
    first: ClassVar[int]

    @property
    @abstractmethod
    def columns(self) -> Columns:
        """Distribution of the report if the true answer is the first, and the second category."""

    def check(self, attributes: Attributes) -> None:
        require_one_yes_no(self.family, attributes)

    @property
    def separable(self) -> bool:
        return False

    def reported(self, attributes: Attributes) -> Attributes:
        numbers = (str(self.first + i) for i in range(len(self.columns[0])))
        return tuple(Attribute(a.name, list(numbers)) for a in attributes[:1])

    def strategies(self, attributes: Attributes) -> tuple[tuple[Fraction, Strategy], ...]:
        return ((Fraction(1), Substitute(self.columns)),)

    def channel(self, attributes: Attributes, kept: Unit | None = None) -> MatrixChannel:
        rows = tuple(zip(*self.columns, strict=True))
        return MatrixChannel(rows, (2,), (len(rows),))


@dataclass(frozen=True)
class Kuk(NumberedReports):
    """Red cards among draws from the deck that the true answer selects."""

    red_yes: Fraction
    red_no: Fraction
    cards: int
    family: ClassVar[str] = "kuk"
    first: ClassVar[int] = 0
    remedy = (
        "both decks have the same share of red cards, so reports do not depend on the answer; "
        "take another red_yes or red_no"
    )

    def report_meaning(self, attributes: Attributes) -> str:
        no, yes = attributes[0].categories
        likely = yes if self.red_yes > self.red_no else no
        return f"the number of red cards; a large number makes {likely} more likely"

    @property
    def columns(self) -> Columns:
        return binomial(self.red_no, self.cards), binomial(self.red_yes, self.cards)

    @property
    def each_throw(self) -> tuple[Fraction, ...]:
        return (self.red_yes, self.red_no)


@dataclass(frozen=True)
class Christofides(NumberedReports):
    """A drawn number, or its mirror image if the true answer is yes."""

    distribution: tuple[Fraction, ...]
    family: ClassVar[str] = "christofides"
    first: ClassVar[int] = 1
    remedy = (
        "a distribution that reads the same from both ends hides the answer from everyone; "
        "make small or large numbers more likely"
    )

    def report_meaning(self, attributes: Attributes) -> str:
        no, yes = attributes[0].categories
        return f"the drawn number if the answer is {no}, counted from the other end if it is {yes}"

    @property
    def columns(self) -> Columns:
        return self.distribution, self.distribution[::-1]


def binomial(share: Fraction, draws: int) -> tuple[Fraction, ...]:
    """Exact probabilities of 0 to `draws` successes."""
    return tuple(comb(draws, k) * share**k * (1 - share) ** (draws - k) for k in range(draws + 1))


def kuk(red_yes: Number, red_no: Number, cards: int = 1) -> Kuk:
    """The number of red cards among `cards` draws, with replacement, from one of two decks.

    `red_yes` is the share of red cards in the deck for people whose answer is the second category,
    `red_no` in the deck for the others.
    """
    yes, no = probability(red_yes, "kuk: red_yes"), probability(red_no, "kuk: red_no")
    if isinstance(cards, bool) or not isinstance(cards, int) or not 1 <= cards <= MOST_CARDS:
        raise DesignError(
            f"kuk: cards must be a whole number from 1 to {MOST_CARDS}, got {cards!r}"
        )
    if {yes, no} <= {0, 1}:
        raise DesignError(
            "kuk: red_yes and red_no are both 0 or 1, so each draw has only one result; "
            "mix red and black cards in at least one deck"
        )
    return Kuk(yes, no, cards)


def christofides(distribution: Any) -> Christofides:
    """A number drawn with these probabilities, or, if the answer is yes, its mirror image."""
    shares = exact_shares(distribution, "christofides: distribution")
    if len(shares) < 2:
        raise DesignError("christofides: distribution needs at least two numbers to draw from")
    for number, (one, other) in enumerate(zip(shares, shares[::-1], strict=True), 1):
        if one == other == 0:
            raise DesignError(
                f"christofides: distribution never leads to the report {number}: the numbers "
                f"{number} and {len(shares) + 1 - number} have probability 0; leave them out"
            )
    return Christofides(shares)
