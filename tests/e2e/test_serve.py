"""`tacit serve`, a real process over real HTTP."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tacit.cli.main import run
from tacit.collect.store import Store
from tests.support.asking import place, submission
from tests.support.published import published
from tests.support.serving import SECONDS, Served, files_of, records_in, serving, started, temporary

SURVEY = published()
INVITED = published(access="invited", title="By invitation")
FUTURE = published(opens="2999-01-01", title="Not yet")


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with (
        temporary() as folder,
        serving(folder, [SURVEY, INVITED, FUTURE], "--rate", "off", "--metrics") as it,
    ):
        yield it


def post(served: Served, survey: Any = SURVEY, **changed: Any) -> httpx.Response:
    body = submission(survey, **changed)
    return httpx.post(served.origin + place(survey, "responses"), json=body, timeout=SECONDS)


def records(database: Path, survey: Any = SURVEY) -> int:
    return records_in(database, survey)


def test_what_is_acknowledged_is_in_the_database(served: Served) -> None:
    before = records(served.database)
    body = submission(SURVEY)
    assert post(served, **body).status_code == 201
    assert post(served, **body).status_code == 200, "a repeat is acknowledged"
    assert post(served, **body | {"record": {"smokes": "yes", "number": "n7"}}).status_code == 409
    assert records(served.database) == before + 1


def test_pages_and_published_surveys_are_served(served: Served) -> None:
    page = httpx.get(served.origin + place(SURVEY))
    assert page.status_code == 200
    for path in re.findall(r'(?:src|href)="([^"]+)"', page.text):
        found = httpx.get(str(httpx.URL(served.origin + place(SURVEY)).join(path)))
        assert found.status_code == 200, path
    assert httpx.get(served.origin + place(SURVEY, "survey.json")).text == SURVEY.to_json()
    assert "server" not in page.headers
    terms = "Smoking (open, until somebody closes it)"
    assert served.output[0] == f"serving {served.origin}{place(SURVEY)}  {terms}" + "\n"


def test_each_refusal_is_a_problem_of_its_own(served: Served) -> None:
    target = served.origin + place(SURVEY, "responses")
    json_type = {"content-type": "application/json"}
    found = [
        post(served, FUTURE),
        post(served, record={"smokes": "maybe", "number": "n0"}),
        post(served, fingerprint="0" * 64),
        post(served, key="short"),
        httpx.post(target, content=b"x" * 100_000, headers=json_type),
        httpx.post(target, content=b"{}"),
        httpx.put(target),
        httpx.get(served.origin + "/s/0000000000000000/"),
    ]
    assert [(answer.status_code, answer.json()["type"]) for answer in found] == [
        (403, "not-yet-open"),
        (422, "not-allowed-value"),
        (409, "wrong-fingerprint"),
        (400, "malformed"),
        (413, "too-large"),
        (415, "wrong-type"),
        (405, "method"),
        (404, "not-found"),
    ]


def test_a_token_is_good_for_one_response(served: Served) -> None:
    store = Store(served.database)
    (token,) = store.invite(INVITED.survey.fingerprint, 1)
    store.close()
    assert post(served, INVITED, token="never-issued").json()["type"] == "link-used"
    assert post(served, INVITED, token=token).status_code == 201
    assert post(served, INVITED, token=token).json()["type"] == "link-used"


def test_fifty_at_once_spend_a_token_once(served: Served) -> None:
    store = Store(served.database)
    (token,) = store.invite(INVITED.survey.fingerprint, 1)
    store.close()
    before = records(served.database, INVITED)
    codes: list[int] = []

    def submit() -> None:
        codes.append(post(served, INVITED, token=token).status_code)

    threads = [threading.Thread(target=submit) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(codes) == [201, *[403] * 49]
    assert records(served.database, INVITED) == before + 1


def test_health_readiness_and_metrics(served: Served) -> None:
    assert httpx.get(served.origin + "/health/live").json() == {"live": True}
    assert httpx.get(served.origin + "/health/ready").json() == {"ready": True}
    post(served)
    text = httpx.get(served.origin + "/metrics").text
    stored = re.search(r'tacit_submissions_total\{outcome="stored"\} (\d+)', text)
    commits = re.search(r"tacit_commit_seconds_count (\d+)", text)
    assert stored is not None
    assert commits is not None
    assert int(stored[1]) >= 1
    assert int(commits[1]) >= 1


def test_a_survey_that_is_closed_meanwhile_takes_nothing_more(tmp_path: Path) -> None:
    with serving(tmp_path, [SURVEY]) as served:
        assert post(served).status_code == 201
        store = Store(served.database)
        store.close_survey(SURVEY.survey.fingerprint)
        store.close()
        assert post(served).json()["type"] == "closed"
        shown = httpx.get(served.origin + place(SURVEY), headers={"accept": "text/html"})
        assert (shown.status_code, "<h1>" in shown.text) == (403, True)


def test_a_full_survey_takes_nothing_more(tmp_path: Path) -> None:
    survey = published(quota=2)
    with serving(tmp_path, [survey]) as served:
        assert [post(served, survey).status_code for _ in range(3)] == [201, 201, 403]
        assert post(served, survey).json()["type"] == "full"


def test_more_than_the_queue_holds_is_refused_with_retry_after(tmp_path: Path) -> None:
    answers: list[httpx.Response] = []

    def submit(served: Served) -> None:
        answers.extend(post(served) for _ in range(10))

    with serving(tmp_path, [SURVEY], "--queue", "1", "--batch", "1", "--rate", "off") as served:
        threads = [threading.Thread(target=submit, args=(served,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert served.stop() == 0
    codes = [answer.status_code for answer in answers]
    busy = [answer for answer in answers if answer.status_code == 503]
    assert set(codes) == {201, 503}
    assert {(a.json()["type"], a.headers["retry-after"]) for a in busy} == {("busy", "2")}
    assert records(served.database) == codes.count(201)


def test_a_survey_in_the_database_is_served_without_its_file(tmp_path: Path) -> None:
    with serving(tmp_path, [SURVEY]) as first:
        assert post(first).status_code == 201
        assert first.stop() == 0
    with serving(tmp_path, []) as second:
        assert post(second).status_code == 201
    assert records(second.database) == 2


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_stores_all_that_was_taken_and_exits_with_0(
    tmp_path: Path, how: signal.Signals
) -> None:
    acknowledged: list[str] = []
    failed: list[str] = []

    def flood(served: Served) -> None:
        with httpx.Client(timeout=SECONDS) as client:
            while True:
                body = submission(SURVEY)
                try:
                    answer = client.post(served.origin + place(SURVEY, "responses"), json=body)
                except httpx.HTTPError:
                    return
                (acknowledged if answer.status_code == 201 else failed).append(body["key"])

    with serving(tmp_path, [SURVEY], "--rate", "off") as served:
        threads = [threading.Thread(target=flood, args=(served,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        while len(acknowledged) < 50:
            assert any(thread.is_alive() for thread in threads)
            time.sleep(0.01)
        assert served.stop(how) == 0
        for thread in threads:
            thread.join(SECONDS)
    assert failed == []
    assert len(acknowledged) <= records(served.database) <= len(acknowledged) + len(threads)
    last = json.loads(served.log[-1])
    assert last["event"] == "stopped"
    assert last["submissions"]["stored"] >= len(acknowledged)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that a server which does not start says, with exit status 2."""
    capsys.readouterr()
    assert run(["serve", *arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    return said


def test_a_second_server_on_the_same_database_says_so(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, "--database", str(served.database), "--port", "0")
    assert str(served.database) in said


def test_what_prevents_a_start_is_one_clear_line(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    survey, changed = tmp_path / "published.json", tmp_path / "changed.json"
    survey.write_text(SURVEY.to_json())
    changed.write_text(SURVEY.to_json().replace("Smoking", "Drinking"))
    missing = tmp_path / "missing.json"
    for arguments, said in (
        ([survey, "--port", served.port], "choose another by --port"),
        ([survey, "--host", "no such host"], "--host no such host"),
        ([survey, "--database", "mysql://x/y"], "not a database that tacit knows"),
        ([survey, "--database", tmp_path / "none" / "x.db"], "none"),
        ([survey, "--database", _newer(tmp_path / "newer.db")], "newer"),
        ([missing], "missing.json: no such file"),
        ([changed], "changed.json: "),
        ([], "no such database; tacit serve creates it for a published survey"),
        (["--database", _empty(tmp_path / "empty.db")], "there is nothing to serve"),
        ([survey, "--rate", "often"], "--rate: must be such as 600/minute"),
        ([survey, "--config", survey], "not TOML"),
    ):
        own = [] if "--database" in arguments else ["--database", tmp_path / "other.db"]
        port = [] if "--port" in arguments else ["--port", 0]
        assert said in refused(capsys, *map(str, [*arguments, *own, *port]))
    assert not (tmp_path / "other.db").exists()


def _empty(path: Path) -> Path:
    """A database without surveys."""
    Store(path).close()
    return path


def _newer(path: Path) -> Path:
    """A database that a later tacit has changed."""
    with closing(sqlite3.connect(_empty(path))) as connection, connection:
        connection.execute("update tacit_version set version_num = 'of-the-future'")
    return path


def test_settings_come_from_file_and_environment(tmp_path: Path) -> None:
    survey = tmp_path / "published.json"
    survey.write_text(SURVEY.to_json())
    config = tmp_path / "tacit.toml"
    config.write_text(
        f'surveys = ["{survey}"]\ndatabase = "{tmp_path / "tacit.db"}"\nport = 1\nrate = "1/hour"\n'
    )
    with started(
        ["serve", "--config", str(config), "--port", "0"], tmp_path / "tacit.db"
    ) as served:
        assert [post(served).status_code for _ in range(2)] == [201, 429]


def test_nothing_of_a_sender_is_in_database_or_logs(tmp_path: Path) -> None:
    """Marked addresses, headers, keys and tokens are looked for in every byte that is left."""
    proxy = ("--trusted-proxy", "127.0.0.1")
    marks = {
        name: f"MARK{name}{secrets.token_hex(8)}" for name in ("agent", "cookie", "query", "other")
    }
    address = "203.0.113.147"
    headers = {
        "user-agent": marks["agent"],
        "cookie": f"id={marks['cookie']}",
        "x-forwarded-for": address,
        "x-other": marks["other"],
        "referer": f"http://{marks['other']}.example/",
    }
    bodies = [submission(INVITED) for _ in range(20)]
    with serving(tmp_path, [INVITED], *proxy, "--log", "json") as served:
        store = Store(served.database)
        tokens = store.invite(INVITED.survey.fingerprint, len(bodies))
        store.close()
        target = f"{served.origin}{place(INVITED, 'responses')}?{marks['query']}"
        with httpx.Client(headers=headers) as client:
            for body, token in zip(bodies, tokens, strict=True):
                assert client.post(target, json=body | {"token": token}).status_code == 201
                assert client.post(target, json=body | {"token": marks["other"]}).status_code == 200
                assert client.post(target, content=marks["other"]).status_code == 415
            client.get(served.origin + place(INVITED), params={"q": marks["query"]})
        running = b"".join(files_of(served.database)) + "".join(served.log).encode()
        assert served.stop() == 0
    left = b"".join(files_of(served.database)) + "".join([*served.log, *served.output]).encode()
    raw = socket.inet_aton(address)
    sought = [*marks.values(), address, *tokens, *(body["key"] for body in bodies)]
    binary = [*(bytes.fromhex(body["key"]) for body in bodies), raw + b"\0", b"\0" + raw]
    for data in (running, left):
        assert len(data) > 10_000, "the files were read"
        assert [mark for mark in sought if mark.encode() in data] == []
        assert [mark for mark in binary if mark in data] == []
    assert len(served.log) == 3, "start, stopping and stop, no line a submission"


def test_a_preview_shows_the_page_and_stores_nothing(tmp_path: Path) -> None:
    survey = published(opens="2099-01-01", access="invited")
    file = tmp_path / "survey.json"
    file.write_text(survey.survey.to_json())
    before = sorted(os.listdir(tmp_path))
    with started(["survey", "preview", str(file)], tmp_path / "none") as served:
        (shown,) = re.findall(r"open (\S+)#preview ", served.output[0])
        assert "Preview: nothing is stored" in httpx.get(shown).text
        answer = httpx.post(shown + "responses", json=submission(survey, token="preview"))
        assert answer.status_code == 201
        assert served.stop(signal.SIGINT) == 0
    assert sorted(os.listdir(tmp_path)) == before


def test_a_preview_of_a_wrong_file_tells_its_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "survey.yaml"
    file.write_text("title: Smoking\nquestions:\n  - name: smokes\n    kind: maybe\n    text: x\n")
    assert run(["survey", "preview", str(file)]) == 2
    assert "survey.yaml:4: " in capsys.readouterr().err
