"""A missing optional package: one line says what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tacit.core.imports import optional_imports
from tacit.errors import MissingExtraError
from tacit.optimize import Warner, front

#: Runs commands as if tacit were installed without extras.
LIGHT = """
import sys
from tacit.cli.main import run
from tacit.core.imports import EXTRAS

sys.modules |= dict.fromkeys(EXTRAS)
for arguments in {commands}:
    print(run(arguments), file=sys.stderr)
"""


def test_another_missing_module_is_no_missing_extra() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), optional_imports():
        import no_such_module  # type: ignore[import-not-found]  # noqa: F401


def test_a_plot_without_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tacit.output.plot_style", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    found = front([0.2, 0.3, 0.5], 1000, method=Warner(5))
    with pytest.raises(
        MissingExtraError, match=r"matplotlib .* pip install 'tacit-survey\[plot\]'"
    ):
        found.plot()


@pytest.mark.slow
def test_a_command_without_its_extra_ends_with_one_line() -> None:
    commands = [
        ["backup", "--database", "no.db", "--out", "copy.db"],
        ["reproduce", "du-zhan", "--quick"],
        ["page", "manifest"],
    ]
    code = LIGHT.format(commands=commands)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == [
        "error: sqlalchemy is not installed; run: pip install 'tacit-survey[service]'",
        "2",
        "error: matplotlib is not installed; run: pip install 'tacit-survey[plot]'",
        "2",
        "0",
    ]


def test_postgresql_without_its_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.collect.store import Store

    monkeypatch.delitem(sys.modules, "tacit.collect.store.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(
        MissingExtraError, match=r"psycopg .* pip install 'tacit-survey\[postgres\]'"
    ):
        Store("postgresql://localhost/survey")
