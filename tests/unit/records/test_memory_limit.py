"""A limit on the memory of the process: shares of it, and one clear error beyond it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.errors import DataError
from tacit.records.memory_limit import (
    is_limited,
    limited,
    limited_memory,
    parse_memory,
    resident,
)

MB = 10**6


@pytest.mark.parametrize(
    ("text", "size"),
    [("500MB", 500 * MB), ("2 gb", 2000 * MB), ("1.5GiB", 3 << 29), (" 64 KiB ", 1 << 16)],
)
def test_amounts_have_a_unit(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "500", "MB", "-5MB", "5 XB", "1e3MB", "5MB5"])
def test_an_amount_without_a_known_unit_is_an_error_that_shows_one(text: str) -> None:
    with pytest.raises(DataError, match="give one such as 500MB"):
        parse_memory(text)


def test_work_takes_a_share_of_what_is_left() -> None:
    assert limited(7, 0.5) == 7
    before = signal.getsignal(signal.SIGINT)
    with limited_memory(resident() + 400 * MB):
        assert is_limited()
        assert limited(1, 0.5) == 1
        assert 100 * MB < limited(1 << 40, 0.5) <= 200 * MB
        with pytest.raises(DataError, match="limited already"), limited_memory(1 << 40):
            pass
    assert not is_limited()
    assert limited(1 << 40, 0.5) == 1 << 40
    assert signal.getsignal(signal.SIGINT) is before


def test_a_limit_below_what_the_process_takes_is_an_error_that_names_the_least() -> None:
    with pytest.raises(DataError, match=r"limit of 9 MB is too low.*give at least [\d.,]+ [MG]B"):
        limited_memory(9 * MB).__enter__()
    assert not is_limited()


def test_ctrl_c_is_no_exceeded_limit() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
    try:
        with pytest.raises(KeyboardInterrupt), limited_memory(resident() + 400 * MB):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


#: Takes 400 MB, in pieces or in one call of compiled code.
SCRIPT = """
import sys, time
from pathlib import Path
import numpy as np
from tacit.errors import MemoryLimitError
from tacit.records.memory_limit import limited_memory, resident, unfinished

how, room = sys.argv[1], int(sys.argv[2])
part = Path(sys.argv[3])
part.touch()
try:
    with limited_memory(resident() + room), unfinished(part):
        if how == "pieces":
            kept = []
            for _ in range(400):
                kept.append(np.ones(125_000))
                time.sleep(0.001)
        else:
            kept = np.tile(np.ones(1000), 50_000)
            for _ in range(40):
                kept.sort()
    print("done")
except MemoryLimitError as error:
    print("raised:", error)
"""


def run_script(tmp_path: Path, how: str, room: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", SCRIPT, how, str(room), str(tmp_path / "unfinished")]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["pieces", "one call"])
def test_work_within_the_limit_is_done(tmp_path: Path, how: str) -> None:
    ran = run_script(tmp_path, how, 1000 * MB)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "done\n", "")


@pytest.mark.slow
def test_work_beyond_the_limit_raises_one_clear_error(tmp_path: Path) -> None:
    ran = run_script(tmp_path, "pieces", 250 * MB)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("raised: needs more than ")
    assert ran.stdout.count("\n") == 1


@pytest.mark.slow
def test_compiled_code_beyond_the_limit_ends_the_process_with_the_same_error(
    tmp_path: Path,
) -> None:
    ran = run_script(tmp_path, "one call", 70 * MB)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("error: needs more than ")
    assert ran.stderr.count("\n") == 1
    assert not (tmp_path / "unfinished").exists()
