"""The studio shows a conditional question for everybody, and for those to whom it applies."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import disguise
from tacit.counting import count_reported
from tacit.studio.codebook import codebook
from tacit.studio.labelled_records import labelled_variables
from tacit.studio.question_results import question_results
from tacit.studio.release import Release
from tacit.studio.survey_report import survey_report
from tacit.survey import Published, survey_from_text

SURVEY = Published(
    survey_from_text(
        """
title: Smoking
questions:
  - {name: smokes, kind: yes_no, text: "Do you smoke?"}
  - name: packs
    kind: ordered
    text: How many packs?
    categories: [few, many]
    labels: {few: One <b>, many: More}
    asked_if: {smokes: yes}
groups:
  - {questions: [smokes, packs], family: related, theta: 4/5, throw: each}
"""
    )
)


def release(smokers: float, n: int = 2000) -> Release:
    rng = np.random.default_rng(8)
    smokes = rng.random(n) < smokers
    packs = np.where(smokes, rng.random(n) < 0.25, 2)
    true = np.column_stack([smokes, packs]).astype(np.uint8)
    return Release(SURVEY, count_reported(disguise(true, SURVEY.design, rng), SURVEY.design))


def test_a_conditional_question_is_also_shown_for_those_to_whom_it_applies() -> None:
    found = release(0.5)
    smokes, packs, asked = question_results(found)
    assert [result.name for result in (smokes, packs, asked)] == [
        "smokes",
        "packs",
        "packs (asked)",
    ]
    assert [one.label for one in packs.categories] == ["One <b>", "More", "does not apply"]
    assert [one.label for one in asked.categories] == ["One <b>", "More"]
    assert "Of those to whom it applies (smokes is yes)" in asked.text
    own = found.reconstruction.asked("packs")
    assert [one.share for one in asked.categories] == own.value.tolist()
    assert asked.categories[1].low == pytest.approx(float(own.interval()[0][1]))
    assert sum(one.share for one in asked.categories) == pytest.approx(1)


def test_too_few_people_to_whom_it_applies_are_not_shown() -> None:
    assert [result.name for result in question_results(release(0.0, 300))] == ["smokes", "packs"]


def test_the_report_has_both() -> None:
    text = survey_report(release(0.5))
    assert "Of those to whom it applies (smokes is yes)" in text
    assert "One <b>" not in text


def test_report_and_codebook_say_who_was_asked() -> None:
    told = "packs was asked if smokes is yes."
    assert told in survey_report(release(0.5))
    assert "Theil, H. (1971)" in survey_report(release(0.5))
    assert told in codebook(SURVEY, 2000)


def test_does_not_apply_is_no_degree_of_an_ordered_question() -> None:
    assert [one.ordered for one in labelled_variables(SURVEY)] == [False, False]
