"""matrix: any column-stochastic M[reported, true] on one attribute or on one joint space.

Huang & Du (2008, eq. 1); with more reported than true categories also the exact designs that
beat every square matrix. On several attributes M indexes joint categories (the last
attribute runs fastest); such a group is reconstructed as a whole and then summed.

kuk and christofides: one yes/no question whose report is a number.

    kuk(red_yes, red_no, cards)   The number of red cards among `cards` draws with replacement from
                                  one of two decks: P(y | truth) is binomial with the red share of
                                  the deck that the true answer selects.
    christofides(distribution)    A number y from 1 to L is drawn with known probabilities d_y. Who
                                  truly says no reports y, who truly says yes L + 1 - y.

The report is one of `cards` + 1 or L numbers, so M has as many rows and two columns. With more rows
than columns estimates use generalised least squares. No estimate exists if both decks are alike,
or if d is symmetric.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import permutations
from math import comb
from typing import Any, ClassVar

import numpy as np

from tacit.core.channel.channel import (
    Channel,
    Dense,
    Outcomes,
    SecondMoments,
    Target,
    erasure,
    moments_of,
)
from tacit.core.channel.coin import (
    Attributes,
    Coin,
    Strategy,
    Substitute,
    listed,
    plain,
)
from tacit.core.channel.numbers import Number, Unit, probabilities, probability
from tacit.core.schema import Attribute
from tacit.errors import DesignError

Columns = tuple[tuple[Fraction, ...], ...]
#: Of matrices with more true cells than this, experiments are not listed.
_MOST_LISTED = 12
#: A matrix with more entries is not written out in a text.
_MOST_SHOWN = 100


@dataclass(frozen=True)
class Matrix(Coin):
    """rows: M as rows of exact fractions. labels: of what is reported, if of its own."""

    rows: Columns
    labels: Attribute | None = None
    family: ClassVar[str] = "matrix"
    reference: ClassVar[str] = (
        "Huang, Z., & Du, W. (2008). OptRR: Optimizing randomized response schemes for "
        "privacy-preserving data mining. Proceedings of ICDE, 705-714."
    )
    meaning: ClassVar[str] = "a row of the matrix, drawn by the column of the true answer"

    @property
    def columns(self) -> Columns:
        """Distribution of the report for each true category."""
        return tuple(zip(*self.rows, strict=True))

    def check(self, attributes: Attributes) -> None:
        cells = math.prod(a.size for a in attributes)
        if len(self.columns) != cells:
            raise DesignError(
                f"matrix: has {len(self.columns)} columns, but "
                + " x ".join(f"{a.name!r} ({a.size})" for a in attributes)
                + f" has {cells} categories"
            )

    @property
    def separable(self) -> bool:
        return False

    @property
    def example_attributes(self) -> Attributes:
        return (Attribute("answer", range(len(self.columns))),)

    @property
    def methods_text(self) -> str:
        rows = f", with the rows {listed(plain(self.rows))}"
        if len(self.rows) * len(self.columns) > _MOST_SHOWN:
            rows = ", which is part of the published survey"
        return (
            "reports were drawn by a published matrix of probabilities with a row per report and "
            f"a column per true answer{rows} (Huang & Du, 2008)."
        )

    def reported(self, attributes: Attributes) -> Attributes:
        """The true attributes if M is square, else one attribute with a category per row."""
        if self.labels is None and len(self.rows) == len(self.columns):
            return attributes
        numbered = [f"r{i + 1}" for i in range(len(self.rows))]
        labels = numbered if self.labels is None else self.labels.categories
        return (Attribute("+".join(a.name for a in attributes), labels),)

    def strategies(self, attributes: Attributes) -> tuple[tuple[Fraction, Strategy], ...]:
        return ((Fraction(1), Substitute(self.columns)),)

    def channel(self, attributes: Attributes, positions: Unit | None = None) -> MatrixChannel:
        if positions is not None and sorted(positions) != list(range(len(attributes))):
            raise DesignError(
                "a matrix on several attributes has no channel for some of them alone; ask for "
                + " and ".join(repr(a.name) for a in attributes)
                + " together"
            )
        shape = tuple(a.size for a in attributes)
        return MatrixChannel(self.rows, shape, tuple(a.size for a in self.reported(attributes)))

    @property
    def remedy(self) -> str:
        return (
            "its columns are linearly dependent, so different true distributions look alike; "
            "change the matrix until no column is a mixture of the others"
        )

    def to_dict(self) -> dict[str, Any]:
        labels = {} if self.labels is None else {"reported": list(self.labels.categories)}
        return {"family": self.family, "matrix": plain(self.rows), **labels}


@dataclass(frozen=True)
class MatrixChannel(Channel):
    """Any matrix, dense."""

    rows: Columns
    shape: tuple[int, ...]
    shape_of_reports: tuple[int, ...]

    @property
    def true_shape(self) -> tuple[int, ...]:
        return self.shape

    @property
    def reported_shape(self) -> tuple[int, ...]:
        return self.shape_of_reports

    @property
    def ratio(self) -> Fraction | None:
        if any(min(row) == 0 for row in self.rows):
            return None
        return max(max(row) / min(row) for row in self.rows)

    @property
    def overlap(self) -> Fraction:
        return sum((min(row) for row in self.rows), Fraction(0))

    def experiments(self, target: Target | None = None) -> list[Outcomes]:
        """Every pair of cells; of large matrices the erasure experiment."""
        cells = math.prod(self.shape)
        if cells > _MOST_LISTED:
            return [erasure(self.overlap)]
        pairs = list(permutations(range(cells), 2))
        if target is not None:
            codes = np.indices(self.shape)[target[0]].ravel()
            pairs = [(u, v) for u, v in pairs if (codes[u], codes[v]) == target[1:]]
        return [[(row[u], row[v]) for row in self.rows] for u, v in pairs]

    @property
    def condition(self) -> float:
        return float(np.linalg.cond(self.forward.entries))

    @cached_property
    def forward(self) -> Dense:
        return Dense(np.array(self.rows, dtype=np.float64))

    @cached_property
    def inverse(self) -> Dense | None:
        if self.forward.shape[0] != self.forward.shape[1]:
            return None
        return Dense(np.linalg.inv(self.forward.entries).astype(np.float64))

    def moments(self, power: int) -> SecondMoments:
        assert self.inverse is not None, "a square matrix"
        return moments_of(self.forward, self.inverse, power)


def matrix(matrix: Any, reported: Any = None) -> Matrix:
    """Any channel: `matrix[reported][true]`, columns summing to 1.

    `reported` labels the rows when they are not the true categories; there may be more rows
    than columns, never fewer.
    """
    rows = _rows(matrix)
    columns = [
        probabilities(column, f"matrix: column {j}")
        for j, column in enumerate(zip(*rows, strict=True))
    ]
    exact = tuple(zip(*columns, strict=True))
    for i, row in enumerate(exact):
        if not any(row):
            raise DesignError(f"matrix: row {i} is all zero, so it is never reported; leave it out")
    if reported is None:
        return Matrix(exact)
    if hasattr(reported, "__len__") and len(reported) != len(exact):
        raise DesignError(f"matrix: {len(exact)} rows need as many labels, got {len(reported)}")
    return Matrix(exact, Attribute("matrix: reported", reported))


def _rows(matrix: Any) -> list[list[Any]]:
    """The entries as given, checked to be a table with at least as many rows as columns."""
    try:
        rows = [list(row) for row in matrix]
    except TypeError:
        raise DesignError(f"matrix: must be a list of rows, got {matrix!r}") from None
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise DesignError("matrix: all rows must have the same number of entries")
    if len(rows) < len(rows[0]):
        raise DesignError(
            f"matrix: {len(rows)} reported categories cannot tell {len(rows[0])} true ones apart; "
            "give at least as many rows as columns"
        )
    return rows


#: More draws per respondent are not practical.
MOST_CARDS = 50


class NumberedReports(Coin):
    """A column of probabilities for each of the two true answers."""

    one_yes_no: ClassVar[bool] = True
    #: The smallest number that is reported.
    first: ClassVar[int]

    @property
    @abstractmethod
    def columns(self) -> Columns:
        """Distribution of the report if the true answer is the first, and the second category."""

    @property
    def separable(self) -> bool:
        return False

    def reported(self, attributes: Attributes) -> Attributes:
        numbers = (str(self.first + i) for i in range(len(self.columns[0])))
        return tuple(Attribute(a.name, list(numbers)) for a in attributes[:1])

    def strategies(self, attributes: Attributes) -> tuple[tuple[Fraction, Strategy], ...]:
        return ((Fraction(1), Substitute(self.columns)),)

    def channel(self, attributes: Attributes, positions: Unit | None = None) -> MatrixChannel:
        rows = tuple(zip(*self.columns, strict=True))
        return MatrixChannel(rows, (2,), (len(rows),))


@dataclass(frozen=True)
class Kuk(NumberedReports):
    """Red cards among draws from the deck that the true answer selects."""

    red_yes: Fraction
    red_no: Fraction
    cards: int
    family: ClassVar[str] = "kuk"
    reference: ClassVar[str] = (
        "Kuk, A. Y. C. (1990). Asking sensitive questions indirectly. Biometrika, 77(2), 436-438."
    )
    procedure: ClassVar[str] = (
        "respondents reported the number of red cards among {cards} drawn with replacement, from a "
        "deck with a share {red_yes} of red cards if their answer is yes, from one with {red_no} "
        "if it is no (Kuk, 1990)."
    )
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
    reference: ClassVar[str] = (
        "Christofides, T. C. (2003). A generalized randomized response technique. Metrika, 57, "
        "195-200."
    )
    procedure: ClassVar[str] = (
        "respondents drew a number with the known probabilities {distribution} and reported it if "
        "their answer is no, or the number counted from the other end if it is yes "
        "(Christofides, 2003)."
    )
    meaning: ClassVar[str] = (
        "the drawn number if the answer is {no}, counted from the other end if it is {yes}"
    )
    first: ClassVar[int] = 1
    remedy = (
        "a distribution that reads the same from both ends hides the answer from everyone; "
        "make small or large numbers more likely"
    )

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
    shares = probabilities(distribution, "christofides: distribution")
    if len(shares) < 2:
        raise DesignError("christofides: distribution needs at least two numbers to draw from")
    for number, (share, mirrored) in enumerate(zip(shares, shares[::-1], strict=True), 1):
        if share == mirrored == 0:
            raise DesignError(
                f"christofides: distribution never leads to the report {number}: the numbers "
                f"{number} and {len(shares) + 1 - number} have probability 0; leave them out"
            )
    return Christofides(shares)
