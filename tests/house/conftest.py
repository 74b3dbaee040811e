"""The project's own files, as the house rules see them."""

from __future__ import annotations

import ast
import gc
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNTRACKED = {"__pycache__", "build", "dist"}


def _listed_by_git() -> list[Path] | None:
    """Files that are tracked or would be; None where this is not a git checkout."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return [ROOT / name for name in done.stdout.decode().split("\0") if name]


def _walked() -> Iterator[Path]:
    """The same without git: all but hidden folders (environments, caches) and builds."""
    for path in ROOT.rglob("*"):
        folders = path.relative_to(ROOT).parts[:-1]
        if not any(folder in UNTRACKED or folder.startswith(".") for folder in folders):
            yield path


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def texts() -> dict[str, str]:
    """Every text file of the project, by its path from the root."""
    paths = _listed_by_git() or _walked()
    found = ((path, _text(path)) for path in sorted(paths) if path.is_file())
    return {path.relative_to(ROOT).as_posix(): text for path, text in found if text is not None}


@pytest.fixture(scope="session")
def sources(texts: dict[str, str]) -> dict[str, ast.Module]:
    """The syntax tree of every module of the package, by its path from the root."""
    gc.disable()  # or it would search half a million new objects for garbage, again and again
    try:
        return {
            name: ast.parse(text)
            for name, text in texts.items()
            if name.startswith("src/") and name.endswith(".py")
        }
    finally:
        gc.enable()
