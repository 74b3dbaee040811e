"""What must hold between the fields of a survey; every problem comes with its place in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel

from tacit.channel.numbers import distribution
from tacit.design import Design
from tacit.errors import DesignError, SchemaError, TacitError, unknown
from tacit.schema import Schema
from tacit.survey import devices
from tacit.survey.grouping import attributes_of, design_groups

if TYPE_CHECKING:
    from tacit.survey.survey import Survey

#: Keys and positions that lead to a value of the file.
Place = tuple[str | int, ...]
Problem = tuple[Place, str]

#: A computed condition number of 1 may miss it by this much.
_ROUNDING = 1e-9
_TEXTS = frozenset({"title", "introduction", "text", "help", "explanation", "innocent"})


def problems(survey: Survey) -> Iterator[Problem]:
    """Each place that does not fit the others; what rests on a broken part is not looked at."""
    found = [*_languages(survey), *_questions(survey), *_dates(survey), *_checks(survey)]
    found = found or list(_membership(survey))
    found = found or [*_groups(survey), *_control(survey)]
    yield from found or _whole(survey)


# Wording ------------------------------------------------------------------------------------


def _languages(survey: Survey) -> Iterator[Problem]:
    for place, language in enumerate(survey.languages):
        if language in survey.languages[:place]:
            yield ("languages", place), f"the language {language!r} comes twice; name each once"
    for where, texts in _all_texts(survey):
        yield from _in_each_language(survey.languages, where, texts)


def _in_each_language(languages: tuple[str, ...], where: Place, texts: Any) -> Iterator[Problem]:
    if isinstance(texts, str):
        if len(languages) > 1:
            yield where, f"needs a text for each language: {', '.join(languages)}"
        return
    missing = [language for language in languages if language not in texts]
    if missing:
        yield where, f"the text in {missing[0]!r} is missing; languages: {', '.join(languages)}"
    for language in texts:
        if language not in languages:
            yield (*where, language), unknown("language", language, languages)


def _all_texts(value: Any, where: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every text that respondents read, with its place."""
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _texts_of(name, getattr(value, name), (*where, name))
    elif isinstance(value, tuple | Mapping):
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, item in items:
            yield from _all_texts(item, (*where, key))


def _texts_of(name: str, value: Any, where: Place) -> Iterator[tuple[Place, Any]]:
    if name in _TEXTS and value is not None:
        yield where, value
    elif name in ("labels", "answers") and value is not None:
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        yield from (((*where, key), item) for key, item in items)
    else:
        yield from _all_texts(value, where)


# Questions ----------------------------------------------------------------------------------


def _questions(survey: Survey) -> Iterator[Problem]:
    taken: set[str] = set()
    for place, question in enumerate(survey.questions):
        where: Place = ("questions", place)
        try:
            names = {question.name} | {a.name for a in question.attributes}
        except SchemaError as error:
            yield where, str(error)
            continue
        if len(set(question.answers)) < len(question.answers):
            yield (*where, "categories"), "the names of categories must be distinct"
        if names & taken:
            shown = min(names & taken)
            yield (*where, "name"), f"the name {shown!r} is taken by another question"
        taken |= names
        yield from _labels(survey, question, where)
    yield from _reports(survey)
    known = {answer for q in survey.questions for answer in _shown(survey, q)}
    for name in survey.labels:
        if name not in known:
            yield ("labels", name), unknown("category", name, sorted(known))


def _shown(survey: Survey, question: Any) -> tuple[str, ...]:
    """The categories of a question that respondents may read; sent ones of matrices too."""
    sent = [g.reported or () for g in survey.groups if g.family == "matrix"]
    try:
        own = {c for a in question.attributes for c in map(str, a.categories)}
    except SchemaError:
        own = set()
    return (*question.answers, *sorted(own), *(name for names in sent for name in names))


def _labels(survey: Survey, question: Any, where: Place) -> Iterator[Problem]:
    known = _shown(survey, question)
    for name in question.labels:
        if name not in known:
            yield (*where, "labels", name), unknown("category", name, dict.fromkeys(known))
    if len(survey.languages) > 1:
        for name in dict.fromkeys((*question.answers, *_answers_sent(question))):
            if name not in question.labels and name not in survey.labels:
                yield (
                    where,
                    f"the category {name!r} needs a label in each language; give labels here, or "
                    "once for all questions at the top",
                )


def _reports(survey: Survey) -> Iterator[Problem]:
    """Reports of a matrix are shown before they are sent, so they need labels too."""
    labelled = {name for q in survey.questions for name in q.labels} | set(survey.labels)
    for number, group in enumerate(survey.groups if len(survey.languages) > 1 else ()):
        for place, name in enumerate(getattr(group, "reported", None) or ()):
            if name not in labelled:
                where = ("groups", number, "reported", place)
                yield where, f"the report {name!r} needs a label in each language, in labels"


def _answers_sent(question: Any) -> tuple[str, ...]:
    return tuple(str(c) for a in question.attributes for c in a.categories)


def _dates(survey: Survey) -> Iterator[Problem]:
    days = [day for day in (survey.opens, survey.closes) if day is not None]
    if any(last < first for first, last in pairwise(days)):
        yield ("closes",), f"the last day must not be before the first, {survey.opens}"


def _checks(survey: Survey) -> Iterator[Problem]:
    for place, check in enumerate(survey.comprehension):
        if check.correct > len(check.answers):
            yield (
                ("comprehension", place, "correct"),
                f"must be the number of an answer, 1 to {len(check.answers)}, got {check.correct}",
            )


# Groups -------------------------------------------------------------------------------------


def _membership(survey: Survey) -> Iterator[Problem]:
    """Groups name questions that are there, each once; what is sensitive is disguised."""
    schema = Schema([a for question in survey.questions for a in question.attributes])
    known = dict.fromkeys((*(q.name for q in survey.questions), *schema.names))
    disguised: set[str] = set()
    seen: dict[str, int] = {}
    for number, group in enumerate(survey.groups):
        for place, name in enumerate(group.questions):
            if name not in known:
                yield ("groups", number, "questions", place), unknown("question", name, known)
        for name in attributes_of(survey.questions, group):
            if name in seen:
                yield (
                    ("groups", number, "questions"),
                    f"{name!r} is in group {seen[name] + 1} already; each belongs to one group",
                )
            seen.setdefault(name, number)
            disguised |= set() if group.family == "truthful" else {name}
    for place, question in enumerate(survey.questions):
        bare = [a.name for a in question.attributes if a.name not in disguised]
        if question.sensitive and bare:
            yield (
                ("questions", place),
                f"{bare[0]!r} is sensitive, but no group disguises it; put it in a group whose "
                "family is not truthful, or write sensitive: false",
            )


def _groups(survey: Survey) -> Iterator[Problem]:
    for number, group in enumerate(survey.groups):
        where: Place = ("groups", number)
        unasked = list(_personal(survey, group, where))
        yield from unasked
        if unasked:
            continue
        try:
            made = _made(survey, group)
        except TacitError as error:
            yield (*where, *_parameter(group, str(error))), str(error)
            continue
        bare = _given_away(survey, made)
        if bare:
            yield (
                (*where, _main(group)),
                f"every report gives the truth away, but {bare!r} is sensitive; take another "
                "value, or write sensitive: false in the question",
            )
        fault = devices.fault(survey.device, made, partial(_at, survey, group))
        if fault:
            yield (*where, _main(group)), fault


def _given_away(survey: Survey, made: Design) -> str | None:
    """A sensitive attribute each of whose reports stands for one true answer, as at theta = 1."""
    sensitive = {a.name for q in survey.questions if q.sensitive for a in q.attributes}
    names = (name for name in made.schema.names if name in sensitive)
    return next((name for name in names if _tells(made, name)), None)


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
    """The key of the group that a coin complains of, as in 'related: theta must ...'."""
    if "cannot be reconstructed" in message:
        return (_main(group),)
    found = re.search(rf"\b{group.family}: (\w+)", message)
    key = found[1] if found else ""
    return (key,) if hasattr(group, key) or hasattr(group, key + "_") else ()


def _main(group: Any) -> str:
    """The key that decides how much is disguised."""
    keys = ("theta", "p", "q", "lambda_", "matrix")
    return next((key.rstrip("_") for key in keys if hasattr(group, key)), "family")


def _made(survey: Survey, group: Any) -> Design:
    """A design of this group alone; raises what is wrong with its coin, also if it is singular."""
    groups = design_groups(survey.questions, group)
    attributes = {a.name: a for q in survey.questions for a in q.attributes}
    design = Design(Schema([attributes[n] for n in attributes_of(survey.questions, group)]), groups)
    for made in design.groups:
        design.channel(made.attributes).require_reconstructable()
    return design


def _at(survey: Survey, group: Any, theta: Any) -> Design | None:
    """The group with another theta, if that can be reconstructed."""
    other = group.at(theta)
    try:
        return None if other is None else _made(survey, other)
    except DesignError:
        return None


def _personal(survey: Survey, group: Any, where: Place) -> Iterator[Problem]:
    """Where the family needs personal questions, each attribute has one and no other has."""
    if group.family != "unrelated":
        return
    sizes = {a.name: a.size for question in survey.questions for a in question.attributes}
    names = attributes_of(survey.questions, group)
    for name in names:
        if name not in group.personal:
            yield (*where, "personal"), f"the personal question for {name!r} is missing"
    for name, personal in group.personal.items():
        at = (*where, "personal", name)
        if name not in names:
            yield at, unknown("attribute", name, names)
            continue
        given = {"distribution": personal.distribution, "answers": personal.answers}
        for key, listed in given.items():
            if listed is not None and len(listed) != sizes[name]:
                what = f"needs {sizes[name]} items, one for each category of {name!r}"
                yield (*at, key), f"{what}, got {len(listed)}"


def _control(survey: Survey) -> Iterator[Problem]:
    if survey.control is None:
        return
    attributes = {a.name: a for q in survey.questions for a in q.attributes}
    name, shares = survey.control.question, survey.control.distribution
    if name not in attributes:
        yield ("control", "question"), unknown("question", name, attributes)
        return
    where = ("control", "distribution")
    try:
        distribution(shares, "the distribution")
    except DesignError as error:
        yield where, str(error)
    if len(shares) != attributes[name].size:
        yield where, f"needs {attributes[name].size} shares, one a category, got {len(shares)}"


def _whole(survey: Survey) -> Iterator[Problem]:
    """What only the groups together can get wrong."""
    try:
        _ = survey.design
    except TacitError as error:
        yield ("groups",), str(error)
