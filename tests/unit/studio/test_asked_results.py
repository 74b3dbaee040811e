"""The studio shows a conditional question for everybody, and for those to whom it applies."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import disguise
from tacit.reconstruction import inversion
from tacit.records import count_reported
from tacit.studio.design_text import design_sentences
from tacit.studio.group_tables import group_table
from tacit.studio.record_files import codebook, labelled_variables
from tacit.studio.release import Release
from tacit.studio.report import survey_report
from tacit.studio.results import hidden_questions, question_results
from tacit.survey import Published, survey_from_text
from tests.support.conditional_surveys import DISGUISED

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
    """Neither for them, nor for everybody: the counts of all answers would give theirs."""
    few = release(0.0, 300)
    assert [result.name for result in question_results(few)] == ["smokes"]
    ((text, why),) = hidden_questions(few)
    assert text == "How many packs?"
    assert "fewer than 20 people" in why
    report = survey_report(few)
    assert why in report
    assert "One &lt;b&gt;</th><td" not in report


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


def test_a_report_shows_one_number_for_one_share_of_a_chain() -> None:
    """Who is not asked for packs does not smoke; who is asked for the brand smokes much."""
    rng = np.random.default_rng(9)
    smokes = rng.random(900) < 0.7
    packs = np.where(smokes, rng.random(900) < 0.4, 2)
    brand = np.where(packs == 1, rng.integers(0, 3, 900), 3)
    home = rng.random(900) < 0.2
    true = np.column_stack([smokes, packs, brand, home]).astype(np.uint8)
    reported = disguise(true, DISGUISED.design, rng)
    found = Release(DISGUISED, count_reported(reported, DISGUISED.design))
    results = {result.name: result.categories for result in question_results(found)}
    not_asked = results["packs"][2]
    no = results["smokes"][DISGUISED.design.schema["smokes"].code("no")]
    for end in ("share", "low", "high"):
        assert getattr(no, end) == pytest.approx(getattr(not_asked, end), abs=1e-9)
    many = results["packs"][1].share
    assert results["packs (asked)"][1].share * (1 - not_asked.share) == pytest.approx(many)
    assert 1 - results["brand"][3].share == pytest.approx(many)
    by_smoking = [cell.share for cell in group_table(found, "packs", ["smokes"]).cells]
    assert results["packs (asked)"][1].share in [pytest.approx(share) for share in by_smoking]
    assert "smokes, packs and brand were estimated together" in survey_report(found)


def test_a_chain_that_is_too_large_to_be_estimated_together_is_said_to_be() -> None:
    questions = "\n".join(
        f'  - {{name: q{i}, kind: yes_no, text: "Did you?", asked_if: {{smokes: yes}}}}'
        for i in range(7)
    )
    text = f"""
title: Many
questions:
  - {{name: smokes, kind: yes_no, text: "Do you smoke?"}}
{questions}
groups:
  - questions: [smokes, q0, q1, q2, q3, q4, q5, q6]
    family: related
    theta: 4/5
    throw: each
"""
    design = Published(survey_from_text(text)).design
    assert "q6 have too many combinations of answers" in design_sentences(design)[-1]


def test_what_is_shown_of_a_question_depends_on_no_report_of_a_hidden_one() -> None:
    """While a survey is open, its follow-up is hidden: it must not show in the first question."""
    closed = release(0.5)
    still_open = Release(SURVEY, closed.counts, open=True)
    (smokes,) = question_results(still_open)
    alone = closed.reconstruction.table(["smokes"], inversion)
    assert [one.share for one in smokes.categories] == alone.value.tolist()
    together = question_results(closed)[0]
    assert [one.share for one in together.categories] != alone.value.tolist()
