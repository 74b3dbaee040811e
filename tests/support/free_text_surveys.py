"""Surveys with free texts, and submissions that have some."""

from __future__ import annotations

import secrets

from tacit.collect.store import Response, packed
from tacit.collect.store.values import StoredText, text_id
from tacit.survey import Published
from tests.support.page_surveys import IMAGE, published, yes_no

FREE = published(
    {
        "title": "Free",
        "questions": [yes_no("a"), yes_no("b", optional=True)],
        "groups": [{"questions": ["a", "b"], "family": "related", "theta": "3/4",
                    "throw": "each"}],
        "free_texts": [
            {"name": "more", "text": f"What else? {IMAGE}", "help": "In your own words.",
             "letters": 200},
            {"name": "__proto__", "text": "And?", "letters": 3},
        ],
    }
)  # fmt: skip
FREE_INVITED = published(FREE.survey.to_dict() | {"title": "Free, invited", "access": "invited"})


def response_with(survey: Published, *written: str, token: str | None = None) -> Response:
    """A response with these texts in the fields of a survey."""
    fields = [own.name for own in survey.survey.free_texts or ()]
    key, fingerprint = secrets.token_bytes(16), survey.survey.fingerprint
    texts = tuple(
        StoredText(text_id(fingerprint, key, name), name, text)
        for name, text in zip(fields, written, strict=False)
        if text
    )
    codes = packed([0] * len(survey.stored), survey.stored)
    return Response(fingerprint, secrets.token_bytes(16), codes, token, texts)
