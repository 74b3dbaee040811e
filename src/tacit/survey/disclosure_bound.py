"""The bound that is published with a survey: what all reported answers together may reveal.

For each attribute, someone who sees a whole reported record and knows how answers go together
guesses the true answer right at most this often, if all answers to the question were equally
likely beforehand. Nothing is assumed about the dependence between answers, and no data are
needed. An undisguised answer may give any other away, so the bound comes twice: for the reported
record as a whole, and for the disguised answers together.
"""

from __future__ import annotations

import math
from typing import Any

from tacit.bounds import Bound, DesignReports, is_undisguised
from tacit.design import Design

#: Published figures are rounded up to a multiple of one over this.
_STEPS = 1000


def disclosure_bound(design: Design) -> dict[str, Any]:
    """JSON-ready: for each attribute the bounds from all answers and from the disguised ones."""
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


def understates(told: dict[str, Any], design: Design) -> bool:
    """Whether a published bound says less than can be disclosed, or leaves an attribute out."""
    own, claimed = disclosure_bound(design)["attributes"], told.get("attributes", {})
    return any(
        (claimed.get(name, {}).get(seen) or {}).get(figure, 0.0) < value
        for name, bounds in own.items()
        for seen in ("all", "disguised")
        for figure, value in (bounds[seen] or {}).items()
    )


def _plain(bound: Bound) -> dict[str, float]:
    return {"guess": _up(bound.accuracy), "certainty": _up(bound.worst_posterior)}


def _up(share: float) -> float:
    """Rounded up; what lies within 1e-9 of a step is that step."""
    return min(math.ceil(share * _STEPS - 1e-6), _STEPS) / _STEPS
