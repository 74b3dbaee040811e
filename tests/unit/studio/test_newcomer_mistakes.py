"""Obvious mistakes in the studio: each is answered by a page that says what to do next."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.support.studio import PASSWORD, Tried, tried

EARLY = ("report.html", "estimates.csv", "estimates.json", "codebook.md", "records.csv")


@pytest.fixture
def studio(tmp_path: Path) -> Tried:
    return tried(tmp_path, records=50)


def is_page(answer: httpx.Response, status: int, *texts: str) -> None:
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert [text for text in texts if text not in answer.text] == []


def test_results_that_are_not_there_yet(studio: Tried) -> None:
    page = studio.client(studio.account("Ada", administrator=True))
    survey = f"/surveys/{studio.mine.slug}"
    is_page(page.get(survey), 200, "50 records", "Results are shown from 132 records on")
    is_page(page.get(f"{survey}/results"), 200, "Results are shown from 132 records on")
    is_page(page.get(f"{survey}/compare"), 200, "no results yet: 50 records so far, 132 needed")
    back = f'href="{survey}">Back to the survey</a>'
    for name in EARLY[:3]:
        is_page(page.get(f"{survey}/{name}"), 400, "Results are shown from 132 records on", back)


@pytest.mark.parametrize("path", ["/nowhere", "/surveys/0/nothing", "/drafts/0/publish"])
def test_an_unknown_address_is_a_page_for_people_and_a_problem_for_programs(
    studio: Tried, path: str
) -> None:
    page = studio.client(studio.account("Ada", administrator=True))
    is_page(page.get(path), 404, "There is no such page", 'href="/">Surveys</a>')
    program = page.get(path, headers={"accept": "application/json"})
    assert program.headers["content-type"] == "application/problem+json"


def test_a_survey_with_problems_is_not_published_and_they_are_listed(studio: Tried) -> None:
    page = studio.client(studio.account("Ada", administrator=True))
    draft = page.post("/drafts", data={"title": "Sleep"}).headers["location"]
    shown = page.get(draft).text
    assert "Publish for good" not in shown
    assert "Publish for good" not in page.get(f"{draft}/publish").text
    ticked = {"confirm": "yes"}
    is_page(
        page.post(f"{draft}/publish", data=ticked),
        400,
        "Before it can be published:",
        "It needs a question.",
    )
    added = page.post(f"{draft}/questions", data={"kind": "yes_no", "version": "1"})
    form = page.get(added.headers["location"]).text
    assert "has problems" not in form  # nothing was entered yet
    is_page(page.get(draft), 200, "Question 1, text (line")


def test_what_was_refused_can_be_corrected(studio: Tried) -> None:
    page = studio.client(studio.account("Ada", administrator=True))
    close = f"/surveys/{studio.mine.slug}/close"
    is_page(page.post(close, data={"confirm": "no"}), 400, "Type the title", "Nothing was changed.")
    is_page(page.post("/drafts", data={"title": " "}), 400, "Give the new survey a title.")


def test_a_form_of_an_ended_session_leads_to_the_page_to_sign_in(studio: Tried) -> None:
    answer = studio.client().post("/drafts", data={"title": "Sleep"})
    is_page(answer, 401, 'href="/sign-in">Sign in</a>')


def test_a_wrong_password_and_a_used_link(studio: Tried) -> None:
    studio.account("Ada")
    page = studio.client()
    wrong = {"name": "Ada", "password": "not my pass phrase"}
    is_page(page.post("/sign-in", data=wrong), 403, "Name or password is wrong.")
    used = page.get("/set-up/used")
    is_page(used, 404, "used already or has expired", '<a href="/sign-in">sign in</a>')
    form = {"name": "Eve", "password": PASSWORD, "again": PASSWORD}
    is_page(page.post("/set-up/used", data=form), 404, "used already or has expired")
