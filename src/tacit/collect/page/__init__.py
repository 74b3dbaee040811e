"""The respondent's page: static files, the same for every survey.

The page fetches the published survey and carries out its design. There is no build step: browsers
run, and auditors read, exactly these files. The HTML contains the hash of everything it loads, so
a browser runs exactly these files or none, and checking the HTML checks the whole page.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
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
HTML = "index.html"
#: The folder of the other files, relative to the HTML.
BASE = "../../page/"
#: Browsers do not check hashes of icons.
_LOADED = re.compile(rb'(?:src|href)="\.\./\.\./page/((?!icon\.)[^"]+)"')
_HEAD = re.compile(rb"(?= *<link)")

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


def integrity(data: bytes) -> str:
    """The hash in HTML's format: `sha256-` and SHA-256 in Base64."""
    return "sha256-" + base64.b64encode(hashlib.sha256(data).digest()).decode()


@cache
def html() -> bytes:
    """The page's HTML as it is served, with the hash of every file it loads."""

    def hashed(found: re.Match[bytes]) -> bytes:
        return found[0] + f' integrity="{integrity(content(found[1].decode()))}"'.encode()

    script = f'    <script type="importmap">{import_map()}</script>\n'.encode()
    return _HEAD.sub(script, _LOADED.sub(hashed, content(HTML)), count=1)


@cache
def import_map() -> str:
    """The hashes of all modules and texts; browsers check every imported module."""
    names = [name for name in FILES if name.endswith((".js", ".json"))]
    hashes = {BASE + name: integrity(content(name)) for name in names}
    return json.dumps({"integrity": hashes}, indent=2)


def manifest() -> dict[str, bytes]:
    """Every file of the page as it is served."""
    return {name: html() if name == HTML else content(name) for name in FILES}
