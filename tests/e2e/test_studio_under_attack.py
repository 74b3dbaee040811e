"""A real studio under attack: it refuses early, and everybody else is answered meanwhile."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tacit.collect.http_server import MOST_HEAD
from tests.support.asking import place, submission
from tests.support.commands import Ran
from tests.support.one_process import both
from tests.support.published import published
from tests.support.raw import SECONDS, Line, chunked, request
from tests.support.studio import PASSWORD, SAME_SITE
from tests.support.studio_process import running

pytestmark = pytest.mark.slow

SURVEY = published()
PAGE = request("/sign-in", method="GET", headers=("Accept: text/html",))
#: What a client may send and then be silent.
HALF = {
    "nothing": b"",
    "half a head": b"GET / HT",
    "half a body": request("/sign-in", b"x" * 50)[:-49],
    "half a chunk": chunked("/sign-in", iter([b"5\r\nab"])),
}
half = pytest.mark.parametrize("sent", HALF.values(), ids=HALF.keys())
#: More than a server keeps for one client, and what it may take before it refuses a head: the
#: buffers of two sockets.
LARGE, MOST_TAKEN = 85 << 20, 16 << 20


@contextmanager
def studio(folder: Path, **environment: str) -> Iterator[tuple[str, int]]:
    """The host and port of a new studio."""
    with running(str(folder / "survey.db"), folder / "studio", **environment) as (address, _):
        parts = urlsplit(address)
        yield str(parts.hostname), int(parts.port or 0)


@contextmanager
def connections(
    at: tuple[str, int], sources: list[str], sent: bytes
) -> Iterator[list[socket.socket]]:
    """A connection from each of these addresses that sends this and then nothing."""
    with ExitStack() as stack:
        made = []
        for source in sources:
            made.append(stack.enter_context(socket.create_connection(at, SECONDS, (source, 0))))
            with suppress(ConnectionError):  # it may be turned away at once
                made[-1].sendall(sent)
        yield made


def is_open(connection: socket.socket) -> bool:
    """Whether the server still holds a connection; reads what it said before."""
    connection.setblocking(False)
    try:
        while connection.recv(1 << 16):
            pass
    except BlockingIOError:
        return True
    except ConnectionError:
        pass
    return False


def answered(at: tuple[str, int], source: str = "127.0.0.9") -> int | None:
    """The status of the first page for a visitor from this address."""
    with closing(Line(*at, source)) as line:
        return line.ask(PAGE)


def test_a_header_of_many_megabytes_is_refused_early(tmp_path: Path) -> None:
    with studio(tmp_path) as at, socket.create_connection(at, SECONDS) as connection:
        taken = connection.send(b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: ")
        with suppress(ConnectionError):
            while taken < LARGE:
                taken += connection.send(b"x" * MOST_HEAD)
        assert taken < MOST_TAKEN
        assert answered(at) == 200


def test_many_headers_are_refused_early(tmp_path: Path) -> None:
    many = b"".join(b"X-%d: x\r\n" % number for number in range(100_000))
    with (
        studio(tmp_path, TACIT_REQUEST_SECONDS="600") as at,
        connections(at, ["127.0.0.1"], PAGE[:-2] + many) as made,
        suppress(ConnectionError),
    ):
        while made[0].recv(1 << 16):
            pass


@half
def test_half_requests_are_closed(tmp_path: Path, sent: bytes) -> None:
    with (
        studio(tmp_path, TACIT_REQUEST_SECONDS="1") as at,
        connections(at, ["127.0.0.1"] * 1200, sent) as made,
    ):
        assert answered(at) == 200
        until = time.monotonic() + SECONDS
        while any(map(is_open, made)):
            assert time.monotonic() < until
            time.sleep(0.1)


@half
def test_half_requests_from_one_address_or_many_keep_nobody_out(
    tmp_path: Path, sent: bytes
) -> None:
    limits = {"TACIT_CONNECTIONS": "100", "TACIT_CONNECTIONS_PER_ADDRESS": "20"}
    one, many = ["127.0.0.2"] * 200, [f"127.0.1.{number}" for number in range(1, 101)] * 3
    with studio(tmp_path, **limits, TACIT_REQUEST_SECONDS="600") as at:
        for sources, most in ((one, 20), (many, 100)):
            with connections(at, sources, sent) as made:
                assert answered(at, "127.0.0.2") == 200
                assert answered(at) == 200
                assert sum(map(is_open, made)) <= most


def test_a_body_without_an_end_is_refused(tmp_path: Path) -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    with studio(tmp_path) as at, socket.create_connection(at, SECONDS) as connection:
        taken = connection.send(chunked("/sign-in", iter(())))
        with suppress(ConnectionError):
            while taken < LARGE:
                connection.sendall(chunk)
                taken += len(chunk)
        assert taken < 2 * MOST_TAKEN
        assert answered(at) == 200


def test_readers_that_take_nothing_are_cut_off_and_keep_nobody_waiting(tmp_path: Path) -> None:
    with ExitStack() as stack:
        at, headers, draft = stack.enter_context(signed_in(tmp_path, TACIT_REQUEST_SECONDS="1"))
        asked = request(f"{draft}/survey.yaml", method="GET", headers=headers) * 16
        readers = [stack.enter_context(socket.socket()) for _ in range(20)]
        for reader in readers:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.connect(at)
            reader.sendall(asked)
        assert answered(at) == 200
        until = time.monotonic() + SECONDS
        while sum(map(_established, readers)):
            assert time.monotonic() < until
            time.sleep(0.1)


@contextmanager
def signed_in(
    folder: Path, **environment: str
) -> Iterator[tuple[tuple[str, int], tuple[str, ...], str]]:
    """A studio, the headers of somebody who is signed in, and the path of a draft of 1 MB."""
    database = str(folder / "survey.db")
    with (
        running(database, folder / "studio", **environment) as (address, link),
        httpx.Client(headers=SAME_SITE, base_url=address, timeout=SECONDS) as browser,
    ):
        form = {"name": "Ada", "password": PASSWORD, "again": PASSWORD}
        assert browser.post(str(link), data=form).status_code == 303
        draft = browser.post("/drafts", data={"title": "Mine"}).headers["location"]
        text = {"action": "save", "version": "1", "text": "title: x\n" + "#" * 1_000_000}
        assert browser.post(f"{draft}/text", data=text).status_code == 303
        at = urlsplit(address)
        session = f"Cookie: tacit-studio={browser.cookies['tacit-studio']}"
        headers = ("Accept: application/json", "Sec-Fetch-Site: same-origin", session)
        yield (str(at.hostname), int(at.port or 0)), headers, draft


def _established(reader: socket.socket) -> bool:
    """Whether the server holds a connection that nobody reads, as the system shows it."""
    local = f":{reader.getsockname()[1]:04X}"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return "01" in [line[3] for line in lines if line[2].endswith(local)]


def test_pipelined_requests_have_an_end(tmp_path: Path) -> None:
    with studio(tmp_path) as at, socket.create_connection(at, SECONDS) as connection:
        connection.sendall(PAGE * 1000)
        said = b""
        with suppress(ConnectionError):
            while more := connection.recv(1 << 16):
                said += more
        assert said.count(b"HTTP/1.1 200 ") < 100
        assert answered(at) == 200


def test_respondents_are_answered_while_uploads_attack_the_studio(tmp_path: Path) -> None:
    """Everybody with an account can upload: each of these took seconds of CPU time."""
    opened = b"--b%d\r\nContent-Type: multipart/mixed; boundary=b%d\r\n\r\n"
    body = b"".join(opened % (level, level + 1) for level in range(900)) + b"x\r\n" * 45_000
    with (
        both(str(tmp_path / "survey.db"), tmp_path / "studio") as process,
        httpx.Client(headers=SAME_SITE, base_url=process.studio, timeout=SECONDS) as browser,
        ExitStack() as stack,
    ):
        form = {"name": "Ada", "password": PASSWORD, "again": PASSWORD}
        assert browser.post(process.link, data=form).status_code == 303
        text = {"text": SURVEY.survey.to_json(), "from": "text"}
        pasted = browser.post("/drafts", data=text).headers["location"]
        assert browser.post(f"{pasted}/publish", data={"confirm": "yes"}).status_code == 303
        draft = browser.post("/drafts", data={"title": "Mine"}).headers["location"]
        headers = (
            "Accept: application/json",
            "Sec-Fetch-Site: same-origin",
            f"Cookie: tacit-studio={browser.cookies['tacit-studio']}",
            "Content-Type: multipart/form-data; boundary=b0",
        )
        at = urlsplit(process.studio)
        lines = [Line(str(at.hostname), int(at.port or 0)) for _ in range(40)]
        hostile = request(f"{draft}/logo", body, headers=headers)
        for line in lines:
            stack.callback(line.close)
            line.send(hostile)
        target = process.collecting + place(SURVEY, "responses")
        while (answer := httpx.post(target, json=submission(SURVEY))).status_code == 404:
            time.sleep(0.1)  # a new survey is served within a second
        assert answer.status_code == 201
        assert browser.get("/").status_code == 200
        assert [line.receive() for line in lines] == [400] * 40


def test_the_right_password_signs_in_while_strangers_guess(tmp_path: Path) -> None:
    """Over a trusted proxy, which says where each request comes from."""
    with running(str(tmp_path / "survey.db"), tmp_path / "studio") as (address, link):

        def sign_in(source: str, password: str, browser: httpx.Client | None = None) -> int:
            headers = SAME_SITE | {"x-forwarded-for": source}
            form = {"name": "Ada", "password": password}
            target = f"{address}sign-in"
            sent = (browser or httpx).post(target, headers=headers, data=form, timeout=SECONDS)
            return sent.status_code

        def is_refused(source: str) -> bool:
            """Whether one must wait at last; each wait is longer, however slow the machine is."""
            return any(sign_in(source, "wrong") == 429 for _ in range(30))

        with httpx.Client() as known:
            form = {"name": "Ada", "password": PASSWORD, "again": PASSWORD}
            assert known.post(str(link), data=form, headers=SAME_SITE).status_code == 303
            sources = ("192.0.2.1", "2001:db8::1")
            assert all(map(is_refused, sources))
            assert [sign_in(source, PASSWORD, known) for source in sources] == [303, 303]
            assert sign_in("198.51.100.1", PASSWORD) == 303


def test_the_address_of_the_studio_is_that_of_its_links(tmp_path: Path) -> None:
    address = "https://studio.example.org"
    flags = ["--address", f"{address}/"]
    with running(str(tmp_path / "survey.db"), tmp_path / "studio", flags=flags) as (at, link):
        assert str(link).startswith(f"{address}/set-up/")
        target = str(link).replace(f"{address}/", at)
        form = {"name": "Ada", "password": PASSWORD, "again": PASSWORD}
        for origin, status in ((at.rstrip("/"), 403), (address, 303)):
            answer = httpx.post(target, data=form, headers={"origin": origin}, timeout=SECONDS)
            assert answer.status_code == status
        assert "__Host-tacit-studio" in answer.cookies


@pytest.mark.parametrize("address", ["studio.example.org", "https://x/y", "ftp://x", "https://[x"])
def test_an_address_that_is_no_origin_is_an_error(
    tacit: Callable[..., Ran], tmp_path: Path, address: str
) -> None:
    own = ["--database", tmp_path / "survey.db", "--data", tmp_path / "studio", "--port", "0"]
    ran = tacit("studio", *own, "--address", address)
    assert ran.status == 2
    assert "such as https://studio.example.org" in ran.err
