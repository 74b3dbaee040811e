"""`tacit survey simulate`: made-up people answer a server that runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path
from socket import create_server, socket
from threading import Thread
from typing import Any

import pytest

from tacit.cli.main import run
from tacit.collect.store import Store
from tacit.survey import Published, publish
from tests.support.published import published, response
from tests.support.serving import serving

OPEN, INVITED = published(), published(access="invited")


@pytest.fixture
def tacit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.chdir(tmp_path)
    publish(OPEN.survey, "open.json")
    publish(INVITED.survey, "invited.json")

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        return (
            run(["survey", "simulate", *arguments, "--respondents", "40"]),
            *capsys.readouterr(),
        )

    return call


@pytest.mark.parametrize("survey", [OPEN, INVITED])
def test_all_answers_arrive_whether_links_are_needed_or_not(
    tacit: Any, tmp_path: Path, survey: Published
) -> None:
    with serving(tmp_path, [survey]) as served:
        database = ("--database", str(served.database), "--url", served.origin)
        status, out, err = tacit(f"{survey.survey.access}.json", *database, "--seed", "1")
        assert (status, err) == (0, "")
        assert f"40 made-up people answered {served.origin}/s/{survey.slug}/" in out
        assert served.stop() == 0
    store = Store(served.database)
    assert store.state(survey.survey.fingerprint).records == 40
    store.close()


def test_made_up_answers_are_never_mixed_with_others(tacit: Any, tmp_path: Path) -> None:
    store = Store(tmp_path / "tacit.db")
    store.register(OPEN)
    store.write([response(OPEN)], date(2027, 1, 1))
    store.close()
    with serving(tmp_path, [OPEN]) as served:
        database = ("--database", str(served.database), "--url", served.origin)
        status, out, err = tacit("open.json", *database)
        assert (status, out) == (2, "")
        assert err.startswith("error: the survey already has answers")
    store = Store(tmp_path / "tacit.db")
    assert store.state(OPEN.survey.fingerprint).records == 1
    store.close()


def test_a_server_with_another_database_gets_one_answer_and_no_more(
    tacit: Any, tmp_path: Path
) -> None:
    mine = Store(tmp_path / "mine.db")
    mine.register(OPEN)
    mine.close()
    with serving(tmp_path, [OPEN]) as served:
        status, _, err = tacit("open.json", "--database", "mine.db", "--url", served.origin)
        assert (status, err.count("\n")) == (2, 1)
        assert "stores answers in another database" in err
        assert served.stop() == 0
    store = Store(served.database)
    assert store.state(OPEN.survey.fingerprint).records == 1
    store.close()


def test_a_server_of_another_survey_is_one_error(tacit: Any, tmp_path: Path) -> None:
    with serving(tmp_path, [OPEN]) as served:
        database = ("--database", str(served.database), "--url", served.origin)
        status, _, err = tacit("invited.json", *database)
        assert (status, err) == (
            2,
            f"error: {served.origin}: does not serve this survey; serve this published file\n",
        )


def test_the_address_of_the_page_is_as_good_as_that_of_the_server(
    tacit: Any, tmp_path: Path
) -> None:
    with serving(tmp_path, [OPEN]) as served:
        page = f"{served.origin}/s/{OPEN.slug}/"
        status, out, _ = tacit("open.json", "--database", str(served.database), "--url", page)
        assert status == 0
        assert f"answered {page}\n" in out


def test_waiting_for_a_server_that_is_not_there_is_not_silent(
    tacit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.cli.simulate._SECONDS", 1.0)
    monkeypatch.setattr("tacit.cli.simulate._PATIENCE", 0.2)
    with closing(socket()) as taken:  # bound, but nothing listens
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        status, _, err = tacit("open.json", "--database", "mine.db", "--url", url)
    waiting, error = err.splitlines()
    assert status == 2
    assert waiting == f"waiting for a server at {url}; start it with tacit serve"
    assert error.startswith(f"error: {url}: no server answers")


def test_an_address_that_is_none_is_one_error(tacit: Any) -> None:
    status, _, err = tacit("open.json", "--database", "mine.db", "--url", "localhost:8000")
    assert (status, err.count("\n")) == (2, 1)
    assert "must be an address such as http://127.0.0.1:8000" in err


def test_a_server_that_goes_away_is_an_error_that_names_it(tacit: Any, tmp_path: Path) -> None:
    with closing(Store(tmp_path / "tacit.db")) as store:
        store.register(OPEN)

    def page_only(listening: socket) -> None:
        """Show a page once, and close the next connection."""
        for answer in (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b""):
            with listening.accept()[0] as connection:
                connection.recv(1 << 16)
                connection.sendall(answer)

    with create_server(("127.0.0.1", 0)) as listening:
        Thread(target=page_only, args=(listening,), daemon=True).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        status, _, err = tacit("open.json", "--database", "tacit.db", "--url", url)
    assert status == 2
    assert err.startswith(f"error: {url}: the server does not answer any more: ")
