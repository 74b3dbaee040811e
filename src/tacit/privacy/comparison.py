"""Schemes against each other: privacy over theta for 1 to 4 groups, related and unrelated.

Soni & Shrivastva (section 3.5) fix the scheme and vary theta, then fix theta and vary the
scheme; Zhan & Matwin (section 5.3) plot PSE over theta for several prior shares Wa. PSE of one
attribute does not see the grouping; what the grouping changes is the privacy of the record, so
both are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from tacit.core.argument_checks import check_share, check_whole
from tacit.core.arrays import Array
from tacit.core.channel import Coin, related, truthful, unrelated
from tacit.core.channel.numbers import Number, fraction, quotient
from tacit.core.design import Design, Group
from tacit.core.imports import optional_imports
from tacit.core.schema import Schema
from tacit.errors import DataError, unknown
from tacit.output import rounding
from tacit.output.table import Figure, Table, TablesResult
from tacit.privacy.prior import prior_of
from tacit.privacy.scopes import Limits, measure
from tacit.reconstruction.interval import check_level

Scheme = Callable[[Fraction, Schema], Coin]
#: The grid of theta that the papers use.
THETAS = tuple(Fraction(i, 10) for i in range(11))


def related_scheme(theta: Fraction, part: Schema) -> Coin:
    """Du & Zhan, Soni & Shrivastva: all true, or all opposite."""
    return related(theta)


def unrelated_scheme(theta: Fraction, part: Schema) -> Coin:
    """Zhan & Matwin: all true, or answers to personal questions, here equally common ones."""
    return unrelated(theta, {a.name: [Fraction(1, a.size)] * a.size for a in part})


SCHEMES: Mapping[str, Scheme] = {"related": related_scheme, "unrelated": unrelated_scheme}


_UNRELATED = (
    "The figures of whole records hold only if answers to different questions are unrelated. "
    "Where answers go together, a record is less private."
)


@dataclass(frozen=True)
class Point:
    """One scheme at one theta: the smallest PSE of an attribute, and the record as a whole.

    `stderr` is the Monte Carlo error of `pse_record` and `map_record`, the larger one; 0 if exact.
    """

    scheme: str
    groups: int
    theta: float
    pse: float
    pse_record: float
    map_record: float
    worst_record: float
    epsilon: float
    stderr: float


COLUMNS = tuple(field.name for field in fields(Point))


@dataclass(frozen=True)
class Comparison(TablesResult):
    """All points, as values, a table and a figure.

    `assumes_unrelated` says that the record's figures take answers in different tables of the
    prior as unrelated, because it is not known how they go together.
    """

    points: tuple[Point, ...]
    prior: str
    assumes_unrelated: bool = False

    def curve(self, scheme: str, groups: int, figure: str) -> tuple[list[float], list[float]]:
        """theta and a figure of one scheme."""
        if figure not in COLUMNS[3:]:
            raise DataError(unknown("figure", figure, COLUMNS[3:]))
        points = [p for p in self.points if (p.scheme, p.groups) == (scheme, groups)]
        if not points:
            raise DataError(f"{scheme!r} with {groups!r} groups was not compared")
        return [p.theta for p in points], [getattr(p, figure) for p in points]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready columns; an infinite number is None."""
        head = {"tacit": "comparison", "version": 1, "prior": self.prior}
        unrelated = {"assumes_unrelated": self.assumes_unrelated}
        return rounding.finite(head | unrelated | self.columns())

    def lead(self) -> list[str]:
        """What the figures rest on."""
        basis = [f"Prior: {self.prior}. Privacy is rounded down."]
        return [f"warning: {_UNRELATED}\n", *basis] if self.assumes_unrelated else basis

    def notes(self) -> list[str]:
        """What the tables mean, below them."""
        error = max(point.stderr for point in self.points)
        said = f"Large groups by Monte Carlo, {rounding.monte_carlo(error)}."
        return [
            "PSE: how often a guess drawn from the posterior of an answer's own report is wrong, "
            "the smallest of all attributes; the groups do not change it.",
            "By groups: how often the best guess of the whole record is wrong (MAP privacy).",
            *([said] if error else []),
        ]

    def tables(self) -> list[Table]:
        """For each scheme over theta: PSE of an answer, MAP privacy of the record by groups."""
        tables = []
        for scheme in dict.fromkeys(p.scheme for p in self.points):
            groups = list(dict.fromkeys(p.groups for p in self.points if p.scheme == scheme))
            thetas, pse = self.curve(scheme, groups[0], "pse")  # the same for every grouping
            records = [self.curve(scheme, g, "map_record")[1] for g in groups]
            heads = [f"{scheme}, theta", "PSE", *(f"{g} group{'s' * (g > 1)}" for g in groups)]
            lines = zip(thetas, pse, *records, strict=True)
            rows = [[f"{theta:g}", *map(rounding.down, values)] for theta, *values in lines]
            tables.append(Table(heads, rows))
        return tables

    def columns(self) -> dict[str, list[Any]]:
        """A column per figure, a row per point."""
        return {name: [getattr(p, name) for p in self.points] for name in COLUMNS}

    def plot(self) -> Figure:
        """PSE of an attribute and MAP privacy of the record over theta."""
        with optional_imports():
            from tacit.privacy.page import curves

        return curves(self)


def compare_schemes(
    schema: Schema,
    prior: Any = None,
    *,
    thetas: Sequence[Number] = THETAS,
    groups: Sequence[int] = (1, 2, 3, 4),
    schemes: Mapping[str, Scheme] = SCHEMES,
    limits: Limits | None = None,
) -> Comparison:
    """Every scheme with the attributes cut into g groups of consecutive ones, at every theta.

    `prior` and `limits` are as for `report`. Groupings of more groups than attributes are left
    out.
    """
    limits = limits or Limits()
    check_level(limits.level)
    exact = [fraction(theta, "theta") for theta in thetas]
    possible = [g for g in groups if check_whole("groups", g, 1) <= len(schema)]
    plain = grouped(schema, 1, lambda part: truthful())
    checked_prior = prior_of(prior, plain, limits.rng, limits.priors)
    points = []
    for (name, make), g, theta in product(schemes.items(), possible, exact):
        scopes = measure(grouped(schema, g, partial(make, theta)), checked_prior, limits)
        record = scopes.record.from_record
        points.append(
            Point(
                name,
                g,
                float(theta),
                pse=min(scope.alone.pse for scope in scopes.attributes.values()),
                pse_record=record.pse,
                map_record=record.map_privacy,
                worst_record=record.worst_posterior,
                epsilon=scopes.record.epsilon,
                stderr=0.0 if record.stderr is None else max(record.stderr[:2]),
            )
        )
    return Comparison(tuple(points), checked_prior.source, not checked_prior.ties_all)


def grouped(schema: Schema, n_groups: int, coin: Callable[[Schema], Coin]) -> Design:
    """A design whose groups are `n_groups` runs of attributes, as equal in number as can be."""
    runs = np.array_split(np.arange(len(schema)), n_groups)
    parts = [[schema.names[i] for i in run] for run in runs]
    return Design(schema, [Group(names, coin(schema.subset(names))) for names in parts])


def pse_curve(thetas: Sequence[float], wa: float, wy: float = 0.5) -> Array:
    """PSE of a yes/no attribute under unrelated(theta), in closed form, over theta.

        PSE = 2 Wa (1-Wa) [ f1 g1 / (f1 Wa + g1 (1-Wa)) + f0 g0 / (f0 Wa + g0 (1-Wa)) ]
        f1 = theta + (1-theta) Wy, g1 = (1-theta) Wy,
        f0 = (1-theta) (1-Wy),     g0 = theta + (1-theta) (1-Wy)

    Zhan & Matwin (section 4.1; conference eq. 2), corrected: g1 is printed with 1 - Wy, which
    is right at Wy = 1/2 alone. theta = 1 gives 0, theta = 0 gives 2 Wa (1 - Wa).
    """
    for name, share in (("wa", wa), ("wy", wy)):
        check_share(name, share)
    theta: Array = np.asarray(thetas, dtype=np.float64)
    if not ((theta >= 0) & (theta <= 1)).all():
        raise DataError("thetas must lie between 0 and 1")
    f1, g1 = theta + (1 - theta) * wy, (1 - theta) * wy
    f0, g0 = (1 - theta) * (1 - wy), theta + (1 - theta) * (1 - wy)
    total: Array = np.zeros_like(theta)
    for f, g in ((f1, g1), (f0, g0)):
        chance = f * wa + g * (1 - wa)
        total += quotient(f * g, chance)
    return np.asarray(2 * wa * (1 - wa) * total)
