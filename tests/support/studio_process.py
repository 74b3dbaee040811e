"""A studio process, and what is checked of every page in a browser."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT

from tests.support.browser import PHONE


@contextmanager
def running(database: str, folder: Path, known: bool = False) -> Iterator[tuple[str, str | None]]:
    """A studio process: its address, and the link that it prints at its first start.

    It prints none if an account is `known`, or the folder has a file of this name.
    """
    command = [sys.executable, "-m", "tacit", "studio", "--database", database]
    with subprocess.Popen(
        [*command, "--data", str(folder), "--port", "0"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[1]
        try:
            link = None
            if not known and not (folder / "known").exists():
                found = re.search(r"http\S+/set-up/\S+", process.stdout.readline())
                assert found is not None
                link = found[0]
            yield address, link
        finally:
            process.terminate()


def look(page: Any) -> None:
    """Nothing that axe complains of, in light and dark; no sideways scrolling on a phone."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.evaluate(AXE_SCRIPT)
        found = page.evaluate(
            "async () => (await axe.run(document)).violations.map(({ id, nodes }) => "
            "[id, nodes.map(({ html }) => html)])"
        )
        assert found == [], (page.url, scheme)
    size = page.viewport_size
    page.set_viewport_size(PHONE)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= PHONE["width"], page.url
    page.set_viewport_size(size)
