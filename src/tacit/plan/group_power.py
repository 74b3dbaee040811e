"""The power to find a difference between two groups: how often its interval excludes 0.

The estimated difference is normal around the true one. The smallest difference whose interval
excludes 0 is found from the intervals that tacit prints, with the shares of both groups moved
towards each other in proportion to their variances, which is the most likely way to see less.

    power = Phi((|difference| - smallest) / se)

Published formulas take the smallest difference to be z times the standard error under the null
hypothesis (Blair, Imai & Zhou, 2015).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel import truthful
from tacit.core.design import Design, Group
from tacit.core.schema import Attribute, Schema
from tacit.errors import DataError
from tacit.plan.assumptions import Assumption, Assumptions
from tacit.plan.expected_estimate import expected_difference, group_table
from tacit.reconstruction import Estimate

#: Steps towards the smallest difference; each is closer by a factor of ten or more.
_STEPS = 4


@dataclass(frozen=True)
class BetweenGroups:
    """Two groups; the share in the first is that in the second plus `difference`.

    `by` is the attribute whose last category is the first group; None is a group that is known
    from elsewhere. `share` is the part of respondents that are in the first group; `groups` are the
    shares of all categories of `by`, if they are assumed to be unequal.
    """

    difference: float
    by: str | None = None
    share: float = 0.5
    groups: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise DataError(
                f"the share of the first group must lie between 0 and 1, got {self.share!r}"
            )

    def check(self, assumed: Assumption) -> None:
        """Raise if there is no such difference, or nothing to find."""
        if not self.difference or not 0 <= assumed.share + self.difference <= 1:
            raise DataError(
                "the difference must not be 0, and prevalence + difference must lie between 0 "
                f"and 1; got {assumed.share:g} + {self.difference:g}"
            )

    def distance(self, assumed: Assumption) -> float:
        """The difference, as that of one share with the same standard error if groups are known."""
        return abs(self.difference) * math.sqrt(self.share * (1 - self.share))

    def power(self, design: Design, name: str, assumed: Assumptions, n: int, level: float) -> float:
        """How often the interval of the difference excludes 0."""
        return _Comparison(self, design, name, assumed, n).power(level)

    def most_power(
        self, design: Design, name: str, assumed: Assumptions, n: int, level: float
    ) -> float:
        """The power, which rises with n."""
        return self.power(design, name, assumed, n, level)

    def width(self, design: Design, name: str, assumed: Assumptions, n: int, level: float) -> float:
        """Half the width of the interval of the difference."""
        found = _Comparison(self, design, name, assumed, n).difference(1.0)
        lower, upper = found.interval(level)
        return float(upper - lower) / 2

    def __str__(self) -> str:
        groups = "two groups" if self.by is None else f"groups by {self.by!r}"
        return f"for a difference of {self.difference:g} between {groups}"


@dataclass(frozen=True, eq=False)
class _Comparison:
    """A design with an attribute that makes two groups, and what is expected from n records."""

    wanted: BetweenGroups
    design: Design
    name: str
    assumed: Assumptions
    n: int

    @cached_property
    def _full(self) -> tuple[Design, str]:
        """The design with the attribute that makes the groups, and its name."""
        if self.wanted.by is not None:
            return self.design, self.wanted.by
        name = "group"
        while name in self.design.schema:
            name += "_"
        known = Attribute(name, ["second", "first"])
        schema = Schema([*self.design.schema, known])
        groups = [*self.design.groups, Group([name], truthful())]
        return Design(schema, groups, self.design.asked_if), name

    @cached_property
    def _groups(self) -> Array:
        """The distribution of the attribute that makes the groups."""
        if self.wanted.groups is not None:
            return np.array(self.wanted.groups)
        full, by = self._full
        others = full.schema[by].size - 1
        return np.append(np.full(others, (1 - self.wanted.share) / others), self.wanted.share)

    def _estimates(self, first: float, second: float) -> tuple[Estimate, Estimate]:
        """Expected shares and their difference, if these are the true shares."""
        (full, by), own = self._full, self.assumed[self.name]
        channel = full.channel(full.closure([by, self.name]))
        shares = [*([own.at(second)] * (len(self._groups) - 1)), own.at(first)]
        table = group_table(channel, self.assumed, self._groups, shares)
        return expected_difference(channel, table, own.code, self.n)

    @cached_property
    def _truth(self) -> tuple[float, float]:
        base = self.assumed[self.name].share
        return base + self.wanted.difference, base

    @cached_property
    def _expected(self) -> tuple[Estimate, Estimate]:
        return self._estimates(*self._truth)

    @cached_property
    def _parts(self) -> tuple[float, float]:
        """How far the share of each group moves if the difference is smaller by 1."""
        variance = self._expected[0].stderr ** 2
        total = float(variance.sum())
        first = float(variance[0]) / total if total > 0 else 0.5
        return -first, 1 - first

    def difference(self, part: float) -> Estimate:
        """The expected difference if only this part of it is seen."""
        missing = (1 - part) * self.wanted.difference
        first, second = (
            min(max(truth + missing * moved, 0.0), 1.0)
            for truth, moved in zip(self._truth, self._parts, strict=True)
        )
        return self._estimates(first, second)[1]

    def power(self, level: float) -> float:
        """How often the interval of the difference excludes 0."""
        if self._extreme(level) <= 0:
            return 0.0  # not even the largest difference that can be estimated
        size, stderr = abs(self.wanted.difference), float(self._expected[1].stderr)
        smallest = self._reach(1.0, level)
        for _ in range(_STEPS):
            smallest = self._reach(smallest / size, level)
        return NormalDist().cdf((size - smallest) / stderr) if stderr > 0 else 1.0

    def _reach(self, part: float, level: float) -> float:
        """How far the interval reaches from the difference towards 0."""
        found = self.difference(part)
        lower, upper = found.interval(level)
        value = float(np.clip(found.value, -1, 1))
        return value - float(lower) if self.wanted.difference > 0 else float(upper) - value

    def _extreme(self, level: float) -> float:
        """The limit nearest to 0, times the sign, if one group has the share 1 and the other 0."""
        up = self.wanted.difference > 0
        lower, upper = self._estimates(*((1.0, 0.0) if up else (0.0, 1.0)))[1].interval(level)
        return float(lower) if up else -float(upper)
