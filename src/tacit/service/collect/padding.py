"""Every submission to a survey has the same length, so its length on the network reveals nothing.

TLS hides what is sent but not how long it is: without padding, "yes" is a byte longer than "no".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tacit.attribute import text
from tacit.survey import Published


def submission_length(published: Published, token: str = "") -> int:
    """The bytes of every submission to a survey: the longest one as `json.dumps` writes it.

    That is ASCII with a space after each comma and colon. Shorter forms of the same JSON fit too.
    """
    record = {
        attribute.name: max((text(label) for label in attribute.categories), key=_written)
        for attribute in published.design.reported
    }
    longest = {"fingerprint": published.fingerprint, "key": "0" * 32, "record": record}
    if published.survey.access == "invited":
        longest["token"] = token
    return _written(longest | {"padding": ""})


def padded(submission: Mapping[str, Any], length: int) -> bytes:
    """A submission as compact JSON of this many bytes; `padding` is filled with spaces."""
    bare = _compact({**submission, "padding": ""})
    return _compact({**submission, "padding": " " * (length - len(bare))})


def _compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _written(value: Any) -> int:
    return len(json.dumps(value))
