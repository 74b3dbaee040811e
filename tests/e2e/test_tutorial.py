"""docs/tutorial.md: its commands and its Python print what the page shows."""

from __future__ import annotations

from pathlib import Path

from tests.support.doc_blocks import blocks, printed, typed

BLOCKS = blocks("docs/tutorial.md")


def _of(language: str) -> list[str]:
    return [content for found, content in BLOCKS if found == language]


def _stripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())


def test_a_newcomer_who_follows_the_tutorial_sees_what_it_shows(tmp_path: Path) -> None:
    (survey,) = _of("yaml")
    (tmp_path / "survey.yaml").write_text(survey, encoding="utf-8")
    shown = _stripped(typed("".join(_of("sh")), tmp_path))
    assert [text for text in _of("text") if _stripped(text) not in shown] == []

    assert printed("".join(_of("python")), tmp_path) == "".join(_of(""))
