"""Published surveys: frozen, complete, never overwritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit import Design
from tacit.errors import FileError
from tacit.survey import Published, example, publish, read_published, survey_from_text

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
    with pytest.raises(FileError, match="another file is there"):
        publish(SURVEY, tmp_path / "notes.txt")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Health at work", "Wealth at work", "survey_fingerprint is not that of the content"),
        ('"theta": "5/6"', '"theta": "2/3"', "does not follow from the survey"),
        ('"fingerprint": "', '"fingerprint": "0', "fingerprint is not that of the content"),
        ('"version": 1', '"version": 2', "upgrade tacit"),
        ('"version": 1', '"version": "1"', "must be a positive integer"),
        ("published-survey", "survey", "not a published survey"),
        ('"fingerprint"', '"finger"', "has the keys"),
        ("{", "", "not a published survey"),
    ],
)
def test_a_changed_file_is_refused(old: str, new: str, said: str) -> None:
    text = Published(SURVEY).to_json()
    assert old in text
    with pytest.raises(FileError, match=said):
        Published.from_json(text.replace(old, new, 1))
