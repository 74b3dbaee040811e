"""What an import loads: the light install stays light and quick to start."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema
from tacit.core.channel import truthful
from tacit.core.imports import EXTRAS
from tacit.records import writing_records


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


@pytest.mark.slow
def test_the_studio_starts_without_scikit_learn() -> None:
    """It loads pandas and most of SciPy too; models are learnt in processes of their own."""
    loaded = _loaded("import tacit.studio.server")
    assert {"starlette", "sqlalchemy"} <= loaded
    assert loaded & {"sklearn", "pandas", "matplotlib"} == set()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_counting_a_file_does_not_load_pandas(tmp_path: Path, suffix: str) -> None:
    """Some functions of Arrow load it where it is installed, which takes a quarter of a second."""
    schema = Schema([Attribute("a", ["no", "yes"]), Attribute("b", [0, 1])])
    design = Design(schema, [Group(["a", "b"], truthful())])
    path = tmp_path / f"reported{suffix}"
    with writing_records(path, design.reported) as write:
        write(np.array([[0, 1], [1, 1]], np.uint8))
    (tmp_path / "design.json").write_text(design.to_json())
    arguments = ["estimate", str(tmp_path / "design.json"), str(path)]
    loaded = _loaded(f"from tacit.cli import main; main({arguments})")
    assert "pyarrow" in loaded
    assert "pandas" not in loaded


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
    assert {name: extra for name, extra in declared.items() if name != "tacit_survey"} == EXTRAS
