"""The published disclosure bound: what all reported answers together may reveal.

For each attribute it is the largest probability that someone guesses the true answer who sees a
whole reported record and knows how answers depend on each other, if all answers to the question are
equally likely a priori. It assumes nothing about the dependence and needs no data. An undisguised
answer may reveal any other, so there are two bounds: from the whole record, and from the disguised
answers alone. If the same people answer in several waves, someone sees the records of all of them;
every wave draws anew, so the epsilons of the waves add up (Dwork & Roth 2014, theorem 3.16).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tacit.core.bounds import Bound, DesignReports, is_undisguised
from tacit.core.channel.numbers import sum_up
from tacit.core.design import Design, Group
from tacit.output import rounding

#: Published figures are rounded up to a multiple of one over this.
_STEPS = 1000


def disclosure_bound(design: Design, waves: int = 1) -> dict[str, Any]:
    """JSON-ready: for each attribute the bounds from all and from the disguised answers."""
    disguised = _disguised(design)
    every, hidden = DesignReports(design, None, waves), DesignReports(design, disguised, waves)
    found = {
        name: {
            "categories": design.schema[name].size,
            "all": _plain(every.bound(name)),
            "disguised": _plain(hidden.bound(name)) if design.group_of(name) in disguised else None,
        }
        for name in design.schema.names
    }
    counted = {"waves": waves} if waves > 1 else {}
    return {"prior": "uniform", **counted, "attributes": found}


def waves_sentence(design: Design, waves: int) -> str:
    """What the reports of all waves together reveal, and those of one wave."""
    if not _disguised(design):
        return f"The same people answer {waves} times, and no answer is disguised."
    first, several = _Guesses.of(design, 1), _Guesses.of(design, waves)
    return (
        f"The same people answer {waves} times, and chance decides anew each time. Someone who "
        "sees all their reports of one question guesses the true answer right in at most "
        f"{several.own} of 100 cases and is at most {several.certainty} % sure (one wave: "
        f"{first.own} and {first.certainty} %), if all answers to it are equally common; from all "
        f"disguised answers, right in at most {several.together} (one wave: {first.together}). "
        f"Epsilon of an answer is at most {several.epsilon} (one wave: {first.epsilon})."
    )


class _Guesses(NamedTuple):
    """The least protected disguised answer after some waves: guesses of 100 from its own reports
    and from all disguised ones, certainty in percent from its own reports, epsilon."""

    own: int
    certainty: int
    together: int
    epsilon: str

    @classmethod
    def of(cls, design: Design, waves: int) -> _Guesses:
        disguised = _disguised(design)
        together = DesignReports(design, disguised, waves)
        own, whole, epsilon = [], [], []
        for group in disguised:
            reports = DesignReports(design, [group], waves)
            own += [reports.bound(name) for name in group.attributes]
            whole += [together.bound(name).accuracy for name in group.attributes]
            epsilon.append(
                max(design.channel(design.closure([n])).epsilon for n in group.attributes)
            )
        return cls(
            _percent(max(bound.accuracy for bound in own)),
            _percent(max(bound.worst_posterior for bound in own)),
            _percent(max(whole)),
            rounding.epsilon(sum_up([max(epsilon)] * waves)),
        )


def _percent(share: float) -> int:
    return math.ceil(100 * _up(share) - 1e-9)


def _disguised(design: Design) -> list[Group]:
    return [group for group in design.groups if not is_undisguised(group)]


def understates(published: dict[str, Any], design: Design, waves: int = 1) -> bool:
    """Whether a published bound is too small or misses an attribute."""
    own, claimed = disclosure_bound(design, waves)["attributes"], published.get("attributes", {})
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
