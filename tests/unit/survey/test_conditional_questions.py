"""Conditional questions in a survey file: the design that follows, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tacit.cli.simulate import made_up
from tacit.core.conditions import DOES_NOT_APPLY
from tacit.errors import SurveyError
from tacit.survey import Published, Survey, survey_from_dict, survey_from_text

BLANK = DOES_NOT_APPLY


def question(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "kind": "yes_no", "text": f"{name}?", **more}


def group(*names: str, **more: Any) -> dict[str, Any]:
    return {"questions": list(names), "family": "related", "theta": "4/5", "throw": "each", **more}


def survey(*questions: dict[str, Any], groups: list[Any] | None = None, **more: Any) -> Survey:
    made = [group(*(q["name"] for q in questions))] if groups is None else groups
    content = {"title": "t", "questions": list(questions), "groups": made, **more}
    return survey_from_dict(content, "f")


def fault(*questions: dict[str, Any], **more: Any) -> str:
    with pytest.raises(SurveyError) as caught:
        survey(*questions, **more)
    return str(caught.value)


A = question("a")
WORRIES = {"name": "w", "kind": "multiple", "text": "w?", "categories": ["pay", "job"]}


def test_a_conditional_question_gets_one_more_category() -> None:
    found = survey(
        A,
        question("b", asked_if={"a": "yes"}),
        question("c", kind="number", edges=[1, 2], asked_if={"b": ["no", "yes"]}),
        WORRIES | {"asked_if": {"a": ["yes"]}},
        groups=[group("a", "b", "c", "w")],
    ).design
    assert found.schema["b"].categories == ("no", "yes", BLANK)
    assert found.schema["c"].categories[-1] == BLANK
    assert found.schema["c"].size == 4
    assert found.schema["w.pay"].categories == ("no", "yes", BLANK)
    assert found.asked_if == {
        "b": {"a": ["yes"]},
        "c": {"b": ["no", "yes"]},
        "w.pay": {"a": ["yes"]},
        "w.job": {"a": ["yes"]},
    }


def test_json_and_the_published_file_keep_the_condition() -> None:
    found = survey(A, question("b", asked_if={"a": "yes"}))
    again = survey_from_text(found.to_json())
    assert again == found
    assert json.loads(found.to_json())["questions"][1]["asked_if"] == {"a": ["yes"]}
    assert Published.from_json(Published(found).to_json()).design == found.design
    everybody = survey(A, question("b"))
    assert "asked_if" not in everybody.to_json(), "other surveys keep their fingerprint"
    assert everybody.fingerprint != found.fingerprint


def test_yaml_accepts_one_answer_or_a_list() -> None:
    made = survey_from_text(
        """
title: t
questions:
  - {name: a, kind: choice, text: a?, categories: [x, y, z]}
  - {name: b, kind: yes_no, text: b?, asked_if: {a: [x, y]}}
  - {name: c, kind: yes_no, text: c?, asked_if: {b: yes}}
groups:
  - {questions: [a, b, c], family: related, theta: 4/5, throw: each}
"""
    )
    assert made.design.asked_if == {"b": {"a": ["x", "y"]}, "c": {"b": ["yes"]}}


def test_labels_of_does_not_apply_are_the_pages_own_or_given() -> None:
    two = {"languages": ["en", "de"], "title": {"en": "t", "de": "t"}}
    texts = {"text": {"en": "?", "de": "?"}}
    survey(A | texts, question("b", asked_if={"a": "yes"}) | texts, **two)
    polish = {"languages": ["en", "pl"], "title": {"en": "t", "pl": "t"}}
    texts = {
        "text": {"en": "?", "pl": "?"},
        "labels": {w: {"en": w, "pl": w} for w in ("no", "yes")},
    }
    told = fault(A | texts, question("b", asked_if={"a": "yes"}) | texts, **polish)
    assert "the category 'does not apply' needs a label in each language" in told


@pytest.mark.parametrize(
    ("asked_if", "told"),
    [
        ({"x": "yes"}, "f:1: questions[1].asked_if.x: unknown question 'x'"),
        ({"b": "yes"}, "questions[1].asked_if.b: a question cannot depend on its own answer"),
        ({"c": "yes"}, "questions[1].asked_if.c: 'c' is asked later"),
        ({"a": "maybe"}, "questions[1].asked_if.a: unknown answer 'maybe' of 'a'"),
        ({"a": ["no", "yes"]}, "lists every answer of 'a', so everybody is asked"),
        ({"a": []}, "list at least one answer to 'a'"),
        ({}, "must name earlier questions and their answers"),
        ("a", "must name earlier questions and their answers"),
        ({"a": {"no": 1}}, "a name must be a text"),
    ],
)
def test_a_wrong_condition_is_refused_at_its_place(asked_if: Any, told: str) -> None:
    assert told in fault(A, question("b", asked_if=asked_if), question("c"))


def test_a_circle_of_conditions_names_a_later_question() -> None:
    told = fault(question("a", asked_if={"b": "yes"}), question("b", asked_if={"a": "yes"}))
    assert "questions[0].asked_if.b: 'b' is asked later" in told


def test_a_multiple_choice_is_named_by_one_of_its_answers() -> None:
    told = fault(WORRIES, question("b", asked_if={"w": "yes"}), groups=[group("w", "b")])
    assert "'w' has several answers; name one of them: w.pay: yes" in told
    survey(WORRIES, question("b", asked_if={"w.pay": "yes"}), groups=[group("w", "b")])


@pytest.mark.parametrize("device", ["coin", "die", "birth_month"])
def test_an_own_device_cannot_decide_whether_a_question_applies(device: str) -> None:
    told = fault(
        A,
        question("b", asked_if={"a": "yes"}),
        device=device,
        groups=[group("a", theta="1/3"), group("b", family="truthful", theta="1")],
    )
    assert f"with a {device.replace('_', ' ')} of their own, people decide themselves" in told


def test_a_category_of_that_name_is_refused() -> None:
    own = {"kind": "choice", "categories": ["x", BLANK]}
    assert "'does not apply' comes more than once" in fault(
        A, question("b", asked_if={"a": "yes"}, **own)
    )


def test_what_is_filled_in_must_not_show() -> None:
    told = fault(A, question("b", sensitive=False, asked_if={"a": "yes"}), groups=[group("a")])
    assert "'b' is sent undisguised, so 'does not apply' would reveal the answer to 'a'" in told
    open_a = question("a", sensitive=False)
    survey(open_a, question("b", asked_if={"a": "yes"}), groups=[group("b")])
    survey(open_a, question("b", sensitive=False, asked_if={"a": "yes"}), groups=[])


def test_the_page_must_learn_the_answer_that_decides() -> None:
    personal = {"a": {"text": "?", "distribution": ["1/2", "1/2"]}}
    asked = {"questions": ["a"], "family": "unrelated", "theta": "2/3", "personal": personal}
    told = fault(A, question("b", asked_if={"a": "yes"}), groups=[asked, group("b")])
    assert "the page does not learn the true answer to 'a', because its family is unrelated" in told


def test_the_page_fills_in_only_what_it_disguises_itself() -> None:
    personal = {"b": {"text": "?", "distribution": ["1/2", "1/4", "1/4"]}}
    asked = {"questions": ["b"], "family": "unrelated", "theta": "2/3", "personal": personal}
    told = fault(A, question("b", asked_if={"a": "yes"}), groups=[group("a"), asked])
    assert "where people answer another question instead, as with unrelated" in told


def test_a_conditional_question_has_a_throw_of_its_own() -> None:
    told = fault(A, question("b", asked_if={"a": "yes"}), groups=[group("a", "b", throw="once")])
    assert "'b' shares a throw with other questions" in told
    told = fault(
        A, WORRIES | {"asked_if": {"a": "yes"}}, groups=[group("a"), group("w", throw="once")]
    )
    assert "'w.pay' shares a throw with other questions" in told


def test_a_question_that_not_everybody_is_asked_is_no_control() -> None:
    told = fault(
        A,
        question("b", asked_if={"a": "yes"}),
        control={"question": "b", "distribution": [1, 0, 0]},
    )
    assert "control.question: 'b' is not asked of everybody" in told


def test_a_broken_earlier_question_hides_what_depends_on_it() -> None:
    told = fault(
        {"name": "a", "kind": "choice", "text": "a?", "categories": ["x"]},
        question("b", asked_if={"a": "y"}),
    )
    assert "asked_if" not in told


def test_a_declined_answer_must_not_show_whether_a_question_applied() -> None:
    both = fault(A, question("b", asked_if={"a": "yes"}, optional=True))
    assert "an optional question cannot be conditional" in both
    before = fault(A | {"optional": True}, question("b", asked_if={"a": "yes"}))
    assert "'a' is optional, and whoever declines it would not be asked either" in before


def test_a_mistake_elsewhere_does_not_hide_a_wrong_condition() -> None:
    told = fault(A, question("b", asked_if={"a": "maybe"}), quota=0)
    assert "quota" in told
    assert "unknown answer 'maybe' of 'a'" in told


def test_a_group_that_is_not_known_hides_what_may_be_right() -> None:
    told = fault(A, question("b", asked_if={"a": "yes"}), groups=[{"questions": 5}])
    assert "asked_if" not in told


def test_made_up_people_follow_the_conditions() -> None:
    made = Published(
        survey(
            A,
            question("b", asked_if={"a": "yes"}),
            question("c", asked_if={"b": "no"}),
            groups=[group("a", "b", "c")],
        )
    )
    true = made_up(made, 300, np.random.default_rng(2))
    a, b, c = true.T
    assert ((a == 1) == (b < 2)).all()
    assert ((b == 0) == (c < 2)).all()
    assert {tuple(row) for row in true} == {(0, 2, 2), (1, 0, 0), (1, 0, 1), (1, 1, 2)}
