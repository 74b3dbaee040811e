"""Requirements: what a plan must reach, and the fewest respondents or the most privacy for it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from tacit.core.design import Design
from tacit.errors import DataError
from tacit.plan.assumptions import Assumptions, check_number
from tacit.plan.expected_estimate import expected_shares, expected_widths
from tacit.plan.group_power import BetweenGroups
from tacit.plan.null_power import AgainstNull

#: More respondents than people: a wish that needs more is refused.
MOST_RESPONDENTS = 10**10
#: Respondents at which standard errors are computed, to find a number to start from.
_UNIT = 10**6

Comparison = AgainstNull | BetweenGroups


@dataclass(frozen=True)
class Requirements:
    """Half the width of intervals, the power of a comparison, and their confidence level."""

    width: float | None
    power: float | None
    comparison: Comparison | None
    level: float

    def __post_init__(self) -> None:
        if self.width is not None and not 0 < check_number(self.width, "width") < 0.5:
            raise DataError(
                "width must lie between 0 and 0.5: it is half the width of the interval, so 0.03 "
                f"is ± 3 points; a width of 0 would need infinitely many respondents; got "
                f"{self.width!r}"
            )
        if self.power is None:
            return
        if self.comparison is None:
            raise DataError(
                "power needs a comparison: give null (a null prevalence) or difference (between "
                "two groups)"
            )
        if not 1 - self.level < check_number(self.power, "power") < 1:
            raise DataError(
                f"power must lie between {1 - self.level:g}, the error rate of the test, and 1; "
                f"got {self.power!r}"
            )

    @property
    def given(self) -> bool:
        """Whether anything must be reached."""
        return self.width is not None or self.power is not None

    def expected_width(self, design: Design, name: str, assumed: Assumptions, n: int) -> float:
        """Half the width of the interval of the category, or of the widest one."""
        found = expected_widths(expected_shares(design, name, assumed, n), self.level)
        own = assumed[name].category
        return float(found.max() if own is None else found[own])

    def expected_power(self, design: Design, name: str, assumed: Assumptions, n: int) -> float:
        """The power of the comparison."""
        assert self.comparison is not None, "a comparison"
        return self.comparison.power(design, name, assumed, n, self.level)

    def met(self, design: Design, name: str, assumed: Assumptions, n: int) -> bool:
        """Whether n respondents suffice."""
        narrow = self.width is None or (self.expected_width(design, name, assumed, n) <= self.width)
        if self.power is None or not narrow:
            return narrow
        return self.expected_power(design, name, assumed, n) >= self.power

    def respondents(self, design: Design, name: str, assumed: Assumptions) -> int:
        """The fewest respondents that suffice for one attribute."""
        design.channel(design.closure([name])).require_reconstructable()
        found = 1
        z = NormalDist().inv_cdf((1 + self.level) / 2)
        stderr = float(np.max(expected_shares(design, name, assumed, _UNIT).stderr))
        if self.width is not None:
            narrow = replace(self, power=None, comparison=None)
            found = _fewest(
                lambda n: narrow.met(design, name, assumed, n),
                _UNIT * (z * stderr / self.width) ** 2,
                f"a width of {self.width:g} for {name!r}",
            )
        if self.power is not None and self.comparison is not None:
            distance = self.comparison.distance(assumed[name])
            ratio = (z + NormalDist().inv_cdf(self.power)) * stderr / distance
            found = max(found, self._powerful(design, name, assumed, _UNIT * ratio**2))
        return found

    def _powerful(self, design: Design, name: str, assumed: Assumptions, near: float) -> int:
        """The fewest respondents with the wanted power, from a number nearby."""
        wanted, compared, level = self.power or 0.0, self.comparison, self.level
        assert compared is not None, "a comparison"
        found = _fewest(
            lambda n: compared.most_power(design, name, assumed, n, level) >= wanted,
            near,
            f"a power of {wanted:g} for {name!r}",
        )
        while compared.power(design, name, assumed, found, level) < wanted:
            found += 1
        return found


def check_respondents(n: int | None) -> None:
    """A number of respondents is a whole number from 1."""
    if n is not None and (type(n) is not int or not 1 <= n <= MOST_RESPONDENTS):
        raise DataError(
            f"n must be a whole number of respondents from 1 to {MOST_RESPONDENTS:,}, got {n!r}"
        )


def _fewest(enough: Callable[[int], bool], near: float, what: str) -> int:
    """The smallest number that is enough, searched from a number nearby."""
    high = max(1, math.ceil(min(near, MOST_RESPONDENTS)))
    step = max(1, high // 50)
    if enough(high):
        while high > 1 and enough(max(1, high - step)):
            high, step = max(1, high - step), 2 * step
        return smallest(enough, max(0, high - step), high)
    low = high
    while not enough(high := min(low + step, MOST_RESPONDENTS)):
        if high >= MOST_RESPONDENTS:
            raise DataError(
                f"{what} needs more than {MOST_RESPONDENTS:,} respondents; ask for less, or "
                "disguise less"
            )
        low, step = high, 2 * step
    return smallest(enough, low, high)


def smallest(enough: Callable[[int], bool], low: int, high: int) -> int:
    """The smallest number in (low, high] that is enough; `high` is."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
