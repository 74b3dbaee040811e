"""Sections and the logo in the survey file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tacit.errors import SurveyError
from tacit.survey import Published, publish, read_published, read_survey, survey_from_dict
from tacit.survey.logo import MOST_LOGO_BYTES
from tests.support.logos import JPEG, WEBP, data_address, png
from tests.support.page_surveys import OPEN, published, yes_no

FILE = """
title: Logo
logo: {{file: {file}, alt: The institute}}
questions:
  - {{name: a, kind: yes_no, text: "?", sensitive: false}}
"""
TWO = {"questions": [yes_no("a", sensitive=False), yes_no("b", sensitive=False)]}


def written(folder: Path, picture: bytes | None, name: str = "logo.png") -> Path:
    if picture is not None:
        (folder / name).write_bytes(picture)
    path = folder / "survey.yaml"
    path.write_text(FILE.format(file=name), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("picture", "kind"), [(png(), "image/png"), (JPEG, "image/jpeg"), (WEBP, "image/webp")]
)
def test_a_logo_is_embedded_and_the_survey_reads_back_equal(
    tmp_path: Path, picture: bytes, kind: str
) -> None:
    survey = read_survey(written(tmp_path, picture))
    assert survey.to_dict()["logo"] == {
        "alt": "The institute",
        "data": data_address(picture, kind),
    }
    made = publish(survey, tmp_path / "published.json")
    assert read_published(tmp_path / "published.json") == made
    assert survey_from_dict(survey.to_dict()).fingerprint == survey.fingerprint


def test_another_picture_is_another_survey(tmp_path: Path) -> None:
    one = read_survey(written(tmp_path, png()))
    other = read_survey(written(tmp_path, png(121)))
    assert one.fingerprint != other.fingerprint
    assert one.design.fingerprint == other.design.fingerprint


@pytest.mark.parametrize(
    ("picture", "name", "said"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "logo.svg", "SVG can contain script"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "logo.png", "must be a PNG, JPEG or WebP"),
        (b"RIFF1234AVI ", "logo.webp", "must be a PNG, JPEG or WebP"),
        (b"", "logo.png", "logo.png"),
        (png() + b"\0" * MOST_LOGO_BYTES, "logo.png", "at most 100,000 bytes"),
        (None, "absent.png", "absent.png"),
        (None, "../logo.png", "must be the name of a file next to the survey file"),
        (None, "/etc/passwd", "must be the name of a file next to the survey file"),
        (None, "..", ".."),
        (None, ".", "must be the name of a file next to the survey file"),
    ],
)
def test_other_files_are_refused_with_their_line(
    tmp_path: Path, picture: bytes | None, name: str, said: str
) -> None:
    with pytest.raises(SurveyError) as raised:
        read_survey(written(tmp_path, picture, name))
    (problem,) = raised.value.problems
    assert problem.startswith(f"{tmp_path / 'survey.yaml'}:3: logo.file: ")
    assert said in problem


def test_a_name_with_a_control_character_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "survey.json"
    logo = {"file": "a\0.png", "alt": "x"}
    path.write_text(json.dumps({"title": "x", **TWO, "logo": logo}), encoding="utf-8")
    with pytest.raises(SurveyError, match="must be the name of a file"):
        read_survey(path)


def test_a_wrong_logo_does_not_hide_other_mistakes(tmp_path: Path) -> None:
    path = written(tmp_path, None)
    path.write_text(path.read_text().replace("yes_no", "yes_know"), encoding="utf-8")
    with pytest.raises(SurveyError) as raised:
        read_survey(path)
    assert len(raised.value.problems) == 2


@pytest.mark.parametrize(
    ("logo", "said"),
    [
        ({"alt": "x"}, "logo: the key 'file' is missing"),
        ({"data": data_address(png())}, "logo: the key 'alt' is missing"),
        ({"alt": "x", "file": "logo.png"}, "logo: the file is read only with a survey file on"),
        ({"alt": "x", "data": "https://elsewhere.invalid/x.png"}, "must be data:image/png"),
        ({"alt": "x", "data": data_address(b"<svg/>", "image/svg+xml")}, "must be data:image/png"),
        ({"alt": "x", "data": data_address(b"<svg/>")}, "must be data:image/png"),
        ({"alt": "x", "data": data_address(JPEG)}, "must be data:image/png"),
        ({"alt": "x", "data": data_address(png()) + "!"}, "must be data:image/png"),
        ({"alt": "x", "data": 7}, "must be data:image/png"),
        ({"alt": "x", "data": data_address(png() + b"\0" * MOST_LOGO_BYTES)}, "at most 100,000"),
        ({"alt": "", "data": data_address(png())}, "logo.alt: a text must be"),
        ("logo.png", "logo: must be"),
    ],
)
def test_what_is_no_logo_is_refused(logo: Any, said: str) -> None:
    with pytest.raises(SurveyError, match=said.replace("+", r"\+")):
        published(TWO | {"logo": logo})


def test_alt_needs_every_language() -> None:
    texts = {"en": "?", "fr": "?"}
    survey = {
        "title": texts,
        "languages": ["en", "fr"],
        "questions": [yes_no("a", text=texts, sensitive=False)],
        "logo": {"alt": "x", "data": data_address(png())},
    }
    with pytest.raises(SurveyError, match=r"logo\.alt: needs a text in each language"):
        published(survey)


def test_sections_read_back_and_surveys_without_them_have_no_such_key() -> None:
    sections = [{"first": "a", "title": "One"}, {"first": "b", "title": "Two", "text": "More."}]
    survey = published(TWO | {"sections": sections})
    assert Published.from_json(survey.to_json()) == survey
    assert survey.survey.to_dict()["sections"] == sections
    assert not {"sections", "logo"} & OPEN.survey.to_dict().keys()


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ([{"first": "c", "title": "x"}], r"sections\[0\]\.first: unknown question 'c'"),
        (
            [{"first": "a", "title": "x"}, {"first": "a", "title": "y"}],
            r"sections\[1\]\.first: another section begins at 'a' already",
        ),
        ([{"first": "a"}], r"sections\[0\]: the key 'title' is missing"),
        ([], "sections: needs at least 1 item"),
        ([{"first": "a", "title": "x", "texts": "y"}], "did you mean 'text'"),
    ],
)
def test_a_section_begins_at_one_question(sections: Any, said: str) -> None:
    with pytest.raises(SurveyError, match=said):
        published(TWO | {"sections": sections})


def test_texts_of_sections_need_every_language() -> None:
    texts = {"en": "?", "fr": "?"}
    with pytest.raises(SurveyError) as raised:
        published(
            {
                "title": texts,
                "languages": ["en", "fr"],
                "questions": [yes_no("a", text=texts, sensitive=False)],
                "sections": [{"first": "a", "title": "x", "text": {"en": "y"}}],
            }
        )
    assert len(raised.value.problems) == 2
