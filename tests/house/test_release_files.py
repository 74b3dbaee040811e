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


def _locked(root: Path, name: str) -> set[str]:
    """The packages of a lock, each with a hash and with its version in the constraints."""
    entries = (root / name).read_text().replace("\\\n", "").splitlines()
    pins = {re.split(r"[ ;]", entry)[0] for entry in entries}
    assert pins <= set((root / "constraints.txt").read_text().splitlines())
    hashed = re.compile(r"[\w.=-]+( ; [\w !<>='.]+?)? +(--hash=sha256:[0-9a-f]{64} *)+")
    assert [entry for entry in entries if not hashed.fullmatch(entry)] == []
    return {pin.partition("==")[0] for pin in pins}


def test_the_lock_has_a_hash_for_every_package_and_the_versions_of_the_constraints(
    root: Path, project: dict[str, Any]
) -> None:
    """`make lock` writes it again."""
    locked = _locked(root, "requirements.lock")
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"]]
    needed += [n for e in ("service", "postgres", "plot", "formula") for n in extras[e]]
    names = {re.split(r"[\[<>=!~; ]", requirement)[0] for requirement in needed} - {"tacit-survey"}
    assert names - locked == set()


def test_no_build_tool_of_the_image_or_of_a_release_is_installed_without_its_hash(
    root: Path, project: dict[str, Any]
) -> None:
    """`make lock` writes the locks again."""
    backend = tomllib.loads((root / "pyproject.toml").read_text())["build-system"]["requires"]
    release = {re.split(r"[<>=]", tool)[0] for tool in project["optional-dependencies"]["release"]}
    assert {*backend} <= _locked(root, "build.lock") <= _locked(root, "release.lock")
    assert release <= _locked(root, "release.lock")
    # Of the image: each command installs from a lock, without building what has no hash, or
    # only the wheel that was built here.
    checked = re.compile(r"--require-hashes --only-binary :all: -r (requirements|build)\.lock")
    commands = re.findall(r"pip install --no-cache-dir ([^\\\n]+)", _text(root / "Dockerfile"))
    others = [command.strip() for command in commands if not checked.match(command)]
    assert others == ["--no-deps dist/*.whl"]
    assert len(commands) == _text(root / "Dockerfile").count("pip install") == 3
    # Of a release: its job installs nothing but `make release` does, which needs one environment.
    steps = yaml.safe_load(_text(root / ".github/workflows/release.yml"))["jobs"]["build"]["steps"]
    assert [step["run"] for step in steps if "make" in step.get("run", "")] == ["make release"]
    makefile = _text(root / "Makefile")
    assert "\nrelease: $(VENV_RELEASE)/.release ##" in makefile
    recipe = makefile.split("$(VENV_RELEASE)/.release: ")[-1].split("\n\n")[0]
    assert "$(PIP_HASHED) -r release.lock" in recipe
    assert "$(PIP_INSTALL)" not in recipe
    assert "$(PIP_INSTALL)" not in makefile.split("define new_environment")[1].split("endef")[0]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_the_image_is_built_from_files_that_docker_may_read(root: Path) -> None:
    """The build reads hatch_build.py and what the lock and the README hold."""
    copies = re.findall(r"^COPY (?!--)(.+) \S+$", (root / "Dockerfile").read_text(), re.MULTILINE)
    copied = {name for names in copies for name in names.split()}
    allowed = re.findall(r"^!(\S+)$", (root / ".dockerignore").read_text(), re.MULTILINE)
    assert {"hatch_build.py", "README.md", "pyproject.toml", "src"} <= copied
    assert copied == set(allowed)


def _only(pattern: str, path: Path) -> str:
    (found,) = re.findall(pattern, path.read_text())
    return str(found)
