"""The code blocks of a page of documentation, and a shell that runs them as a reader would."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.cli.main import run
from tests.support import warm_start

ROOT = Path(__file__).parents[2]
#: Far longer than any block takes.
SECONDS = 300


def blocks(page: str) -> list[tuple[str, str]]:
    """Language and content of each block, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"```(\w*)\n(.*?)```", text, flags=re.DOTALL)


def printed(code: str, folder: Path) -> str:
    """What Python code prints that a reader runs in a folder; in this process, which is quick."""
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out):
        exec(compile(code, "<block>", "exec"), {"__name__": "__main__"})
    return out.getvalue()


def typed(commands: str, folder: Path) -> str:
    """What commands of tacit print that a reader types in a folder, in this process too.

    Each must succeed. One ends in `&` and runs until `kill $! && wait`.
    """
    out, servers = io.StringIO(), []
    log = (folder / "log").open("w")
    with log, pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.chdir(folder)
        patch.setenv("TACIT_PORT", str(_free_port()))
        try:
            for line in filter(None, commands.splitlines()):
                program, *words = shlex.split(line)
                if line == "kill $! && wait":
                    servers[-1].terminate()
                    assert servers[-1].wait(SECONDS) == 0
                elif words[-1] == "&":
                    servers.append(warm_start.start(words[:-1], stderr=log))
                else:
                    assert (program, run(words)) == ("tacit", 0), line
        finally:
            for server in servers:
                server.kill()
                server.wait(SECONDS)
                assert server.stdout is not None
                server.stdout.close()
    return out.getvalue()


def pasted(commands: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run commands by bash, which stops at the first that fails; kill all that it started.

    Only the port is set from outside, because 8000 may be taken.
    """
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TACIT_PORT": str(_free_port()),
    }
    shell = subprocess.Popen(
        ["bash", "-e"],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = shell.communicate(commands, SECONDS)
    finally:
        _kill_group(shell.pid)
    return subprocess.CompletedProcess("bash", shell.returncode, out, err)


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
