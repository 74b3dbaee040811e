"""What `tacit demo` says of the disguise: how private it is, and what the best one would be."""

from __future__ import annotations

import math

from tacit.counting import PatternTable
from tacit.design import Design
from tacit.reconstruction import Reconstruction, simplex

#: The attribute that a better disguise is found for.
ASKED = "age"
#: Share of the uniform distribution in the prior, so that no category is impossible.
_EVEN = 0.01


def protection(design: Design, found: Reconstruction, known: PatternTable) -> list[str]:
    """What a whole record discloses: estimated from the reports, and with the true distribution."""
    from tacit.privacy import report

    names = design.schema.names
    told = report(design, found).disclosure.record
    true = report(design, known.marginal(names) / known.n_records).record.from_record
    said = f"whole record: all {len(names)} answers guessed right in "
    truth = f"in truth {100 * true.accuracy:.0f}"
    if told.accuracy is None or told.span is None:
        said, truth = f"{said}an unknown share of cases", f"({truth})"
    else:
        low, high = math.floor(100 * told.span[0]), math.ceil(100 * told.span[1])
        said += f"about {100 * told.accuracy:.0f} of 100 cases"
        truth = f"({low} to {high}; {truth})"
    most = math.ceil(100 * (1.0 if told.bound is None else told.bound))
    return [said, f"{truth}, whatever the dependence in at most {most}"]


def best_disguise(design: Design, found: Reconstruction) -> str:
    """The error of the best channel as private as that of one attribute, beside its own error."""
    from tacit.optimize import Exact, front, objectives

    prior = (1 - _EVEN) * found.table([ASKED], method=simplex).value
    prior = prior + _EVEN / prior.size
    matrix = design.channel([ASKED]).matrix
    privacy = objectives.privacy(matrix, prior)
    found_best = front(prior, found.n_records, method=Exact(privacy=[privacy]))
    share = found_best.mse[0] / objectives.mse(matrix, prior, found.n_records)
    return f"{ASKED}: the best channel as private as this one has {100 * share:.0f} % of its error"
