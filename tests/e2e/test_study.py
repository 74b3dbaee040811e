"""docs/study.md: its Python prints what the page shows, and its commands run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.doc_blocks import blocks, printed, typed

BLOCKS = blocks("docs/study.md")


def _of(language: str) -> str:
    return "".join(content for found, content in BLOCKS if found == language)


@pytest.mark.slow
def test_a_reader_who_follows_the_study_sees_what_it_shows(tmp_path: Path) -> None:
    assert printed(_of("python"), tmp_path) == _of("")
    assert (tmp_path / "study.png").stat().st_size > 1000
    told = typed(_of("sh"), tmp_path)
    for shown in ("P(undeclared | region)", "difference", "distributed alike", "share of careless"):
        assert shown in told
    assert r"\toprule" in told
