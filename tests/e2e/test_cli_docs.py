"""docs/cli.md shows what the commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tacit.cli.main import run

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
SETUP = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
SHOWN = re.findall(r"```console\n\$ (.*?)\n(.*?)```", PAGE, re.DOTALL)


def comparable(output: str) -> str:
    """Without what may differ: ends of lines, the time taken, digits beyond the sixth."""
    lines = "\n".join(line.rstrip() for line in output.splitlines()).strip()
    untimed = re.sub(r"in \d+\.\d s", "in some time", lines)
    return re.sub(r"0\.\d{7,}", lambda number: f"{float(number[0]):.6f}", untimed)


def coarse(output: str) -> str:
    """Without what rounding decides among channels that are equally good: further digits of their
    errors, their reports, and what follows from these.
    """
    lines = [line for line in output.splitlines() if not re.search(r" % of | \.\. |──", line)]
    error = r"(\d\.\d)\d+(e-\d+)"
    return re.sub(rf"{error} +{error} +\d+ ", r"\1\2 \3\4 some ", "\n".join(lines))


def test_every_example_prints_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    assert SETUP is not None
    exec(SETUP[1], {})
    for command, shown in SHOWN:
        program, *arguments = shlex.split(command)
        capsys.readouterr()
        assert (program, run(arguments)) == ("tacit", 0)
        printed, expected = comparable(capsys.readouterr().out), comparable(shown)
        if arguments[0] == "optimize":
            printed, expected = coarse(printed), coarse(expected)
        assert printed == expected, command
