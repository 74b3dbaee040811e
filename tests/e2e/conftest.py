"""What tests of the command line share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tacit.cli.main import run


@pytest.fixture
def tacit(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command in this process: its exit status, output and errors."""

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        return (run(arguments), *capsys.readouterr())

    return call
