"""Texts as people write them in YAML: taken, or told how to write them."""

from __future__ import annotations

import pytest
import yaml

from tacit.errors import SurveyError
from tacit.survey import survey_from_text, yaml_text

SMALL = """\
title: {{en: Smoking, fr: Tabac}}
languages: [en, fr]
labels: {{"no": {{en: "No", fr: Non}}, "yes": {{en: "Yes", fr: Oui}}}}
questions:
  - name: smokes
    kind: yes_no
    {line}
groups:
  - {{questions: [smokes], family: related, theta: 5/6}}
"""
QUESTIONS = "text: {en: Do you smoke?, fr: Fumez-vous ?}"


def problems(line: str) -> tuple[str, ...]:
    with pytest.raises(SurveyError) as caught:
        survey_from_text(SMALL.format(line=line), "f.yaml")
    return caught.value.problems


def test_question_marks_between_braces_are_taken_as_people_write_them() -> None:
    survey = survey_from_text(SMALL.format(line=QUESTIONS))
    assert survey.questions[0].text == {"en": "Do you smoke?", "fr": "Fumez-vous ?"}


def test_without_libyaml_the_error_shows_the_line_in_quotes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(yaml_text, "LOADER", yaml.SafeLoader)
    (told,) = problems(QUESTIONS)
    assert told.startswith("f.yaml:7: not YAML: ")
    corrected = 'text: {en: "Do you smoke?", fr: "Fumez-vous ?"}'
    assert told.endswith(f"; put texts in quotes: {corrected}")
    assert survey_from_text(SMALL.format(line=corrected)).languages == ("en", "fr")


@pytest.mark.parametrize(
    ("line", "corrected"),
    [
        ("text: Smoking: do you?", 'text: "Smoking: do you?"'),
        ("text: {en: Now: do you?, fr: Et vous ?}", 'text: {en: "Now: do you?", fr: "Et vous ?"}'),
        ("text: {en: Do you?, fr: Et vous ?", 'text: {en: "Do you?", fr: "Et vous ?"}'),
        ("text: @all do you smoke?", 'text: "@all do you smoke?"'),
        ("text: 'Yes' or 'no'?", "text: \"'Yes' or 'no'?\""),
    ],
)
def test_a_text_that_needs_quotes_is_shown_in_them(line: str, corrected: str) -> None:
    (told,) = problems(line)
    assert "not YAML" in told
    if "fr: Et vous ?" not in line or line.endswith("}"):
        assert told.startswith("f.yaml:7: ")
        assert told.endswith(f"; put texts in quotes: {corrected}")


def test_a_comma_in_a_text_between_braces_must_be_quoted() -> None:
    (told,) = problems("text: {en: Yes, no or maybe?, fr: Oui ?}")
    assert told == (
        "f.yaml:7: questions[0].text: 'no or maybe?' is not a language; put a text with a comma "
        "in quotes"
    )
