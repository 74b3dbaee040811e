"""What tests of the command line share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tacit.cli.main import run
from tests.support.commands import Ran


@pytest.fixture
def tacit(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Runs a command in this process, which is quick."""

    def call(*arguments: object) -> Ran:
        capsys.readouterr()
        return Ran(run([str(argument) for argument in arguments]), *capsys.readouterr())

    return call


@pytest.fixture
def tacit_(tacit: Callable[..., Ran]) -> Callable[..., Ran]:
    """The same, where `tacit` is the package."""
    return tacit
