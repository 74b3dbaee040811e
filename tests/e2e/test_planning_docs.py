"""docs/planning.md: its Python prints what the page shows."""

from __future__ import annotations

import subprocess
import sys

from tests.support.doc_blocks import blocks

BLOCKS = blocks("docs/planning.md")


def test_the_examples_of_plans_print_what_the_page_shows() -> None:
    code = "".join(content for language, content in BLOCKS if language == "python")
    shown = "".join(content for language, content in BLOCKS if language == "text")
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert shown.count("\n") > 30
    assert done.stdout == shown
