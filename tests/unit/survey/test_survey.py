"""From a survey to its design: questions, groups, devices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tacit import Attribute, Design, Group, Schema, forced, related, truthful, unrelated
from tacit.core.channel import FAMILIES
from tacit.errors import SurveyError
from tacit.survey import example, json_schema, survey_from_dict, survey_from_text

ROOT = Path(__file__).parents[3]
FLAG = {"kind": "yes_no", "text": "?"}


def survey(questions: list[dict[str, Any]], *groups: dict[str, Any], **other: Any) -> Any:
    content = {"title": "t", "questions": questions, "groups": list(groups)} | other
    return survey_from_dict(content, "f")


def flags(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, **FLAG} for name in names]


def fault(*arguments: Any, **other: Any) -> str:
    with pytest.raises(SurveyError) as caught:
        survey(*arguments, **other)
    return str(caught.value)


def test_the_example_gives_this_design() -> None:
    schema = Schema(
        [
            Attribute("painkillers", ["no", "yes"]),
            Attribute("harassed", ["no", "yes"]),
            Attribute("sick", ["never", "once", "often"]),
            Attribute("drinks", ["none", "some", "many"], edges=[0, 7]),
            Attribute("worries.pay", ["no", "yes"]),
            Attribute("worries.job", ["no", "yes"]),
            Attribute("lottery", ["no", "yes"]),
            Attribute("site", ["north", "south"]),
        ]
    )
    five_sixths = ["painkillers", "worries.pay", "worries.job", "lottery"]
    groups = [
        *(Group([name], related("5/6")) for name in five_sixths),
        Group(["harassed"], unrelated("2/3", {"harassed": ["3/4", "1/4"]})),
        *(Group([name], forced("1/2", ["1/3"] * 3)) for name in ("sick", "drinks")),
        Group(["site"], truthful()),
    ]
    assert survey_from_text(example()).design == Design(schema, groups)


def test_a_changed_copy_has_its_own_fingerprint_and_design() -> None:
    survey = survey_from_text(example())
    assert survey.fingerprint == survey.model_copy().fingerprint
    assert survey.design.schema.names == survey.record_schema.names
    changed = survey.model_copy(update={"questions": survey.questions[:1], "groups": ()})
    assert changed.fingerprint != survey.fingerprint
    assert len(changed.design.schema) == len(changed.record_schema) < len(survey.design.schema)


def test_one_throw_makes_one_group_of_several_questions() -> None:
    group = {"questions": ["a", "b"], "family": "related", "theta": 0.7}
    once = survey(flags("a", "b"), group).design
    assert once.groups == (Group(["a", "b"], related(0.7)),)
    each = survey(flags("a", "b"), group | {"throw": "each"}).design
    assert each.groups == (Group(["a"], related(0.7)), Group(["b"], related(0.7)))


PARAMETERS: dict[str, dict[str, Any]] = {
    "truthful": {},
    "related": {"theta": "2/3"},
    "unrelated": {
        "theta": "2/3",
        "personal": {"a": {"text": "?", "distribution": ["1/4", "3/4"], "answers": ["n", "y"]}},
    },
    "uniform_perturbation": {"q": 0.5},
    "frapp": {"lambda": 4},
    "forced": {"theta": "2/3", "forced": ["1/2", "1/2"]},
    "crosswise": {"p": "1/4", "innocent": "Born in spring?"},
    "triangular": {"p": "1/4", "innocent": "Born in spring?"},
    "mangat": {"p": "2/3"},
    "mangat_singh": {"truth": "1/3", "p": "3/4"},
    "kuk": {"red_yes": "2/3", "red_no": "1/3", "cards": 3},
    "christofides": {"distribution": ["1/2", "1/3", "1/6"]},
    "matrix": {"matrix": [["1/2", "1/8"], ["1/4", "1/4"], ["1/4", "5/8"]], "reported": "xyz"},
}


def test_every_family_is_tested_below() -> None:
    assert set(PARAMETERS) == set(FAMILIES)


@pytest.mark.parametrize("family", PARAMETERS)
def test_every_family_can_be_written_and_reads_back(family: str) -> None:
    given = {k: list(v) if k == "reported" else v for k, v in PARAMETERS[family].items()}
    group = {"questions": ["a"], "family": family, **given}
    question = {"name": "a", "sensitive": family != "truthful", **FLAG}
    found = survey([question], group)
    assert found.design.groups[0].coin.family == family
    assert survey_from_text(found.to_json()) == found
    assert Design.from_json(found.design.to_json()) == found.design


def test_a_number_without_names_of_ranges_gets_some() -> None:
    question = {"name": "n", "kind": "number", "text": "?", "edges": [0, 7.5], "sensitive": False}
    assert survey([question]).design.schema["n"] == Attribute(
        "n", ["up to 0", "over 0 to 7.5", "over 7.5"], edges=[0, 7.5]
    )


def test_labels_of_a_question_go_before_those_of_the_survey() -> None:
    found = survey(
        [{"name": "a", **FLAG, "sensitive": False, "labels": {"yes": "Sure"}}],
        labels={"yes": "Yes", "no": "No"},
    )
    question = found.questions[0]
    assert [found.label(question, c, "en") for c in ("no", "yes")] == ["No", "Sure"]


@pytest.mark.parametrize(
    ("device", "theta", "said"),
    [
        ("die", "0.7", "a die roll gives only sixths, not 7/10; the nearest possible theta"
         ": 2/3 or 5/6"),
        ("die", "0.55", "not 11/20; the nearest possible theta: 1/3 or 2/3"),
        ("birth_month", "0.7", "a birth month gives only twelfths, not 7/10; the "
         "nearest possible theta: 2/3 or 3/4"),
        ("coin", "0.7", "a coin toss gives only halves, not 7/10; no theta works here"),
    ],
)  # fmt: skip
def test_a_theta_that_the_device_cannot_make_is_refused_with_the_nearest(
    device: str, theta: str, said: str
) -> None:
    group = {"questions": ["a"], "family": "related", "theta": theta}
    assert said in fault(flags("a"), group, device=device)
    assert survey(flags("a"), group, device="browser").design


@pytest.mark.parametrize(
    "given",
    [
        {"family": "related", "theta": 0},
        {"family": "related", "theta": 1},
        {"family": "uniform_perturbation", "q": 1},
        {"family": "forced", "theta": 1, "forced": ["1/3", "2/3"]},
        {"family": "crosswise", "p": 1, "innocent": "?"},
        {"family": "triangular", "p": 0, "innocent": "?"},
        {"family": "mangat", "p": 1},
        {"family": "mangat_singh", "truth": "1/2", "p": 1},
        {"family": "christofides", "distribution": [1, 0]},
        {"family": "frapp", "lambda": 0},
        {"family": "matrix", "matrix": [["1/2", 0], ["1/2", 0], [0, 1]]},
    ],
)
def test_a_sensitive_question_is_never_given_away(given: dict[str, Any]) -> None:
    group = {"questions": ["a"], **given}
    said = fault(flags("a"), group)
    assert "every report reveals the truth, but 'a' is sensitive" in said
    free = [flags("a")[0] | {"sensitive": False}]
    assert survey(free, group).design


def test_each_card_of_kuk_is_a_throw() -> None:
    group = {"questions": ["a"], "family": "kuk", "red_yes": "5/6", "red_no": "1/6", "cards": 4}
    assert survey(flags("a"), group, device="die").design
    said = fault(flags("a"), group | {"red_no": "1/5"}, device="die")
    assert "groups[0].red_yes: a die roll gives only sixths, not 1/5; use other probab" in said
    assert "groups[0].cards" in fault(flags("a"), group | {"cards": 0})
    assert "groups[0].red_yes: kuk: red_yes must lie" in fault(flags("a"), group | {"red_yes": 2})


def test_numbers_that_are_reported_may_have_labels() -> None:
    group = {"questions": ["a"], "family": "christofides", "distribution": ["1/2", "1/3", "1/6"]}
    question = {"name": "a", **FLAG, "labels": {"3": "Three"}}
    assert survey([question], group).design.reported["a"].categories == ("1", "2", "3")
    assert "unknown category '4'" in fault([question | {"labels": {"4": "Four"}}], group)


def test_a_p_that_the_device_cannot_make_is_refused_with_the_nearest() -> None:
    group = {"questions": ["a"], "family": "mangat", "p": "0.7"}
    said = fault(flags("a"), group, device="die")
    assert said.endswith("not 7/10; the nearest possible p: 2/3 or 5/6")


def test_a_coin_makes_halves() -> None:
    personal = {"a": {"text": "?", "distribution": ["1/4", "3/4"]}}
    group = {"questions": ["a"], "family": "unrelated", "theta": "0.6", "personal": personal}
    said = fault(flags("a"), group, device="coin")
    assert said.endswith("not 3/5; the nearest possible theta: 1/2")
    assert survey(flags("a"), group | {"theta": "1/2"}, device="coin").design


def test_a_device_must_make_every_outcome_not_only_the_truth() -> None:
    choice = {"name": "c", "kind": "choice", "text": "?", "categories": ["x", "y", "z"]}
    group = {"questions": ["c"], "family": "related", "theta": "5/6"}
    said = fault([choice], group, device="die")
    assert said.endswith("not 1/12; the nearest possible theta: 2/3")
    forced_group = {"questions": ["a", "b", "c"], "family": "forced", "theta": "2/3"}
    forced_group |= {"forced": ["1/2", "1/2"]}
    assert "or throw: each" in fault(flags("a", "b", "c"), forced_group, device="die")
    assert survey(flags("a", "b", "c"), forced_group | {"throw": "each"}, device="die").design


def test_an_innocent_question_is_answered_and_needs_no_device() -> None:
    group = {"questions": ["a"], "family": "crosswise", "p": "0.24", "innocent": "?"}
    assert survey(flags("a"), group, device="coin").design


def test_personal_answers_are_as_many_as_categories() -> None:
    personal = {"a": {"text": "?", "distribution": ["1/4", "3/4"], "answers": ["1", "2", "3"]}}
    group = {"questions": ["a"], "family": "unrelated", "theta": 0.5, "personal": personal}
    assert "personal.a.answers: needs 2 items, one per category of 'a', got 3" in fault(
        flags("a"), group
    )


def test_the_personal_questions_of_a_group_are_all_used() -> None:
    known = {"text": "?", "distribution": ["1/4", "3/4"]}
    group = {"questions": ["a"], "family": "unrelated", "theta": 0.5}
    said = fault(flags("a"), group | {"personal": {"a": known, "b": known}})
    assert "unknown attribute 'b'" in said
    said = fault(flags("a", "b"), group | {"questions": ["a", "b"], "personal": {"a": known}})
    assert "groups[0].personal: the personal question for 'b' is missing" in said


def test_reports_of_a_matrix_need_labels_in_every_language() -> None:
    both = {"en": "x", "de": "y"}
    names = {"no": both, "yes": both}
    group = {"questions": ["a"], "family": "matrix", "reported": ["u", "v"]}
    group |= {"matrix": [["3/4", "1/4"], ["1/4", "3/4"]]}
    question = {"name": "a", "kind": "yes_no", "text": both}
    other = {"title": both, "languages": ["en", "de"]}
    assert "groups[0].reported[0]: the report 'u'" in fault(
        [question], group, labels=names, **other
    )
    labels = names | {"u": both, "v": both}
    found = survey([question], group, labels=labels, **other)
    assert found.design.reported["a"].categories == ("u", "v")


def test_two_hundred_questions_or_a_thousand_categories_are_accepted_more_refused() -> None:
    names = [f"q{i}" for i in range(200)]
    group = {"questions": names, "family": "related", "theta": 0.7, "throw": "each"}
    assert len(survey(flags(*names), group).design.groups) == 200
    choice = {"name": "c", "kind": "choice", "text": "?", "sensitive": False}
    many = [str(i) for i in range(1000)]
    assert survey([choice | {"categories": many}]).design.schema["c"].size == 1000
    assert "at most 1000 items" in fault([choice | {"categories": [*many, "x"]}])


def test_the_published_json_schema_is_that_of_the_model() -> None:
    """Made by: tacit survey schema > docs/survey.schema.json."""
    published = (ROOT / "docs" / "survey.schema.json").read_text(encoding="utf-8")
    assert published == json_schema()
    assert json.loads(published)["properties"]["device"]["enum"][0] == "browser"


@pytest.mark.parametrize(
    "address", ["http://example.org", "javascript:alert(1)", "survey@example.org", "https://", ""]
)
def test_a_link_has_an_address_that_is_safe_to_open(address: str) -> None:
    links = [{"text": "Imprint", "address": address}]
    with pytest.raises(SurveyError, match="address"):
        survey_from_dict(
            {
                "title": "T",
                "links": links,
                "questions": [{"name": "a", "kind": "yes_no", "text": "?", "sensitive": False}],
            }
        )
