"""`tacit reproduce` as a user runs it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tacit.cli.main import run

SMALL = ["reproduce", "du-zhan", "--repeats", "1", "--quick"]


def contents(folder: Path) -> dict[str, bytes]:
    """Every file but the figures."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".svg"
    }


@pytest.mark.slow
def test_a_run_stopped_by_ctrl_c_and_continued_equals_one_that_was_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped, whole = tmp_path / "stopped", tmp_path / "whole"
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
    command = [sys.executable, "-m", "tacit", *SMALL, "--processes", "2", "--out", str(stopped)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while process.poll() is None and not list(stopped.rglob("*.json")):
        time.sleep(0.01)
    time.sleep(float(np.random.default_rng(3).uniform(0, 0.3)))
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said.decode()
    assert 0 < len(list(stopped.rglob("*.json"))) < 12
    assert not (stopped / "report.html").exists()
    assert not list(stopped.rglob("*.part"))
    assert run([*SMALL, "--processes", "1", "--out", str(stopped)]) == 0
    assert run([*SMALL, "--processes", "1", "--out", str(whole)]) == 0
    assert contents(stopped) == contents(whole)
    assert (whole / "report.html").stat().st_size > 10_000
    assert "wrote" in capsys.readouterr().out


def test_an_unknown_paper_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "warner"]) == 2
    assert "du-zhan" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_a_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert run(["reproduce", "du-zhan", "--quick", "--out", str(tmp_path / "file" / "x")]) == 2
    assert "cannot be created" in capsys.readouterr().err
