"""What an import loads: the light install stays light and quick to start."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tacit.extras import EXTRAS


def _loaded(code: str) -> set[str]:
    """The packages outside the standard library that this code loads, in a fresh process."""
    report = (
        "import json, sys; before = set(sys.modules)\n"
        f"try:\n    {code}\nexcept SystemExit: pass\n"
        "print(json.dumps(sorted({m.partition('.')[0] for m in set(sys.modules) - before})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1])) - sys.stdlib_module_names


@pytest.mark.parametrize(
    ("code", "packages"),
    [
        ("import tacit", {"tacit"}),
        ("from tacit import *", {"tacit", "numpy"}),
    ],
)
def test_importing_tacit_loads_these_packages_only(code: str, packages: set[str]) -> None:
    """Every further package makes each program that uses tacit slower to start."""
    found = {name for name in _loaded(code) if not name.startswith("_")}  # compiled helpers
    assert found == packages


def test_the_help_loads_neither_the_service_nor_scikit_learn() -> None:
    loaded = _loaded("from tacit.cli import main; main(['--help'])")
    assert {"typer", "tacit"} <= loaded
    assert loaded & {*EXTRAS, "pydantic", "scipy", "sklearn"} == set()


def test_every_optional_package_is_known_by_its_extra(root: Path) -> None:
    """Import names and names on the registry differ in letter case and hyphens; two in more."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    declared = {
        re.split(r"[\[<>=!~; ]", requirement)[0].replace("-", "_"): extra
        for extra in ("service", "postgres", "studio", "plot", "formula", "scale", "spark")
        for requirement in project["optional-dependencies"][extra]
    }
    declared["ibis"] = declared.pop("ibis_framework")
    declared["argon2"] = declared.pop("argon2_cffi")
    assert {name: extra for name, extra in declared.items() if name != "tacit"} == EXTRAS
