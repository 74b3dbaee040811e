"""The respondent's page: static files, the same for every survey.

The page fetches the published survey and carries out its design. There is no build step: browsers
run, and auditors read, exactly these files. `manifest.py` adds the hash of every file to the HTML.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import PurePosixPath

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
}
_FOLDER = files(__package__)

#: Every file of the page, by its path below the page's address, with its media type.
FILES = {
    name: _TYPES[suffix]
    for folder in ("", "words/")
    for name in sorted(folder + file.name for file in _FOLDER.joinpath(folder).iterdir())
    if (suffix := PurePosixPath(name).suffix) in _TYPES
}


def content(name: str) -> bytes:
    """The bytes of one of FILES."""
    return _FOLDER.joinpath(*name.split("/")).read_bytes()
