"""Padding: every submission to a survey has the same length.

TLS hides the content but not the length: without padding, "yes" would be a byte longer than "no".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tacit.output.number_text import text
from tacit.survey import Published
from tacit.survey.survey import optional_attributes


def submission_length(published: Published, token: str = "") -> int:
    """The length of every submission in bytes: that of the longest one, written by `json.dumps`.

    That is ASCII with a space after each comma and colon, so more compact JSON fits too.
    """
    optional = optional_attributes(published.survey)
    record = {}
    for attribute in published.design.reported:
        missing = [None] if attribute.name in optional else []  # null is a missing answer
        record[attribute.name] = max([*map(text, attribute.categories), *missing], key=_length)
    longest: dict[str, Any] = {"fingerprint": published.fingerprint, "key": "0" * 32}
    longest["record"] = record
    if published.survey.free_texts:
        # No letter is written longer than a control character.
        texts = {own.name: "\x01" * own.letters for own in published.survey.free_texts}
        longest |= {"text_key": "0" * 32, "texts": texts}
    if published.survey.access == "invited":
        longest["token"] = token
    return _length(longest | {"padding": ""})


def padded(submission: Mapping[str, Any], length: int) -> bytes:
    """A submission as compact JSON of this length; spaces fill `padding`."""
    bare = json.dumps({**submission, "padding": ""}, ensure_ascii=False, separators=(",", ":"))
    spaces = " " * (length - len(bare.encode()))
    return (bare.removesuffix('"}') + spaces + '"}').encode()


def _length(value: Any) -> int:
    return len(json.dumps(value))
