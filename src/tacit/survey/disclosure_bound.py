"""The published disclosure bound: what all reported answers together may reveal.

For each attribute it is the largest probability that someone guesses the true answer who sees a
whole reported record and knows how answers depend on each other, if all answers to the question are
equally likely a priori. It assumes nothing about the dependence and needs no data. An undisguised
answer may reveal any other, so there are two bounds: from the whole record, and from the disguised
answers alone.
"""

from __future__ import annotations

import math
from typing import Any

from tacit.bounds import Bound, DesignReports, is_undisguised
from tacit.design import Design

#: Published figures are rounded up to a multiple of one over this.
_STEPS = 1000


def disclosure_bound(design: Design) -> dict[str, Any]:
    """JSON-ready: for each attribute the bounds from all and from the disguised answers."""
    disguised = [group for group in design.groups if not is_undisguised(group)]
    every, hidden = DesignReports(design), DesignReports(design, disguised)
    found = {
        name: {
            "categories": design.schema[name].size,
            "all": _plain(every.bound(name)),
            "disguised": _plain(hidden.bound(name)) if design.group_of(name) in disguised else None,
        }
        for name in design.schema.names
    }
    return {"prior": "uniform", "attributes": found}


def understates(published: dict[str, Any], design: Design) -> bool:
    """Whether a published bound is too small or misses an attribute."""
    own, claimed = disclosure_bound(design)["attributes"], published.get("attributes", {})
    return any(
        (claimed.get(name, {}).get(seen) or {}).get(figure, 0.0) < value
        for name, bounds in own.items()
        for seen in ("all", "disguised")
        for figure, value in (bounds[seen] or {}).items()
    )


def _plain(bound: Bound) -> dict[str, float]:
    return {"guess": _up(bound.accuracy), "certainty": _up(bound.worst_posterior)}


def _up(share: float) -> float:
    """Rounded up, but a value within 1e-9 of a step is that step."""
    return min(math.ceil(share * _STEPS - 1e-6), _STEPS) / _STEPS
