"""Small published surveys, and responses to them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

from tacit.collect.store import Response, packed
from tacit.survey import Published, survey_from_dict

#: Categories of the question that tells responses apart.
MANY = 1000


def published(**terms: Any) -> Published:
    """Two questions, one disguised; the other one has enough categories to number responses."""
    return Published(
        survey_from_dict(
            {
                "title": "Smoking",
                "questions": [
                    {"name": "smokes", "kind": "yes_no", "text": "Do you smoke?"},
                    {
                        "name": "number",
                        "kind": "choice",
                        "text": "Which number do you have?",
                        "sensitive": False,
                        "categories": [f"n{i}" for i in range(MANY)],
                    },
                ],
                "groups": [{"questions": ["smokes"], "family": "related", "theta": "5/6"}],
                **terms,
            },
            "survey",
        )
    )


def response(survey: Published, number: int = 0, token: str | None = None) -> Response:
    """A response with a key of its own that reports a number."""
    codes = packed([number % 2, number], survey.design.reported)
    return Response(survey.survey.fingerprint, secrets.token_bytes(16), codes, token)


def responses(survey: Published, tokens: list[str]) -> Iterator[Response]:
    """A response for each token, numbered in their order."""
    return (response(survey, number, token) for number, token in enumerate(tokens))
