"""The code blocks of a page of documentation, and a shell that runs them as a reader would."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Far longer than any block takes.
SECONDS = 300


def blocks(page: str) -> list[tuple[str, str]]:
    """Language and content of each block, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"```(\w*)\n(.*?)```", text, flags=re.DOTALL)


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
