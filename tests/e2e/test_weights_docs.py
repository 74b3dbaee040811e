"""docs/weights.md shows what its Python prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.doc_blocks import blocks, printed


@pytest.mark.slow
def test_the_example_of_a_sample_prints_what_the_page_shows(tmp_path: Path) -> None:
    (_, code), (_, shown) = blocks("docs/weights.md")
    assert printed(code, tmp_path) == shown
