"""docs/planning.md: its Python prints what the page shows."""

from __future__ import annotations

from pathlib import Path

from tests.support.doc_blocks import blocks, printed

BLOCKS = blocks("docs/planning.md")


def test_the_examples_of_plans_print_what_the_page_shows(tmp_path: Path) -> None:
    code = "".join(content for language, content in BLOCKS if language == "python")
    shown = "".join(content for language, content in BLOCKS if language == "text")
    assert shown.count("\n") > 30
    assert printed(code, tmp_path) == shown
