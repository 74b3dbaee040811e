"""JSON for programs below /api/: what the pages do, and the description of all routes (OpenAPI)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from starlette.responses import JSONResponse, Response

from tacit import __version__
from tacit.collect.http import PROBLEM
from tacit.errors import DataError
from tacit.studio import account_pages, draft_pages, model_pages, survey_pages
from tacit.studio.accounts import Invitation, Role
from tacit.studio.drafts import Draft, DraftDocument, checked_text
from tacit.studio.group_tables import group_table
from tacit.studio.models import CRITERIA, KINDS, StoredModel
from tacit.studio.page_templates import utc_text
from tacit.studio.plan_pages import FIELDS, plan_json
from tacit.studio.release import next_release_at
from tacit.studio.site import (
    LARGEST_NUMBER,
    LONGEST_FORM,
    LONGEST_TEXT_FORM,
    NOT_FOUND,
    Handler,
    PageRoute,
    PageVisit,
    Refusal,
    RefusalError,
    Right,
)
from tacit.studio.survey_pages import estimates_json, surveys_json

_TABLE = ("row", "column")
_CONFIRM = "confirm must be the title of the survey"
READY, LEARNING, FAILED = "ready", "learning", "failed"
#: What is shown of a model; none of it has a figure of a small group.
_SHOWN = ("summary", "evaluation", "privacy", "n_learnt", "n_tested", "n_left_out")


def survey_status(visit: PageVisit) -> Response:
    """The state of a survey: records, links, and how many records are released."""
    return JSONResponse(_survey(visit))


def survey_table(visit: PageVisit) -> Response:
    """Answers to one question in the groups of another, also within the layers of a third.

    Small groups have no numbers.
    """
    release = visit.comparable_release()
    row, column, layer = (visit.request.query_params.get(key, "") for key in (*_TABLE, "layer"))
    table = group_table(release, row, [layer, column] if layer else [column])
    head = {"row": row, "column": column, "layer": layer or None}
    return JSONResponse({**head, "records": release.counts.n_records, **table.to_dict()})


def close_survey(visit: PageVisit) -> Response:
    """Close a survey for good; `confirm` must be its title."""
    survey_pages.close_survey(visit, _text(visit, "confirm"))
    return JSONResponse(_survey(visit))


def freeze_snapshot(visit: PageVisit) -> Response:
    """Open comparisons and models before closing, from the records that are shown now; once."""
    visit.require_title(_text(visit, "confirm"), _CONFIRM)
    survey_pages.frozen_snapshot(visit)
    return JSONResponse(_survey(visit))


def new_links(visit: PageVisit) -> Response:
    """Make one-time links to an invited survey; they are shown only here."""
    number = visit.json.get("n")
    links = str(number) if type(number) is int else ""
    base = _text(visit, "base") if "base" in visit.json else visit.studio.respondents or ""
    return JSONResponse({"links": survey_pages.new_links(visit, links, base)}, 201)


def list_invitations(visit: PageVisit) -> Response:
    """The open invitations to a survey, without their links."""
    invitations = visit.studio.accounts.invitations(visit.survey.survey.fingerprint)
    return JSONResponse({"invitations": [*map(_invitation, invitations)]})


def new_invitation(visit: PageVisit) -> Response:
    """Invite somebody to a survey; the link, which makes an account, is shown only here."""
    invitation, link = account_pages.invite(visit, Role.named(_text(visit, "role")))
    return JSONResponse(_invitation(invitation) | {"link": link}, 201)


def revoke_invitation(visit: PageVisit) -> Response:
    """Revoke an invitation; its link stops working at once."""
    account_pages.revoke_invitation(visit)
    return Response(status_code=204)


def _invitation(invitation: Invitation) -> dict[str, Any]:
    return {
        "id": invitation.id,
        "role": invitation.role.name.lower(),
        "by": invitation.by,
        "works_until": _iso(utc_text(invitation.expires)),
    }


def delete_survey(visit: PageVisit) -> Response:
    """Delete a closed survey with all its records; `confirm` must be its title."""
    visit.require_title(_text(visit, "confirm"), _CONFIRM)
    draft_pages.deleted_survey(visit)
    return Response(status_code=204)


def duplicate_survey(visit: PageVisit) -> Response:
    """Make a draft with the content of a published survey."""
    return JSONResponse(_draft(draft_pages.draft_of_survey(visit)), 201)


def list_drafts(visit: PageVisit) -> Response:
    """The drafts of the account."""
    return JSONResponse({"drafts": [*map(_head, visit.studio.own_drafts(visit.person))]})


def new_draft(visit: PageVisit) -> Response:
    """Make a draft of the text of a survey file; it may have problems."""
    return JSONResponse(_draft(draft_pages.new_draft(visit, _text(visit, "text"))), 201)


def show_draft(visit: PageVisit) -> Response:
    """A draft with its text, its version and its problems."""
    return JSONResponse(_draft(visit.draft))


def save_draft(visit: PageVisit) -> Response:
    """Save a text over the version that it was made from; 409 if there is a newer one."""
    version = visit.json.get("version")
    if type(version) is not int or not 0 < version <= LARGEST_NUMBER:
        raise DataError("version must be the whole number that was read with the text")
    newest, saved = draft_pages.saved_text(visit, _text(visit, "text"), version)
    if not saved:
        details = {"version": newest.version, "text": newest.text}
        raise RefusalError(Refusal("changed", 409, newest.conflict, details=details))
    return JSONResponse(_draft(newest))


def delete_draft(visit: PageVisit) -> Response:
    """Delete a draft."""
    draft_pages.deleted_draft(visit)
    return Response(status_code=204)


def check_draft(visit: PageVisit) -> Response:
    """Every problem of a text with its line and place; without a text, of the draft."""
    text = checked_text(_text(visit, "text")) if "text" in visit.json else visit.draft.text
    return JSONResponse({"problems": DraftDocument(text).problems})


def publish_draft(visit: PageVisit) -> Response:
    """Publish a draft; 422 with its problems if it has some."""
    survey = draft_pages.published_draft(visit)
    return JSONResponse({"slug": survey.slug, "fingerprint": survey.survey.fingerprint}, 201)


def preview_draft(visit: PageVisit) -> Response:
    """Make a preview: the address of a page that works for an hour and stores nothing."""
    address = str(visit.request.base_url).rstrip("/") + draft_pages.preview_path(visit)
    return JSONResponse({"address": address}, 201)


def list_models(visit: PageVisit) -> Response:
    """The models of a survey, newest first."""
    models = model_pages.seen_models(visit)
    return JSONResponse({"models": [_described(model) for model in models]})


def learn_model(visit: PageVisit) -> Response:
    """Start to learn a model from the released records; ask for its state until it is ready."""
    fields = {
        key: "" if value is None else str(value)
        for key, value in visit.json.items()
        if isinstance(value, str | int | float | None)
    }
    name = model_pages.started(visit, fields)
    return JSONResponse({"name": name, "state": LEARNING}, 202)


def show_model(visit: PageVisit) -> Response:
    """A model with its accuracy and the cost of publishing it; or its state while it is learnt."""
    name = visit.request.path_params["model"]
    model, problem = model_pages.seen_model(visit)
    if model is not None:
        return JSONResponse(_described(model) | {key: model.content[key] for key in _SHOWN})
    if problem is None:
        raise RefusalError(NOT_FOUND)
    state = FAILED if problem else LEARNING
    return JSONResponse({"name": name, "state": state, **({"problem": problem} if problem else {})})


def delete_model(visit: PageVisit) -> Response:
    """Delete a model."""
    model_pages.deleted(visit)
    return Response(status_code=204)


def publish_round(visit: PageVisit) -> Response:
    """Publish a model as an accuracy round, a survey that respondents' devices answer."""
    theta = visit.json.get("theta")
    if not isinstance(theta, str):
        raise DataError('the key theta must be a text such as "3/4"')
    survey = model_pages.published_round(visit, theta)
    return JSONResponse({"slug": survey.slug, "fingerprint": survey.survey.fingerprint}, 201)


def _described(model: StoredModel) -> dict[str, Any]:
    """What lists say of a model."""
    return {
        "name": model.name,
        "state": READY,
        "title": model.title,
        "request": model.request.to_dict(),
        "made": model.content["made"],
        "by": model.content["by"],
        "records": model.content["n_records"],
        "accuracy": model.accuracy,
    }


def _survey(visit: PageVisit) -> dict[str, Any]:
    survey, store = visit.survey, visit.studio.store
    state = store.state(survey.survey.fingerprint)
    release = visit.studio.releases.newest(survey)
    released = 0 if release is None else release.counts.n_records
    open_release = release is None or release.open
    compared = visit.studio.releases.comparable(survey)
    role = visit.person.role(survey.survey.fingerprint)
    return {
        "slug": survey.slug,
        "title": survey.title,
        "fingerprint": survey.survey.fingerprint,
        "design": survey.fingerprint,
        "open": state.open,
        "records": state.records,
        "links": state.issued,
        "unused_links": state.remaining,
        "released_records": released,
        "next_release_at": next_release_at(released) if open_release else released,
        "compared_records": 0 if compared is None else compared.counts.n_records,
        "role": None if role is None else role.name.lower(),
    }


def _draft(draft: Draft) -> dict[str, Any]:
    return _head(draft) | {"text": draft.text, "problems": draft.document.problems}


def _head(draft: Draft) -> dict[str, Any]:
    """What is known of a draft without parsing its text."""
    return {
        "id": draft.id,
        "title": draft.title,
        "version": draft.version,
        "saved_at": _iso(draft.saved_at),
        "saved_by": draft.changed_by,
        "published": draft.published,
    }


def _iso(utc: str) -> str:
    """A time that was written for people, as programs expect it."""
    return utc.replace(" ", "T") + "Z"


def _text(visit: PageVisit, key: str) -> str:
    text = visit.json.get(key)
    if not isinstance(text, str):
        raise DataError(f"the key {key} must be a text")
    return text


_SURVEY, _DRAFT, _MODEL = "surveys/{survey}", "drafts/{draft}", "surveys/{survey}/models/{model}"


def _route(
    method: str,
    path: str,
    needs: Right | Role,
    handler: Handler,
    answer: str | None = None,
    status: int = 200,
    body: str | None = None,
    longest: int = LONGEST_TEXT_FORM,
    query: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
) -> PageRoute:
    """A route below /api/, with the names of the schemas of its answer and of its body."""
    address = f"/api/{path}"
    return PageRoute(
        method, address, needs, handler, longest, answer, status, body, query, optional
    )


#: The bodies of these are small.
_model_route = partial(_route, longest=LONGEST_FORM)
#: The routes of this module with the rights that they need.
ROUTES = (
    _route("GET", "surveys", Right.SIGNED_IN, surveys_json, "Surveys"),
    _route("GET", _SURVEY, Role.VIEWER, survey_status, "Survey"),
    _route("DELETE", _SURVEY, Role.OWNER, delete_survey, None, 204, "Confirmation"),
    _route("GET", f"{_SURVEY}/results", Role.VIEWER, estimates_json, "Results"),
    _route(
        *("GET", f"{_SURVEY}/table", Role.VIEWER, survey_table, "Table"),
        query=_TABLE,
        optional=("layer",),
    ),
    _route("POST", f"{_SURVEY}/close", Role.OWNER, close_survey, "Survey", 200, "Confirmation"),
    _route(
        "POST", f"{_SURVEY}/snapshot", Role.OWNER, freeze_snapshot, "Survey", 200, "Confirmation"
    ),
    _route("POST", f"{_SURVEY}/links", Role.OWNER, new_links, "Links", 201, "NewLinks"),
    _route("GET", f"{_SURVEY}/invitations", Role.OWNER, list_invitations, "Invitations"),
    _route(
        "POST", f"{_SURVEY}/invitations", Role.OWNER, new_invitation, "NewInvitation", 201, "Invite"
    ),
    _route(
        "DELETE", f"{_SURVEY}/invitations/{{number:int}}", Role.OWNER, revoke_invitation, None, 204
    ),
    _route("POST", f"{_SURVEY}/draft", Role.OWNER, duplicate_survey, "Draft", 201),
    _route("GET", "plan", Right.SIGNED_IN, plan_json, "Plan", optional=FIELDS),
    _route("GET", "drafts", Right.SIGNED_IN, list_drafts, "Drafts"),
    _route("POST", "drafts", Right.AUTHOR, new_draft, "Draft", 201, "SurveyText"),
    _route("GET", _DRAFT, Role.VIEWER, show_draft, "Draft"),
    _route("PUT", _DRAFT, Role.OWNER, save_draft, "Draft", 200, "NewVersion"),
    _route("DELETE", _DRAFT, Role.OWNER, delete_draft, None, 204),
    _route("POST", f"{_DRAFT}/check", Role.VIEWER, check_draft, "Problems", 200, "CheckedText"),
    _route("POST", f"{_DRAFT}/publish", Right.PUBLISHER, publish_draft, "Published", 201),
    _route("POST", f"{_DRAFT}/preview", Role.VIEWER, preview_draft, "Preview", 201),
    _model_route("GET", f"{_SURVEY}/models", Role.VIEWER, list_models, "Models"),
    _model_route("POST", f"{_SURVEY}/models", Role.ANALYST, learn_model, "Model", 202, "NewModel"),
    _model_route("GET", _MODEL, Role.VIEWER, show_model, "Model"),
    _model_route("DELETE", _MODEL, Role.OWNER, delete_model, None, 204),
    _model_route(
        "POST", f"{_MODEL}/round", Role.OWNER, publish_round, "Published", 201, "NewRound"
    ),
)


# The API description ------------------------------------------------------------------------------


_TEXT, _WHOLE, _FLAG = {"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "boolean"}
_NUMBER, _SHARE = {"type": "number"}, {"type": ["number", "null"]}
_MAYBE_TEXT, _MAYBE_WHOLE = {"type": ["string", "null"]}, {"type": ["integer", "null"]}
_OBJECT, _MAYBE_OBJECT = {"type": "object"}, {"type": ["object", "null"]}
_TIME = {"type": "string", "format": "date-time"}
_ROLES = ["viewer", "analyst", "owner"]


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


#: The types of members by name; the others are texts.
_TYPES: dict[str, Any] = {
    **dict.fromkeys(("version", "status", "df", "missing", "records"), _WHOLE),
    **dict.fromkeys(("links", "unused_links", "released_records", "next_release_at"), _WHOLE),
    **dict.fromkeys(("respondents", "n_learnt", "n_tested", "n_left_out"), _WHOLE),
    **dict.fromkeys(("share", "low", "high", "reported", "difference"), _SHARE),
    **dict.fromkeys(("statistic", "p", "width", "power", "epsilon"), _SHARE),
    **dict.fromkeys(("effective", "level", "min_support", "min_confidence"), _NUMBER),
    **dict.fromkeys(("max_depth", "classes"), _MAYBE_WHOLE),
    **dict.fromkeys(("open", "suppressed"), _FLAG),
    **dict.fromkeys(("problems", "warnings"), _list(_TEXT)),
    **dict.fromkeys(("widths", "request", "summary", "privacy"), _OBJECT),
    **dict.fromkeys(("accuracy", "evaluation", "tradeoff"), _MAYBE_OBJECT),
    **dict.fromkeys(("saved_at", "works_until"), _TIME),
    "layer": _MAYBE_TEXT,
    "role": {"enum": [*_ROLES, None]},
    "state": {"enum": [READY, LEARNING, FAILED]},
    "published": _MAYBE_TEXT | {"description": "The slug of the survey, if any."},
    "compared_records": _WHOLE
    | {"description": "Records of tables and models: 0 until closing, unless there is a snapshot."},
}


def _object(names: str, optional: str = "", /, **others: Any) -> dict[str, Any]:
    """An object with these members; `others` have types of their own."""
    listed = [*names.split(), *optional.split()]
    members = {name: _TYPES.get(name, _TEXT) for name in listed} | others
    required = [name for name in members if name not in optional.split()]
    return {"type": "object", "properties": members, "required": required}


_SURVEY_NAMES = "slug title open records role"
_CELL_NAMES = "layer column row low high"
_MODEL_NAMES = "title request made by records accuracy"
_DRAFT_NAMES = "id title version saved_at saved_by published"
_INVITATION = {"id": _WHOLE, "role": {"enum": _ROLES}}
_QUESTION = _object(
    "name text missing effective", answers=_list(_object("label share low high reported"))
)

SCHEMAS: dict[str, dict[str, Any]] = {
    "Problem": {
        "description": "Problem details (RFC 9457); some problems have more members.",
        **_object("type title status", "problems"),
    },
    "Surveys": _object("", surveys=_list(_object(_SURVEY_NAMES))),
    "Survey": _object(
        f"{_SURVEY_NAMES} fingerprint design links unused_links released_records next_release_at "
        "compared_records"
    ),
    "Results": _object(
        "design records",
        questions=_list(_QUESTION),
        hidden=_list(_object("text why")),
        releases=_list(_object("day records widths")),
    ),
    "Table": _object(
        "row column layer records",
        cells=_list(_object(f"{_CELL_NAMES} share suppressed")),
        comparisons=_list(_object(f"{_CELL_NAMES} against difference")),
        test=_object("statistic df p")
        | _MAYBE_OBJECT
        | {"description": "None if a cell is suppressed."},
    ),
    "Plan": {
        "description": "As `tacit plan --format json` prints it, with `tradeoff` beside.",
        **_object(
            "solved respondents level width power epsilon warnings tradeoff",
            questions=_list(_OBJECT),
            groups=_list(_OBJECT),
        ),
    },
    "Links": _object("", links=_list(_TEXT)),
    "Invitations": _object("", invitations=_list(_object("by works_until", **_INVITATION))),
    "NewInvitation": _object("by works_until link", **_INVITATION),
    "Drafts": _object("", drafts=_list(_object(_DRAFT_NAMES))),
    "Draft": _object(f"{_DRAFT_NAMES} text problems"),
    "Problems": _object("problems"),
    "Published": _object("slug fingerprint"),
    "Preview": _object("address"),
    "Models": _object("", models=_list(_object(f"name state {_MODEL_NAMES}"))),
    "Model": {
        "description": "A model; only its name and state while it is learnt, or why it was not.",
        **_object("name state", f"{_MODEL_NAMES} problem {' '.join(_SHOWN)}"),
    },
    "NewModel": {
        "description": "The fields of the form; shares are in percent.",
        **_object(
            "",
            "target criterion max_depth min_support min_confidence classes records",
            kind={"enum": [*KINDS]},
            criterion={"enum": [*CRITERIA]},
            records={"enum": ["all", "snapshot"]},
        ),
    },
    "NewRound": _object("", theta={"enum": [*model_pages.THETAS]}),
    "SurveyText": _object("text"),
    "CheckedText": _object("", "text"),
    "NewVersion": _object("text version"),
    "Invite": _object("", role={"enum": _ROLES}),
    "NewLinks": _object("", "base", n={"type": "integer", "minimum": 1}),
    "Confirmation": _object("", confirm=_TEXT | {"description": "The title."}),
}

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
    for_programs = page.path.startswith("/api/")
    handler: Any = page.handler.func if isinstance(page.handler, partial) else page.handler
    words = re.sub(r"\W+", "-", _PARAMETER.sub(r"\1", page.path)).strip("-") or "start"
    operation: dict[str, Any] = {
        "operationId": f"{page.method.lower()}-{words}",
        "summary": " ".join((handler.__doc__ or "").split("\n\n")[0].split()),
        "tags": ["api" if for_programs else "pages"],
        "x-needs": page.needs.value if isinstance(page.needs, Right) else page.needs.name.lower(),
        "parameters": _parameters(page),
        "responses": _responses(page, for_programs),
        "security": _security(page),
    }
    if page.body is not None:
        content = {"application/json": {"schema": _reference(page.body)}}
        operation["requestBody"] = {"required": True, "content": content}
    elif not for_programs and page.method == "POST":
        operation["requestBody"] = {"content": {_FORM: {"schema": {"type": "object"}}}}
    return operation


def _parameters(page: PageRoute) -> list[dict[str, Any]]:
    parameters = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "integer" if kind == "int" else "string"},
        }
        for name, kind in _PARAMETER.findall(page.path)
    ]
    for name in (*page.query, *page.optional):
        query = {"in": "query", "required": name in page.query, "schema": {"type": "string"}}
        parameters.append({"name": name, **query})
    return parameters


def _responses(page: PageRoute, for_programs: bool) -> dict[str, Any]:
    problem = {"description": "Refused.", "content": {PROBLEM: {"schema": _reference("Problem")}}}
    done: dict[str, Any] = {"description": "Done."}
    if page.answer is not None:
        done["content"] = {"application/json": {"schema": _reference(page.answer)}}
    elif not for_programs and page.method == "GET":
        end = page.path.rpartition(".")[2] if "." in page.path else "html"
        kind = "text/html" if end == "html" else _KINDS.get(end, "application/octet-stream")
        done["content"] = {kind: {}}
    elif not for_programs:
        return {"200": done, "303": {"description": "Done; see another page."}, "4XX": problem}
    return {str(page.status): done, "4XX": problem}


def _security(page: PageRoute) -> list[dict[str, list[str]]]:
    if page.needs is Right.EVERYONE:
        return []
    session: list[dict[str, list[str]]] = [{"session": []}]
    return session if page.needs in _PEOPLE_ONLY else [{"token": []}, *session]


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
