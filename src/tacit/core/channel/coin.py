"""Coin: the frozen description of how one group of attributes is disguised.

A coin picks a strategy s with probability w_s and the group's answers are disguised with it
(METHODS 1):  M = sum_s w_s * kron_a B[s, a].  A coin says what may happen, in words a page or a
sampler can follow (`strategies`), and which channel results (`channel`); it draws nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Literal

from tacit.core.channel.channel import Channel
from tacit.core.channel.numbers import shortened
from tacit.core.schema import Attribute
from tacit.errors import DesignError

Attributes = tuple[Attribute, ...]
#: Positions of attributes in their group that are handled as one joint answer.
Unit = tuple[int, ...]


@dataclass(frozen=True)
class Keep:
    """Report the truth."""


@dataclass(frozen=True)
class Differ:
    """Report, for each unit, one of the other answers, all alike; for yes/no the opposite."""

    units: tuple[Unit, ...]


@dataclass(frozen=True)
class Replace:
    """Report, for each unit, a draw from its distribution, whatever the truth."""

    units: tuple[Unit, ...]
    distributions: tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class Substitute:
    """Report a draw from the distribution that belongs to the group's true joint answer."""

    columns: tuple[tuple[Fraction, ...], ...]


Strategy = Keep | Differ | Replace | Substitute


@dataclass(frozen=True)
class Coin(ABC):
    """How one group is disguised. Subclasses are the families, equal when their parameters are."""

    family: ClassVar[str]
    #: A respondent is asked for the answer, one of two questions, whether two answers agree, or
    #: whether any of two answers is yes.
    asks: ClassVar[Literal["answer", "either", "comparison", "any_yes"]] = "answer"
    #: Further words for the categories of a report, by which records may name them.
    report_words: ClassVar[tuple[str, ...]] = ()

    def check(self, attributes: Attributes) -> None:
        """Raise DesignError if the coin cannot disguise these attributes."""

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
        return "the true answer, or one that chance chose"

    @abstractmethod
    def strategies(self, attributes: Attributes) -> tuple[tuple[Fraction, Strategy], ...]:
        """What the coin may decide, and how often."""

    @abstractmethod
    def channel(self, attributes: Attributes, kept: Unit | None = None) -> Channel:
        """The channel of the attributes at the positions `kept`, in that order; all if None."""

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


def require_one_yes_no(family: str, attributes: Attributes) -> None:
    """Raise DesignError unless the group is one attribute with two categories."""
    if len(attributes) != 1 or attributes[0].size != 2:
        raise DesignError(
            f"{family} needs a group of one attribute with two categories, got "
            + ", ".join(f"{a.name!r} with {a.size}" for a in attributes)
        )


def all_positions(attributes: Attributes, kept: Unit | None) -> Unit:
    """`kept`, or every position."""
    return tuple(range(len(attributes))) if kept is None else kept
