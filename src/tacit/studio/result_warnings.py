"""Warnings beside results: reports that hardly fit the design, and what safe answers would do."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tacit.core.bounds import is_undisguised
from tacit.core.design import Group
from tacit.plan.assumptions import assume_all
from tacit.plan.expected import safe_answer_biases
from tacit.reconstruction import Estimate
from tacit.studio.release import Release

#: A fit with a smaller p-value is a warning.
SMALLEST_P = 0.001
#: The joint fit of a group is tested up to this many cells.
_MOST_CELLS = 256
_HARDLY = (
    "hardly fit the design (p < .001). Some people may not have followed the instructions, or the "
    "records come from another survey."
)


def misfit_text(estimate: Estimate) -> str | None:
    """A warning if the reports contradict the design."""
    fit = estimate.fit
    return None if fit is None or fit.pvalue >= SMALLEST_P else f"These reports {_HARDLY}"


def group_warnings(release: Release, questions: Mapping[str, str]) -> list[str]:
    """Warnings about answers that were disguised together, of which each may fit alone.

    `questions` are the texts of the attributes.
    """
    return release.once(
        "groups",
        lambda: [
            f"The reports of {_listed(group, questions)}, taken together, {_HARDLY}"
            for group in release.survey.design.groups
            if _joint_misfit(release, group)
        ],
    )


def safe_answer_text(release: Release, name: str, label: str, estimate: Estimate) -> str | None:
    """A warning if the bias of safe answers may exceed the interval of the second answer.

    For disguised questions with two answers: who should report the second one, and gives the safe
    answer instead, is missing from the estimate.
    """
    design, shares = release.survey.design, np.asarray(estimate.value).ravel()
    if len(shares) != 2 or is_undisguised(design.group_of(name)):
        return None
    share = float(np.clip(shares[1], 0, 1))
    low, high = estimate.interval()
    planned = float(np.ravel(high)[1] - np.ravel(low)[1]) / 2
    assumed = assume_all(design, {name: share})
    for found in safe_answer_biases(design, name, assumed, estimate.n_records):
        if abs(found.bias) > planned:
            people = f"{100 * found.carriers:g} % of the people whose answer is \u201c{label}\u201d"
            moved = f"{100 * abs(found.bias):.1f} points too {'low' if found.bias < 0 else 'high'}"
            return (
                f"If {people} always gave the safe answer, the estimate would be {moved}: more "
                f"than the interval of ± {100 * planned:.1f} points allows for, and more records "
                "would not help."
            )
    return None


def _joint_misfit(release: Release, group: Group) -> bool:
    names = list(group.attributes)
    cells = math.prod(release.survey.design.schema[name].size for name in names)
    if len(names) < 2 or cells > _MOST_CELLS or is_undisguised(group):
        return False
    return misfit_text(release.reconstruction.table(names)) is not None


def _listed(group: Group, questions: Mapping[str, str]) -> str:
    return "; ".join(f"\u201c{questions[name]}\u201d" for name in group.attributes)
