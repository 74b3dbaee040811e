"""Checks between the fields of a survey; every problem has its place in the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from tacit.core.conditions import DOES_NOT_APPLY
from tacit.errors import SchemaError, TacitError, unknown
from tacit.survey.condition_problems import condition_problems
from tacit.survey.device_model import model_problems
from tacit.survey.example import LANGUAGES
from tacit.survey.free_text import free_text_problems
from tacit.survey.group_problems import Asked, PlacedProblem, attributes_or_none, group_problems
from tacit.survey.optional_answers import optional_problems
from tacit.survey.yaml_source import Place

if TYPE_CHECKING:
    from tacit.survey.survey import Survey

#: Part of the message for a category without a text.
UNLABELLED = "needs a label in each language"
_TEXTS = frozenset(
    {"title", "introduction", "consent", "thanks", "alt", "text", "help", "explanation", "innocent"}
)


def problems(survey: Survey) -> Iterator[PlacedProblem]:
    """All problems; what depends on an invalid part is not checked."""
    found = [*wording_problems(survey), *content_problems(survey)]
    yield from found
    if not found:
        try:
            _ = survey.design
        except TacitError as error:
            yield ("groups",), str(error)


def wording_problems(survey: Survey) -> Iterator[PlacedProblem]:
    """Texts and labels that are missing in a language, or that belong to no question."""
    for place, language in enumerate(survey.languages):
        if language in survey.languages[:place]:
            yield ("languages", place), f"the language {language!r} appears twice; name each once"
    for where, texts in _all_texts(survey):
        yield from _in_each_language(survey.languages, where, texts)
    for place, question in enumerate(survey.questions):
        yield from _labels(survey, question, ("questions", place))
    yield from _reports(survey)
    known = {answer for q in survey.questions for answer in _shown(survey, q)}
    for name in survey.labels:
        if name not in known:
            yield ("labels", name), unknown("category", name, sorted(known))


def content_problems(survey: Survey) -> Iterator[PlacedProblem]:
    """Problems of questions, dates and groups, in any language."""
    yield from _questions(survey)
    if survey.opens and survey.closes and survey.closes < survey.opens:
        yield ("closes",), f"the last day must not be before the first, {survey.opens}"
    for place, check in enumerate(survey.comprehension):
        if check.correct > len(check.answers):
            yield (
                ("comprehension", place, "correct"),
                f"must be the number of an answer, 1 to {len(check.answers)}, got {check.correct}",
            )
    yield from _sections(survey)
    yield from group_problems(survey)
    yield from condition_problems(survey)
    yield from optional_problems(survey, Asked.of(survey))
    yield from free_text_problems(survey)
    yield from model_problems(survey)


def _sections(survey: Survey) -> Iterator[PlacedProblem]:
    """Each section begins at a question, and no other begins there."""
    known, begun = [question.name for question in survey.questions], set[str]()
    for place, section in enumerate(survey.sections or ()):
        where = ("sections", place, "first")
        if section.first not in known:
            yield where, unknown("question", section.first, known)
        elif section.first in begun:
            yield where, f"another section begins at {section.first!r} already"
        begun.add(section.first)


def _in_each_language(
    languages: tuple[str, ...], where: Place, texts: Any
) -> Iterator[PlacedProblem]:
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


def _questions(survey: Survey) -> Iterator[PlacedProblem]:
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
        yield from _limits(question, where)


def _shown(survey: Survey, question: Any) -> tuple[str, ...]:
    """The categories that a question may show, including reports with names of their own."""
    sent = [group.report_names for group in survey.groups]
    own = {str(c) for a in attributes_or_none(question) or () for c in a.categories}
    return (*question.answers, *sorted(own), *(name for names in sent for name in names))


def _limits(question: Any, where: Place) -> Iterator[PlacedProblem]:
    """Minimum and maximum of a number must leave no range empty."""
    if question.kind != "number":
        return
    if question.minimum is not None and question.minimum > question.edges[0]:
        yield (*where, "minimum"), f"must not be above the first edge, {question.edges[0]:.12g}"
    if question.maximum is not None and question.maximum <= question.edges[-1]:
        yield (*where, "maximum"), f"must be above the last edge, {question.edges[-1]:.12g}"


def _labels(survey: Survey, question: Any, where: Place) -> Iterator[PlacedProblem]:
    if attributes_or_none(question) is None:
        return
    shown = _shown(survey, question)
    for name in question.labels:
        if name not in shown:
            yield (*where, "labels", name), unknown("category", name, dict.fromkeys(shown))
    if len(survey.languages) > 1:
        known = {*question.labels, *survey.labels, *_page_words(survey, question)}
        sent = [str(c) for a in question.attributes for c in a.categories]
        for name in dict.fromkeys((*question.answers, *sent)):
            if name not in known:
                yield (
                    where,
                    f"the category {name!r} {UNLABELLED}; give labels here, or once for all "
                    "questions at the top",
                )


def _page_words(survey: Survey, question: Any) -> tuple[str, ...]:
    """Categories that the page itself translates to every language of the survey."""
    spoken = all(language.partition("-")[0] in LANGUAGES for language in survey.languages)
    if not spoken:
        return ()
    own = ("no", "yes") if question.kind in ("yes_no", "multiple") else ()
    return own if question.asked_if is None else (*own, DOES_NOT_APPLY)


def _reports(survey: Survey) -> Iterator[PlacedProblem]:
    """Reports of a matrix are shown to respondents, so they need labels too."""
    labelled = {name for q in survey.questions for name in q.labels} | set(survey.labels)
    for number, group in enumerate(survey.groups if len(survey.languages) > 1 else ()):
        for place, name in enumerate(getattr(group, "reported", None) or ()):
            if name not in labelled:
                where = ("groups", number, "reported", place)
                yield where, f"the report {name!r} needs a label in each language, in labels"
