"""Optional questions in the survey file: what is allowed, what is stored, what stays as it was."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.collect.store import code_type
from tacit.errors import SurveyError
from tacit.survey import Published, example, survey_from_dict, survey_from_text
from tacit.survey.survey import missing_together
from tests.support.optional_surveys import ANALYSED, OPTIONAL
from tests.support.page_surveys import OPEN, every_kind, published, yes_no

TOGETHER = {"questions": ["a", "b"], "family": "related", "theta": "3/4"}


def two(**more: Any) -> dict[str, Any]:
    return {"title": "Two", "questions": [yes_no("a", optional=True), yes_no("b")], **more}


def test_fingerprints_of_surveys_without_optional_questions_are_as_before() -> None:
    """Computed by the version before optional questions."""
    known = {
        Published(survey_from_text(example())): "2954d4c6bf8d7ba8",
        every_kind(): "f27c3afa284453a9",
    }
    for survey, fingerprint in known.items():
        assert survey.survey.fingerprint.startswith(fingerprint)
    assert "optional" not in OPEN.to_json()


def test_optional_false_is_the_same_as_nothing() -> None:
    plain = OPEN.survey.to_dict()
    questions = [plain["questions"][0] | {"optional": False}]
    assert survey_from_dict(plain | {"questions": questions}) == OPEN.survey


def test_optional_is_part_of_the_survey_but_not_of_the_design() -> None:
    plain = OPEN.survey.to_dict()
    questions = [plain["questions"][0] | {"optional": True}]
    optional = survey_from_dict(plain | {"questions": questions})
    assert optional.fingerprint != OPEN.survey.fingerprint
    assert optional.design.fingerprint == OPEN.design.fingerprint
    assert survey_from_dict(optional.to_dict()) == optional


def test_every_report_of_an_optional_question_may_be_missing_and_a_throw_as_a_whole() -> None:
    assert missing_together(ANALYSED.survey) == (
        ("smokes",), ("income",), ("worries.pay", "worries.job"), ("place",),
    )  # fmt: skip
    sizes = dict(zip(ANALYSED.stored.names, ANALYSED.stored.sizes, strict=True))
    assert sizes == {
        "smokes": 3, "income": 4, "worries.pay": 3, "worries.job": 3, "place": 3, "drug": 3,
    }  # fmt: skip
    assert OPEN.stored == OPEN.design.reported
    assert len(missing_together(OPTIONAL.survey)) == 7


@pytest.mark.parametrize(("size", "kind"), [(255, "u1"), (256, "<u2")])
def test_a_code_has_room_for_a_missing_answer(size: int, kind: str) -> None:
    question = {"name": "a", "kind": "choice", "text": "?", "sensitive": False, "optional": True,
                "categories": [f"n{i}" for i in range(size)]}  # fmt: skip
    assert code_type(published({"questions": [question]}).stored) == kind
    assert code_type(published({"questions": [question | {"optional": False}]}).stored) == "u1"


def test_an_optional_question_shares_no_throw_with_another() -> None:
    with pytest.raises(SurveyError) as raised:
        survey_from_dict(two(groups=[TOGETHER]))
    assert str(raised.value) == (
        "survey:1: questions[0].optional: 'a' shares a throw with 'b', so one answer cannot be "
        "missing alone; put it in a group of its own, or write throw: each"
    )
    assert survey_from_dict(two(groups=[TOGETHER | {"throw": "each"}]))


def test_a_multiple_choice_may_share_its_throws_only_with_itself() -> None:
    boxes = {"name": "m", "kind": "multiple", "text": "?", "categories": ["x", "y"],
             "optional": True}  # fmt: skip
    questions = [boxes, yes_no("b")]
    other = {"questions": ["b"], "family": "related", "theta": "3/4"}
    alone = {"questions": ["m"], "family": "related", "theta": "3/4"}
    assert published({"questions": questions, "groups": [alone, other]})
    mixed = {"questions": ["m.x", "b"], "family": "related", "theta": "3/4"}
    rest = {"questions": ["m.y"], "family": "related", "theta": "3/4"}
    with pytest.raises(SurveyError, match="'m' shares a throw with 'b'"):
        published({"questions": questions, "groups": [mixed, rest]})


def test_a_control_question_is_not_optional() -> None:
    control = {"question": "a", "distribution": ["1/2", "1/2"]}
    with pytest.raises(SurveyError, match="'a' is the control question"):
        survey_from_dict(two(groups=[TOGETHER | {"throw": "each"}], control=control))


@pytest.mark.parametrize("given", ["yes", 1, [True]])
def test_optional_is_true_or_false(given: Any) -> None:
    with pytest.raises(SurveyError, match="optional: must be a valid boolean"):
        published({"questions": [yes_no("a", sensitive=False, optional=given)]})


def test_mistakes_elsewhere_do_not_hide_or_repeat_it() -> None:
    with pytest.raises(SurveyError) as raised:
        survey_from_dict(two(groups=[TOGETHER, {"questions": ["c"], "family": "truthful"}]))
    assert len(raised.value.problems) == 2
