"""A low limit of open files is logged at the start, and when it is reached."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.support.published import published
from tests.support.serving import SECONDS, Served, serving

SURVEY = published()
resource = pytest.importorskip("resource")


def lines_until(lines: Iterable[str], last: str) -> Iterator[str]:
    """Lines up to the first one with this text."""
    for line in lines:
        yield line
        if last in line:
            return


def test_a_limit_below_the_connections_is_warned_of_at_the_start(tmp_path: Path) -> None:
    survey = tmp_path / "published.json"
    survey.write_text(SURVEY.to_json())
    serve = [sys.executable, "-m", "tacit", "serve", survey, "--database", tmp_path / "tacit.db"]
    process = subprocess.Popen(
        ["sh", "-c", 'ulimit -n 500; exec "$0" "$@"', *serve, "--port", "0", "--log", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    log = "".join(lines_until(process.stderr, '"event": "started"'))
    process.terminate()
    said, _ = process.communicate(timeout=SECONDS)
    warning = said.splitlines()[1]
    assert warning.startswith("warning: the system allows this process 500 open files, ")
    assert "--connections" in warning
    assert '"event": "few-files"' in log


def lives(served: Served) -> bool:
    """Whether it answers; it may still turn connections away."""
    try:
        return httpx.get(f"{served.origin}/health/live").status_code == 200
    except httpx.TransportError:
        return False


def test_a_limit_that_is_hit_is_logged_once(tmp_path: Path) -> None:
    with serving(tmp_path, [SURVEY], "--log", "json") as served, ExitStack() as stack:
        assert httpx.get(f"{served.origin}/health/live").status_code == 200
        open_files = len(list(Path(f"/proc/{served.process.pid}/fd").iterdir()))
        few = open_files + 20
        resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE, (few, few))
        for _ in range(40):
            stack.enter_context(socket.create_connection((served.host, served.port)))
        until = time.monotonic() + SECONDS
        while not any("out-of-files" in line for line in served.log):
            assert time.monotonic() < until, "it is not logged"
            time.sleep(0.05)
        stack.close()
        while not lives(served):
            assert time.monotonic() < until, "it does not recover"
            time.sleep(0.05)
        assert served.stop() == 0
    assert "".join(served.log).count("out-of-files") == 1
    assert '"fault"' not in "".join(served.log)
