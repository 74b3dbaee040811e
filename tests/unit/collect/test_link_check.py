"""Whoever holds a link can test it: the answer says that and nothing else."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import httpx
import pytest

from tacit.collect.app import Application, Service
from tacit.collect.limits import AddressRateLimit, RateLimit
from tacit.collect.store import SurveyState
from tests.support.asking import ask, place
from tests.support.published import published

SURVEY = published(access="invited")
LINK = place(SURVEY, "link")
USABLE = "a" * 22


class Unused(Service):
    """Links of which one is unused, and what it was asked."""

    def __init__(
        self, known: SurveyState | None = None, usable: bool | None = True, **parts: Any
    ) -> None:
        super().__init__(**{"surveys": [SURVEY]} | parts)
        self.known, self.usable, self.asked = known, usable, list[tuple[str, str]]()

    async def submit(self, response: Any) -> Any:
        raise AssertionError("nothing is stored")

    async def state(self, survey: str) -> SurveyState | None:
        return self.known

    async def link_usable(self, survey: str, token: str) -> bool | None:
        self.asked.append((survey, token))
        return self.usable and token == USABLE


def app(**parts: Any) -> Application:
    return Application(Unused(**parts))


def checked(token: Any, made: Any = None) -> httpx.Response:
    return ask(made or app(), "POST", LINK, json={"token": token})


def test_a_link_that_was_used_cannot_be_told_from_one_that_never_was() -> None:
    right, unknown = checked(USABLE), checked("b" * 22)
    assert (right.status_code, right.json()) == (200, {"usable": True})
    assert (unknown.status_code, unknown.json()) == (200, {"usable": False})
    for token in ("", "b", "b" * 129, "<script>", "\x00", "é", "b" * 21 + "\n"):
        other = checked(token)
        assert (other.content, other.headers) == (unknown.content, unknown.headers)


def test_the_answer_does_not_show_in_its_length() -> None:
    right, wrong = checked(USABLE), checked("b" * 22)
    assert len(right.content) == len(wrong.content)
    assert {*right.headers} == {*wrong.headers}
    assert right.headers["cache-control"] == "no-store"


def test_a_survey_that_takes_no_answers_says_so_and_asks_nothing() -> None:
    closed = SurveyState(False, 0, 1, 1)
    over = published(access="invited", closes="2001-03-31")
    early = published(access="invited", opens="2999-03-31")
    for survey, parts, told in (
        (SURVEY, {"known": closed}, "closed"),
        (over, {"today": lambda: date(2027, 3, 31)}, "closed"),
        (early, {"today": lambda: date(2027, 3, 31)}, "not-yet-open"),
    ):
        links = Unused(surveys=[survey], **parts)
        made = Application(links)
        answer = ask(made, "POST", place(survey, "link"), json={"token": USABLE})
        assert (answer.status_code, answer.json()["type"]) == (403, told)
        assert links.asked == []


def test_a_database_that_does_not_answer_does_not_make_a_link_look_used() -> None:
    assert checked(USABLE, app(usable=None)).status_code == 503


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"token": 1}', b'{"token": "a", "more": 1}', b"x" * 600]
)
def test_what_is_not_a_token_is_not_looked_up(body: bytes) -> None:
    links = Unused()
    answer = ask(
        Application(links), "POST", LINK, content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code in (400, 413)
    assert links.asked == []


def test_links_are_not_tested_by_get_nor_faster_than_answers_are_sent() -> None:
    made = app(link_rate=AddressRateLimit(RateLimit(2, 60)))
    assert ask(made, "GET", LINK).status_code == 405
    assert [checked(USABLE, made).status_code for _ in range(3)] == [200, 200, 429]


def test_a_survey_without_links_has_nothing_to_test() -> None:
    survey = published()
    made = app(surveys=[survey])
    answer = ask(made, "POST", place(survey, "link"), json={"token": USABLE})
    assert answer.status_code == 404


def test_the_openapi_document_describes_the_check() -> None:
    document = ask(app(), "GET", "/openapi.json").json()
    post = document["paths"]["/s/{slug}/link"]["post"]
    body = post["requestBody"]["content"]["application/json"]["schema"]
    assert {*body["properties"]} == {"token"}
    statuses = (200, 400, 403, 404, 405, 408, 413, 415, 429, 503)
    assert {*post["responses"]} == {*map(str, statuses)}
    assert json.dumps(post).count("Nothing is stored") == 1
