"""Coin: the frozen description of how one group of attributes is disguised.

A coin picks a strategy s with probability w_s and the group's answers are disguised with it:
M = sum_s w_s * kron_a B[s, a].  A coin says what may happen, in words a page or a
sampler can follow (`strategies`), and which channel results (`channel`); it draws nothing.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from tacit.core.arrays import Array, Codes
from tacit.core.channel.channel import Channel
from tacit.core.channel.numbers import Probabilities, Unit, shortened
from tacit.core.exact_draws import Draws, Integers, Source
from tacit.core.schema import Attribute
from tacit.errors import DesignError

Attributes = tuple[Attribute, ...]
#: Of more joint results, the chances are not listed.
_MOST_CHANCES = 1000


class Redraw(NamedTuple):
    """What a strategy draws anew: reports of one unit, given their joint true answers."""

    true: Unit
    sizes: tuple[int, ...]
    reported: Unit
    reported_sizes: tuple[int, ...]
    draw: Callable[[Integers, Source], Integers]

    def __call__(
        self, answers: Sequence[Codes], reports: Sequence[Codes], rows: Any, source: Source
    ) -> None:
        """Overwrite the reports in these rows."""
        joint = np.ravel_multi_index([answers[i][rows] for i in self.true], self.sizes)
        drawn = np.unravel_index(self.draw(joint, source), self.reported_sizes)
        for position, codes in zip(self.reported, drawn, strict=True):
            reports[position][rows] = codes


class UnitChannel(NamedTuple):
    """One unit under one strategy: positions of its answers and its reports, B[reported, true]."""

    attributes: Unit
    reports: Unit
    matrix: Array


class Strategy(ABC):
    """What a coin may decide to do with the answers of its group.

    `sizes` are the numbers of categories of its attributes, `reported` those of its reports.
    """

    @abstractmethod
    def redraws(self, sizes: Sequence[int], reported: Sequence[int]) -> list[Redraw]:
        """How to draw reports, unit by unit; answers without a redraw are reported as they are."""

    @abstractmethod
    def unit_channels(self, sizes: Sequence[int], reported: Sequence[int]) -> list[UnitChannel]:
        """The channels of what the strategy disguises independently."""

    @abstractmethod
    def chances(self, weight: Fraction, sizes: Sequence[int]) -> Iterator[Fraction]:
        """The probability of each result that one throw must tell apart, if it decides all."""

    def flips(self, sizes: Sequence[int]) -> bool | None:
        """Whether it reports the opposite of every yes/no answer (True) or the truth (False)."""
        return None


@dataclass(frozen=True)
class Keep(Strategy):
    """Report the truth."""

    def redraws(self, sizes: Sequence[int], reported: Sequence[int]) -> list[Redraw]:
        return []

    def unit_channels(self, sizes: Sequence[int], reported: Sequence[int]) -> list[UnitChannel]:
        return [UnitChannel((i,), (i,), np.eye(k)) for i, k in enumerate(sizes)]

    def chances(self, weight: Fraction, sizes: Sequence[int]) -> Iterator[Fraction]:
        yield weight

    def flips(self, sizes: Sequence[int]) -> bool | None:
        return False if set(sizes) == {2} else None


@dataclass(frozen=True)
class Differ(Strategy):
    """Report, for each unit, one of the other answers, all alike; for yes/no the opposite."""

    units: tuple[Unit, ...]

    def redraws(self, sizes: Sequence[int], reported: Sequence[int]) -> list[Redraw]:
        shapes = [tuple(sizes[i] for i in unit) for unit in self.units]
        return [
            Redraw(unit, shape, unit, shape, _another(shape))
            for unit, shape in zip(self.units, shapes, strict=True)
        ]

    def unit_channels(self, sizes: Sequence[int], reported: Sequence[int]) -> list[UnitChannel]:
        cells = [math.prod(sizes[i] for i in unit) for unit in self.units]
        return [
            UnitChannel(unit, unit, (1 - np.eye(k)) / (k - 1))
            for unit, k in zip(self.units, cells, strict=True)
        ]

    def chances(self, weight: Fraction, sizes: Sequence[int]) -> Iterator[Fraction]:
        yield weight / math.prod(math.prod(sizes[i] for i in u) - 1 for u in self.units)

    def flips(self, sizes: Sequence[int]) -> bool | None:
        single = all(len(unit) == 1 for unit in self.units)
        return True if single and set(sizes) == {2} else None


@dataclass(frozen=True)
class Replace(Strategy):
    """Report, for each unit, a draw from its distribution, whatever the truth."""

    units: tuple[Unit, ...]
    distributions: tuple[Probabilities, ...]

    def redraws(self, sizes: Sequence[int], reported: Sequence[int]) -> list[Redraw]:
        shapes = [tuple(sizes[i] for i in unit) for unit in self.units]
        return [
            Redraw(unit, shape, unit, shape, _drawn(Draws([distribution]), by_truth=False))
            for unit, shape, distribution in zip(
                self.units, shapes, self.distributions, strict=True
            )
        ]

    def unit_channels(self, sizes: Sequence[int], reported: Sequence[int]) -> list[UnitChannel]:
        columns = [np.array(table, dtype=np.float64)[:, None] for table in self.distributions]
        return [
            UnitChannel(unit, unit, np.tile(column, len(column)))
            for unit, column in zip(self.units, columns, strict=True)
        ]

    def chances(self, weight: Fraction, sizes: Sequence[int]) -> Iterator[Fraction]:
        """Of too many cells, one chance that no device can throw stands for all."""
        listed = math.prod(map(len, self.distributions)) <= _MOST_CHANCES
        cells = product(*self.distributions) if listed else iter([(Fraction(1, 10**9),)])
        yield from (weight * math.prod(cell, start=Fraction(1)) for cell in cells)


@dataclass(frozen=True)
class Substitute(Strategy):
    """Report a draw from the distribution that belongs to the group's true joint answer."""

    columns: tuple[Probabilities, ...]

    def redraws(self, sizes: Sequence[int], reported: Sequence[int]) -> list[Redraw]:
        draw = _drawn(Draws(self.columns), by_truth=True)
        positions, reports = tuple(range(len(sizes))), tuple(range(len(reported)))
        return [Redraw(positions, tuple(sizes), reports, tuple(reported), draw)]

    def unit_channels(self, sizes: Sequence[int], reported: Sequence[int]) -> list[UnitChannel]:
        positions, reports = tuple(range(len(sizes))), tuple(range(len(reported)))
        return [UnitChannel(positions, reports, np.array(self.columns, dtype=np.float64).T)]

    def chances(self, weight: Fraction, sizes: Sequence[int]) -> Iterator[Fraction]:
        yield from (weight * entry for column in self.columns for entry in column)


def _drawn(draws: Draws, by_truth: bool) -> Callable[[Integers, Source], Integers]:
    """From the distribution that belongs to the true answer, or from the only one."""
    return lambda joint, source: draws.draw(joint if by_truth else None, len(joint), source)


def _another(sizes: Sequence[int]) -> Callable[[Integers, Source], Integers]:
    """One of the other answers, each equally likely."""
    if list(sizes) == [2]:
        return lambda joint, source: 1 - joint
    if len(sizes) == 1:
        (cells,) = sizes
        draws = Draws([[Fraction(1, cells - 1)] * (cells - 1)])
        return lambda joint, source: (joint + 1 + draws.draw(None, len(joint), source)) % cells
    draws_by_attribute = [Draws([[Fraction(1, k)] * k]) for k in sizes]

    def redraw(joint: Integers, source: Source) -> Integers:
        """Any joint answer, drawn again if it is the true one."""
        drawn, left = joint.copy(), np.arange(len(joint))
        while left.size:
            columns = [draws.draw(None, len(left), source) for draws in draws_by_attribute]
            drawn[left] = np.ravel_multi_index(columns, sizes)
            left = left[drawn[left] == joint[left]]
        return drawn

    return redraw


#: The source of two families in two files.
YU_TIAN_TANG = (
    "Yu, J.-W., Tian, G.-L., & Tang, M.-L. (2008). Two new models for survey sampling with "
    "sensitive characteristic: Design and analysis. Metrika, 67, 251-263."
)


@dataclass(frozen=True)
class Coin(ABC):
    """How one group is disguised. Subclasses are the families, equal when their parameters are."""

    family: ClassVar[str]
    #: A respondent is asked for the answer, one of two questions, whether two answers agree, or
    #: whether any of two answers is yes.
    asks: ClassVar[Literal["answer", "either", "comparison", "any_yes"]] = "answer"
    #: The source of the family, as a list of references has it; empty if there is none.
    reference: ClassVar[str] = ""
    #: What was done with an answer, for the methods section of a report; names in braces are
    #: parameters.
    procedure: ClassVar[str]
    #: What a report says about the answer; {no} and {yes} are the first and the last category.
    meaning: ClassVar[str] = "the true answer, or one that chance chose"
    #: Whether it disguises only one attribute with two categories.
    one_yes_no: ClassVar[bool] = False
    #: Further words for the categories of a report, by which records may name them.
    report_words: ClassVar[tuple[str, ...]] = ()

    def check(self, attributes: Attributes) -> None:
        """Raise DesignError if the coin cannot disguise these attributes."""
        if self.one_yes_no and [a.size for a in attributes] != [2]:
            raise DesignError(
                f"{self.family} needs a group of one attribute with two categories, got "
                + ", ".join(f"{a.name!r} with {a.size}" for a in attributes)
            )

    @property
    def separable(self) -> bool:
        """Whether any part of the group has a channel of its own."""
        return True

    def reported(self, attributes: Attributes) -> Attributes:
        """The attributes of a report; the true ones unless reports have categories of their own."""
        return tuple(
            Attribute(a.name, a.categories, a.missing, a.edges, self.report_words)
            if self.report_words
            else a
            for a in attributes
        )

    def report_meaning(self, attributes: Attributes) -> str:
        """What a report says about the answer."""
        categories = attributes[0].categories
        return self.meaning.format(no=categories[0], yes=categories[-1])

    @property
    def methods_text(self) -> str:
        """The procedure with its parameters."""
        parameters = {f.name: plain(getattr(self, f.name)) for f in fields(self)}
        return self.procedure.format(
            **{k: listed(v) if isinstance(v, list | dict) else v for k, v in parameters.items()}
        )

    @abstractmethod
    def strategies(self, attributes: Attributes) -> tuple[tuple[Fraction, Strategy], ...]:
        """What the coin may decide, and how often."""

    @abstractmethod
    def channel(self, attributes: Attributes, positions: Unit | None = None) -> Channel:
        """The channel of the attributes at these positions, in that order; of all if None."""

    def flip_odds(self, attributes: Attributes) -> tuple[Fraction, Fraction] | None:
        """Odds of truth and opposite, if all answers are yes/no and the coin decides only that."""
        sizes = [a.size for a in attributes]
        weights, strategies = zip(*self.strategies(attributes), strict=True)
        if [strategy.flips(sizes) for strategy in strategies] != [False, True]:
            return None
        return weights[0], weights[1]

    @property
    def epsilon(self) -> float:
        """Local differential privacy of what this coin disguises, rounded up.

        It is that of one yes/no answer, unless the parameters say how many categories there are.
        `related` and `uniform_perturbation` have a larger one with more categories, and `related`
        an infinite one for several attributes. `Design.epsilon` is that of whole records.

        >>> from tacit import related, unrelated
        >>> related(0.75).epsilon, unrelated(0.5, [0.2, 0.3, 0.5]).epsilon
        (1.0986122886681098, 1.7917594692280552)
        """
        return self.channel(self.example_attributes).epsilon

    @property
    def example_attributes(self) -> Attributes:
        """Attributes that the coin can disguise: as its parameters say, else one yes/no answer."""
        return (Attribute("answer", ("no", "yes")),)

    @property
    def each_throw(self) -> tuple[Fraction, ...] | None:
        """The probabilities that each of several throws decides; None if one throw decides."""
        return None

    @property
    @abstractmethod
    def remedy(self) -> str:
        """Why the channel is singular when it is, and what would help."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready description with exact numbers."""
        parameters = {f.name.rstrip("_"): plain(getattr(self, f.name)) for f in fields(self)}
        return {"family": self.family} | {k: v for k, v in parameters.items() if v is not None}

    def __str__(self) -> str:
        texts = {k: str(v).replace("'", "") for k, v in self.to_dict().items() if k != "family"}
        return f"{self.family}({', '.join(f'{k}={shortened(v)}' for k, v in texts.items())})"


def listed(shares: Any) -> str:
    """Probabilities of one distribution, or of one per attribute, as text."""
    if isinstance(shares, Mapping):
        return "; ".join(f"{name}: {listed(margin)}" for name, margin in shares.items())
    if any(isinstance(share, list) for share in shares):
        return "; ".join(listed(row) for row in shares)
    return ", ".join(map(str, shares))


def plain(value: Any) -> Any:
    """Fractions as strings, tuples as lists, named pairs as objects."""
    if isinstance(value, tuple):
        if value and is_pair(value[0]):
            return {name: plain(item) for name, item in value}
        return [plain(item) for item in value]
    return str(value) if isinstance(value, Fraction) else value


def is_pair(value: Any) -> bool:
    """Whether value is a (name, parameters) pair, the frozen form of a JSON object's member."""
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)


def all_positions(attributes: Attributes, positions: Unit | None) -> Unit:
    """These positions, or every position."""
    return tuple(range(len(attributes))) if positions is None else positions
