"""The overview of a survey, and the review of a draft before it is published."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from tacit.collect.store.values import SurveyState
from tacit.privacy import report
from tacit.privacy.report_text import wording_of
from tacit.studio.design_text import survey_meta
from tacit.studio.overview import day_figure, tasks
from tacit.studio.review_pages import review
from tacit.survey import Published, example, survey_from_text, widths
from tests.support.studio import survey, tried

FIRST = date(2027, 3, 1)


def per_day(n: int, days: int) -> dict[str, int]:
    return {(FIRST + timedelta(k)).isoformat(): n for k in range(days)}


@pytest.mark.parametrize(
    ("days", "unit", "bars"),
    [(1, "day", 1), (62, "day", 62), (63, "week", 9), (500, "four weeks", 18)],
)
def test_bars_are_days_weeks_or_four_weeks_and_no_answer_is_lost(
    days: int, unit: str, bars: int
) -> None:
    figure = day_figure(per_day(3, days), FIRST)
    assert figure is not None
    assert (figure.unit, len(figure.bars)) == (unit, bars)
    assert sum(bar.n for bar in figure.bars) == 3 * days
    assert figure.numbers[-1][0] >= max(bar.n for bar in figure.bars)


def test_days_without_answers_up_to_today_are_shown() -> None:
    figure = day_figure(per_day(1, 2), FIRST + timedelta(6))
    assert figure is not None
    assert [bar.n for bar in figure.bars] == [1, 1, 0, 0, 0, 0, 0]
    assert day_figure({}, FIRST) is None


@pytest.mark.parametrize(
    ("state", "terms", "first"),
    [
        (SurveyState(True, 0, 0, 0), {}, "Send the address"),
        (SurveyState(True, 0, 0, 0), {"access": "invited"}, "Invite people"),
        (SurveyState(True, 1, 5, 4), {"access": "invited"}, "Remind people"),
        (SurveyState(True, 5, 0, 0), {}, "Wait for answers"),
        (SurveyState(False, 5, 0, 0), {}, "No results"),
    ],
)
def test_the_first_task_is_what_to_do_next(
    state: SurveyState, terms: dict[str, str], first: str
) -> None:
    assert tasks(survey(**terms), state, None)[0].title == first


def test_the_head_of_a_survey_says_who_may_answer_and_when() -> None:
    terms = {"access": "invited", "opens": "2027-03-01", "closes": "2027-03-31", "quota": 800}
    assert survey_meta(survey(**terms)) == [
        "Invited people only",
        "at most 800 answers",
        "1 March to 31 March 2027",
        "English",
        "3 questions, 2 disguised",
    ]


def test_the_review_has_every_warning_and_the_precision_of_the_check() -> None:
    published = Published(survey_from_text(example()))
    shown = review(published)
    checked = report(published.design, wording=wording_of(published.survey))
    assert shown["warnings"] == checked.warnings
    assert tuple(shown["privacy"]) == checked.sentences
    for column, n in enumerate(shown["respondents_planned"]):
        halves = [width.half(width.worst) for width in widths(published.design, n)]
        assert [row[2][column] for row in shown["precision"]] == halves
    assert [screen["caption"] for screen in shown["screens"]] == [
        "Introduction",
        "A disguised question",
        "A direct question",
        "The last page before sending",
    ]


def test_the_list_finds_surveys_and_drafts_by_state_and_words(tmp_path: Path) -> None:
    studio = tried(tmp_path, records=0)
    root = studio.client(studio.account("Root", administrator=True))
    assert "There are no surveys yet" not in root.get("/").text
    root.post("/drafts", data={"title": "A draft about sleep"})
    studio.store.close_survey(studio.other.survey.fingerprint)
    found = {
        query: [
            title for title in ("Work", "Other", "A draft about sleep") if f">{title}</a>" in page
        ]
        for query in ("", "?state=open", "?state=draft", "?state=closed", "?q=SLEEP", "?q=nothing")
        for page in [root.get(f"/{query}").text]
    }
    assert found == {
        "": ["Work", "Other", "A draft about sleep"],
        "?state=open": ["Work"],
        "?state=draft": ["A draft about sleep"],
        "?state=closed": ["Other"],
        "?q=SLEEP": ["A draft about sleep"],
        "?q=nothing": [],
    }
    studio.store.close()
