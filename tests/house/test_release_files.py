"""The files around a release agree with pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import tacit


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    return dict(tomllib.loads((root / "pyproject.toml").read_text())["project"])


def test_every_file_that_names_our_version_names_the_same(
    root: Path, project: dict[str, Any]
) -> None:
    written = {
        "tacit.__version__": tacit.__version__,
        "CITATION.cff": yaml.safe_load((root / "CITATION.cff").read_text())["version"],
        "Dockerfile": _only(r'image\.version="([^"]+)"', root / "Dockerfile"),
        "compose.yaml": _only(r"image: tacit:(\S+)", root / "compose.yaml"),
    }
    assert written == dict.fromkeys(written, project["version"])
    series = project["version"].rpartition(".")[0]
    assert f"| {series}.x | yes |" in (root / "SECURITY.md").read_text()


def test_the_workflow_tests_every_python_that_we_declare(
    root: Path, project: dict[str, Any]
) -> None:
    declared = [
        found[1]
        for line in project["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line))
    ]
    workflow = yaml.safe_load((root / ".github/workflows/checks.yml").read_text())
    assert workflow["jobs"]["checks"]["strategy"]["matrix"]["python"] == declared
    assert project["requires-python"] == f">={declared[0]}"
    newest = declared[-1]
    images = re.findall(r"^FROM python:(\S+)-slim", (root / "Dockerfile").read_text(), re.MULTILINE)
    assert set(images) == {newest}
    release = yaml.safe_load((root / ".github/workflows/release.yml").read_text())
    assert release["jobs"]["build"]["steps"][1]["with"]["python-version"] == newest


def test_the_lock_has_a_hash_for_every_package_and_the_versions_of_the_constraints(
    root: Path, project: dict[str, Any]
) -> None:
    """`make lock` writes it again."""
    text = (root / "requirements.lock").read_text()
    entries = text.replace("\\\n", "").splitlines()
    pins = {re.split(r"[ ;]", entry)[0] for entry in entries}
    assert pins <= set((root / "constraints.txt").read_text().splitlines())
    hashed = re.compile(r"[\w.=-]+( ; [\w !='.]+?)? +(--hash=sha256:[0-9a-f]{64} *)+")
    assert [entry for entry in entries if not hashed.fullmatch(entry)] == []
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"]]
    needed += [n for e in ("service", "postgres", "plot", "formula") for n in extras[e]]
    names = {re.split(r"[\[<>=!~; ]", requirement)[0] for requirement in needed} - {"tacit"}
    assert names - {pin.partition("==")[0] for pin in pins} == set()


def _only(pattern: str, path: Path) -> str:
    (found,) = re.findall(pattern, path.read_text())
    return str(found)
