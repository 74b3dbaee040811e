"""Survey files in: what is accepted; every mistake is an error with its line."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import date
from fractions import Fraction
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import FileError, SurveyError
from tacit.survey import Survey, example, read_survey, survey_from_dict, survey_from_text
from tacit.survey.example_file import LANGUAGES

EXAMPLE = example(access="invited", opens=date(2027, 3, 1), closes=date(2027, 3, 31))
READ = survey_from_text(EXAMPLE)
SMALL = """\
title: Smoking
questions:
  - name: smokes
    kind: yes_no
    text: Do you smoke?
groups:
  - questions: [smokes]
    family: related
    theta: 5/6
"""


JUNK: list[Any] = [
    *(None, True, 0, -1, 1.5, float("nan"), float("inf"), 10**400, "", "x", "1/0", "9" * 500),
    *([], [1], [[]], [None], {}, {"a": 1}, {"en": None}, "\ud800", "no", ["1/2", "1/2"]),
]


def places(content: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place below the top of plain values."""
    if not isinstance(content, dict | list):
        return []
    found = [(*at, k) for k in (content if isinstance(content, dict) else range(len(content)))]
    below = [places(content[path[-1]], path) for path in found]
    return found + [path for some in below for path in some]


def problems(text: str) -> tuple[str, ...]:
    with pytest.raises(SurveyError) as caught:
        survey_from_text(text, "f.yaml")
    return caught.value.problems


def changed(old: str, new: str, text: str = EXAMPLE) -> str:
    assert old in text
    return text.replace(old, new, 1)


def line_of(part: str, text: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def test_the_example_reads_the_same_as_yaml_and_as_its_own_json() -> None:
    survey = survey_from_text(EXAMPLE)
    assert survey_from_text(survey.to_json()) == survey
    assert survey_from_dict(survey.to_dict()) == survey
    assert survey_from_text(survey.to_json()).to_json() == survey.to_json()
    assert hash(survey_from_text(survey.to_json())) == hash(survey)


def test_a_survey_cannot_be_changed() -> None:
    survey = survey_from_text(EXAMPLE)
    with pytest.raises(ValueError, match="frozen"):
        survey.quota = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        survey.title["en"] = "other"  # type: ignore[index]


def test_no_and_yes_are_texts_and_numbers_may_name_categories() -> None:
    text = changed(
        "kind: yes_no\n", "kind: choice\n    categories: [no, yes, off, 1, 2026-01-01]\n", SMALL
    )
    assert survey_from_text(text).questions[0].answers == ("no", "yes", "off", "1", "2026-01-01")


@pytest.mark.parametrize(
    ("written", "exact"),
    [("0.7", Fraction(7, 10)), ("5/6", Fraction(5, 6)), ("'0.85'", Fraction(17, 20))],
)
def test_theta_is_exact_however_it_is_written(written: str, exact: Fraction) -> None:
    survey = survey_from_text(changed("5/6", written, SMALL))
    assert survey.design.groups[0].coin.to_dict()["theta"] == str(exact)


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ("theta: 5/6", "theta: abc", "groups[0].theta", "such as '1/6', got 'abc'"),
        ("theta: 5/6", "theta: 7/5", "groups[0].theta", "between 0 and 1, got 7/5"),
        ("theta: 5/6", "theta: 1/2", "groups[0].theta", "cannot be reconstructed"),
        ("theta: 5/6", "teta: 5/6", "groups[0].teta", "did you mean 'theta'?"),
        ("device: die", "device: dice", "device", "must be 'browser', 'coin'"),
        ("access: invited", "access: all", "access", "'open' or 'invited', got 'all'"),
        ("opens: 2027-03-01", "opens: soon", "opens", "a day such as 2026-12-31"),
        ("closes: 2027-03-31", "closes: 2027-02-28", "closes", "not be before the first"),
        ("quota: 5000", "quota: 0", "quota", "greater than or equal to 1, got 0"),
        ("quota: 5000", "quota: true", "quota", "valid integer, got True"),
        ("correct: 2", "correct: 3", "comprehension[0].correct", "1 to 2, got 3"),
        ("[1, 0]", "[1, 1/2]", "control.distribution", "sum to 1, but sums to 1.5"),
        ("question: lottery", "question: loterie", "control.question", "did you mean 'lottery'?"),
        ("[3/4, 1/4]", "[3/4, 1/2]", "groups[1].personal", "must sum to 1"),
        ("edges: [0, 7]", "edges: 7", "questions[3].edges", "must be a list, got 7"),
        ("edges: [0,", "minimum: 1\n    edges: [0,", "questions[3].minimum", "the first edge, 0"),
        ("edges: [0,", "maximum: 7\n    edges: [0,", "questions[3].maximum", "the last edge, 7"),
        ("[pay, job]", "[pay, job, true]", "questions[4].categories[2]", "got True"),
        ("[painkillers,", "[painkiller,", "groups[0].questions[0]", "did you mean 'painkillers'"),
        ("name: harassed", "name: sick", "questions[2].name", "'sick' is taken"),
        ("kind: ordered", "kind: order", "questions[2].kind", "must be one of 'yes_no'"),
        ("family: forced", "family: force", "groups[2].family", "got 'force'"),
        ("version: 1", "version: 2", "version", "is 2, this tacit reads up to 1"),
        ("tacit: survey", "tacit: design", "tacit", "must be 'survey', got 'design'"),
        ("de: Nord", "fr: Nord", "questions[6].labels.north", "in 'de' is missing"),
    ],
)
def test_a_mistake_is_an_error_with_line_place_and_what_is_allowed(
    old: str, new: str, place: str, said: str
) -> None:
    text = changed(old, new)
    told = next(problem for problem in problems(text) if f" {place}: " in problem)
    assert told.startswith("f.yaml:")
    assert said in told
    named = place.rpartition(".")[2].partition("[")[0]
    assert named in text.splitlines()[int(told.split(":")[1]) - 1]


def test_the_line_is_that_of_the_mistake() -> None:
    text = changed("theta: 5/6", "theta: 0.7")
    assert problems(text)[0].startswith(f"f.yaml:{line_of('theta: 0.7', text)}: groups[0].theta: ")


def test_a_list_that_is_too_short_is_an_error() -> None:
    assert problems(changed("[smokes]", "[]", SMALL)) == (
        "f.yaml:7: groups[0].questions: needs at least 1 item, got 0",
    )


def test_all_mistakes_are_listed_together() -> None:
    text = changed("quota: 5000", "quota: -1", changed("device: die", "device: dice"))
    assert [problem.split(": ")[1] for problem in problems(text)] == ["device", "quota"]


def test_a_missing_key_is_an_error_where_it_should_be() -> None:
    assert problems(changed("    text: Do you smoke?\n", "", SMALL)) == (
        "f.yaml:3: questions[0]: the key 'text' is missing",
    )
    assert problems(changed("    kind: yes_no\n", "", SMALL)) == (
        "f.yaml:3: questions[0]: the key 'kind' is missing",
    )


def test_a_sensitive_question_must_be_disguised() -> None:
    bare = SMALL[: SMALL.index("groups:")]
    assert "'smokes' is sensitive, but no group disguises it" in problems(bare)[0]
    told = problems(changed("related\n    theta: 5/6", "truthful", SMALL))
    assert "'smokes' is sensitive" in told[0]
    free = survey_from_text(changed("kind: yes_no", "kind: yes_no\n    sensitive: false", bare))
    assert not free.design.groups[0].disguised


def test_a_question_belongs_to_one_group() -> None:
    twice = SMALL + "  - {questions: [smokes], family: related, theta: 2/3}\n"
    assert problems(twice) == (
        "f.yaml:10: groups[1].questions: 'smokes' is already in group 1; each belongs to one group",
    )


def test_with_several_languages_every_text_and_category_needs_each() -> None:
    told = problems("languages: [en, it]\n" + SMALL)
    assert "f.yaml:2: title: needs a text in each language: en, it" in told
    assert any("the category 'no' needs a label in each language" in line for line in told)


def test_yes_and_no_need_no_label_in_the_languages_of_the_page() -> None:
    words = files("tacit.collect").joinpath("page", "words").iterdir()
    assert {file.name.removesuffix(".json") for file in words} == set(LANGUAGES)
    told = problems("languages: [en, de-AT]\n" + SMALL)
    assert "f.yaml:2: title: needs a text in each language: en, de-AT" in told
    assert not any("needs a label" in line for line in told)


@pytest.mark.parametrize(
    ("letter", "told"), [("\\u202e", "title: "), ("\\u0007", "title: "), ("\\ud83d", "not YAML: ")]
)
def test_characters_that_mislead_are_refused(letter: str, told: str) -> None:
    data = SMALL.replace("Smoking", f'"a {letter} b"')
    assert problems(data)[0].startswith(f"f.yaml:1: {told}")


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "\u05e9\u05dc\u05d5\u05dd", "🙂"])
def test_markup_other_directions_and_emoji_are_plain_text(text: str) -> None:
    assert survey_from_text(changed("Smoking", f"'{text}'", SMALL)).title == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "f.yaml:1: a survey file must have keys"),
        ("- a\n- b\n", "f.yaml:1: a survey file must have keys"),
        ("title: a\ntitle: b\n", "f.yaml:2: title: the key 'title' appears twice"),
        ("title: a\nother: &x 1\n", "f.yaml:2: anchors"),
        ("title: !!python/name:os.system x\n", "f.yaml:1: tags"),
        ("title: a\nquota: [1\n", "f.yaml:3: not YAML"),
        ("title: a\nquota: \x07\n", "f.yaml:2: the character U+0007"),
        ("[" * 5000, "f.yaml:1: is nested too deeply"),
        ('{"title": "a",\n "title": "b"}', "f.yaml:1: not JSON: the key 'title' appears twice"),
        ('{"title": "a",\n "quota": }', "f.yaml:2: not JSON in line 2"),
        ("title: " + "9" * 400, "f.yaml:1: a number may have at most 300 digits"),
        ("? [a]\n: b\n", "f.yaml:1: a key must be a text"),
    ],
)
def test_what_is_no_survey_file_is_refused_with_a_line(text: str, said: str) -> None:
    assert any(problem.startswith(said) for problem in problems(text))


def test_json_with_tabs_and_escapes_has_lines_too() -> None:
    data = survey_from_text(SMALL).to_dict() | {"quota": 0, "title": "🙂 a/b"}
    text = json.dumps(data, indent="\t").replace("a/b", "a\\/b")
    assert problems(text)[0].startswith(f"f.yaml:{line_of('quota', text)}: quota: ")
    fine = text.replace('"quota": 0', '"quota": 9')
    assert survey_from_text(fine).title == "🙂 a/b"


def test_a_key_cannot_write_to_the_terminal_or_begin_a_line() -> None:
    told = problems('"a\\x1b[2J\\nb": 1\n' + SMALL)
    assert len(told) == 1
    assert told[0].isprintable()


@given(st.data())
@settings(max_examples=150)
def test_whatever_stands_anywhere_is_read_back_equal_or_refused(data: st.DataObject) -> None:
    """No mistake in a file ends in anything but a survey error."""
    content = READ.to_dict()
    holder = content
    path = data.draw(st.sampled_from(sorted(places(content), key=str)))
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = data.draw(st.sampled_from(JUNK))
    with suppress(SurveyError):
        survey = survey_from_dict(content)
        assert survey_from_dict(json.loads(survey.to_json())) == survey


def test_a_survey_made_in_python_is_checked_as_well() -> None:
    data = survey_from_text(SMALL).to_dict()
    with pytest.raises(ValueError, match="sensitive"):
        Survey(**(data | {"groups": []}))


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(FileError, match=r"none\.yaml: no such file"):
        read_survey("none.yaml")
