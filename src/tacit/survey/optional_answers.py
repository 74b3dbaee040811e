"""Optional questions: a respondent may choose not to answer, which everybody can see.

A missing answer is never disguised. One throw disguises several answers together, so an optional
question has its throws to itself: the odds of other questions then never depend on who declined.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tacit.survey.coins import attributes_of
from tacit.survey.group_problems import Asked, PlacedProblem

if TYPE_CHECKING:
    from tacit.survey.survey import Survey


def missing_together(survey: Survey) -> tuple[tuple[str, ...], ...]:
    """The reported attributes of each group of an optional question: all are missing, or none."""
    optional = {
        a.name for question in survey.questions if question.optional for a in question.attributes
    }
    design = survey.design
    return tuple(
        tuple(a.name for a in group.coin.reported(design.attributes_of(group)))
        for group in design.groups
        if not optional.isdisjoint(group.attributes)
    )


def optional_problems(survey: Survey, asked: Asked) -> Iterator[PlacedProblem]:
    """An optional question shares no throw with another one and is not the control."""
    owner = {a.name: q.name for q in asked.questions for a in q.attributes}
    shared: dict[str, str] = {}
    for group in survey.groups:
        names = {
            owner[name]: None for name in attributes_of(asked.questions, group) if name in owner
        }
        if group.throw == "once" and len(names) > 1:
            first, second, *_ = names
            shared |= {name: second if name == first else first for name in names}
    for place, question in enumerate(survey.questions):
        if not question.optional or question.name in asked.broken:
            continue
        where = ("questions", place, "optional")
        if question.name in shared:
            yield (
                where,
                f"{question.name!r} shares a throw with {shared[question.name]!r}, so one answer "
                "cannot be missing alone; put it in a group of its own, or write throw: each",
            )
        if survey.control is not None and owner.get(survey.control.question) == question.name:
            yield (
                where,
                f"{question.name!r} is the control question, whose shares are known for all "
                "respondents and not for those who answer; leave out optional",
            )
