"""Published surveys: frozen, complete, never overwritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit import Design
from tacit.core.bounds import DesignReports
from tacit.errors import FileError
from tacit.survey import Published, example, publish, read_published, survey_from_text
from tacit.survey.disclosure_bound import understates

SURVEY = survey_from_text(example())


def test_a_published_survey_reads_back_equal_with_its_design(tmp_path: Path) -> None:
    made = publish(SURVEY, tmp_path / "p.json")
    assert read_published(tmp_path / "p.json") == made
    content = json.loads((tmp_path / "p.json").read_text())
    assert Design.from_dict(content["design"]) == SURVEY.design
    assert content["fingerprint"] == SURVEY.design.fingerprint
    assert Published.from_json(made.to_json()).to_json() == made.to_json()


def test_the_wording_has_a_fingerprint_apart_from_the_design() -> None:
    other = survey_from_text(example().replace("Health at work", "Well-being"))
    assert other.design.fingerprint == SURVEY.design.fingerprint
    assert other.fingerprint != SURVEY.fingerprint


def test_what_is_published_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "p.json"
    publish(SURVEY, out)
    before = out.read_bytes()
    publish(SURVEY, out)
    other = survey_from_text(example().replace("Health at work", "Well-being"))
    with pytest.raises(FileError, match="never overwritten"):
        publish(other, out)
    assert out.read_bytes() == before
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileError, match="another file exists"):
        publish(SURVEY, tmp_path / "notes.txt")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Health at work", "Wealth at work", "survey_fingerprint does not match the content"),
        ('"theta": "5/6"', '"theta": "2/3"', "does not follow from the survey"),
        ('"fingerprint": "', '"fingerprint": "0', "fingerprint does not match the content"),
        ('"version": 2', '"version": 3', "upgrade tacit"),
        ('"version": 2', '"version": "2"', "must be a positive integer"),
        ('"guess": 0.9', '"guess": 0.8', "disclosure_fingerprint does not match the content"),
        ("published-survey", "survey", "not a published survey"),
        ('"fingerprint"', '"finger"', "unknown key 'finger'"),
        ("{", "", "not a published survey"),
    ],
)
def test_a_changed_file_is_refused(old: str, new: str, said: str) -> None:
    text = Published(SURVEY).to_json()
    assert old in text
    with pytest.raises(FileError, match=said):
        Published.from_json(text.replace(old, new, 1))


def test_a_file_of_version_1_is_read_and_gets_its_bound() -> None:
    content = Published(SURVEY).to_dict()
    del content["disclosure_bound"], content["disclosure_fingerprint"]
    found = Published.from_json(json.dumps(content | {"version": 1}))
    assert found == Published(SURVEY)
    assert found.disclosure_bound == Published(SURVEY).disclosure_bound


def test_what_is_published_does_not_change_with_what_was_read_from_it() -> None:
    made = Published(SURVEY)
    before = made.to_json()
    made.to_dict()["disclosure_bound"]["attributes"].clear()
    assert made.to_json() == before


def test_a_bound_that_another_version_computed_stays_as_it_was_published() -> None:
    other = Published(SURVEY).disclosure_bound | {"prior": "of another version"}
    text = Published(SURVEY, other).to_json()
    found = Published.from_json(text)
    assert found.disclosure_bound == other
    assert found.to_json() == text
    assert found == Published(SURVEY)


def test_a_bound_that_flatters_is_found() -> None:
    own = Published(SURVEY).to_dict()["disclosure_bound"]
    assert not understates(own, SURVEY.design)
    own["attributes"]["painkillers"]["disguised"]["guess"] -= 0.001
    assert understates(own, SURVEY.design)
    assert understates({}, SURVEY.design)


def test_the_bound_counts_every_disguised_answer_and_says_what_undisguised_ones_undo() -> None:
    bound = Published(SURVEY).disclosure_bound
    assert bound["prior"] == "uniform"
    assert list(bound["attributes"]) == list(SURVEY.design.schema.names)
    painkillers = bound["attributes"]["painkillers"]
    seen = [SURVEY.design.group_of("painkillers")]
    alone = DesignReports(SURVEY.design, seen).bound("painkillers").accuracy
    assert alone < painkillers["disguised"]["guess"] < 1
    assert painkillers["all"] == {"guess": 1.0, "certainty": 1.0}
    assert bound["attributes"]["site"]["disguised"] is None
