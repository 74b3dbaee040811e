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
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel.channel import LocallyPrivate
from tacit.core.exact_draws import Source
from tacit.errors import DataError, SingularChannelError
from tacit.output.json_documents import DocumentFormat
from tacit.quantitative.known_numbers import KnownNumbers

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
