"""docs/study.md: its Python prints what the page shows, and its commands run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.doc_blocks import blocks, pasted

BLOCKS = blocks("docs/study.md")


def _of(language: str) -> str:
    return "".join(content for found, content in BLOCKS if found == language)


@pytest.mark.slow
def test_a_reader_who_follows_the_study_sees_what_it_shows(tmp_path: Path) -> None:
    run = [sys.executable, "-c", _of("python")]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == _of("")
    assert (tmp_path / "study.png").stat().st_size > 1000
    commands = pasted(_of("sh"), tmp_path)
    assert commands.returncode == 0, commands.stderr
    for shown in ("P(undeclared | region)", "difference", "distributed alike", "share of careless"):
        assert shown in commands.stdout
    assert r"\toprule" in commands.stdout
