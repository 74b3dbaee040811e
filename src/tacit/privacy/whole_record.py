"""What a whole reported record discloses: an estimate where dependence is known, and a bound.

How much other answers tell about an answer depends on how answers go together. Where the prior is
one joint table, that is known. Where it is a table per attribute or per group, it is not: then
the figures are None, never those of unrelated answers, and only the bound for any dependence
remains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tacit.bounds import Bound, Reports
from tacit.design import Design
from tacit.privacy.prior import Prior
from tacit.privacy.scopes import Scope, Scopes

NOT_KNOWN = (
    "It is not known how answers to different questions go together, so what a whole reported "
    "record reveals is not known either. It can be far more than the single reports suggest."
)
#: A bound from here on limits nothing.
NO_LIMIT = 0.999


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

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Disclosure:
    """Every attribute and the record; `warning` is shown before anything else."""

    attributes: Mapping[str, Disclosed]
    record: Disclosed
    warning: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "attributes": {name: found.to_dict() for name, found in self.attributes.items()},
            "record": self.record.to_dict(),
        }


def disclosure(design: Design, prior: Prior, scopes: Scopes) -> Disclosure:
    """From the figures under the prior where it is one joint table, else bounds alone."""
    reports = Reports(design)
    found = {
        name: _disclosed(scope, prior.ties_all, _bound(reports, prior, name))
        for name, scope in scopes.attributes.items()
    }
    record = _disclosed(scopes.record, prior.ties_all, _least(found))
    return Disclosure(found, record, None if prior.ties_all else NOT_KNOWN)


def _least(found: Mapping[str, Disclosed]) -> Bound | None:
    """The bound on the record: whoever guesses all answers right guesses each one right."""
    pairs = [(d.bound, d.worst_bound) for d in found.values()]
    known = [(b, w) for b, w in pairs if b is not None and w is not None]
    if not known:
        return None
    accuracy = min(b for b, _ in known)
    return Bound(accuracy, accuracy, min(w for _, w in known))


def _disclosed(scope: Scope, known: bool, bound: Bound | None) -> Disclosed:
    figures = scope.from_record
    return Disclosed(
        accuracy=figures.accuracy if known else None,
        pse=figures.pse if known else None,
        worst_posterior=figures.worst_posterior if known else None,
        bound=None if bound is None else bound.accuracy,
        worst_bound=None if bound is None else bound.worst_posterior,
    )


def _bound(reports: Reports, prior: Prior, name: str) -> Bound | None:
    """For any dependence, with the attribute's own prior; None if that is only estimated."""
    shares = prior.table([name])
    if shares.shape[1] > 1:
        return None
    return reports.bound(name, np.asarray(shares[:, 0]).tolist())
