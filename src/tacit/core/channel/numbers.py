"""Exact numbers and distributions for the parameters of a coin; logarithms rounded up.

A parameter is converted to a `Fraction` at once. A float stands for the decimal it prints as:
`0.7` is 7/10, not the nearest binary number, so thresholds are exact integers and a design
file reads as its author wrote it.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.errors import DesignError

Number = int | float | str | Fraction | Decimal
Probabilities = tuple[Fraction, ...]
#: Positions of attributes in their group that are handled as one joint answer.
Unit = tuple[int, ...]

#: A column of floats may miss 1 by this much; the rest goes to its largest entry.
FLOAT_SLACK = Fraction(1, 10**9)
#: Numerators and denominators have at most about 300 digits.
_MOST_BITS = 1000


def fraction(value: Any, what: str) -> Fraction:
    """`value` as an exact fraction; `what` names it in the error.

    >>> fraction(0.7, "theta"), fraction("1/6", "theta")
    (Fraction(7, 10), Fraction(1, 6))
    """
    try:
        exact = _exact(value)
    except (ArithmeticError, TypeError, ValueError):
        raise DesignError(
            f"{what} must be a number such as 0.7 or a fraction such as '1/6', got {_brief(value)}"
        ) from None
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > _MOST_BITS:
        raise DesignError(f"{what} has too many digits; at most about 300 are allowed")
    return exact


def _exact(value: Any) -> Fraction:
    if isinstance(value, bool | np.bool_):
        raise TypeError
    if isinstance(value, str) and "/" not in value:
        value = Decimal(value)
    if isinstance(value, Decimal) and abs(value.adjusted()) > _MOST_BITS:
        raise ValueError
    if isinstance(value, int | np.integer | Fraction | Decimal | str):
        return Fraction(int(value) if isinstance(value, np.integer) else value)
    return Fraction(str(value) if isinstance(value, np.floating) else repr(float(value)))


def _brief(value: Any) -> str:
    return shortened(str(value) if isinstance(value, Fraction) else repr(value))


def shortened(text: str) -> str:
    """At most 60 characters, for one line of a message."""
    return text if len(text) <= 60 else text[:57] + "..."


def probability(value: Any, what: str) -> Fraction:
    """`value` as an exact probability."""
    result = fraction(value, what)
    if not 0 <= result <= 1:
        raise DesignError(f"{what} must lie between 0 and 1, got {_brief(value)}")
    return result


def probabilities(values: Any, what: str) -> tuple[Fraction, ...]:
    """`values` as exact probabilities that sum to 1.

    Exact entries must sum to 1 exactly; floats to within 1e-9, and then the largest entry takes
    the rounding, so that what is stored always sums to 1.
    """
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise DesignError(f"{what} must be a list of probabilities, got {values!r}")
    given = list(values)
    exact = all(isinstance(v, int | str | Fraction | Decimal) for v in given)
    slack = Fraction(0) if exact else FLOAT_SLACK
    entries = [_entry(v, f"{what}[{i}]", slack) for i, v in enumerate(given)]
    rest = 1 - sum(entries, Fraction(0))
    if not entries or abs(rest) > slack:
        raise DesignError(f"{what} must sum to 1, but sums to {float(1 - rest):.12g}")
    largest = max(range(len(entries)), key=entries.__getitem__)
    entries[largest] += rest
    return tuple(entries)


def _entry(value: Any, what: str, slack: Fraction) -> Fraction:
    """A probability; the value may lie outside [0, 1] by `slack`."""
    given = fraction(value, what)
    inside = min(max(given, Fraction(0)), Fraction(1))
    return inside if abs(given - inside) <= slack else probability(value, what)


def log_up(ratio: Fraction | None) -> float:
    """Natural logarithm of an exact ratio, rounded up to a float; None is infinite.

    Epsilon is shown to people who rely on it, so it is never rounded towards zero.
    """
    if ratio is None:
        return math.inf
    if ratio == 1:
        return 0.0
    with decimal.localcontext() as context:
        context.prec = 60 + ratio.denominator.bit_length() // 3
        exact = Decimal(ratio.numerator).ln() - Decimal(ratio.denominator).ln()
        above = exact + abs(exact).scaleb(-40)
        nearest = float(above)
        return nearest if Decimal(nearest) >= above else math.nextafter(nearest, math.inf)


def ratio_product(ratios: Iterable[Fraction | None]) -> Fraction | None:
    """The product of ratios; None, which is no limit, if any of them is."""
    factors = list(ratios)
    bounded = [ratio for ratio in factors if ratio is not None]
    return math.prod(bounded, start=Fraction(1)) if len(bounded) == len(factors) else None


def sum_up(terms: Iterable[float]) -> float:
    """Sum of floats, rounded up."""
    summands = list(terms)
    if math.inf in summands:
        return math.inf
    exact = sum(map(Fraction, summands), Fraction(0))
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def quotient(top: Array, bottom: Array, otherwise: Array | float = 0.0) -> Array:
    """top / bottom, of the shape of the top; `otherwise` where the bottom is not positive."""
    return np.divide(top, bottom, out=np.full_like(top, otherwise), where=bottom > 0)


@dataclass(frozen=True)
class Distribution:
    """What a coin may say in place of the truth, over a group's joint categories.

    Draws of units are independent: attributes at some positions, drawn together from one table.

    `shape` is the number of categories of each attribute. `units` has the positions of each unit
    with its table, in which the last attribute runs fastest.
    """

    shape: tuple[int, ...]
    units: tuple[tuple[Unit, Probabilities], ...]

    @classmethod
    def independent(cls, margins: Iterable[Probabilities]) -> Distribution:
        """Every attribute a unit of its own."""
        tables = tuple(margins)
        return cls(tuple(map(len, tables)), tuple(((i,), t) for i, t in enumerate(tables)))

    @classmethod
    def joint(cls, shape: tuple[int, ...], table: Probabilities) -> Distribution:
        """All attributes one unit."""
        return cls(shape, ((tuple(range(len(shape))), table),))

    def _table(self, unit: Unit, table: Probabilities) -> Any:
        """An exact table with one axis per attribute of its unit."""
        return np.array(table, dtype=object).reshape([self.shape[i] for i in unit])

    def marginal(self, positions: Unit) -> Distribution:
        """The distribution of the attributes at these positions, in that order."""
        margins = []
        for unit, table in self.units:
            if members := [i for i in positions if i in unit]:
                axes = [i for i in unit if i in positions]
                dropped = tuple(axis for axis, i in enumerate(unit) if i not in positions)
                full = self._table(unit, table)
                summed = np.asarray(full.sum(axis=dropped) if dropped else full, dtype=object)
                cells = summed.transpose([axes.index(i) for i in members]).ravel()
                margins.append((tuple(map(positions.index, members)), tuple(cells)))
        return Distribution(tuple(self.shape[i] for i in positions), tuple(sorted(margins)))

    @property
    def smallest(self) -> Fraction:
        """The smallest probability of a cell, exact."""
        return math.prod((min(table) for _, table in self.units), start=Fraction(1))

    @property
    def two_smallest(self) -> tuple[Fraction, Fraction]:
        """The two smallest probabilities of cells, exact."""
        pairs = [sorted(table)[:2] for _, table in self.units]
        seconds = (
            math.prod((p[int(i == second)] for i, p in enumerate(pairs)), start=Fraction(1))
            for second in range(len(pairs))
        )
        return self.smallest, min(seconds)

    def smallest_with(self, position: int, code: int) -> Fraction:
        """The smallest probability of a cell in which an attribute has this code, exact."""
        smallest = Fraction(1)
        for unit, table in self.units:
            cells = table
            if position in unit:
                axis = unit.index(position)
                cells = self._table(unit, table).take([code], axis).ravel().tolist()
            smallest *= min(cells)
        return smallest

    @property
    def concentration(self) -> float:
        """Number of cells times the sum of squared probabilities; 1 if and only if uniform."""
        return math.prod(len(table) * float(sum(p * p for p in table)) for _, table in self.units)

    @cached_property
    def cells(self) -> Array:
        """Probabilities of all cells, flattened."""
        return self.at(np.ix_(*map(range, self.shape))).ravel()

    def at(self, codes: Sequence[Index]) -> Array:
        """Probabilities of cells, given by the codes of each attribute."""
        probabilities: Array = np.ones(1)
        for unit, table in self.units:
            cells = self._table(unit, table).astype(np.float64)
            probabilities = probabilities * cells[tuple(codes[i] for i in unit)]
        return probabilities


def uniform(sizes: Iterable[int]) -> Distribution:
    """Every category of every attribute equally likely."""
    return Distribution.independent((Fraction(1, k),) * k for k in sizes)
