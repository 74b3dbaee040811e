"""A studio process."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support import warm_start
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
