"""A studio process, and what is checked of every page in a browser."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support import warm_start
from tests.support.axe_checks import violations
from tests.support.browser import PHONE
from tests.support.serving import SECONDS


@contextmanager
def running(
    database: str,
    folder: Path,
    known: bool = False,
    *,
    flags: Sequence[str] = (),
    **environment: str,
) -> Iterator[tuple[str, str | None]]:
    """A studio process: its address, and the link that it prints at its first start.

    It prints none if an account is `known`, or the folder has a file of this name. `environment`
    sets variables.
    """
    own = ["--database", database, "--data", str(folder), "--port", "0"]
    with (folder.parent / "log").open("w") as log:
        command = ["studio", *own, *flags]
        process = warm_start.start(command, stderr=log, env={**os.environ, **environment})
        assert process.stdout is not None
        try:
            address = process.stdout.readline().split()[1]
            link = None
            if not known and not (folder / "known").exists():
                found = re.search(r"http\S+/set-up/\S+", process.stdout.readline())
                assert found is not None
                link = found[0]
            yield address, link
        finally:
            process.terminate()
            process.wait(SECONDS)
            process.stdout.close()


def look(page: Any) -> None:
    """Nothing that axe complains of, in light and dark; no sideways scrolling on a phone."""
    for dark in (True, False):
        assert violations(page, dark) == [], (page.url, dark)
    size = page.viewport_size
    page.set_viewport_size(PHONE)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= PHONE["width"], page.url
    page.set_viewport_size(size)


def look_with(url: str) -> Callable[[Any], None]:
    """Look at each page with one kind of database: what it shows does not depend on it."""
    return (lambda page: None) if url.startswith("postgresql") else look
