"""Which submissions to a survey are valid."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tacit.collect.http import Refused
from tacit.collect.store import packed
from tacit.collect.submission import SubmissionValidator
from tacit.errors import TacitError
from tacit.survey import Published, survey_from_dict
from tests.support.asking import compact, submission
from tests.support.optional_surveys import ANALYSED
from tests.support.published import published

SURVEY = published()
RIGHT = submission(SURVEY)
RECORD = RIGHT["record"]


def said(survey: Published, body: Any) -> tuple[str, str]:
    """The problem's name and detail."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(Refused) as refused:
        SubmissionValidator(survey).validate(raw)
    return refused.value.problem.name, json.loads(refused.value.response.body).get("detail", "")


def test_a_right_body_becomes_the_response_that_the_store_takes() -> None:
    body = submission(SURVEY, record={"smokes": "yes", "number": "n999"})
    found = SubmissionValidator(SURVEY).validate(compact(body))
    assert found.survey == SURVEY.survey.fingerprint
    assert found.key == bytes.fromhex(body["key"])
    assert found.codes == packed([1, 999], SURVEY.design.reported)
    assert found.token is None


def rewritten(body: dict[str, Any], length: int, **form: Any) -> bytes:
    """The same submission as another program writes it, of the same length."""
    bare = json.dumps(body | {"padding": ""}, **form).encode()
    filled = body | {"padding": " " * (length - len(bare))}
    return json.dumps(filled, **form).encode()


def test_the_order_of_keys_and_the_way_to_write_json_do_not_matter() -> None:
    whole = compact(RIGHT)
    turned = dict(reversed(RIGHT.items())) | {"record": dict(reversed(RECORD.items()))}
    for body in (
        rewritten(turned, len(whole)),
        b"\n\t " + compact(RIGHT | {"padding": RIGHT["padding"][5:]}) + b"\r\n",
    ):
        assert len(body) == len(whole)
        assert SubmissionValidator(SURVEY).validate(body) == SubmissionValidator(SURVEY).validate(
            whole
        )


LABELS = ["nein", "häufig", "🎲 👩‍👩‍👧", 'say "no" \\ yes', "x" * 100, "東京"]


def awkward(access: str) -> Published:
    """Labels that take from one to twelve bytes a letter, depending on who writes them."""
    question = {"name": "größe", "kind": "choice", "text": "?", "categories": LABELS}
    group = {"questions": ["größe"], "family": "uniform_perturbation", "q": "1/2"}
    terms = {"title": "Awkward", "access": access}
    return Published(survey_from_dict({**terms, "questions": [question], "groups": [group]}))


@pytest.mark.parametrize("access", ["open", "invited"])
def test_every_record_of_a_survey_has_the_same_length_whoever_writes_it(access: str) -> None:
    survey = awkward(access)
    token = {"token": "x" * 22} if access == "invited" else {}
    bodies = [submission(survey, record={"größe": label}, **token) for label in LABELS]
    length = len(compact(bodies[0]))
    for code, body in enumerate(bodies):
        forms = ({}, {"ensure_ascii": False}, {"separators": (",", ":")})
        for sent in (compact(body), *(rewritten(body, length, **form) for form in forms)):
            assert len(sent) == length
            assert SubmissionValidator(survey).validate(sent).codes == bytes([code])


@pytest.mark.parametrize("change", [-1, 1])
def test_a_length_that_depends_on_the_record_is_refused(change: int) -> None:
    """A program that forgets the padding would reveal every answer, and nobody would notice."""
    length = len(compact(RIGHT))
    body = RIGHT | {"padding": " " * (len(RIGHT["padding"]) + change)}
    name, detail = said(SURVEY, compact(body))
    assert name == "malformed"
    assert f"has {length + change} bytes, it must have {length}" in detail
    assert said(SURVEY, {k: v for k, v in RIGHT.items() if k != "padding"})[0] == "malformed"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"1e999",
        b"\xff\xfe{}",
        json.dumps(RIGHT).encode("utf-16"),
        b"\xef\xbb\xbf" + json.dumps(RIGHT).encode(),
        b"[" * 100_000,
        b'{"a":' * 5_000,
        b'{"key": NaN}',
        b"9" * 5_000,
        json.dumps(RIGHT).encode() + b"{}",
        json.dumps(RIGHT)[:-1].encode() + b', "key": "0"}',
        json.dumps(RIGHT).replace('"smokes"', '"smokes": "no", "smokes"').encode(),
        {},
        {k: v for k, v in RIGHT.items() if k != "key"},
        RIGHT | {"more": 1},
        RIGHT | {"token": "abc"},
        *(RIGHT | {"key": key} for key in (None, 1, "", "0" * 31, "0" * 33, "g" * 32, "A" * 32)),
        *(
            RIGHT | {"key": key}
            for key in ("00 " * 10 + "00", "٠" * 32, ["0"] * 32, "0" * 32 + "\n")
        ),
        *(RIGHT | {"padding": padding} for padding in (None, 0, "x", "\n", [" "])),
        *(RIGHT | {"record": record} for record in (None, [], "no", 7, [["smokes", "no"]])),
    ],
)
def test_what_is_not_a_submission_is_malformed(body: Any) -> None:
    name, detail = said(SURVEY, body)
    assert name == "malformed"
    assert detail


@pytest.mark.parametrize("fingerprint", ["", "0" * 64, None, 1, ["x"], SURVEY.fingerprint[:-1]])
def test_a_record_of_another_design_is_refused(fingerprint: Any) -> None:
    assert said(SURVEY, RIGHT | {"fingerprint": fingerprint})[0] == "wrong-fingerprint"


@pytest.mark.parametrize(
    "value", ["No", "maybe", "", " no", None, True, 0, 1.0, ["no"], {"no": 1}, "\ud800", "n" * 99]
)
def test_only_a_category_of_the_design_is_taken(value: Any) -> None:
    name, detail = said(SURVEY, RIGHT | {"record": RECORD | {"smokes": value}})
    assert (name, detail) == (
        "not-allowed-value",
        "attribute 'smokes' must be one of its categories",
    )


def test_a_missing_and_an_additional_attribute_are_named() -> None:
    assert said(SURVEY, RIGHT | {"record": {"smokes": "no"}})[1] == "attribute 'number' is missing"
    more = RECORD | {"age": "7"}
    assert said(SURVEY, RIGHT | {"record": more})[1] == "the record has other attributes"


def test_an_invited_survey_needs_a_token() -> None:
    survey = published(access="invited")
    right = submission(survey, token="abc-_9")
    assert SubmissionValidator(survey).validate(compact(right)).token == "abc-_9"
    assert said(survey, submission(survey))[0] == "malformed"
    assert said(survey, right | {"token": 7})[0] == "malformed"
    for odd in ("", "a b", "x" * 500, "ä", "\ud800", "abc\n"):
        assert said(survey, right | {"token": odd})[0] == "link-used"


def test_no_answer_repeats_what_was_sent() -> None:
    marked = "MARK-7731"
    for body in (
        RIGHT | {marked: 1},
        RIGHT | {"key": marked},
        RIGHT | {"fingerprint": marked},
        RIGHT | {"record": RECORD | {"smokes": marked}},
        RIGHT | {"record": RECORD | {marked: "no"}},
    ):
        with pytest.raises(Refused) as refused:
            SubmissionValidator(SURVEY).validate(json.dumps(body).encode())
        assert marked.encode() not in refused.value.response.body


def hostile(category: str) -> Published:
    question = {
        "name": category,
        "kind": "choice",
        "text": category,
        "sensitive": False,
        "categories": [category, "other"],
    }
    return Published(survey_from_dict({"title": category, "questions": [question]}))


@pytest.mark.parametrize(
    "text",
    ["<script>alert(1)</script>", "مرحبا", "👩‍👩‍👧 🙂", '"; DROP TABLE responses; --', "a\\u0000"],
)
def test_labels_of_any_letters_come_through_as_they_are(text: str) -> None:
    survey = hostile(text)
    assert SubmissionValidator(survey).validate(compact(submission(survey))).codes == b"\0"


def test_the_largest_record_fits_and_little_more_does() -> None:
    names = [f"q{i}-{'ü' * 60}" for i in range(200)]
    questions = [{"name": n, "kind": "yes_no", "text": n, "sensitive": False} for n in names]
    survey = Published(survey_from_dict({"title": "Long", "questions": questions}))
    body = compact(submission(survey))
    assert len(body) < SubmissionValidator(survey).limit < 2 * len(body)
    assert len(SubmissionValidator(survey).validate(body).codes) == 200


def test_a_control_character_is_refused_with_its_place() -> None:
    with pytest.raises(TacitError, match=r"survey:1: title"):
        hostile("a\x00b")


def test_null_is_a_missing_answer_to_an_optional_question() -> None:
    right = submission(ANALYSED)["record"]
    body = submission(ANALYSED, record=right | {"smokes": None, "place": None})
    found = SubmissionValidator(ANALYSED).validate(compact(body))
    assert found.codes == packed([2, 0, 0, 0, 2, 0], ANALYSED.stored)
    both = submission(ANALYSED, record=right | {"worries.pay": None, "worries.job": None})
    found = SubmissionValidator(ANALYSED).validate(compact(both))
    assert found.codes == packed([0, 0, 2, 2, 0, 0], ANALYSED.stored)


@pytest.mark.parametrize(
    ("changed", "detail"),
    [
        ({"drug": None}, "attribute 'drug' must be one of its categories"),
        ({"worries.pay": None}, "attributes worries.pay, worries.job are missing together"),
        ({"smokes": "null"}, "attribute 'smokes' must be one of its categories"),
        ({"smokes": "(no answer)"}, "attribute 'smokes' must be one of its categories"),
        ({"smokes": False}, "attribute 'smokes' must be one of its categories"),
        ({"smokes": []}, "attribute 'smokes' must be one of its categories"),
    ],
)
def test_a_missing_answer_is_refused_where_it_is_not_allowed(changed: Any, detail: str) -> None:
    body = submission(ANALYSED, record=submission(ANALYSED)["record"] | changed)
    assert said(ANALYSED, compact(body)) == ("not-allowed-value", detail)


def test_the_record_of_a_survey_without_optional_questions_has_no_null() -> None:
    body = submission(SURVEY, record=RECORD | {"smokes": None})
    assert said(SURVEY, compact(body))[0] == "not-allowed-value"


def test_a_missing_answer_has_the_length_of_an_answer() -> None:
    """Labels of one letter are shorter than null."""
    question = {"name": "a", "kind": "choice", "text": "?", "categories": ["x", "y"]}
    group = {"questions": ["a"], "family": "related", "theta": "3/4"}
    survey = Published(
        survey_from_dict(
            {"title": "Short", "questions": [question | {"optional": True}], "groups": [group]}
        )
    )
    lengths = {len(compact(submission(survey, record={"a": sent}))) for sent in ("x", None)}
    assert len(lengths) == 1
    for sent in ("x", None):
        SubmissionValidator(survey).validate(compact(submission(survey, record={"a": sent})))
