"""The OpenAPI description of what the service takes and answers."""

from __future__ import annotations

import json
from typing import Any

from tacit.service.collect.problem_details import (
    FAULT,
    LONG_HEAD,
    METHOD,
    NOT_FOUND,
    PROBLEMS,
    ProblemType,
)
from tacit.survey.published import SLUG_LETTERS

_RETRIED = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}
_SLUG = {
    "name": "slug",
    "in": "path",
    "required": True,
    "description": f"The first {SLUG_LETTERS} letters of the survey's fingerprint.",
    "schema": {"type": "string", "pattern": f"^[0-9a-f]{{{SLUG_LETTERS}}}$"},
}
_SUBMISSION = {
    "type": "object",
    "required": ["fingerprint", "key", "record", "padding"],
    "additionalProperties": False,
    "properties": {
        "fingerprint": {
            "type": "string",
            "pattern": "^[0-9a-f]{64}$",
            "description": "That of the design the record was disguised with.",
        },
        "key": {
            "type": "string",
            "pattern": "^[0-9a-f]{32}$",
            "description": "Drawn by the device; sent again with a retry, so that it counts once.",
        },
        "token": {
            "type": "string",
            "description": "From the link; only, and always, where access is invited.",
        },
        "record": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "The reported category of each attribute of the design.",
        },
        "padding": {
            "type": "string",
            "pattern": "^ *$",
            "description": "As many spaces as give the body the length that every submission to "
            "the survey has; a refusal names it. So the length reveals nothing of the record.",
        },
    },
}
_STORED = {
    "type": "object",
    "required": ["stored"],
    "additionalProperties": False,
    "properties": {"stored": {"const": True}},
}


def document() -> dict[str, Any]:
    """The description as plain values."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tacit: collecting disguised records",
            "version": "1",
            "description": "An answer is acknowledged only when it is durable.",
        },
        "paths": {
            "/s/{slug}/responses": {"post": _submit()},
            "/s/{slug}/survey.json": {"get": _published()},
            "/health/live": {"get": _health("live", "The process answers.")},
            "/health/ready": {"get": _health("ready", "Answers can be stored.", not_ready=True)},
        },
        "components": {"schemas": {"Problem": _problem_schema(), "Submission": _SUBMISSION}},
    }


def text() -> bytes:
    """The description as it is served."""
    return (json.dumps(document(), indent=2, ensure_ascii=False) + "\n").encode()


def _submit() -> dict[str, Any]:
    refused = [p for p in PROBLEMS if p not in (FAULT, LONG_HEAD)]
    return {
        "operationId": "submit",
        "summary": "Store one disguised record.",
        "parameters": [_SLUG],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/Submission"}}
            },
        },
        "responses": {
            "201": {"description": "Stored, and durable.", **_json(_STORED)},
            "200": {
                "description": "The same record with this key was stored before.",
                **_json(_STORED),
            },
            **_problems(refused),
        },
    }


def _published() -> dict[str, Any]:
    return {
        "operationId": "published",
        "summary": "The published survey with its design.",
        "parameters": [_SLUG],
        "responses": {
            "200": {"description": "As it was published.", **_json({"type": "object"})},
            **_problems([NOT_FOUND, METHOD]),
        },
    }


def _health(name: str, said: str, not_ready: bool = False) -> dict[str, Any]:
    answer = _json({"type": "object", "required": [name]})
    responses: dict[str, Any] = {"200": {"description": said, **answer}}
    if not_ready:
        responses["503"] = {"description": "Not now; `why` says why.", **answer}
    return {"operationId": name, "responses": responses | _problems([METHOD])}


def _problems(problems: list[ProblemType]) -> dict[str, Any]:
    """One entry a status, its problems named."""
    found: dict[str, Any] = {}
    for problem in problems:
        said = f"`{problem.name}`: {problem.title}"
        entry = found.setdefault(str(problem.status), {"description": said, **_problem_content()})
        if said not in entry["description"]:
            entry["description"] += f" {said}"
        if problem.wait is not None:
            entry["headers"] = _RETRIED
    return found


def _problem_content() -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"content": {"application/problem+json": {"schema": schema}}}


def _problem_schema() -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["type", "title", "status"],
        "additionalProperties": False,
        "properties": {
            "type": {"enum": sorted({problem.name for problem in PROBLEMS})},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
        },
    }


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}
