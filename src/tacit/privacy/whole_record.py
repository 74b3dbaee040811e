"""What a whole reported record discloses: an estimate where dependence is known, and a bound.

How much other answers reveal about an answer depends on how answers go together. Where the prior is
one joint table, that is known. Where reported records are at hand, it is estimated from them. Where
the prior is a table per attribute or per group, it is not known: then the figures are None, never
those of unrelated answers, and only the bound for any dependence remains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from tacit.core.bounds import Bound, DesignReports
from tacit.core.design import Design
from tacit.privacy.disclosure import MIN_RECORDS, Assessed, Assessment
from tacit.privacy.prior import Prior
from tacit.privacy.risk import Figures
from tacit.privacy.scopes import Scope, Scopes

NOT_KNOWN = (
    "It is not known how answers to different questions go together, so what a whole reported "
    "record reveals is not known either. It can be far more than the single reports suggest."
)
#: A bound from here on limits nothing.
NO_LIMIT = 0.999
#: Confidence of bounds that rest on reported records.
CONFIDENCE = 0.95
MISSED = (
    "What a whole reported record reveals is estimated from {n:,} reported records. Dependence too "
    "weak to show in them, or among three or more answers, may be missed; someone with outside "
    "knowledge could use it, up to the upper bound."
)
TOO_FEW = (
    "{n:,} reported records are too few to show how answers go together, so what a whole reported "
    "record reveals is not known. It can be far more than the single reports suggest."
)
HIDDEN = (
    "Where it says “not known”, these {n:,} reported records do not show how answers go together."
)


@dataclass(frozen=True)
class Disclosed:
    """One attribute, or the record, to someone who holds the whole reported record.

    `accuracy` is how often the best guess is right, `span` the range of that estimate, `pse` how
    often a guess drawn from the posterior is wrong, `worst_posterior` the largest posterior; None
    where not known. Whatever the dependence between answers, the best guess is right at most
    `bound` often and no posterior exceeds `worst_bound`; None where not computed. `confidence`
    is that of the bounds, None where they are certain.
    """

    accuracy: float | None = None
    span: tuple[float, float] | None = None
    pse: float | None = None
    worst_posterior: float | None = None
    bound: float | None = None
    worst_bound: float | None = None
    confidence: float | None = None

    @property
    def limit(self) -> float | None:
        """The bound if it limits anything."""
        return None if self.bound is None or self.bound >= NO_LIMIT else self.bound


@dataclass(frozen=True)
class Disclosure:
    """Every attribute and the record; `warning` is shown before anything else.

    `assessment` is what was estimated from reported records, None if there are none.
    """

    attributes: Mapping[str, Disclosed]
    record: Disclosed
    warning: str | None = None
    assessment: Assessment | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "attributes": {name: asdict(found) for name, found in self.attributes.items()},
            "record": asdict(self.record),
        }


def disclosure(
    design: Design, prior: Prior, scopes: Scopes, assessment: Assessment | None = None
) -> Disclosure:
    """From reported records if they were assessed; else from the figures under the prior where it
    is one joint table, else bounds alone.
    """
    if assessment is not None:
        return _assessed(assessment, scopes)
    reports = DesignReports(design)
    bounds: dict[str, Bound] = {}
    for name in scopes.attributes:
        shares = prior.table([name])
        if shares.shape[1] == 1:  # not of a prior that is only estimated
            bounds[name] = reports.bound(name, shares[:, 0].tolist())
    found = {
        name: _disclosed(scope, prior.ties_all, bounds.get(name))
        for name, scope in scopes.attributes.items()
    }
    least = None
    if bounds:  # whoever guesses all answers right guesses each one right
        accuracy = min(bound.accuracy for bound in bounds.values())
        least = Bound(accuracy, accuracy, min(b.worst_posterior for b in bounds.values()))
    record = _disclosed(scopes.record, prior.ties_all, least)
    return Disclosure(found, record, None if prior.ties_all else NOT_KNOWN)


def with_dependence(scopes: Scopes, assessment: Assessment | None) -> Scopes:
    """The scopes with the figures by the whole record that reported records lead to, if known."""
    if assessment is None:
        return scopes

    def of(scope: Scope) -> Scope:
        found = assessment.of(scope.names)
        known = found.known("map_privacy")
        return replace(scope, from_record=found.figures, exact=False) if known else scope

    return scopes.map(of)


def _assessed(assessment: Assessment, scopes: Scopes) -> Disclosure:
    """Estimates with their ranges, and bounds at 95 % confidence."""
    found = {
        name: _from_reports(held, _central(scopes.attributes[name].alone))
        for name, held in assessment.attributes.items()
    }
    record = _from_reports(assessment.record, 0.0)
    hidden = any(held.accuracy is None for held in (*found.values(), record))
    texts = [HIDDEN, MISSED] if hidden else [MISSED]
    if assessment.n_records < MIN_RECORDS:
        texts = [TOO_FEW]
    warning = " ".join(text.format(n=assessment.n_records) for text in texts)
    return Disclosure(found, record, warning, assessment)


def _from_reports(held: Assessed, alone: float) -> Disclosed:
    """Each figure where its range is narrow enough; never below what the own report tells."""
    figures, bound = held.figures, held.bound
    assert figures.central is not None
    known = held.known("map_privacy")
    private = figures.interval("map_privacy")
    accuracy = max(1 - figures.central[1], alone)
    return Disclosed(
        accuracy=accuracy if known else None,
        span=(1 - private[1], max(1 - private[0], accuracy)) if known else None,
        pse=figures.pse if held.known("pse") else None,
        worst_posterior=figures.worst_posterior if held.known("worst_posterior") else None,
        bound=max(bound.accuracy, accuracy),
        worst_bound=bound.worst_posterior,
        confidence=CONFIDENCE,
    )


def _central(figures: Figures) -> float:
    """The estimate of how often the best guess is right."""
    return figures.accuracy if figures.central is None else 1 - figures.central[1]


def _disclosed(scope: Scope, known: bool, bound: Bound | None) -> Disclosed:
    figures = scope.from_record
    return Disclosed(
        accuracy=figures.accuracy if known else None,
        pse=figures.pse if known else None,
        worst_posterior=figures.worst_posterior if known else None,
        bound=None if bound is None else bound.accuracy,
        worst_bound=None if bound is None else bound.worst_posterior,
    )
