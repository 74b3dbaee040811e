"""One run lists all mistakes of a survey file: none hides another, and none is made up."""

from __future__ import annotations

import re
from datetime import date
from itertools import combinations

import pytest

from tacit.errors import SurveyError
from tacit.survey import example, survey_from_text

EXAMPLE = example(access="invited", opens=date(2027, 3, 1), closes=date(2027, 3, 31))
#: What is written, and what somebody writes instead.
MISTAKES = {
    "title without a text": ("  en: Health at work\n", "  en:\n"),
    "title in one language": ("  de: Gesundheit bei der Arbeit\n", ""),
    "unknown device": ("device: die", "device: dice"),
    "no day": ("opens: 2027-03-01", "opens: soon"),
    "days in the wrong order": ("closes: 2027-03-31", "closes: 2027-02-28"),
    "no quota": ("quota: 5000", "quota: 0"),
    "unknown key at the top": ("quota: 5000", "qouta: 5000"),
    "unknown kind": ("kind: ordered", "kind: order"),
    "unknown key of a question": ("    sensitive: false", "    sensible: false"),
    "name taken": ("name: harassed", "name: painkillers"),
    "category twice": ("[north, south]", "[north, north]"),
    "unknown label": ("      north: {", "      nord: {"),
    "label in one language": ('{en: South, de: "Süd"}', "{en: South}"),
    "edges that fall": ("edges: [0, 7]", "edges: [7, 0]"),
    "unknown question": ("questions: [painkillers,", "questions: [painkiller,"),
    "theta no number": ("theta: 5/6", "theta: many"),
    "theta of no die": ("theta: 5/6", "theta: 0.7"),
    "unknown key of a group": ("theta: 5/6", "teta: 5/6"),
    "shares of three": ("[3/4, 1/4]", "[1/2, 1/4, 1/4]"),
    "shares above 1": ("[3/4, 1/4]", "[3/4, 1/2]"),
    "forced to nothing": ("forced: [1/3, 1/3, 1/3]", "forced: [1/3, 1/3]"),
    "no such answer": ("correct: 2", "correct: 3"),
    "unknown control": ("question: lottery", "question: loterie"),
    "control above 1": ("distribution: [1, 0]", "distribution: [1, 1]"),
}
#: How many problems a mistake makes, if not one.
TOLD = dict.fromkeys(
    ("name taken", "unknown label", "unknown question", "unknown key of a group"), 2
)
#: Pairs of which the first leaves nothing to say of the second, or that change the same text.
BOUND = {
    ("no day", "days in the wrong order"): "a day that is none has no order",
    ("unknown device", "theta of no die"): "what the device can throw is not known",
    ("theta no number", "theta of no die"): "",
    ("theta no number", "unknown key of a group"): "",
    ("theta of no die", "unknown key of a group"): "",
    ("no quota", "unknown key at the top"): "",
    ("shares of three", "shares above 1"): "",
    ("unknown question", "theta of no die"): "the group's questions are not known",
    ("unknown label", "category twice"): "a category twice has no labels to check",
    ("category twice", "label in one language"): "",
    ("name taken", "shares of three"): "which question the group names is not known",
    ("name taken", "shares above 1"): "",
    ("name taken", "unknown question"): "",
    ("name taken", "theta of no die"): "",
    ("unknown kind", "forced to nothing"): "what the group disguises is not known",
    ("edges that fall", "forced to nothing"): "",
    ("title without a text", "title in one language"): "both change the title",
}


def mistakes(text: str) -> set[str]:
    """The messages, without the lines."""
    try:
        survey_from_text(text, "f.yaml")
    except SurveyError as error:
        return {re.sub(r"^f.yaml:\d+: ", "", problem) for problem in error.problems}
    return set()


def written(*names: str) -> str:
    text = EXAMPLE
    for name in names:
        old, new = MISTAKES[name]
        text = text.replace(old, new, 1)
    return text


@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_alone_is_found(name: str) -> None:
    assert mistakes(EXAMPLE) == set()
    assert len(mistakes(written(name))) == TOLD.get(name, 1)


@pytest.mark.slow
def test_no_mistake_hides_another_and_none_is_made_up() -> None:
    alone = {name: mistakes(written(name)) for name in MISTAKES}
    hidden, made_up = {}, {}
    for pair in combinations(MISTAKES, 2):
        if pair in BOUND or pair[::-1] in BOUND:
            continue
        told = mistakes(written(*pair))
        first, second = (alone[name] for name in pair)
        if not (first | second) <= told:
            hidden[pair] = (first | second) - told
        if not told <= first | second:
            made_up[pair] = told - first - second
    assert (hidden, made_up) == ({}, {})


def test_many_mistakes_at_once_are_listed_in_the_order_of_their_lines() -> None:
    names = ["title in one language", "unknown device", "unknown key of a question"]
    names += ["unknown control", "no such answer", "shares above 1", "theta no number"]
    with pytest.raises(SurveyError) as caught:
        survey_from_text(written(*names), "f.yaml")
    lines = [int(problem.split(":")[1]) for problem in caught.value.problems]
    assert lines == sorted(lines)
    assert len(lines) >= len(names)


def test_a_key_that_comes_twice_hides_nothing() -> None:
    text = written("unknown control").replace("quota: 5000", "quota: 5000\nquota: 0")
    assert mistakes(text) == {
        "quota: the key 'quota' appears twice; write each key once",
        "quota: must be greater than or equal to 1, got 0",
        *mistakes(written("unknown control")),
    }
