"""What all reported answers of a respondent together may reveal, published with the survey."""

from __future__ import annotations

import math
from typing import Any

from tacit.core.bounds import Bound, DesignReports
from tacit.core.channel.numbers import sum_up
from tacit.core.design import Design, Group
from tacit.output import rounding

#: Published figures are rounded up to a multiple of one over this.
_STEPS = 1000


def disclosure_bound(design: Design, waves: int = 1) -> dict[str, Any]:
    """The published disclosure bound: what all reported answers together may reveal; JSON-ready.

    For each attribute it is the largest probability that someone guesses the true answer who sees
    a whole reported record and knows how answers depend on each other, if all answers to the
    question are equally likely a priori. It assumes nothing about the dependence and needs no data.
    An undisguised answer may reveal any other, so there are two bounds: from the whole record, and
    from the disguised answers alone. If the same people answer in several waves, someone sees the
    records of all of them; every wave draws anew, so the epsilons of the waves add up (Dwork & Roth
    2014, theorem 3.16).
    """
    disguised = _disguised(design)
    every, hidden = DesignReports(design, None, waves), DesignReports(design, disguised, waves)
    attributes = {
        name: {
            "categories": design.schema[name].size,
            "all": _plain(every.bound(name)),
            "disguised": _plain(hidden.bound(name)) if design.group_of(name) in disguised else None,
        }
        for name in design.schema.names
    }
    counted = {"waves": waves} if waves > 1 else {}
    return {"prior": "uniform", **counted, "attributes": attributes}


def waves_sentence(design: Design, waves: int) -> str:
    """What the reports of all waves together reveal, and those of one wave."""
    if not _disguised(design):
        return f"The same people answer {waves} times, and no answer is disguised."
    own, certainty, together, epsilon = worst_guesses(design, waves)
    own_1, certainty_1, together_1, epsilon_1 = worst_guesses(design, 1)
    return (
        f"The same people answer {waves} times, and chance decides anew each time. Someone who "
        "sees all their reports of one question guesses the true answer right in at most "
        f"{own} of 100 cases and is at most {certainty} % sure (one wave: "
        f"{own_1} and {certainty_1} %), if all answers to it are equally common; from all "
        f"disguised answers, right in at most {together} (one wave: {together_1}). "
        f"Epsilon of an answer is at most {epsilon} (one wave: {epsilon_1})."
    )


def worst_guesses(design: Design, waves: int) -> tuple[int, int, int, str]:
    """The least protected disguised answer after some waves.

    Guesses of 100 and certainty in percent from its own reports, guesses from all disguised ones,
    epsilon.
    """
    disguised = _disguised(design)
    together = DesignReports(design, disguised, waves)
    own = [
        DesignReports(design, [group], waves).bound(name)
        for group in disguised
        for name in group.attributes
    ]
    names = [name for group in disguised for name in group.attributes]
    epsilon = max(design.channel(design.jointly_reported([name])).epsilon for name in names)
    return (
        _percent(max(bound.accuracy for bound in own)),
        _percent(max(bound.worst_posterior for bound in own)),
        _percent(max(together.bound(name).accuracy for name in names)),
        rounding.epsilon(sum_up([epsilon] * waves)),
    )


def _percent(share: float) -> int:
    return math.ceil(100 * _up(share) - 1e-9)


def _disguised(design: Design) -> list[Group]:
    return [group for group in design.groups if group.disguised]


def understates(published: dict[str, Any], design: Design, waves: int = 1) -> bool:
    """Whether a published bound is too small or misses an attribute."""
    computed = disclosure_bound(design, waves)["attributes"]
    claimed = published.get("attributes", {})
    return any(
        (claimed.get(name, {}).get(seen) or {}).get(figure, 0.0) < value
        for name, bounds in computed.items()
        for seen in ("all", "disguised")
        for figure, value in (bounds[seen] or {}).items()
    )


def _plain(bound: Bound) -> dict[str, float]:
    return {"guess": _up(bound.accuracy), "certainty": _up(bound.worst_posterior)}


def _up(share: float) -> float:
    """Rounded up, but a value within 1e-9 of a step is that step."""
    return min(math.ceil(share * _STEPS - 1e-6), _STEPS) / _STEPS
