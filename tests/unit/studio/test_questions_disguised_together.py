"""Results of questions that one matrix disguises together tell how their reports go together."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import disguise
from tacit.records import count_reported
from tacit.studio.disclosure import hidden_table
from tacit.studio.release import Release
from tacit.studio.results import hidden_questions, question_results
from tacit.survey import Published, survey_from_text

SURVEY = Published(
    survey_from_text(
        """
title: Two questions in one matrix
questions:
  - {name: job, kind: choice, text: "Your job?", categories: [staff, boss], sensitive: false}
  - {name: stole, kind: yes_no, text: "Did you steal?"}
  - {name: lied, kind: yes_no, text: "Did you lie?"}
groups:
  - questions: [stole, lied]
    family: matrix
    matrix:
      - [7/10, 1/10, 1/10, 1/10]
      - [1/10, 6/10, 1/10, 2/10]
      - [1/10, 2/10, 6/10, 1/10]
      - [1/10, 1/10, 2/10, 6/10]
"""
    )
)


def release(thieves: float, n: int = 6000) -> Release:
    rng = np.random.default_rng(5)
    shares = np.array([0.3, thieves, 0.4])
    true = (rng.random((n, 3)) < shares).astype(np.uint8)
    return Release(SURVEY, count_reported(disguise(true, SURVEY.design, rng), SURVEY.design))


def test_single_results_would_tell_the_joint_reports() -> None:
    """Why the rule is needed: both questions' shares, all sizes alike, have full rank."""
    names = ["stole", "lied"]
    inverse = np.linalg.inv(SURVEY.design.channel(names).matrix).reshape(2, 2, 4)
    shown = np.concatenate([inverse.sum(axis=1), inverse.sum(axis=0)])
    plain = np.eye(4).reshape(2, 2, 4)
    margins = np.concatenate([plain.sum(axis=1), plain.sum(axis=0)])
    assert np.linalg.matrix_rank(np.concatenate([shown, margins])) == 4
    assert np.linalg.matrix_rank(margins) == 3


def test_they_are_not_shown_while_the_survey_is_open() -> None:
    found = Release(SURVEY, release(0.3).counts, open=True)
    assert [result.name for result in question_results(found)] == ["job"]
    assert all("once the survey is closed" in why for _, why in hidden_questions(found))


@pytest.mark.parametrize(("thieves", "shown"), [(0.3, True), (0.0, False)])
def test_they_are_shown_after_closing_if_their_joint_table_is(thieves: float, shown: bool) -> None:
    """A table hides the cells of answers that fewer than 20 people gave."""
    found = release(thieves, 6000 if shown else 100)
    results = [result.name for result in question_results(found)]
    assert results == (["job", "stole", "lied"] if shown else ["job"])
    for names in (["stole", "lied"], ["job", "stole"], ["lied", "job"]):
        assert bool(hidden_table(found, names).any()) is not shown
