"""Which address is answered by what, each answer with its protection."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import date
from html import escape
from pathlib import Path
from typing import Any

import httpx
import pytest

from tacit.collect import page
from tacit.collect.app import Application, Service
from tacit.collect.http import FAULT, LONG_HEAD, PROBLEMS, PROTECTION
from tacit.collect.limits import AddressRateLimit, RateLimit
from tacit.collect.page import html
from tacit.collect.store import Outcome, Response, SurveyState
from tacit.errors import Busy, Unavailable
from tests.support.asking import ask, compact, place, submission
from tests.support.published import published

SURVEY = published()
RIGHT = submission(SURVEY)
POST = place(SURVEY, "responses")


class Preset(Service):
    """Gives preset answers, and records what it was given."""

    def __init__(
        self,
        answer: Outcome | Exception = Outcome.STORED,
        known: SurveyState | None = None,
        down: str | None = None,
        **parts: Any,
    ) -> None:
        super().__init__(**{"surveys": [SURVEY]} | parts)
        self.answer, self.known, self.down, self.taken = answer, known, down, list[Response]()

    async def submit(self, response: Response) -> Outcome:
        self.taken.append(response)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def state(self, survey: str) -> SurveyState | None:
        assert survey in [own.survey.fingerprint for own in self.surveys]
        return self.known

    def ready(self) -> str | None:
        return self.down


def app(answer: Outcome | Exception = Outcome.STORED, **parts: Any) -> Application:
    return Application(Preset(answer, **parts))


def problem(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    content = answer.json()
    assert content["status"] == answer.status_code
    return answer.status_code, content["type"]


def test_a_right_record_is_given_to_the_writer_and_acknowledged() -> None:
    sink = Preset()
    answer = ask(Application(sink), "POST", POST, json=RIGHT)
    assert (answer.status_code, answer.json()) == (201, {"stored": True})
    assert [found.key.hex() for found in sink.taken] == [RIGHT["key"]]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Outcome.CHANGED, (409, "changed")),
        (Outcome.UNKNOWN_TOKEN, (403, "link-used")),
        (Outcome.NOT_YET_OPEN, (403, "not-yet-open")),
        (Outcome.CLOSED, (403, "closed")),
        (Outcome.FULL, (403, "full")),
        (Outcome.UNKNOWN_SURVEY, (404, "not-found")),
        (Busy("full"), (503, "busy")),
        (Unavailable("gone"), (503, "unavailable")),
    ],
)
def test_what_the_writer_says_is_a_problem_of_its_own(
    answer: Any, expected: tuple[int, str]
) -> None:
    got = ask(app(answer), "POST", POST, json=RIGHT)
    assert problem(got) == expected
    assert ("retry-after" in got.headers) == (got.status_code == 503)


def test_a_repeat_is_acknowledged_again() -> None:
    answer = ask(app(Outcome.REPEATED), "POST", POST, json=RIGHT)
    assert (answer.status_code, answer.json()) == (200, {"stored": True})


def test_every_outcome_has_an_answer() -> None:
    for outcome in Outcome:
        assert ask(app(outcome), "POST", POST, json=RIGHT).status_code < 500


@pytest.mark.parametrize(
    ("content_type", "taken"),
    [
        ("application/json", True),
        ("application/json; charset=utf-8", True),
        ("Application/JSON ; Charset=UTF-8", True),
        ("application/json; charset=latin-1", False),
        ("text/plain", False),
        ("application/x-www-form-urlencoded", False),
        ("", False),
    ],
)
def test_only_json_is_read(content_type: str, taken: bool) -> None:
    headers = {"content-type": content_type}
    answer = ask(app(), "POST", POST, content=compact(RIGHT), headers=headers)
    assert answer.status_code == (201 if taken else 415)
    packed = headers | {"content-type": "application/json", "content-encoding": "gzip"}
    assert problem(ask(app(), "POST", POST, content=b"x", headers=packed)) == (415, "wrong-type")


def test_a_body_over_the_limit_is_refused_also_in_chunks() -> None:
    sink = Preset()
    padded = compact(RIGHT) + b" " * 10_000
    headers = {"content-type": "application/json"}

    async def chunks() -> Any:
        for _ in range(100):
            yield padded

    assert problem(ask(Application(sink), "POST", POST, content=padded, headers=headers)) == (
        413,
        "too-large",
    )
    assert problem(ask(Application(sink), "POST", POST, content=chunks(), headers=headers)) == (
        413,
        "too-large",
    )
    announced = headers | {"content-length": str(10**12)}
    assert problem(ask(Application(sink), "POST", POST, content=b"{}", headers=announced)) == (
        413,
        "too-large",
    )
    assert sink.taken == []


def test_only_what_is_offered_can_be_asked() -> None:
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS"):
        answer = ask(app(), method, POST)
        assert (problem(answer), answer.headers["allow"]) == ((405, "method"), "POST")
    for path in (place(SURVEY), place(SURVEY, "survey.json"), "/health/live", "/page/page.js"):
        answer = ask(app(), "POST", path)
        assert (problem(answer), answer.headers["allow"]) == ((405, "method"), "GET, HEAD")


def test_a_survey_is_shown_on_its_days_only() -> None:
    survey = published(opens="2027-03-01", closes="2027-03-31")
    found = []
    days = (date(2027, 2, 28), date(2027, 3, 1), date(2027, 3, 31), date(2027, 4, 1))
    for day in days:
        asked = app(surveys=[survey], today=lambda day=day: day)
        shown = ask(asked, "GET", place(survey), headers={"accept": "application/json"})
        found.append(problem(shown) if shown.status_code != 200 else None)
    assert found == [(403, "not-yet-open"), None, None, (403, "closed")]


def test_a_survey_closed_before_its_first_day_is_closed() -> None:
    survey = published(opens="2027-03-01")
    closed = SurveyState(open=False, records=0, issued=0, remaining=0)
    asked = app(surveys=[survey], known=closed, today=lambda: date(2027, 2, 28))
    assert problem(ask(asked, "GET", place(survey))) == (403, "closed")


def test_a_repeat_after_the_last_day_is_answered_as_one() -> None:
    """The store knows it; the validator does not check the day."""
    survey = published(closes="1999-12-31")
    repeated = app(Outcome.REPEATED, surveys=[survey])
    posted = ask(repeated, "POST", place(survey, "responses"), json=submission(survey))
    assert (posted.status_code, posted.json()) == (200, {"stored": True})


def test_one_address_may_not_send_without_end() -> None:
    limited = app(rate=AddressRateLimit(RateLimit(2, 60)))
    codes = [ask(limited, "POST", POST, json=submission(SURVEY)).status_code for _ in range(3)]
    last = ask(limited, "POST", POST, json=RIGHT)
    assert codes == [201, 201, 429]
    assert problem(last) == (429, "too-many")
    assert 1 <= int(last.headers["retry-after"]) <= 60
    assert ask(limited, "POST", POST, client="192.0.2.8", json=RIGHT).status_code == 201


def test_an_open_survey_is_not_flooded_from_many_addresses() -> None:
    invited = published(access="invited")
    limited = app(surveys=[SURVEY, invited], open_limit=RateLimit(2, 60))

    def sent(number: int, survey: Any = SURVEY, **changed: Any) -> httpx.Response:
        body, client = submission(survey, **changed), f"192.0.2.{number}"
        return ask(limited, "POST", place(survey, "responses"), client=client, json=body)

    for number in range(5):
        assert sent(number, key="wrong").status_code == 400, "what cannot be stored counts not"
    answers = [sent(number) for number in range(4)]
    assert [answer.status_code for answer in answers] == [201, 201, 503, 503]
    assert problem(answers[-1]) == (503, "busy")
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
    assert [sent(number, invited, token="a").status_code for number in range(4)] == [201] * 4


def test_the_page_is_the_same_for_every_survey_and_the_survey_is_as_published() -> None:
    other = published(title="Another")
    both = app(surveys=[SURVEY, other])
    pages = [ask(both, "GET", place(survey)) for survey in (SURVEY, other)]
    assert pages[0].content == pages[1].content == html()
    for survey in (SURVEY, other):
        sent = ask(both, "GET", place(survey, "survey.json"))
        assert sent.text == survey.to_json()
        assert "immutable" in sent.headers["cache-control"]


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "שלום", "🙂", "</title><img src=x>"])
def test_a_survey_of_any_letters_is_sent_as_json_and_in_no_page(text: str) -> None:
    survey = published(title=text, introduction=text)
    shown = app(surveys=[survey])
    sent = ask(shown, "GET", place(survey, "survey.json"))
    assert (sent.text, sent.headers["content-type"]) == (survey.to_json(), "application/json")
    assert sent.headers["x-content-type-options"] == "nosniff"
    assert text not in ask(shown, "GET", place(survey)).text


def test_what_did_not_change_is_not_sent_again() -> None:
    for path in (place(SURVEY), place(SURVEY, "survey.json"), "/page/page.js"):
        first = ask(app(), "GET", path)
        again = ask(
            app(), "GET", path, headers={"if-none-match": f'"x", W/{first.headers["etag"]}'}
        )
        assert (again.status_code, again.content) == (304, b"")
        assert "content-length" not in again.headers


def test_every_file_of_the_page_is_served_and_nothing_else() -> None:
    for name, kind in page.FILES.items():
        answer = ask(app(), "GET", f"/page/{name}")
        if name == "index.html":
            assert answer.status_code == 404
        else:
            assert (answer.content, answer.headers["content-type"]) == (page.content(name), kind)
    for path in ("/page/", "/page/__init__.py", "/page/../settings.py", "/page/%2e%2e/app.py", "/"):
        assert problem(ask(app(), "GET", path)) == (404, "not-found")


def test_the_address_without_a_slash_leads_to_the_page() -> None:
    answer = ask(app(), "GET", place(SURVEY)[:-1])
    assert answer.status_code == 308
    assert str(
        httpx.URL("http://survey.test" + place(SURVEY)[:-1]).join(answer.headers["location"])
    ) == ("http://survey.test" + place(SURVEY))
    assert ask(app(), "GET", "/s/%0d%0aset-cookie:a=b").status_code == 404


@pytest.mark.parametrize(
    ("asked", "language"),
    [("de-AT,en;q=0.5", "de"), ("fr", "fr"), ("es", "es"), ("ja", "en"), ("", "en")],
)
def test_people_get_a_page_in_their_language(asked: str, language: str) -> None:
    headers = {"accept": "text/html,*/*", "accept-language": asked}
    answer = ask(app(), "GET", "/s/0000000000000000/", headers=headers)
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert f'<html lang="{language}">' in answer.text
    assert problem(ask(app(), "GET", "/s/0000000000000000/")) == (404, "not-found")


@pytest.mark.parametrize(
    ("is_open", "records", "name"), [(False, 0, "closed"), (True, 3, "full"), (True, 2, None)]
)
def test_a_survey_that_was_closed_or_is_full_says_so(
    is_open: bool, records: int, name: str | None
) -> None:
    limited = published(quota=3)
    state = SurveyState(is_open, records, issued=0, remaining=0)
    made = app(surveys=[limited], known=state)
    plain = ask(made, "GET", place(limited))
    shown = ask(made, "GET", place(limited), headers={"accept": "text/html"})
    assert shown.status_code == (200 if name is None else 403)
    if name is not None:
        assert problem(plain) == (403, name)
        assert "<h1>" in shown.text


def test_health_and_readiness_differ() -> None:
    away = app(down="database")
    assert ask(away, "GET", "/health/live").json() == {"live": True}
    assert ask(app(), "GET", "/health/ready").json() == {"ready": True}
    answer = ask(away, "GET", "/health/ready")
    assert (answer.status_code, answer.json()) == (503, {"ready": False, "why": "database"})


def test_metrics_are_sums_and_only_there_if_wanted() -> None:
    assert ask(app(), "GET", "/metrics").status_code == 404
    wanted = app(show_metrics=True)
    ask(wanted, "POST", POST, json=RIGHT)
    ask(wanted, "POST", POST, json={})
    text = ask(wanted, "GET", "/metrics").text
    assert 'tacit_submissions_total{outcome="stored"} 1.0' in text
    assert 'tacit_submissions_total{outcome="malformed"} 1.0' in text
    assert "tacit_commit_seconds_bucket" in text
    assert "tacit_queue_length" in text
    for word in ("192.0.2.7", RIGHT["key"], SURVEY.slug):
        assert word not in text


def test_every_answer_is_protected_and_sets_no_cookie() -> None:
    asked = [
        *(("GET", path) for path in (place(SURVEY), place(SURVEY, "survey.json"), "/page/page.js")),
        *(
            ("GET", path)
            for path in ("/nowhere", "/health/ready", "/openapi.json", place(SURVEY)[:-1])
        ),
        *(("POST", path) for path in (POST, "/nowhere", place(SURVEY))),
    ]
    for method, path in asked:
        answer = ask(app(), method, path, json=RIGHT if method == "POST" else None)
        for name, value in PROTECTION:
            assert answer.headers[name.decode()] == value.decode(), (method, path)
        assert "set-cookie" not in answer.headers
        assert "server" not in answer.headers
    policy = ask(app(), "GET", place(SURVEY)).headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_a_fault_is_answered_and_logged_without_data(capsys: pytest.CaptureFixture[str]) -> None:
    from tacit.collect import monitoring

    monitoring.set_up("json")
    answer = ask(app(KeyError(RIGHT["key"])), "POST", POST, json=RIGHT)
    assert problem(answer) == (500, "fault")
    logged = capsys.readouterr().err
    assert json.loads(logged)["kind"] == "KeyError"
    assert RIGHT["key"] not in logged
    assert "192.0.2.7" not in logged


def test_a_fault_of_the_loop_is_logged_without_data(capsys: pytest.CaptureFixture[str]) -> None:
    from tacit.collect import monitoring

    async def failing() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(monitoring.loop_fault)
        loop.call_soon(lambda: {}[RIGHT["key"]])
        loop.call_exception_handler({"message": RIGHT["key"]})
        await asyncio.sleep(0)

    monitoring.set_up("json")
    asyncio.run(failing())
    logged = capsys.readouterr().err
    assert [json.loads(line)["kind"] for line in logged.splitlines()] == [
        "RuntimeError",
        "KeyError",
    ]
    assert RIGHT["key"] not in logged


def test_a_preview_says_that_it_is_one() -> None:
    shown = ask(app(preview=True), "GET", place(SURVEY)).text
    assert "Preview: nothing is stored" in shown
    assert "Preview: nothing is stored" not in ask(app(), "GET", place(SURVEY)).text


def test_the_openapi_document_names_every_problem_of_the_submit_path() -> None:
    document = ask(app(), "GET", "/openapi.json").json()
    answers = document["paths"]["/s/{slug}/responses"]["post"]["responses"]
    refused = [found for found in PROBLEMS if found not in (FAULT, LONG_HEAD)]
    assert answers.keys() == {"200", "201", *(str(found.status) for found in refused)}
    for found in refused:
        answer = answers[str(found.status)]
        assert f"`{found.name}`: {found.title}" in answer["description"]
        assert ("headers" in answer) == (found.wait is not None)
    schemas = document["components"]["schemas"]
    assert schemas["Problem"]["properties"]["type"]["enum"] == sorted(
        {found.name for found in PROBLEMS}
    )
    assert {*schemas["Submission"]["properties"]} == {*RIGHT, "token", "text_key", "texts"}
    slug = document["paths"]["/s/{slug}/survey.json"]["get"]["parameters"][0]["schema"]
    assert re.fullmatch(slug["pattern"], SURVEY.slug)


def test_every_route_is_documented() -> None:
    surveys = [SURVEY, published(access="invited")]
    made = app(surveys=surveys, show_metrics=True)
    paths = list(made._exact)
    known = dict.fromkeys(page.FILES, "FILE") | {place(own)[3:-1]: "SLUG" for own in surveys}
    for name, word in known.items():
        paths = [path.replace(f"/{name}", f"/{word}") for path in paths]
    text = (Path(__file__).parents[3] / "docs" / "service.md").read_text()
    written = set(re.findall(r"^\| `(?:GET|POST) (\S+)` \|", text, re.MULTILINE))
    assert set(paths) - {"/s/SLUG"} == written


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "</title><img src=x>"])
def test_an_error_page_shows_the_title_of_a_survey_as_text(text: str) -> None:
    survey = published(title=text, closes="1999-12-31")
    shown = app(surveys=[survey])
    answer = ask(shown, "GET", place(survey), headers={"accept": "text/html"})
    assert answer.headers["content-type"].startswith("text/html")
    assert text not in answer.text
    assert answer.text.count(escape(text)) == 2
