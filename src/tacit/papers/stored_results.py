"""Finished settings on disk: one small JSON file each, complete or absent."""

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
from tacit.papers.study_settings import Rows, Setting
from tacit.records import write_text

#: Seconds after which an unfinished file is considered abandoned.
_STALE = 60.0


def make_folder(path: Path) -> None:
    """Create a folder and its parents."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path}: cannot be created: {error.strerror or error}") from None


@cache
def made_by() -> dict[str, str]:
    """Everything that may change a number: the version and source of tacit, NumPy and SciPy."""
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
    """Remove unfinished files of a run that was killed."""
    for path in folder.rglob(".tacit-*.part"):
        if time.time() - path.stat().st_mtime > _STALE:
            path.unlink(missing_ok=True)


def file_of(folder: Path, setting: Setting) -> Path:
    """The file with the rows of a setting."""
    return folder / "settings" / setting.study / f"{setting.name}.json"


def keep(folder: Path, setting: Setting, rows: Rows) -> None:
    """Write the rows of a setting."""
    path = file_of(folder, setting)
    make_folder(path.parent)
    content = {"made_by": made_by(), "setting": setting.to_dict(), "rows": rows}
    write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def kept(folder: Path, setting: Setting) -> Rows | None:
    """The rows of an earlier run of the same setting by the same code; None if there are none.

    A file of another plan, of other code, or that cannot be read counts as none: the setting is
    run again.
    """
    try:
        content = json.loads(file_of(folder, setting).read_text(encoding="utf-8"))
        same = (content["made_by"], content["setting"]) == (made_by(), setting.to_dict())
        rows: Rows = content["rows"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return rows if same else None
