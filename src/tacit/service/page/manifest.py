"""The manifest of the page: the hash of every file, for browsers and auditors.

The HTML contains the hash of everything it loads, so a browser runs exactly these files or none.
Checking the HTML checks the whole page.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache

from tacit.service.page import FILES, content

HTML = "index.html"
#: The folder of the other files, relative to the HTML.
BASE = "../../page/"
#: Browsers do not check hashes of icons.
_LOADED = re.compile(rb'(?:src|href)="\.\./\.\./page/((?!icon\.)[^"]+)"')
_HEAD = re.compile(rb"(?= *<link)")


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
