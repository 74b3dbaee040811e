"""Checks of the groups of a survey; every problem has its place in the file.

A group is checked only if its questions are valid, so that one mistake is reported once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.core.channel.numbers import distribution
from tacit.core.design import Design
from tacit.core.schema import Attribute, Schema
from tacit.errors import DesignError, SchemaError, TacitError, unknown
from tacit.survey import devices
from tacit.survey.coins import attributes_of, design_groups
from tacit.survey.yaml_source import Place

if TYPE_CHECKING:
    from tacit.survey.survey import Survey

PlacedProblem = tuple[Place, str]

#: Part of the message for a sensitive question without a disguise.
UNDISGUISED = "is sensitive, but no group disguises it"
#: Rounding error of a condition number of 1.
_ROUNDING = 1e-9


@dataclass
class Asked:
    """The valid questions, their attributes, and the names of the invalid questions."""

    questions: list[Any] = field(default_factory=list)
    attributes: dict[str, Attribute] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, survey: Survey) -> Asked:
        """A question is valid if it has attributes whose names are not taken."""
        asked = cls()
        taken: set[str] = set()
        for question in survey.questions:
            own = attributes_or_none(question)
            names = {question.name, *(a.name for a in own or ())}
            if own is None or names & taken:
                asked.broken.add(question.name)
            else:
                asked.questions.append(question)
                asked.attributes |= {a.name: a for a in own}
            taken |= names
        return asked

    def knows(self, name: str) -> bool:
        """Whether this is, or may be, a question or attribute."""
        sound = name in self.attributes or any(q.name == name for q in self.questions)
        return sound or self.doubts(name)

    def doubts(self, name: str) -> bool:
        """Whether this is, or may be, an attribute of an invalid question."""
        return any(name == own or name.startswith(f"{own}.") for own in self.broken)


def attributes_or_none(question: Any) -> tuple[Attribute, ...] | None:
    """The attributes of a question; None if its categories or edges are invalid."""
    try:
        found: tuple[Attribute, ...] = question.attributes
    except SchemaError:
        return None
    return found


def group_problems(survey: Survey) -> Iterator[PlacedProblem]:
    """Problems between groups and questions, of each group's coin, and of the control."""
    asked = Asked.of(survey)
    unfit: set[int] = set()
    for place, message in _membership(survey, asked):
        unfit |= {int(place[1])} if place[0] == "groups" else set()
        yield place, message
    for number, group in enumerate(survey.groups):
        if number not in unfit and not any(map(asked.doubts, group.questions)):
            yield from _group(survey, asked, number, group)
    yield from _control(survey, asked)


def _membership(survey: Survey, asked: Asked) -> Iterator[PlacedProblem]:
    """Groups name existing questions, each once; sensitive questions are disguised."""
    known = dict.fromkeys((*(q.name for q in survey.questions), *asked.attributes))
    disguised: set[str] = set()
    seen: dict[str, int] = {}
    for number, group in enumerate(survey.groups):
        for place, name in enumerate(group.questions):
            if not asked.knows(name):
                yield ("groups", number, "questions", place), unknown("question", name, known)
        for name in attributes_of(asked.questions, group):
            if name in seen:
                yield (
                    ("groups", number, "questions"),
                    f"{name!r} is already in group {seen[name] + 1}; each belongs to one group",
                )
            seen.setdefault(name, number)
            disguised |= set() if group.family == "truthful" else {name}
    for place, question in enumerate(survey.questions):
        own = attributes_or_none(question) or ()
        bare = [a.name for a in own if a.name not in disguised]
        if question.sensitive and bare and question.name not in asked.broken:
            yield (
                ("questions", place),
                f"{bare[0]!r} {UNDISGUISED}; put it in a group whose family is not truthful, or "
                "write sensitive: false",
            )


def _group(survey: Survey, asked: Asked, number: int, group: Any) -> Iterator[PlacedProblem]:
    where: Place = ("groups", number)
    unasked = list(_personal(asked, group, where))
    if unasked:
        yield from unasked
        return
    try:
        made = _made(asked, group)
    except TacitError as error:
        yield (*where, *_parameter(group, str(error))), str(error)
        return
    bare = _given_away(asked, made)
    if bare:
        yield (
            (*where, _main(group)),
            f"every report reveals the truth, but {bare!r} is sensitive; use another "
            "value, or write sensitive: false in the question",
        )
    fault = devices.fault(survey.device, made, _main(group), partial(_at, asked, group))
    if fault:
        yield (*where, _main(group)), fault


def _given_away(asked: Asked, made: Design) -> str | None:
    """A sensitive attribute whose reports each reveal the true answer, as with theta = 1."""
    sensitive = {a.name for q in asked.questions if q.sensitive for a in q.attributes}
    names = made.schema.names
    return next((name for name in names if name in sensitive and _tells(made, name)), None)


def _tells(made: Design, name: str) -> bool:
    """Whether every row of the channel has one entry that is not zero.

    A square channel is then a permutation, the only one whose condition number is 1.
    """
    (factor,) = made.channel(made.closure([name])).factors
    channel = factor.channel
    if channel.inverse is not None:
        return channel.ratio is None and channel.condition < 1 + _ROUNDING
    return bool(np.count_nonzero(channel.matrix, axis=1).max() == 1)


def _parameter(group: Any, message: str) -> Place:
    """The key of the group in the error of a coin, as in 'related: theta must ...'."""
    if "cannot be reconstructed" in message:
        return (_main(group),)
    found = re.search(rf"\b{group.family}: (\w+)", message)
    key = found[1] if found else ""
    return (key,) if hasattr(group, key) or hasattr(group, key + "_") else ()


def _main(group: Any) -> str:
    """The key with the main parameter."""
    return next(iter(group.parameters), "family").rstrip("_")


def _made(asked: Asked, group: Any) -> Design:
    """A design of this group alone; raises if its coin is invalid or singular."""
    groups = design_groups(asked.questions, group)
    names = attributes_of(asked.questions, group)
    design = Design(Schema([asked.attributes[name] for name in names]), groups)
    for made in design.groups:
        design.channel(made.attributes).require_reconstructable()
    return design


def _at(asked: Asked, group: Any, theta: Any) -> Design | None:
    """The group with another theta; None if it cannot be reconstructed."""
    other = group.at(theta)
    try:
        return None if other is None else _made(asked, other)
    except DesignError:
        return None


def _personal(asked: Asked, group: Any, where: Place) -> Iterator[PlacedProblem]:
    """In an unrelated group, each attribute has a personal question, and no other has."""
    if group.family != "unrelated":
        return
    names = attributes_of(asked.questions, group)
    for name in names:
        if name not in group.personal:
            yield (*where, "personal"), f"the personal question for {name!r} is missing"
    for name, personal in group.personal.items():
        at = (*where, "personal", name)
        if name not in names:
            yield at, unknown("attribute", name, names)
            continue
        size = asked.attributes[name].size
        given = {"distribution": personal.distribution, "answers": personal.answers}
        for key, listed in given.items():
            if listed is not None and len(listed) != size:
                what = f"needs {size} items, one per category of {name!r}"
                yield (*at, key), f"{what}, got {len(listed)}"


def _control(survey: Survey, asked: Asked) -> Iterator[PlacedProblem]:
    if survey.control is None:
        return
    name, shares = survey.control.question, survey.control.distribution
    where = ("control", "distribution")
    try:
        distribution(shares, "the distribution")
    except DesignError as error:
        yield where, str(error)
    if asked.doubts(name):
        return
    if name not in asked.attributes:
        yield ("control", "question"), unknown("question", name, asked.attributes)
        return
    if any(q.asked_if and name in [a.name for a in q.attributes] for q in asked.questions):
        yield ("control", "question"), f"{name!r} is not asked of everybody, so it is no control"
        return
    size = asked.attributes[name].size
    if len(shares) != size:
        yield where, f"needs {size} shares, one per category, got {len(shares)}"
