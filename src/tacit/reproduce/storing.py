"""Finished settings on disk: one small JSON file each, whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

from tacit import __version__
from tacit.errors import FileError
from tacit.files import write_text
from tacit.reproduce.setting import Rows, Setting


def make_folder(path: Path) -> None:
    """A folder to write to, with those above it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path}: cannot be made: {error.strerror or error}") from None


def file_of(folder: Path, setting: Setting) -> Path:
    """Where the rows of a setting are kept."""
    return folder / "settings" / setting.study / f"{setting.name}.json"


def keep(folder: Path, setting: Setting, rows: Rows) -> None:
    """Write what a setting found."""
    path = file_of(folder, setting)
    make_folder(path.parent)
    content = {"tacit": __version__, "setting": setting.to_dict(), "rows": rows}
    write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def kept(folder: Path, setting: Setting) -> Rows | None:
    """What an earlier run of the same setting, by the same version, found; None if there is none.

    A file of another plan or another version, or one that cannot be read, counts as none: the
    setting is run again.
    """
    try:
        content = json.loads(file_of(folder, setting).read_text(encoding="utf-8"))
        same = (content["tacit"], content["setting"]) == (__version__, setting.to_dict())
        rows: Rows = content["rows"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return rows if same else None
