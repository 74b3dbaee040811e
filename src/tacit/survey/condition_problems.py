"""Checks of conditional questions; every problem has its place in the file.

A condition names earlier questions whose true answers the page knows. Whether a question applies
must not show: so "does not apply" is disguised if the condition is about a disguised question, by a
throw of its own, because two answers of one throw that contradict each other reveal the throw.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tacit.core.conditions import DOES_NOT_APPLY, answers_of
from tacit.errors import unknown
from tacit.survey.coins import attributes_of
from tacit.survey.group_problems import Asked, PlacedProblem
from tacit.survey.yaml_source import Place

if TYPE_CHECKING:
    from tacit.survey.survey import Survey

_OWN_DEVICE = (
    "with a {device} of their own, people decide themselves what to answer, so the page cannot "
    "fill in that a question does not apply; use device: browser, or ask everybody"
)
_OPTIONAL = (
    "an optional question cannot be conditional, because a missing answer would reveal that it "
    "applied; leave out optional or asked_if"
)
_REPLACED = "related, forced, uniform_perturbation, frapp or matrix"


def condition_problems(survey: Survey) -> Iterator[PlacedProblem]:
    """Problems of every `asked_if`, and of the groups of conditional questions."""
    asked, earlier = Asked.of(survey), list[str]()
    for number, question in enumerate(survey.questions):
        where: Place = ("questions", number, "asked_if")
        if question.asked_if is not None and question.name not in asked.broken:
            if survey.device != "browser":
                yield where, _OWN_DEVICE.format(device=survey.device.replace("_", " "))
            elif question.optional:
                yield where, _OPTIONAL
            else:
                yield from _conditions(survey, asked, question, earlier, where)
                yield from _disguise(survey, asked, question, where)
        earlier += [a.name for a in question.attributes] if question in asked.questions else []


def _conditions(
    survey: Survey, asked: Asked, question: Any, earlier: list[str], where: Place
) -> Iterator[PlacedProblem]:
    """Each condition names an earlier attribute, and some of its answers."""
    declined = {a.name for q in asked.questions if q.optional for a in q.attributes}
    for name, answers in question.asked_if.items():
        at = (*where, name)
        if name in declined:
            yield (
                at,
                f"{name!r} is optional, and whoever declines it would not be asked either; "
                "leave out optional there",
            )
        elif name in earlier:
            known = answers_of(asked.attributes[name])
            wrong = [answer for answer in answers if answer not in known]
            if wrong:
                yield at, unknown("answer", wrong[0], known, f" of {name!r}")
            elif len(set(answers)) == asked.attributes[name].size:
                yield (
                    at,
                    f"lists every answer of {name!r}, so everybody is asked; list some of them",
                )
        elif not asked.doubts(name):
            yield at, _unusable(survey, asked, question, name, earlier)


def _unusable(survey: Survey, asked: Asked, question: Any, name: str, earlier: list[str]) -> str:
    """Why a condition cannot be about this name."""
    if name == question.name or name in [a.name for a in question.attributes]:
        return "a question cannot depend on its own answer"
    multiple = next((q for q in survey.questions if q.name == name), None)
    if multiple is not None and multiple.kind == "multiple":
        return f"{name!r} has several answers; name one of them: {multiple.attributes[0].name}: yes"
    if name in asked.attributes:
        return f"{name!r} is asked later; a condition is about earlier questions"
    return unknown("question", name, earlier)


def _disguise(survey: Survey, asked: Asked, question: Any, where: Place) -> Iterator[PlacedProblem]:
    """The page must know the answers that decide, and what it fills in must not show."""
    groups: dict[str, Any] = {
        name: group for group in survey.groups for name in attributes_of(asked.questions, group)
    }
    for name in question.asked_if:
        if _asks_otherwise(groups.get(name)):
            family = groups[name].family
            yield (
                (*where, name),
                f"the page does not learn the true answer to {name!r}, because its family is "
                f"{family}; disguise it by {_REPLACED}",
            )
    disguised = [name for name in question.asked_if if _disguises(groups.get(name))]
    for own in question.attributes:
        group: Any = groups.get(own.name)
        if disguised and not _disguises(group):
            yield (
                where,
                f"{own.name!r} is sent undisguised, so {DOES_NOT_APPLY!r} would reveal the answer "
                f"to {disguised[0]!r}; put it in a group that disguises it",
            )
        elif _asks_otherwise(group):
            yield (
                where,
                f"the page cannot fill in {DOES_NOT_APPLY!r} where people answer another question "
                f"instead, as with {group.family}; use {_REPLACED}",
            )
        elif _shared(asked, group):
            yield (
                where,
                f"{own.name!r} shares a throw with other questions, and answers that contradict "
                "each other would reveal what it decided; write throw: each in its group",
            )
        else:
            continue
        return


def _disguises(group: Any) -> bool:
    return group is not None and group.family != "truthful"


def _asks_otherwise(group: Any) -> bool:
    """Whether the page asks for something else than the true answer."""
    return hasattr(group, "personal") or hasattr(group, "innocent")


def _shared(asked: Asked, group: Any) -> bool:
    if not _disguises(group) or group.throw == "each":
        return False
    return len(attributes_of(asked.questions, group)) > 1
