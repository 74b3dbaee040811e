"""`tacit.connect`: frames from a studio, and errors in one sentence."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
import uvicorn

import tacit
from tacit.errors import ServiceError
from tacit.studio.accounts import Role
from tacit.studio.server import studio_app
from tests.support.studio import MARKUP, Tried, reports, tried

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Tried, str]]:
    studio = tried(tmp_path_factory.mktemp("studio"), closed=True)
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(studio_app(studio.studio), log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield studio, f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join()
    listener.close()
    studio.store.close()


@pytest.fixture(scope="module")
def token(served: tuple[Tried, str]) -> str:
    studio, _ = served
    account = studio.account("Ada", Role.ANALYST)
    return studio.studio.accounts.issue_token(account.id, "notebook", Role.ANALYST)


def test_frames_have_the_numbers_of_the_library(served: tuple[Tried, str], token: str) -> None:
    studio, url = served
    connection = tacit.connect(url + "/", token)
    (slug,) = connection.surveys()["slug"]
    assert slug == studio.mine.slug
    design, codes = studio.mine.design, reports(studio.mine, 400)
    whole = tacit.reconstruct(codes, design)
    estimates = connection.estimates(slug)
    expected = np.concatenate([whole.table([name]).value for name in design.schema.names])
    np.testing.assert_array_equal(estimates["share"], expected)
    low = np.concatenate([whole.table([name]).interval()[0] for name in design.schema.names])
    np.testing.assert_array_equal(estimates["low"], low)
    records = connection.records(slug)
    again = tacit.reconstruct(records, design).table(["stole", "site"])
    np.testing.assert_allclose(again.value, whole.table(["stole", "site"]).value, rtol=1e-12)
    assert f"Never {MARKUP}" in set(connection.records(slug, labels=True)["often"])


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_are_those_of_the_library_named(
    served: tuple[Tried, str], token: str, backend: str
) -> None:
    studio, url = served
    found = tacit.connect(url, token, backend).records(studio.mine.slug)
    assert type(found).__module__.split(".")[0] == backend


def test_errors_are_one_sentence(served: tuple[Tried, str], token: str) -> None:
    studio, url = served
    with pytest.raises(ServiceError, match="the token is not valid, or was revoked"):
        tacit.connect(url, "wrong").surveys()
    with pytest.raises(ServiceError, match="There is no such page, or you may not see it"):
        tacit.connect(url, token).estimates(studio.other.slug)
    with pytest.raises(ServiceError, match=r"There is no such page|Not found"):
        tacit.connect(url, token).records("../account")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(ServiceError, match="the studio does not answer"):
        tacit.connect(f"http://127.0.0.1:{port}", token).surveys()


@pytest.mark.parametrize("url", ["studio.example.org", "file:///etc/passwd", "http://", ""])
def test_an_address_is_that_of_a_site(url: str) -> None:
    with pytest.raises(ServiceError, match=r"https://studio\.example\.org"):
        tacit.connect(url, "token")


@pytest.mark.parametrize("token", ["", "a b", "a\nX-Other: b", "é"])
def test_a_token_is_one_word(token: str) -> None:
    with pytest.raises(ServiceError, match="the token must be"):
        tacit.connect("https://studio.example.org", token)


def test_a_token_is_not_shown() -> None:
    assert "secret" not in repr(tacit.connect("https://studio.example.org", "secret"))


def test_a_redirect_gets_no_token() -> None:
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                asked.append(connection.recv(4096))
                there = f"Location: http://127.0.0.1:{port}/elsewhere\r\n"
                head = (
                    f"HTTP/1.1 302 Found\r\n{there}Content-Length: 0\r\nConnection: close\r\n\r\n"
                )
                connection.sendall(head.encode())

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(ServiceError, match="status 302"):
            tacit.connect(f"http://127.0.0.1:{port}", "secret").surveys()
        thread.join()
    assert len(asked) == 1
