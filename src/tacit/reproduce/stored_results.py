"""Finished settings on disk: one small JSON file each, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import time
from functools import cache
from pathlib import Path

import numpy as np
import scipy

import tacit
from tacit.errors import FileError
from tacit.files import write_text
from tacit.reproduce.study_settings import Rows, Setting

#: Seconds after which a file that is still being written is not.
_STALE = 60.0


def make_folder(path: Path) -> None:
    """A folder to write to, with those above it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path}: cannot be made: {error.strerror or error}") from None


@cache
def made_by() -> dict[str, str]:
    """What may change a number: the version of tacit, its source, and what it computes with."""
    root = Path(tacit.__file__).parent
    source = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        source.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return {
        "tacit": tacit.__version__,
        "source": source.hexdigest()[:16],
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def sweep(folder: Path) -> None:
    """Remove what a run that was killed had begun to write; a file is written within a minute."""
    for path in folder.rglob(".tacit-*.part"):
        if time.time() - path.stat().st_mtime > _STALE:
            path.unlink(missing_ok=True)


def file_of(folder: Path, setting: Setting) -> Path:
    """Where the rows of a setting are kept."""
    return folder / "settings" / setting.study / f"{setting.name}.json"


def keep(folder: Path, setting: Setting, rows: Rows) -> None:
    """Write what a setting found."""
    path = file_of(folder, setting)
    make_folder(path.parent)
    content = {"made_by": made_by(), "setting": setting.to_dict(), "rows": rows}
    write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def kept(folder: Path, setting: Setting) -> Rows | None:
    """What an earlier run of the same setting, by the same code, found; None if there is none.

    A file of another plan or of other code, or one that cannot be read, counts as none: the
    setting is run again.
    """
    try:
        content = json.loads(file_of(folder, setting).read_text(encoding="utf-8"))
        same = (content["made_by"], content["setting"]) == (made_by(), setting.to_dict())
        rows: Rows = content["rows"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return rows if same else None
