"""Scrambling: the frozen description of how a number is disguised.

Each one tells what the mean and the mean square of a report are for a true number x:

    E[u | x] = slope x + shift        E[u^2 | x] = square x^2 + linear x + constant

where u is the report in units of the scrambling. That is all an estimate of the mean and the
variance needs. It also tells its epsilon, or why it has none.
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel.channel import LocallyPrivate
from tacit.core.channel.numbers import fraction, probabilities
from tacit.core.exact_draws import Draws, Source
from tacit.errors import DataError, DesignError, SingularChannelError
from tacit.output.json_documents import DocumentFormat


@dataclass(frozen=True)
class KnownNumbers:
    """A known distribution of finitely many numbers, such as the cards of a deck.

    Distinct numbers in increasing order, and the exact probability of each.
    """

    values: tuple[Fraction, ...]
    shares: tuple[Fraction, ...]

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
        listed, weights = list(given), probabilities(list(given.values()), what)
    else:
        listed = list(given)
        weights = tuple(Fraction(1, len(listed)) for _ in listed)
    numbers = [fraction(value, f"{what}: a number") for value in listed]
    shares: dict[Fraction, Fraction] = {}
    for number, share in zip(numbers, weights, strict=True):
        shares[number] = shares.get(number, Fraction(0)) + share
    possible = sorted((number, share) for number, share in shares.items() if share > 0)
    if not possible:
        raise DesignError(f"{what} must have at least one number")
    return KnownNumbers(*zip(*possible, strict=True))


FORMAT = DocumentFormat("scrambling", "scrambling file", (("family", "parameters"),))


@dataclass(frozen=True)
class Moments:
    """The first two moments of a report, as polynomials of the true number."""

    slope: Fraction
    shift: Fraction
    square: Fraction
    linear: Fraction
    constant: Fraction


class Scrambling(LocallyPrivate):
    """How a number is disguised. Subclasses are equal when their parameters are."""

    family: ClassVar[str]

    @property
    @abstractmethod
    def moments(self) -> Moments:
        """Mean and mean square of a report for a true number, both in units of `unit`."""

    @property
    def origin(self) -> Fraction:
        """The number that is 0 in units of the scrambling."""
        return Fraction(0)

    @property
    def unit(self) -> Fraction:
        """The length of one unit."""
        return Fraction(1)

    @property
    @abstractmethod
    def privacy(self) -> str:
        """A sentence on epsilon: its value, or why there is none."""

    @property
    @abstractmethod
    def instructions(self) -> str:
        """What a respondent does with cards of her own, or why a device has to do it."""

    @abstractmethod
    def draw(self, true: Array, source: Source) -> Array:
        """A reported number for each true one."""

    def check_true(self, true: Array) -> None:
        """Raise DataError if a number cannot be scrambled."""

    def check_reported(self, reported: Array) -> None:
        """Raise DataError if a number cannot be a report."""

    def require_estimable(self) -> None:
        """Raise SingularChannelError if the mean cannot be estimated."""
        if self.moments.slope == 0:
            raise SingularChannelError(
                f"{self}: the mean of the reports does not depend on the true numbers, so it "
                "cannot be estimated; choose numbers whose mean is not 0, or another probability"
            )

    def parameters(self) -> dict[str, Any]:
        """JSON-ready parameters with exact numbers."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready description."""
        return {**FORMAT.header, "family": self.family, "parameters": self.parameters()}

    def to_json(self) -> str:
        """The description as JSON; `scrambling_from_json` reads it back."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the description in canonical form."""
        canonical = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def __str__(self) -> str:
        given = ", ".join(f"{k}={v}" for k, v in self.parameters().items())
        return f"{self.family}({given})".replace("'", "")


def _plain(value: Any) -> Any:
    if isinstance(value, KnownNumbers):
        return value.to_dict()
    return str(value) if isinstance(value, Fraction) else value


def numbers_of(given: Any, what: str) -> Array:
    """A column of numbers as an array; they must be finite."""
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what} must be a column of numbers, got {given!r:.60}") from None
    if array.ndim != 1 or array.size == 0:
        raise DataError(f"{what} must be one column with at least one number")
    wrong = np.flatnonzero(~np.isfinite(array))
    if wrong.size:
        raise DataError(
            f"{what} must be numbers; {array[wrong[0]]} in place {wrong[0]} is none. Leave "
            "missing answers out: they are not disguised"
        )
    return array
