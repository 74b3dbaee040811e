"""The respondent's page: static files, the same bytes for every survey.

The page fetches the published survey and is the interpreter of its design. There is no build
step: what is here is what browsers run and what an auditor reads. `manifest.py` adds to the HTML
the hash of every file.
"""

from __future__ import annotations

from importlib.resources import files

_SCRIPT = "text/javascript; charset=utf-8"
_WORDS = "application/json"

#: Every file of the page, by its path below the page's address, with its media type.
FILES = {
    "index.html": "text/html; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "fractions.js": _SCRIPT,
    "disguise.js": _SCRIPT,
    "fingerprint.js": _SCRIPT,
    "device.js": _SCRIPT,
    "odds.js": _SCRIPT,
    "elements.js": _SCRIPT,
    "words.js": _SCRIPT,
    "controls.js": _SCRIPT,
    "explain.js": _SCRIPT,
    "before.js": _SCRIPT,
    "labels.js": _SCRIPT,
    "stated_odds.js": _SCRIPT,
    "questions.js": _SCRIPT,
    "send.js": _SCRIPT,
    "place.js": _SCRIPT,
    "notices.js": _SCRIPT,
    "again.js": _SCRIPT,
    "page.js": _SCRIPT,
    "words/en.json": _WORDS,
    "words/de.json": _WORDS,
    "words/fr.json": _WORDS,
    "words/es.json": _WORDS,
}


def content(name: str) -> bytes:
    """The bytes of one of FILES."""
    return files(__package__).joinpath(*name.split("/")).read_bytes()
