"""The API description (OpenAPI 3.1), made from the table of routes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from tacit import __version__
from tacit.collect.http import PROBLEM
from tacit.studio.access import Right
from tacit.studio.api_schemas import SCHEMAS
from tacit.studio.site import PageRoute, RouteNote

_PARAMETER = re.compile(r"\{(\w+)(?::(\w+))?\}")
_FORM = "application/x-www-form-urlencoded"
_KINDS = {
    "css": "text/css",
    "csv": "text/csv",
    "ico": "image/svg+xml",
    "json": "application/json",
    "md": "text/markdown",
    "pdf": "application/pdf",
    "tex": "application/x-tex",
    "yaml": "application/yaml",
}
_PEOPLE_ONLY = (Right.PERSON, Right.ADMINISTRATOR)
_ABOUT = (
    "Addresses below /api/ are for programs: JSON, and problem details (RFC 9457) for errors. The "
    "others are the pages and files of the studio. A token is made on the page Account; it has at "
    "most the role that it was made for."
)


def api_description(pages: Sequence[PageRoute]) -> dict[str, Any]:
    """The description of all routes."""
    paths: dict[str, dict[str, Any]] = {}
    for page in pages:
        path = _PARAMETER.sub(r"{\1}", page.path)
        paths.setdefault(path, {})[page.method.lower()] = _operation(page)
    schemes = {
        "token": {"type": "http", "scheme": "bearer"},
        "session": {"type": "apiKey", "in": "cookie", "name": "__Host-tacit-studio"},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "tacit studio", "version": __version__, "description": _ABOUT},
        "paths": paths,
        "components": {"schemas": SCHEMAS, "securitySchemes": schemes},
    }


def _operation(page: PageRoute) -> dict[str, Any]:
    note = page.note or RouteNote()
    handler: Any = page.handler.func if isinstance(page.handler, partial) else page.handler
    words = re.sub(r"\W+", "-", _PARAMETER.sub(r"\1", page.path)).strip("-") or "start"
    made: dict[str, Any] = {
        "operationId": f"{page.method.lower()}-{words}",
        "summary": " ".join((handler.__doc__ or "").split("\n\n")[0].split()),
        "tags": ["api" if page.note else "pages"],
        "x-needs": page.needs.value if isinstance(page.needs, Right) else page.needs.name.lower(),
        "parameters": _parameters(page, note),
        "responses": _responses(page, note),
        "security": _security(page),
    }
    if page.note is not None and note.body is not None:
        content = {"application/json": {"schema": _reference(note.body)}}
        made["requestBody"] = {"required": True, "content": content}
    elif page.note is None and page.method == "POST":
        made["requestBody"] = {"content": {_FORM: {"schema": {"type": "object"}}}}
    return made


def _parameters(page: PageRoute, note: RouteNote) -> list[dict[str, Any]]:
    found = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "integer" if kind == "int" else "string"},
        }
        for name, kind in _PARAMETER.findall(page.path)
    ]
    for name in (*note.query, *note.optional):
        asked = {"in": "query", "required": name in note.query, "schema": {"type": "string"}}
        found.append({"name": name, **asked})
    return found


def _responses(page: PageRoute, note: RouteNote) -> dict[str, Any]:
    problem = {"description": "Refused.", "content": {PROBLEM: {"schema": _reference("Problem")}}}
    done: dict[str, Any] = {"description": "Done."}
    if note.answer is not None:
        done["content"] = {"application/json": {"schema": _reference(note.answer)}}
    elif page.note is None and page.method == "GET":
        end = page.path.rpartition(".")[2] if "." in page.path else "html"
        kind = "text/html" if end == "html" else _KINDS.get(end, "application/octet-stream")
        done["content"] = {kind: {}}
    elif page.note is None:
        return {"200": done, "303": {"description": "Done; see another page."}, "4XX": problem}
    return {str(note.status): done, "4XX": problem}


def _security(page: PageRoute) -> list[dict[str, list[str]]]:
    if page.needs is Right.EVERYONE:
        return []
    session: list[dict[str, list[str]]] = [{"session": []}]
    return session if page.needs in _PEOPLE_ONLY else [{"token": []}, *session]


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
