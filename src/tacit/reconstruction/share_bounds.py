"""ShareBounds: what is known about a share without assumptions on missing answers.

    lower = mean of a g,    upper = mean of (a g + 1 - a),    a = 1 if there is an answer, else 0

The people who did not answer may all have the event, or none of them (Manski, 1989). Both bounds
are means over all records, with errors of their own. The interval reaches from the lower limit of
the lower bound to the upper limit of the upper one: it covers the share with at least its level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core.schema import Attribute
from tacit.output.number_text import decimals, number_of, span
from tacit.output.table import Table, TabularResult
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.events import Events
from tacit.reconstruction.interval import Interval
from tacit.reconstruction.linear_estimate import linear_estimate
from tacit.reconstruction.report_weights import ReportWeights, event_weights
from tacit.reconstruction.sampling.incomplete_patterns import IncompletePatterns
from tacit.reconstruction.sampling.weighted_patterns import sample_of
from tacit.records import PatternTable

_AXIS = Attribute("bound", ["lower", "upper"])


@dataclass(frozen=True, eq=False, repr=False)
class ShareBounds(TabularResult):
    """The least and the largest share that the records allow, as an estimate of two numbers."""

    estimate: Estimate
    n_missing: int

    @property
    def lower(self) -> Estimate:
        """The share if nobody without an answer has the event."""
        return self.estimate.part(np.array([0]), (), f"lower bound of {self.estimate.name}")

    @property
    def upper(self) -> Estimate:
        """The share if everybody without an answer has the event."""
        return self.estimate.part(np.array([1]), (), f"upper bound of {self.estimate.name}")

    def interval(self, level: float = 0.95) -> Interval:
        """Confidence limits of the share, whatever the missing answers are."""
        low, high = self.estimate.interval(level)
        return Interval(np.asarray(low[0]), np.asarray(high[1]))

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """JSON-ready bounds."""
        interval = [float(limit) for limit in self.interval(level)]
        return self.estimate.to_dict(level) | {"n_missing": self.n_missing, "interval": interval}

    def to_table(self, level: float = 0.95) -> Table:
        """The bounds as a person reads them."""
        low, high = (decimals(value) for value in self.estimate.value.tolist())
        heads = ("lower bound", "upper bound", f"{100 * level:g} % interval")
        limits = (float(limit) for limit in self.interval(level))
        records = number_of(self.estimate.n_records, "reported record")
        title = f"{self.estimate.name} from {records}, {self.n_missing:,} without an answer"
        return Table(heads, [(low, high, span(*limits))], title, "rrr")


def share_bounds(
    patterns: PatternTable,
    reports: ReportWeights,
    event: Events,
    name: str,
    answered_names: tuple[str, ...],
) -> ShareBounds:
    """Bounds of the probability of one event; `reports` are those with an answer."""
    own = event_weights(reports, event)[:, 0]
    whole, answered = patterns, np.ones(len(own), bool)
    if isinstance(patterns, IncompletePatterns):
        whole, answered = patterns.whole, patterns.answered(answered_names)
    g = np.zeros(len(answered))
    g[answered] = own[answered] if len(own) == len(answered) else own
    weights = np.stack([g, np.where(answered, g, 1.0)], axis=1)
    products = np.stack([weights[:, [0, 0]], weights], axis=1)
    found = linear_estimate(
        [(weights, whole.counts)],
        name,
        (_AXIS,),
        probability=True,
        sample=sample_of(whole),
        true_products=products,
    )
    return ShareBounds(found, whole.n_records - reports.patterns.n_records)
