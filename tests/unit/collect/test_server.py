"""Running the service: what it listens on, and when it is ready."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Collection
from typing import Any

import pytest

from tacit.collect import monitoring
from tacit.collect.app import Service
from tacit.collect.http_server import Server, listening
from tacit.collect.server import RunningService, address
from tacit.collect.settings import ServiceSettings
from tacit.collect.store import Outcome, SurveyState
from tacit.collect.submission import body_limit
from tacit.errors import FileError, ServiceError, Unavailable
from tests.support.published import published, response

SURVEY = published(quota=3)


class Writer:
    """What readiness asks of a writer."""

    failure = "the disk is full"
    outages = 0

    def __init__(self, ready: bool = True, waiting: int = 0) -> None:
        self.ready, self.waiting = ready, waiting


class StoreOf:
    """A store that says one thing of its survey."""

    order_erased = True

    def __init__(self, said: SurveyState | Exception) -> None:
        self.said = said

    def state(self, survey: str) -> SurveyState:
        if isinstance(self.said, Exception):
            raise self.said
        return self.said


def collecting(writer: Any = None, store: Any = None, server: Any = None) -> RunningService:
    return RunningService(
        surveys=[SURVEY],
        store=store,
        writer=writer or Writer(),
        settings=ServiceSettings(queue=5),
        server=server,
    )


def test_it_is_ready_unless_something_is_in_the_way() -> None:
    assert collecting().ready() is None
    assert collecting(Writer(waiting=4)).ready() is None
    assert collecting(Writer(waiting=5)).ready() == "queue"
    assert collecting(Writer(ready=False)).ready() == "database"


def test_it_is_not_ready_while_it_drains() -> None:
    server = Server.__new__(Server)
    server.should_exit = server.force_exit = False
    assert collecting(server=server).ready() is None
    server.handle_exit(15, None)
    assert collecting(server=server).ready() == "draining"
    assert (server.should_exit, server.force_exit) == (True, False)
    server.handle_exit(15, None)
    assert server.force_exit, "a second signal does not wait"


def test_what_goes_wrong_and_is_right_again_is_logged_once_each(
    capsys: pytest.CaptureFixture[str],
) -> None:
    monitoring.set_up("json")
    writer, store = Writer(), StoreOf(SurveyState(open=True, records=0, issued=0, remaining=0))
    watched = collecting(writer, store)
    for ready in (True, False, False, True, True):
        writer.ready = ready
        watched.log_changes()
    for erased in (True, False, False, True, True):
        store.order_erased = erased
        watched.log_changes()
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line.get("reason") for line in lines] == ["the disk is full", None, None, None]
    events = [line["event"] for line in lines]
    assert events == ["database-gone", "database-back", "order-not-erased", "order-erased"]


def test_a_failure_that_is_over_before_anyone_looked_is_logged_all_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    monitoring.set_up("json")
    writer, store = Writer(), StoreOf(SurveyState(open=True, records=0, issued=0, remaining=0))
    watched = collecting(writer, store)
    writer.outages += 1
    watched.log_changes()
    watched.log_changes()
    events = [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()]
    assert events == ["database-gone", "database-back"]


def test_the_state_of_a_survey_is_not_known_while_the_store_does_not_answer() -> None:
    state = SurveyState(open=True, records=2, issued=0, remaining=0)
    survey = SURVEY.survey.fingerprint
    assert asyncio.run(collecting(store=StoreOf(state)).state(survey)) == state
    assert asyncio.run(collecting(store=StoreOf(Unavailable("gone"))).state(survey)) is None
    down = collecting(Writer(ready=False), StoreOf(state))
    assert asyncio.run(down.state(survey)) is None


def test_a_port_in_use_is_an_error() -> None:
    with listening("127.0.0.1", 0) as first:
        first.listen()
        port = first.getsockname()[1]
        assert address(first, SURVEY).startswith(f"http://127.0.0.1:{port}/s/")
        with (
            pytest.raises(
                ServiceError, match=rf"127.0.0.1 port {port}: .*; choose another by --port"
            ),
            listening("127.0.0.1", port),
        ):
            pass


def test_an_ipv6_address_is_written_in_brackets() -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    try:
        with listening("::1", 0) as listener:
            assert address(listener, SURVEY).startswith("http://[::1]:")
    except ServiceError:
        pytest.skip("no IPv6 address here")


def test_a_preview_keeps_nothing() -> None:
    service = Service([SURVEY])
    before = repr(service)
    assert asyncio.run(service.submit(response(SURVEY))) is Outcome.STORED
    assert repr(service) == before


@pytest.mark.slow
def test_other_commands_do_not_load_the_service() -> None:
    heavy = ["starlette", "uvicorn", "sqlalchemy", "alembic", "pydantic", "structlog"]
    code = (
        "import sys, tacit.cli; cli = sys.modules['tacit.cli.main']; "
        "servers = ('serve', 'studio'); "
        "cli.command_line(*(name for name in cli.COMMANDS if name not in servers)); "
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


class StoreWithNew:
    """A store with a survey that was published later, or that fails."""

    order_erased = True

    def __init__(self, found: Any) -> None:
        self.found, self.asked = found, list[Collection[str]]()

    def published(self, known: Collection[str]) -> Any:
        self.asked.append(known)
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


class ServerOf:
    """What a service tells a server of a new survey."""

    draining = False
    size = 0

    def accept_bodies(self, size: int) -> None:
        self.size = size


def test_a_survey_that_was_published_later_is_served_with_its_size_of_bodies(
    capsys: pytest.CaptureFixture[str],
) -> None:
    monitoring.set_up("json")
    new, server = published(title="Later"), ServerOf()
    store = StoreWithNew((new,))
    service = collecting(store=store, server=server)
    assert asyncio.run(service.newer()) == (new,)
    assert store.asked == [[SURVEY.survey.fingerprint]]
    assert server.size == body_limit(new)
    assert service.surveys == [SURVEY, new]
    assert json.loads(capsys.readouterr().err)["event"] == "new-survey"


def test_no_survey_is_new_while_the_database_fails(capsys: pytest.CaptureFixture[str]) -> None:
    monitoring.set_up("json")
    store = StoreWithNew((SURVEY,))
    assert asyncio.run(collecting(Writer(ready=False), store).newer()) == ()
    assert store.asked == []
    failing = collecting(store=StoreWithNew(FileError("version 9: upgrade tacit")))
    for _ in range(3):
        assert asyncio.run(failing.newer()) == ()
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["event"], line["why"]) for line in lines] == [
        ("new-survey-not-read", "version 9: upgrade tacit")
    ]
