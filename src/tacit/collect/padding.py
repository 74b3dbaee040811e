"""Padding: every submission to a survey has the same length.

TLS hides the content but not the length: without padding, "yes" would be a byte longer than "no".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tacit.core.schema import Attribute, text
from tacit.survey import Published
from tacit.survey.survey import missing_together


def submission_length(published: Published, token: str = "") -> int:
    """The length of every submission in bytes: that of the longest one, written by `json.dumps`.

    That is ASCII with a space after each comma and colon, so more compact JSON fits too.
    """
    optional = {name for group in missing_together(published.survey) for name in group}
    record = {
        attribute.name: max(_values(attribute, attribute.name in optional), key=_length)
        for attribute in published.design.reported
    }
    longest: dict[str, Any] = {"fingerprint": published.fingerprint, "key": "0" * 32}
    longest["record"] = record
    if published.survey.free_texts:
        # No letter is written longer than a control character.
        texts = {own.name: "\x01" * own.letters for own in published.survey.free_texts}
        longest |= {"text_key": "0" * 32, "texts": texts}
    if published.survey.access == "invited":
        longest["token"] = token
    return _length(longest | {"padding": ""})


def _values(attribute: Attribute, optional: bool) -> list[str | None]:
    """What may be sent for an attribute; null is a missing answer."""
    return [*map(text, attribute.categories), *([None] if optional else [])]


def padded(submission: Mapping[str, Any], length: int) -> bytes:
    """A submission as compact JSON of this length; spaces fill `padding`."""
    bare = _compact({**submission, "padding": ""})
    return _compact({**submission, "padding": " " * (length - len(bare))})


def _compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _length(value: Any) -> int:
    return len(json.dumps(value))
