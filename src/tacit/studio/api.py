"""JSON for programs below /api/: what the pages do, and the description of all routes (OpenAPI)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from tacit import __version__
from tacit.collect.http import PROBLEM
from tacit.errors import DataError
from tacit.studio import account_pages, analysis_pages, draft_pages, model_pages, site, survey_pages
from tacit.studio.accounts import Role
from tacit.studio.analyses import COMPARISON, REGRESSION
from tacit.studio.analysis_pages import asked
from tacit.studio.drafts import Draft, DraftDocument, checked_text
from tacit.studio.models import CRITERIA, KINDS, StoredModel
from tacit.studio.page_templates import utc_text
from tacit.studio.plan_pages import FIELDS, plan_json
from tacit.studio.release import next_release_at
from tacit.studio.report import analysis_result
from tacit.studio.site import Answer, PageRoute, PageVisit, Right
from tacit.survey import Published

_TABLE = ("row", "column"), ("layer", "reference")
READY, LEARNING, FAILED = "ready", "learning", "failed"
#: What is shown of a model; none of it has a figure of a small group.
_SHOWN = ("summary", "evaluation", "privacy", "n_learnt", "n_tested", "n_left_out")


def survey_status(visit: PageVisit) -> Answer:
    """The state of a survey: records, links, and how many records are released."""
    survey, releases = visit.survey, visit.studio.releases
    state = visit.studio.store.state(visit.key)
    release, compared = releases.newest(survey), releases.comparable(survey)
    released = 0 if release is None else release.counts.n_records
    open_release = release is None or release.open
    return survey_pages.survey_head(visit, survey) | {
        "fingerprint": visit.key,
        "design": survey.fingerprint,
        "links": state.issued,
        "unused_links": state.remaining,
        "released_records": released,
        "next_release_at": next_release_at(released) if open_release else released,
        "compared_records": 0 if compared is None else compared.counts.n_records,
    }


def survey_table(visit: PageVisit) -> Answer:
    """Answers to one question in the groups of another, also within the layers of a third.

    Small groups have no numbers. Answers are merged or left out as in the form of the page: the
    parameter `QUESTION.K` says what its answer number K, from 0, counts as (1 or 2: a merged group;
    out: left out), and `QUESTION.merged1` names the first merged group.
    """
    fields, release = visit.request.query_params, visit.comparable_release()
    table = analysis_result(asked(visit, COMPARISON), release)
    head = {key: fields.get(key) or None for key in ("row", "column", "layer")}
    return {**head, "records": release.counts.n_records, **table.to_dict()}


def survey_regression(visit: PageVisit) -> Answer:
    """A logit of a question on others: odds ratios and average effects.

    The parameter `with` names a predictor and may be repeated, `ref.QUESTION` its reference group;
    `first` and `second` name an interaction. Answers are merged as in tables. An outcome with more
    than two answers is `ordered` or `unordered`, by `kind` or as the question is.
    """
    return analysis_result(asked(visit, REGRESSION), visit.comparable_release()).to_dict()


def close_survey(visit: PageVisit) -> Answer:
    """Close a survey for good; `confirm` must be its title."""
    survey_pages.close_survey(visit)
    return survey_status(visit)


def freeze_snapshot(visit: PageVisit) -> Answer:
    """Open comparisons and models before closing, from the records that are shown now; once."""
    visit.require_title("confirm must be the title of the survey")
    survey_pages.frozen_snapshot(visit)
    return survey_status(visit)


def new_links(visit: PageVisit) -> Answer:
    """Make one-time links to an invited survey; they are shown only here."""
    number = visit.json.get("n")
    links = str(number) if type(number) is int else ""
    base = visit.text("base") if "base" in visit.json else visit.studio.respondents or ""
    return {"links": survey_pages.new_links(visit, links, base)}


def list_invitations(visit: PageVisit) -> Answer:
    """The open invitations to a survey, without their links."""
    return {"invitations": [*map(_invitation, visit.studio.accounts.invitations(visit.key))]}


def new_invitation(visit: PageVisit) -> Answer:
    """Invite somebody to a survey; the link, which makes an account, is shown only here."""
    invitation, link = account_pages.invite(visit, Role.named(visit.text("role")))
    return _invitation(invitation) | {"link": link}


def _invitation(invitation: Any) -> dict[str, Any]:
    return {
        "id": invitation.id,
        "role": invitation.role.name.lower(),
        "by": invitation.by,
        "works_until": utc_text(invitation.expires).replace(" ", "T") + "Z",
    }


def list_drafts(visit: PageVisit) -> Answer:
    """The drafts of the account."""
    return {"drafts": [draft.head for draft in visit.studio.own_drafts(visit.person)]}


def new_draft(visit: PageVisit) -> Draft:
    """Make a draft of the text of a survey file; it may have problems."""
    return draft_pages.new_draft(visit, visit.text("text"))


def show_draft(visit: PageVisit) -> Draft:
    """A draft with its text, its version and its problems."""
    return visit.draft


def save_draft(visit: PageVisit) -> Draft:
    """Save a text over the version that it was made from; 409 if there is a newer one."""
    version = visit.json.get("version")
    if type(version) is not int or not 0 < version <= site.LARGEST_NUMBER:
        raise DataError("version must be the whole number that was read with the text")
    return draft_pages.saved_text(visit, visit.text("text"), version)


def check_draft(visit: PageVisit) -> Answer:
    """Every problem of a text with its line and place; without a text, of the draft."""
    text = checked_text(visit.text("text")) if "text" in visit.json else visit.draft.text
    return {"problems": DraftDocument(text).problems}


def publish_draft(visit: PageVisit) -> Answer:
    """Publish a draft; 422 with its problems if it has some."""
    return _published(draft_pages.published_draft(visit))


def preview_draft(visit: PageVisit) -> Answer:
    """Make a preview: the address of a page that works for an hour and stores nothing."""
    return {"address": str(visit.request.base_url).rstrip("/") + draft_pages.preview_path(visit)}


def list_models(visit: PageVisit) -> Answer:
    """The models of a survey, newest first."""
    return {"models": [*map(_described, model_pages.seen_models(visit))]}


def learn_model(visit: PageVisit) -> Answer:
    """Start to learn a model from the released records; ask for its state until it is ready."""
    fields = {
        key: "" if value is None else str(value)
        for key, value in visit.json.items()
        if isinstance(value, str | int | float | None)
    }
    return {"name": model_pages.started(visit, fields), "state": LEARNING}


def show_model(visit: PageVisit) -> Answer:
    """A model with its accuracy and the cost of publishing it; or its state while it is learnt."""
    model, problem = model_pages.seen_model(visit)
    if model is not None:
        return _described(model) | {key: model.content[key] for key in _SHOWN}
    if problem is None:
        raise site.RefusalError(site.NOT_FOUND)
    state = {"state": FAILED, "problem": problem} if problem else {"state": LEARNING}
    return {"name": visit.request.path_params["model"], **state}


def publish_round(visit: PageVisit) -> Answer:
    """Publish a model as an accuracy round, a survey that respondents' devices answer."""
    return _published(model_pages.published_round(visit))


def _published(survey: Published) -> dict[str, Any]:
    return {"slug": survey.slug, "fingerprint": survey.survey.fingerprint}


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


_SURVEY, _DRAFT = "/api/surveys/{survey}", "/api/drafts/{draft}"
_SNAPSHOT, _INVITATIONS, _MODELS, _REPORT = (
    f"{_SURVEY}/{name}" for name in ("snapshot", "invitations", "models", "report")
)
_INVITATION, _MODEL = f"{_INVITATIONS}/{{number:int}}", f"{_MODELS}/{{model}}"
_with_text = partial(PageRoute, longest=site.LONGEST_TEXT_FORM)
#: The routes of this module with the rights that they need, the names of the schemas of their
#: answers, their status, and the names of the schemas of their bodies.
ROUTES = (
    PageRoute("GET", "/api/surveys", Right.SIGNED_IN, survey_pages.surveys_json, "Surveys"),
    PageRoute("GET", _SURVEY, Role.VIEWER, survey_status, "Survey"),
    PageRoute("DELETE", _SURVEY, Role.OWNER, draft_pages.deleted_survey, None, 204, "Confirmation"),
    PageRoute("GET", f"{_SURVEY}/results", Role.VIEWER, survey_pages.estimates_json, "Results"),
    PageRoute("GET", f"{_SURVEY}/table", Role.VIEWER, survey_table, "Table", 200, None, *_TABLE),
    PageRoute(
        *("GET", f"{_SURVEY}/regression", Role.VIEWER, survey_regression, "Regression"),
        query=("outcome", "with"),
        optional=("first", "second", "kind"),
    ),
    PageRoute("GET", _REPORT, Role.VIEWER, analysis_pages.report_contents, "Analyses"),
    PageRoute(
        "POST", _REPORT, Role.ANALYST, analysis_pages.add_to_report, "Analyses", 201, "Analysis"
    ),
    PageRoute(
        *("DELETE", f"{_REPORT}/{{number:int}}", Role.ANALYST, analysis_pages.remove_from_report),
        answer="Analyses",
    ),
    PageRoute("POST", f"{_SURVEY}/close", Role.OWNER, close_survey, "Survey", 200, "Confirmation"),
    PageRoute("POST", _SNAPSHOT, Role.OWNER, freeze_snapshot, "Survey", 200, "Confirmation"),
    PageRoute("POST", f"{_SURVEY}/links", Role.OWNER, new_links, "Links", 201, "NewLinks"),
    PageRoute("GET", _INVITATIONS, Role.OWNER, list_invitations, "Invitations"),
    PageRoute("POST", _INVITATIONS, Role.OWNER, new_invitation, "NewInvitation", 201, "Invite"),
    PageRoute("DELETE", _INVITATION, Role.OWNER, account_pages.revoke_invitation, status=204),
    PageRoute("POST", f"{_SURVEY}/draft", Role.OWNER, draft_pages.draft_of_survey, "Draft", 201),
    PageRoute("GET", "/api/plan", Right.SIGNED_IN, plan_json, "Plan", optional=FIELDS),
    PageRoute("GET", "/api/drafts", Right.SIGNED_IN, list_drafts, "Drafts"),
    _with_text("POST", "/api/drafts", Right.AUTHOR, new_draft, "Draft", 201, "SurveyText"),
    PageRoute("GET", _DRAFT, Role.VIEWER, show_draft, "Draft"),
    _with_text("PUT", _DRAFT, Role.OWNER, save_draft, "Draft", 200, "NewVersion"),
    PageRoute("DELETE", _DRAFT, Role.OWNER, draft_pages.deleted_draft, status=204),
    _with_text("POST", f"{_DRAFT}/check", Role.VIEWER, check_draft, "Problems", 200, "CheckedText"),
    PageRoute("POST", f"{_DRAFT}/publish", Right.PUBLISHER, publish_draft, "Published", 201),
    PageRoute("POST", f"{_DRAFT}/preview", Role.VIEWER, preview_draft, "Preview", 201),
    PageRoute("GET", _MODELS, Role.VIEWER, list_models, "Models"),
    PageRoute("POST", _MODELS, Role.ANALYST, learn_model, "Model", 202, "NewModel"),
    PageRoute("GET", _MODEL, Role.VIEWER, show_model, "Model"),
    PageRoute("DELETE", _MODEL, Role.OWNER, model_pages.deleted, status=204),
    PageRoute("POST", f"{_MODEL}/round", Role.OWNER, publish_round, "Published", 201, "NewRound"),
)


# The API description ------------------------------------------------------------------------------


_TEXT, _WHOLE, _FLAG = {"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "boolean"}
_NUMBER, _SHARE = {"type": "number"}, {"type": ["number", "null"]}
_MAYBE_TEXT, _MAYBE_WHOLE = {"type": ["string", "null"]}, {"type": ["integer", "null"]}
_OBJECT, _MAYBE_OBJECT = {"type": "object"}, {"type": ["object", "null"]}
_TIME = {"type": "string", "format": "date-time"}
_ROLES = [*Role.names()]


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


#: The types of members by name; the others are texts.
_TYPES: dict[str, Any] = {
    **dict.fromkeys(("version", "status", "df", "missing", "records"), _WHOLE),
    **dict.fromkeys(("links", "unused_links", "released_records", "next_release_at"), _WHOLE),
    **dict.fromkeys(("left_out", "respondents", "n_learnt", "n_tested", "n_left_out"), _WHOLE),
    **dict.fromkeys(("share", "low", "high", "reported", "difference"), _SHARE),
    **dict.fromkeys(("statistic", "p", "width", "power", "epsilon"), _SHARE),
    **dict.fromkeys(("odds_ratio", "pvalue", "estimate", "stderr"), _NUMBER),
    **dict.fromkeys(("log_likelihood", "aic"), _NUMBER),
    **dict.fromkeys(("effective", "level", "min_support", "min_confidence"), _NUMBER),
    **dict.fromkeys(("max_depth", "classes", "people"), _MAYBE_WHOLE),
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
_INVITED = {"id": _WHOLE, "role": {"enum": _ROLES}}
_QUESTION = _object(
    "name text missing effective", answers=_list(_object("label share low high reported"))
)
_ANALYSIS = _object("query", kind={"enum": [COMPARISON, REGRESSION]})

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
        groups=_list(_object("layer column people")),
        test=_object("statistic df p")
        | _MAYBE_OBJECT
        | {"description": "None if a cell is suppressed."},
    ),
    "Regression": _object(
        "outcome kind records left_out log_likelihood aic warnings",
        answers=_list(_TEXT),
        terms=_list(
            _object(
                "name label against answer odds_ratio low high pvalue coefficient estimate stderr"
            )
        ),
        effects=_list(_object("name label against answer difference low high")),
    ),
    "Analyses": _object("", analyses=_list(_ANALYSIS)),
    "Analysis": _ANALYSIS,
    "Plan": {
        "description": "As `tacit plan --format json` prints it, with `tradeoff` beside.",
        **_object(
            "solved respondents level width power epsilon warnings tradeoff",
            questions=_list(_OBJECT),
            groups=_list(_OBJECT),
        ),
    },
    "Links": _object("", links=_list(_TEXT)),
    "Invitations": _object("", invitations=_list(_object("by works_until", **_INVITED))),
    "NewInvitation": _object("by works_until link", **_INVITED),
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
_FORM, _BYTES = "application/x-www-form-urlencoded", "application/octet-stream"
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
    handler: Any = page.handler
    if isinstance(handler, partial):
        handler = handler.keywords.get("make", handler.func)
    words = re.sub(r"\W+", "-", _PARAMETER.sub(r"\1", page.path)).strip("-") or "start"
    operation: dict[str, Any] = {
        "operationId": f"{page.method.lower()}-{words}",
        "summary": " ".join((handler.__doc__ or "").split("\n\n")[0].split()),
        "tags": ["api" if for_programs else "pages"],
        "x-needs": page.needs.value if isinstance(page.needs, Right) else page.needs.name.lower(),
        "parameters": _parameters(page),
        "responses": _responses(page, for_programs),
        "security": [{scheme: []} for scheme in _schemes(page.needs)],
    }
    if page.body is not None:
        content = {"application/json": {"schema": _reference(page.body)}}
        operation["requestBody"] = {"required": True, "content": content}
    elif not for_programs and page.method == "POST":
        operation["requestBody"] = {"content": {_FORM: {"schema": {"type": "object"}}}}
    return operation


def _parameters(page: PageRoute) -> list[dict[str, Any]]:
    kinds = {"int": {"type": "integer"}}
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": kinds.get(kind, _TEXT)}
        for name, kind in _PARAMETER.findall(page.path)
    ]
    return parameters + [
        {"name": name, "in": "query", "required": name in page.query, "schema": _TEXT}
        for name in (*page.query, *page.optional)
    ]


def _responses(page: PageRoute, for_programs: bool) -> dict[str, Any]:
    problem = {"description": "Refused.", "content": {PROBLEM: {"schema": _reference("Problem")}}}
    done: dict[str, Any] = {"description": "Done."}
    responses = {str(page.status): done, "4XX": problem}
    if page.answer is not None:
        done["content"] = {"application/json": {"schema": _reference(page.answer)}}
    elif not for_programs and page.method == "GET":
        end = page.path.rpartition(".")[2] if "." in page.path else "html"
        done["content"] = {site.MEDIA_TYPES.get(end, _BYTES).partition(";")[0]: {}}
    elif not for_programs:
        responses |= {"200": done, "303": {"description": "Done; see another page."}}
    return responses


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _schemes(needs: Right | Role) -> tuple[str, ...]:
    """How a request may say who makes it."""
    if needs is Right.EVERYONE:
        return ()
    return ("session",) if needs in _PEOPLE_ONLY else ("token", "session")
