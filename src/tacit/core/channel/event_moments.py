"""Moments of the weights of reports, given true answers inside and outside of an event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from tacit.core.arrays import Array

#: The least and the largest value, of one event or of each cell.
Range = tuple[Array | float, Array | float]


@dataclass(frozen=True, eq=False)
class EventMoments:
    """Least and largest E[g^k | true answers] over the answers inside and outside an event.

    g is the weight of a report for the event, k a power. Intervals need them to know the variance
    under a hypothesis, not only at the estimate. The cells of a table are events too: then there
    are arrays with an entry per cell.
    """

    inside: Range
    outside: Range

    def __mul__(self, other: EventMoments) -> EventMoments:
        """Those of joint events; outside is where at least one group is outside its own event."""
        apart = [(self.inside, other.outside), (self.outside, other.inside)]
        return EventMoments(
            _extremes([(self.inside, other.inside)]),
            _extremes([*apart, (self.outside, other.outside)]),
        )

    @property
    def undisguised(self) -> bool:
        """Whether a report is in the event if and only if the true answers are."""
        always = all(np.all(values == 1) for values in self.inside)
        return always and all(np.all(values == 0) for values in self.outside)


def _extremes(pairs: Sequence[tuple[Range, Range]]) -> Range:
    """Least and largest products; moments of odd powers may be negative."""
    products = (np.multiply.outer(a, b) for pair in pairs for a, b in product(*pair))
    low = high = next(products)
    for values in products:
        low, high = np.minimum(low, values), np.maximum(high, values)
    return low, high
