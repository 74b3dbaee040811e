"""Changed values in the text of a survey file: what is unchanged keeps its words and comments."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.survey import example, survey_from_text
from tacit.survey.yaml_text import comments, parse, patched, to_yaml

EXAMPLE = example()


def data_of(text: str) -> Any:
    return parse(text, "survey").data


def lines_changed(before: str, after: str) -> tuple[set[str], set[str]]:
    old, new = before.splitlines(), after.splitlines()
    return {line for line in old if line not in new}, {line for line in new if line not in old}


def test_without_a_change_the_text_stays() -> None:
    assert patched(EXAMPLE, data_of(EXAMPLE)) == EXAMPLE


def test_one_changed_text_changes_one_line() -> None:
    data = data_of(EXAMPLE)
    data["questions"][6]["text"]["en"] = "Which site: north or south?"
    gone, come = lines_changed(EXAMPLE, patched(EXAMPLE, data))
    assert gone == {"      en: Where do you work?"}
    assert come == {'      en: "Which site: north or south?"'}


def test_a_comment_behind_a_changed_value_stays() -> None:
    data = data_of(EXAMPLE)
    data["questions"][3]["edges"] = [0, 5, 10]
    assert "    edges: [0, 5, 10] # none, 1 to 7" in patched(EXAMPLE, data)


def test_a_key_is_added_after_the_one_before_it() -> None:
    data = data_of(EXAMPLE)
    made = {}
    for key, value in data.items():
        made[key] = value
        if key == "introduction":
            made["consent"] = {"en": "I agree.", "de": "Ja."}
    after = patched(EXAMPLE, made)
    assert set(comments(EXAMPLE)) == set(comments(after))
    keys = [line.split(":")[0] for line in after.splitlines() if line[:1].isalpha()]
    assert keys[keys.index("consent") - 1] == "introduction"
    assert data_of(after) == made


def test_a_question_that_is_removed_takes_only_its_lines_with_it() -> None:
    data = data_of(EXAMPLE)
    del data["questions"][1]
    after = patched(EXAMPLE, data)
    assert "harassed at work" not in after
    assert len(EXAMPLE.splitlines()) - len(after.splitlines()) == 5
    assert data_of(after) == data


def test_questions_that_change_places_keep_their_comments() -> None:
    data = data_of(EXAMPLE)
    data["questions"][2:4] = data["questions"][3], data["questions"][2]
    after = patched(EXAMPLE, data)
    assert sorted(after.splitlines()) == sorted(EXAMPLE.splitlines())
    assert data_of(after) == data


def test_a_new_question_is_written_as_people_write_it() -> None:
    data = data_of(EXAMPLE)
    data["questions"].append({"name": "late", "kind": "yes_no", "text": {"en": "Were you late?"}})
    after = patched(EXAMPLE, data)
    _, come = lines_changed(EXAMPLE, after)
    assert '    text: {en: "Were you late?"}' in come
    assert data_of(after) == data


def test_json_stays_json() -> None:
    text = survey_from_text(EXAMPLE).to_json()
    data = data_of(text)
    data["quota"] = 7
    assert data_of(patched(text, data)) == data
    assert patched(text, data).startswith("{")


@pytest.mark.parametrize(
    "text",
    [
        "title: a",
        "title: a # c",
        "title:\nquota: 5",
        "{}",
        "title: {en: a, de: b}\nlabels: {x: {en: y}}",
        "- title",
        "title: >-\n  folded\n  text\n# end\nquota: 5\n",
        "title: |\n  literal\n\n\nquota: 5\n",
        "? title\n: a\n",
        '"title": a\n',
        "questions:\n- name: a\n  text: b\n- name: c\n",
        "questions:\n- - a\n  - b\n",
    ],
)
@pytest.mark.parametrize(
    "change",
    [
        {"title": "New: title"},
        {"title": {"en": "x" * 90, "de": "no"}, "quota": 1},
        {"questions": [{"name": "c", "text": "yes"}, {"name": "new"}]},
        {"quota": 5},
    ],
)
def test_whatever_the_text_is_the_result_has_the_new_values(
    text: str, change: dict[str, Any]
) -> None:
    assert data_of(patched(text, change)) == change


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.floats(-1e6, 1e6)
    | st.text(
        st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]), max_size=30
    ).filter(lambda text: "\u2028" not in text and "\u2029" not in text and "\ufeff" not in text),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), inner, max_size=4)
    ),
    max_leaves=12,
)
_DOCUMENTS = st.dictionaries(
    st.sampled_from(["title", "quota", "questions", "groups", "labels"]), _VALUES, min_size=1
)


@pytest.mark.slow
@given(_DOCUMENTS, _DOCUMENTS)
def test_any_values_come_back_from_any_text(before: dict[str, Any], after: dict[str, Any]) -> None:
    text = to_yaml(before)
    assert data_of(text) == before
    assert data_of(patched(text, copy.deepcopy(after))) == after


@pytest.mark.slow
@settings(max_examples=20)
@given(st.data())
def test_a_change_in_one_place_keeps_every_comment(data: st.DataObject) -> None:
    content = data_of(EXAMPLE)
    question = data.draw(st.sampled_from(content["questions"]))
    question["text"]["en"] = data.draw(st.text("abc: #'\"{}[]", min_size=1, max_size=20))
    assert comments(patched(EXAMPLE, content)) == comments(EXAMPLE)
