"""Requests to an application without a server, and bodies as the respondent's page sends them."""

from __future__ import annotations

import asyncio
import json
import secrets
from typing import Any

import httpx
from starlette.types import ASGIApp

from tacit.collect.padding import padded, submission_length
from tacit.survey import Published


def ask(
    app: ASGIApp, method: str, path: str, client: str = "192.0.2.7", **more: Any
) -> httpx.Response:
    """The answer of an application to one request."""

    async def sent() -> httpx.Response:
        transport = httpx.ASGITransport(app, client=(client, 4711))
        async with httpx.AsyncClient(transport=transport, base_url="http://survey.test") as browser:
            return await browser.request(method, path, **more)

    return asyncio.run(sent())


def submission(survey: Published, **changed: Any) -> dict[str, Any]:
    """A right request, with a key of its own: the first category everywhere.

    Padded for compact JSON, as httpx writes it. A token may be added.
    """
    record = {a.name: str(a.categories[0]) for a in survey.design.reported}
    right = {"fingerprint": survey.fingerprint, "key": secrets.token_hex(16), "record": record}
    if survey.survey.free_texts:
        nothing = {own.name: "" for own in survey.survey.free_texts}
        right |= {"text_key": secrets.token_hex(16), "texts": nothing}
    made = right | changed
    whole = {"token": ""} | made if survey.survey.access == "invited" else made
    token = whole.get("token")
    length = submission_length(survey, token if isinstance(token, str) else "")
    return made | {"padding": json.loads(padded(whole, length))["padding"]}


def compact(submission: Any) -> bytes:
    """What httpx sends as JSON."""
    return httpx.Request("POST", "http://survey.test", json=submission).content


def place(survey: Published, rest: str = "") -> str:
    """The path of a survey, or of something below it."""
    return f"/s/{survey.slug}/{rest}"
