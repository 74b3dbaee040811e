"""Stopped at any moment, by any signal, and continued: every byte is that of a run left alone."""

from __future__ import annotations

import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tacit.papers.runner import run

#: Sixteen settings of about a tenth of a second, on two processes.
SCRIPT = """
import sys, time
from pathlib import Path
from tacit.papers.runner import run
from tacit.papers.runner import Plan, moments

SETTINGS = [Plan(seed=5).setting("trial", f"number-{i}", 3) for i in range(16)]

def job(one, tell):
    found = []
    for repeat in range(one.repeats):
        time.sleep(.03)
        found.append(one.rng(repeat).random())
        tell(repeat + 1)
    return [{"name": one.name, **moments(found)}]

if __name__ == "__main__":
    run(SETTINGS, job, Path(sys.argv[1]), 2)
"""


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Path]:
    """The script; a program in the background may ignore Ctrl-C, and its children would too."""
    path = tmp_path / "run.py"
    path.write_text(SCRIPT)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield path
    signal.signal(signal.SIGINT, before)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*.json")}


def stop(script: Path, folder: Path, number: signal.Signals, more: int, later: float) -> None:
    """Start, and stop a moment after so many more settings are finished."""
    finished = len(contents(folder)) + more
    command = [sys.executable, str(script), str(folder)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet) as process:
        while process.poll() is None and len(contents(folder)) < finished:
            time.sleep(0.002)
        time.sleep(later)
        process.send_signal(number)
        assert process.wait(timeout=60) != 0


@pytest.mark.slow
def test_stopped_at_random_moments_and_continued_equals_uninterrupted(
    script: Path, tmp_path: Path
) -> None:
    rng = np.random.default_rng(11)
    stopped, whole = tmp_path / "stopped", tmp_path / "whole"
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        stop(script, stopped, number, int(rng.integers(0, 4)), rng.uniform(0, 0.1))
    assert 0 < len(contents(stopped)) < 16
    made = runpy.run_path(str(script))
    continued = run(made["SETTINGS"], made["job"], stopped)
    assert run(made["SETTINGS"], made["job"], whole) == continued
    assert len(contents(whole)) == 16
    assert contents(stopped) == contents(whole)
