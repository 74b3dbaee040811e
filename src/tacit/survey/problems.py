"""What is wrong with a survey, beyond its single fields: every problem with its place in the file.

What depends on an invalid part is not checked, so that one mistake is reported once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel

from tacit.core.channel.numbers import probabilities
from tacit.core.conditions import DOES_NOT_APPLY, answers_of
from tacit.core.design import Design, Group
from tacit.core.schema import Attribute, Schema
from tacit.errors import DesignError, SchemaError, TacitError, unknown
from tacit.survey.device_model import model_problems
from tacit.survey.example_file import LANGUAGES
from tacit.survey.groups import attributes_of, design_groups
from tacit.survey.yaml_text import Place, PlacedProblem

if TYPE_CHECKING:
    from tacit.survey.survey import Survey


#: Part of the message for a category without a text.
UNLABELLED = "needs a label in each language"
_TEXTS = frozenset(
    {"title", "introduction", "consent", "thanks", "alt", "text", "help", "explanation", "innocent"}
)


def problems(survey: Survey) -> Iterator[PlacedProblem]:
    """All problems; what depends on an invalid part is not checked."""
    separate = [*wording_problems(survey), *content_problems(survey)]
    yield from separate
    if not separate:
        try:
            _ = survey.design
        except TacitError as error:
            yield ("groups",), str(error)


def wording_problems(survey: Survey) -> Iterator[PlacedProblem]:
    """Texts and labels that are missing in a language, or that belong to no question."""
    for number, language in enumerate(survey.languages):
        if language in survey.languages[:number]:
            yield ("languages", number), f"the language {language!r} appears twice; name each once"
    for where, texts in _all_texts(survey):
        yield from _translations(survey.languages, where, texts)
    for number, question in enumerate(survey.questions):
        yield from _labels(survey, question, ("questions", number))
    yield from _reports(survey)
    categories = {answer for q in survey.questions for answer in _shown(survey, q)}
    for name in survey.labels:
        if name not in categories:
            yield ("labels", name), unknown("category", name, sorted(categories))


def content_problems(survey: Survey, broken: Collection[str] = ()) -> Iterator[PlacedProblem]:
    """Problems of questions, dates and groups, in any language; not of questions called broken."""
    valid = ValidQuestions(survey, broken)
    yield from valid.problems
    if survey.opens and survey.closes and survey.closes < survey.opens:
        yield ("closes",), f"the last day must not be before the first, {survey.opens}"
    for number, check in enumerate(survey.comprehension):
        if check.correct > len(check.answers):
            what = f"must be the number of an answer, 1 to {len(check.answers)}"
            yield ("comprehension", number, "correct"), f"{what}, got {check.correct}"
    yield from _sections(survey)
    yield from _groups(valid)
    yield from _conditions(valid)
    yield from _optional(valid)
    yield from _free_texts(survey)
    yield from model_problems(survey)


def _sections(survey: Survey) -> Iterator[PlacedProblem]:
    """Each section begins at a question, and no other begins there."""
    names, begun = [question.name for question in survey.questions], set[str]()
    for number, section in enumerate(survey.sections or ()):
        where = ("sections", number, "first")
        if section.first not in names:
            yield where, unknown("question", section.first, names)
        elif section.first in begun:
            yield where, f"another section begins at {section.first!r} already"
        begun.add(section.first)


def _translations(languages: Sequence[str], where: Place, texts: Any) -> Iterator[PlacedProblem]:
    """A text has a version in each language, and in no other."""
    if isinstance(texts, str):
        if len(languages) > 1:
            yield where, f"needs a text in each language: {', '.join(languages)}"
        return
    missing = [language for language in languages if language not in texts]
    if missing:
        yield where, f"the text in {missing[0]!r} is missing; languages: {', '.join(languages)}"
    for language in texts:
        if language not in languages:
            yield (*where, language), unknown("language", language, languages)


def _all_texts(value: Any, where: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every text for respondents, with its place."""
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            part, place = getattr(value, name), (*where, name)
            if name in _TEXTS and part is not None:
                yield place, part
            elif name in ("labels", "answers") and part is not None:
                yield from (((*place, key), item) for key, item in _items(part))
            else:
                yield from _all_texts(part, place)
    elif isinstance(value, tuple | Mapping):
        for key, item in _items(value):
            yield from _all_texts(item, (*where, key))


def _items(value: Any) -> Iterable[tuple[Any, Any]]:
    return value.items() if isinstance(value, Mapping) else enumerate(value)


def _shown(survey: Survey, question: Any) -> tuple[str, ...]:
    """The categories that a question may show, including reports with names of their own."""
    sent = [group.report_names for group in survey.groups]
    categories = {str(c) for a in attributes_or_none(question) or () for c in a.categories}
    return (*question.answers, *sorted(categories), *(name for names in sent for name in names))


def _labels(survey: Survey, question: Any, where: Place) -> Iterator[PlacedProblem]:
    if attributes_or_none(question) is None:
        return
    shown = _shown(survey, question)
    for name in question.labels:
        if name not in shown:
            yield (*where, "labels", name), unknown("category", name, dict.fromkeys(shown))
    if len(survey.languages) > 1:
        labelled = {*question.labels, *survey.labels, *_page_words(survey, question)}
        sent = [str(c) for a in question.attributes for c in a.categories]
        for name in dict.fromkeys((*question.answers, *sent)):
            if name not in labelled:
                remedy = "give labels here, or once for all questions at the top"
                yield where, f"the category {name!r} {UNLABELLED}; {remedy}"


def _page_words(survey: Survey, question: Any) -> tuple[str, ...]:
    """Categories that the page itself translates to every language of the survey."""
    spoken = all(language.partition("-")[0] in LANGUAGES for language in survey.languages)
    if not spoken:
        return ()
    words: tuple[str, ...] = question.page_words
    return words if question.asked_if is None else (*words, DOES_NOT_APPLY)


def _reports(survey: Survey) -> Iterator[PlacedProblem]:
    """Reports of a matrix are shown to respondents, so they need labels too."""
    labelled = {name for q in survey.questions for name in q.labels} | set(survey.labels)
    for number, group in enumerate(survey.groups if len(survey.languages) > 1 else ()):
        for position, name in enumerate(getattr(group, "reported", None) or ()):
            if name not in labelled:
                where = ("groups", number, "reported", position)
                yield where, f"the report {name!r} needs a label in each language, in labels"


def _free_texts(survey: Survey) -> Iterator[PlacedProblem]:
    """The names of free texts are distinct."""
    taken = {question.name for question in survey.questions}
    for number, free_text in enumerate(survey.free_texts or ()):
        if free_text.name in taken:
            yield ("free_texts", number, "name"), f"the name {free_text.name!r} is taken"
        taken.add(free_text.name)


# Groups -------------------------------------------------------------------------------------------


#: Part of the message for a sensitive question without a disguise.
UNDISGUISED = "is sensitive, but no group disguises it"
#: Rounding error of a condition number of 1.
_ROUNDING = 1e-9


class ValidQuestions:
    """The valid questions of a survey, their attributes, and the names of the invalid questions.

    A question is valid if it has attributes whose names are not taken.
    """

    def __init__(self, survey: Survey, broken: Collection[str] = ()) -> None:
        self.survey = survey
        self.questions: list[Any] = []
        self.attributes: dict[str, Attribute] = {}
        self.broken = set(broken)
        #: What is wrong with single questions.
        self.problems: list[PlacedProblem] = []
        taken: set[str] = set()
        for number, question in enumerate(survey.questions):
            attributes = attributes_or_none(question)
            names = {question.name, *(a.name for a in attributes or ())}
            self.problems += _question(question, ("questions", number), names & taken)
            if attributes is None or names & taken or question.name in broken:
                self.broken.add(question.name)
            else:
                self.questions.append(question)
                self.attributes |= {a.name: a for a in attributes}
            taken |= names

    def attributes_of(self, group: Any) -> tuple[str, ...]:
        """The attributes of a group."""
        return attributes_of(self.questions, group)

    def knows(self, name: str) -> bool:
        """Whether this is, or may be, a question or attribute."""
        sound = name in self.attributes or any(q.name == name for q in self.questions)
        return sound or self.doubts(name)

    def doubts(self, name: str) -> bool:
        """Whether this is, or may be, an attribute of an invalid question."""
        return any(name == other or name.startswith(f"{other}.") for other in self.broken)


def attributes_or_none(question: Any) -> tuple[Attribute, ...] | None:
    """The attributes of a question; None if its categories or edges are invalid."""
    try:
        attributes: tuple[Attribute, ...] = question.attributes
    except SchemaError:
        return None
    return attributes


def _question(question: Any, where: Place, taken: set[str]) -> Iterator[PlacedProblem]:
    """What is wrong with a question, of whose names some are taken."""
    try:
        _ = question.attributes
    except SchemaError as error:
        yield where, str(error)
        return
    if len(set(question.answers)) < len(question.answers):
        yield (*where, "categories"), "the names of categories must be distinct"
    if taken:
        yield (*where, "name"), f"the name {min(taken)!r} is taken by another question"
    yield from (((*where, key), message) for key, message in question.problems())


def _groups(valid: ValidQuestions) -> Iterator[PlacedProblem]:
    """Problems between groups and questions, of each group's coin, and of the control."""
    membership = list(_membership(valid))
    yield from membership
    unfit = {place[1] for place, _ in membership if place[0] == "groups"}
    for number, group in enumerate(valid.survey.groups):
        if number not in unfit and not any(map(valid.doubts, group.questions)):
            yield from _group(valid, group, ("groups", number))
    yield from _control(valid)


def _membership(valid: ValidQuestions) -> Iterator[PlacedProblem]:
    """Groups name existing questions, each once; sensitive questions are disguised."""
    survey = valid.survey
    names = dict.fromkeys((*(q.name for q in survey.questions), *valid.attributes))
    disguised: set[str] = set()
    seen: dict[str, int] = {}
    for number, group in enumerate(survey.groups):
        for position, name in enumerate(group.questions):
            if not valid.knows(name):
                yield ("groups", number, "questions", position), unknown("question", name, names)
        for name in valid.attributes_of(group):
            if name in seen:
                what = f"{name!r} is already in group {seen[name] + 1}; each belongs to one group"
                yield ("groups", number, "questions"), what
            seen.setdefault(name, number)
            disguised |= {name} if _disguises(group) else set()
    for number, question in enumerate(survey.questions):
        if not question.sensitive or question.name in valid.broken:
            continue
        bare = [a.name for a in question.attributes if a.name not in disguised]
        if bare:
            remedy = "put it in a group whose family is not truthful, or write sensitive: false"
            yield ("questions", number), f"{bare[0]!r} {UNDISGUISED}; {remedy}"


def _group(valid: ValidQuestions, group: Any, where: Place) -> Iterator[PlacedProblem]:
    personal = list(_personal(valid, group, where))
    yield from personal
    if personal:
        return
    try:
        design = _group_design(valid, group)
    except TacitError as error:
        yield (*where, *_parameter(group, str(error))), str(error)
        return
    sensitive = {a.name for q in valid.questions if q.sensitive for a in q.attributes}
    revealed = [n for n in design.schema.names if n in sensitive and _reveals(design, n)]
    if revealed:
        remedy = "use another value, or write sensitive: false in the question"
        what = f"every report reveals the truth, but {revealed[0]!r} is sensitive"
        yield (*where, group.main), f"{what}; {remedy}"
    fault = _device_fault(valid, group, design)
    if fault:
        yield (*where, group.main), fault


def _reveals(design: Design, name: str) -> bool:
    """Whether every report reveals the true answer, as with theta = 1.

    Every row of the channel then has one entry that is not zero. A square channel is a permutation,
    the only one whose condition number is 1.
    """
    (factor,) = design.channel(design.jointly_reported([name])).factors
    channel = factor.channel
    if channel.inverse is not None:
        return channel.ratio is None and channel.condition < 1 + _ROUNDING
    return bool(np.count_nonzero(channel.matrix, axis=1).max() == 1)


def _parameter(group: Any, message: str) -> Place:
    """The key of the group in the error of a coin, as in 'related: theta must ...'."""
    if "cannot be reconstructed" in message:
        return (group.main,)
    match = re.search(rf"\b{group.family}: (\w+)", message)
    key = match[1] if match else ""
    return (key,) if hasattr(group, key) or hasattr(group, key + "_") else ()


def _group_design(valid: ValidQuestions, group: Any) -> Design:
    """A design of this group alone; raises if its coin is invalid or singular."""
    groups = design_groups(valid.questions, group)
    names = valid.attributes_of(group)
    design = Design(Schema([valid.attributes[name] for name in names]), groups)
    for designed in design.groups:
        design.channel(designed.attributes).require_reconstructable()
    return design


def _personal(valid: ValidQuestions, group: Any, where: Place) -> Iterator[PlacedProblem]:
    """In an unrelated group, each attribute has a personal question, and no other has."""
    if group.family != "unrelated":
        return
    names = valid.attributes_of(group)
    for name in names:
        if name not in group.personal:
            yield (*where, "personal"), f"the personal question for {name!r} is missing"
    for name, personal in group.personal.items():
        at = (*where, "personal", name)
        if name not in names:
            yield at, unknown("attribute", name, names)
            continue
        size = valid.attributes[name].size
        for key in ("distribution", "answers"):
            listed = getattr(personal, key)
            if listed is not None and len(listed) != size:
                what = f"needs {size} items, one per category of {name!r}"
                yield (*at, key), f"{what}, got {len(listed)}"


def _control(valid: ValidQuestions) -> Iterator[PlacedProblem]:
    control = valid.survey.control
    if control is None:
        return
    name, shares, where = control.question, control.distribution, ("control", "distribution")
    try:
        probabilities(shares, "the distribution")
    except DesignError as error:
        yield where, str(error)
    if valid.doubts(name):
        return
    if name not in valid.attributes:
        names = (*valid.attributes, *valid.broken)
        yield ("control", "question"), unknown("question", name, names)
        return
    if any(q.asked_if and name in [a.name for a in q.attributes] for q in valid.questions):
        yield ("control", "question"), f"{name!r} is not asked of everybody, so it is no control"
        return
    size = valid.attributes[name].size
    if len(shares) != size:
        yield where, f"needs {size} shares, one per category, got {len(shares)}"


# What a device can decide -------------------------------------------------------------------------


# One throw of a coin, a die or a birth month must distinguish the truth and everything else that
# the group's coin may decide. So each of these probabilities must be a multiple of 1/2 (coin), 1/6
# (die) or 1/12 (birth month, assumed uniform). For `kuk` every throw draws a card, red or black.
# Personal and innocent questions are answered, not thrown.

#: Equally likely outcomes of one throw.
OUTCOMES = {"coin": 2, "die": 6, "birth_month": 12}
#: For messages.
_PARTS = {"coin": "halves", "die": "sixths", "birth_month": "twelfths"}
_NAMES = {"coin": "a coin toss", "die": "a die roll", "birth_month": "a birth month"}


def _device_fault(valid: ValidQuestions, group: Any, design: Design) -> str | None:
    """Why the survey's device cannot decide a group's coins, with the nearest possible thetas."""
    device = valid.survey.device
    unfit = _unfit(design, OUTCOMES[device]) if device in OUTCOMES else []
    if not unfit:
        return None
    what = f"{_NAMES[device]} gives only {_PARTS[device]}, not {unfit[0]}"
    first = design.groups[0]
    theta = first.coin.strategies(design.attributes_of(first))[0][0]
    near = _nearest(valid, group, theta)
    if near:
        return f"{what}; the nearest possible {group.main}: {' or '.join(map(str, near))}"
    split = " or throw: each" if any(len(g.attributes) > 1 for g in design.groups) else ""
    if group.movable:
        return f"{what}; no {group.main} works here: use another family, another device{split}"
    return f"{what}; use other probabilities, another family, another device{split}"


def _nearest(valid: ValidQuestions, group: Any, theta: Fraction) -> list[Fraction]:
    """Up to two thetas that the device can decide, nearest to this one, in order."""
    outcomes, able = OUTCOMES[valid.survey.device], []
    for other in [Fraction(n, outcomes) for n in range(1, outcomes)] if group.movable else []:
        with suppress(DesignError):  # it cannot be reconstructed
            if not _unfit(_group_design(valid, group.at(other)), outcomes):
                able.append(other)
    return sorted(sorted(able, key=lambda other: abs(other - theta))[:2])


def _unfit(design: Design, outcomes: int) -> list[Fraction]:
    """Probabilities of the design's coins that the device cannot produce."""
    chances = (chance for group in design.groups for chance in _thrown(design, group))
    return [chance for chance in chances if (chance * outcomes).denominator != 1]


def _thrown(design: Design, group: Group) -> Iterator[Fraction]:
    """The probabilities that the device decides for a group; the rest is answered."""
    if group.coin.asks in ("comparison", "any_yes") or not group.disguised:
        return
    if group.coin.each_throw is not None:
        yield from group.coin.each_throw
        return
    attributes = design.attributes_of(group)
    for weight, strategy in group.coin.strategies(attributes):
        if group.coin.asks == "either":
            yield weight
        else:
            yield from strategy.chances(weight, [a.size for a in attributes])


# Conditional questions ----------------------------------------------------------------------------


# A condition names earlier questions whose true answers the page knows. Whether a question applies
# must not show: so "does not apply" is disguised if the condition is about a disguised question, by
# a throw of its own, because two answers of one throw that contradict each other reveal the throw.

_OWN_DEVICE = (
    "with a {device} of their own, people decide themselves what to answer, so the page cannot "
    "fill in that a question does not apply; use device: browser, or ask everybody"
)
_OPTIONAL = (
    "an optional question cannot be conditional, because a missing answer would reveal that it "
    "applied; leave out optional or asked_if"
)
_REPLACED = "related, forced, uniform_perturbation, frapp or matrix"


def _conditions(valid: ValidQuestions) -> Iterator[PlacedProblem]:
    """Problems of every `asked_if`, and of the groups of conditional questions."""
    earlier: list[str] = []
    device = valid.survey.device
    for number, question in enumerate(valid.survey.questions):
        where: Place = ("questions", number, "asked_if")
        if question.asked_if is not None and question.name not in valid.broken:
            if device != "browser":
                yield where, _OWN_DEVICE.format(device=device.replace("_", " "))
            elif question.optional:
                yield where, _OPTIONAL
            else:
                yield from _condition(valid, question, earlier, where)
                yield from _disguise(valid, question, where)
        broken = question.name in valid.broken
        earlier += [question.name] if broken else [a.name for a in question.attributes]


def _condition(
    valid: ValidQuestions, question: Any, earlier: list[str], where: Place
) -> Iterator[PlacedProblem]:
    """Each condition names an earlier attribute, and some of its answers."""
    declined = {a.name for q in valid.questions if q.optional for a in q.attributes}
    for name, answers in question.asked_if.items():
        at = (*where, name)
        if valid.doubts(name):
            continue
        if name in declined:
            why = "whoever declines it would not be asked either; leave out optional there"
            yield at, f"{name!r} is optional, and {why}"
        elif name in earlier:
            possible = answers_of(valid.attributes[name])
            wrong = [answer for answer in answers if answer not in possible]
            if wrong:
                yield at, unknown("answer", wrong[0], possible, f" of {name!r}")
            elif len(set(answers)) == valid.attributes[name].size:
                yield (
                    at,
                    f"lists every answer of {name!r}, so everybody is asked; list some of them",
                )
        else:
            yield at, _unusable(valid, question, name, earlier)


def _unusable(valid: ValidQuestions, question: Any, name: str, earlier: list[str]) -> str:
    """Why a condition cannot be about this name."""
    if name == question.name or name in [a.name for a in question.attributes]:
        return "a question cannot depend on its own answer"
    multiple = next((q for q in valid.survey.questions if q.name == name and q.several), None)
    if multiple is not None:
        return f"{name!r} has several answers; name one of them: {multiple.attributes[0].name}: yes"
    if name in valid.attributes:
        return f"{name!r} is asked later; a condition is about earlier questions"
    return unknown("question", name, earlier)


def _disguise(valid: ValidQuestions, question: Any, where: Place) -> Iterator[PlacedProblem]:
    """The page must know the answers that decide, and what it fills in must not show."""
    groups: dict[str, Any] = {
        name: group for group in valid.survey.groups for name in valid.attributes_of(group)
    }
    for name in question.asked_if:
        if _asks_otherwise(groups.get(name)):
            why = f"because its family is {groups[name].family}; disguise it by {_REPLACED}"
            yield (*where, name), f"the page does not learn the true answer to {name!r}, {why}"
    disguised = [name for name in question.asked_if if _disguises(groups.get(name))]
    for attribute in question.attributes:
        group: Any = groups.get(attribute.name)
        if disguised and not _disguises(group):
            why = f"so {DOES_NOT_APPLY!r} would reveal the answer to {disguised[0]!r}"
            remedy = "put it in a group that disguises it"
            yield where, f"{attribute.name!r} is sent undisguised, {why}; {remedy}"
        elif _asks_otherwise(group):
            why = f"where people answer another question instead, as with {group.family}"
            yield where, f"the page cannot fill in {DOES_NOT_APPLY!r} {why}; use {_REPLACED}"
        elif _disguises(group) and group.throw == "once" and len(valid.attributes_of(group)) > 1:
            why = "answers that contradict each other would reveal its outcome"
            what = f"{attribute.name!r} shares a throw with other questions, and {why}"
            yield where, f"{what}; write throw: each in its group"
        else:
            continue
        return


def _disguises(group: Any) -> bool:
    return group is not None and group.family != "truthful"


def _asks_otherwise(group: Any) -> bool:
    """Whether the page asks for something else than the true answer."""
    return hasattr(group, "personal") or hasattr(group, "innocent")


# Optional questions -------------------------------------------------------------------------------


# A missing answer is never disguised. One throw disguises several answers together, so an optional
# question has its throws to itself: the odds of other questions then never depend on who declined.


def _optional(valid: ValidQuestions) -> Iterator[PlacedProblem]:
    """An optional question shares no throw with another one and is not the control."""
    survey = valid.survey
    owner = {a.name: q.name for q in valid.questions for a in q.attributes}
    shared: dict[str, str] = {}
    for group in survey.groups:
        names = {owner[name]: None for name in valid.attributes_of(group) if name in owner}
        if group.throw == "once" and len(names) > 1:
            first, second, *_ = names
            shared |= {name: second if name == first else first for name in names}
    for number, question in enumerate(survey.questions):
        if not question.optional or question.name in valid.broken:
            continue
        where = ("questions", number, "optional")
        if question.name in shared:
            what = f"{question.name!r} shares a throw with {shared[question.name]!r}"
            remedy = "put it in a group of its own, or write throw: each"
            yield where, f"{what}, so one answer cannot be missing alone; {remedy}"
        if survey.control is not None and owner.get(survey.control.question) == question.name:
            why = "whose shares are known for all respondents and not for those who answer"
            yield where, f"{question.name!r} is the control question, {why}; leave out optional"
