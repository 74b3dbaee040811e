"""The files of records that a path, a glob or a directory names.

A directory may be partitioned: in `region=north/part-0.parquet` every record has the category
"north" of the attribute "region". Files and directories that start with "_" or "." are skipped, as
programs that write such directories expect.
"""

from __future__ import annotations

import glob
import os
from pathlib import Path

from tacit.errors import FileError
from tacit.records.paths import SUFFIXES

#: Files of Arrow memory, which only an engine reads.
ARROW = (".arrow", ".feather")
_GLOB = "*?["


def is_pattern(path: str | os.PathLike[str]) -> bool:
    """Whether this is a glob rather than the path of a file."""
    return any(sign in str(path) for sign in _GLOB) and not Path(path).exists()


def record_files(source: str | os.PathLike[str]) -> list[Path]:
    """The files that a path, a glob or a directory names, in the order of their names."""
    path = Path(source)
    if path.is_dir():
        found = [own for own in path.rglob("*") if _has_records(own, path)]
        if not found:
            known = ", ".join((*SUFFIXES, *ARROW))
            raise FileError(f"{path}: the directory has no file of records; need {known}")
    elif is_pattern(source):
        found = [Path(own) for own in glob.glob(str(source), recursive=True)]
        if not found:
            raise FileError(f"{source}: no file matches")
    else:
        return [path]
    suffixes = sorted({own.suffix for own in found})
    if len(suffixes) > 1:
        raise FileError(f"{source}: has files of several kinds ({', '.join(suffixes)}); need one")
    return sorted(found)


def partition_keys(path: Path) -> dict[str, str]:
    """Names and values in the directories of a partitioned file: `region=north`."""
    pairs = (part.partition("=") for part in path.parent.parts)
    return {name: value for name, sign, value in pairs if sign and name}


def _has_records(path: Path, root: Path) -> bool:
    hidden = any(part.startswith(("_", ".")) for part in path.relative_to(root).parts)
    return not hidden and path.is_file() and path.name.lower().endswith((*SUFFIXES, *ARROW))
