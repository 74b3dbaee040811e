"""`tacit studio --collect` as a process of its own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support import warm_start
from tests.support.serving import SECONDS
from tests.support.warm_start import Process


@dataclass
class Both:
    """A process that runs the studio and collects."""

    process: Process
    studio: str
    link: str
    collecting: str


def command(database: str, folder: str | Path) -> list[str]:
    """The command, as the docs have it."""
    return ["studio", "--database", database, "--data", str(folder), "--collect"]


@contextmanager
def both(database: str, folder: Path, **environment: str) -> Iterator[Both]:
    """The studio and the collecting side on free ports, with variables of the environment."""
    ports = ["--port", "0", "--collect-port", "0"]
    with (folder.parent / "log").open("w") as log:
        process = warm_start.start(
            [*command(database, folder), *ports], stderr=log, env={**os.environ, **environment}
        )
        assert process.stdout is not None
        try:
            told = [process.stdout.readline() for _ in range(3)]
            found = re.search(r"http\S+/set-up/\S+", told[1])
            assert found is not None
            yield Both(process, told[0].split()[1], found[0], told[2].split()[-1].rstrip("/"))
        finally:
            if process.poll() is None:
                process.kill()
            process.wait(SECONDS)
            process.stdout.close()
