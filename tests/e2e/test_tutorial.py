"""docs/tutorial.md: its commands and its Python print what the page shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.doc_blocks import blocks, pasted

BLOCKS = blocks("docs/tutorial.md")


def _of(language: str) -> list[str]:
    return [content for found, content in BLOCKS if found == language]


def _stripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())


def test_a_newcomer_who_follows_the_tutorial_sees_what_it_shows(tmp_path: Path) -> None:
    (survey,) = _of("yaml")
    (tmp_path / "survey.yaml").write_text(survey, encoding="utf-8")
    done = pasted("".join(_of("sh")), tmp_path)
    assert done.returncode == 0, done.stderr
    printed = _stripped(done.stdout)
    assert [shown for shown in _of("text") if _stripped(shown) not in printed] == []

    run = [sys.executable, "-c", "".join(_of("python"))]
    analysed = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert analysed.stdout == "".join(_of(""))
