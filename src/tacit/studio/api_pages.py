"""JSON for programs: what the pages do, below /api/."""

from __future__ import annotations

from typing import Any

import numpy as np
from starlette.responses import JSONResponse, Response

from tacit.errors import DataError
from tacit.studio import account_pages, draft_pages, survey_pages
from tacit.studio.access import NOT_ALLOWED, NOT_FOUND, Refusal, Right, has_right
from tacit.studio.account_tables import utc_text
from tacit.studio.accounts import Invitation, Role
from tacit.studio.draft_document import DraftDocument
from tacit.studio.drafts import Draft, checked_text
from tacit.studio.export_pages import estimates_json, surveys_json
from tacit.studio.group_tables import GroupCell, GroupComparison, GroupLabels, group_table
from tacit.studio.model_api import MODEL_API
from tacit.studio.plan_form import FIELDS
from tacit.studio.plan_pages import plan_json
from tacit.studio.release import next_release_at
from tacit.studio.site import (
    LARGEST_NUMBER,
    LONGEST_TEXT_FORM,
    Handler,
    PageRoute,
    PageVisit,
    RouteNote,
    refused,
)

_TABLE = ("row", "column")


def survey_status(visit: PageVisit) -> Response:
    """The state of a survey: records, links, and how many records are released."""
    return JSONResponse(_survey(visit))


def survey_table(visit: PageVisit) -> Response:
    """Answers to one question in the groups of another, also within the layers of a third.

    Small groups have no numbers.
    """
    release = survey_pages.compared(visit)
    row, column, layer = (visit.request.query_params.get(key, "") for key in (*_TABLE, "layer"))
    table = group_table(release, row, [layer, column] if layer else [column])
    test = table.test
    found = None
    if test is not None:
        found = {"statistic": _number(test.statistic), "df": test.df, "p": _number(test.pvalue)}
    head = {"row": row, "column": column, "layer": layer or None}
    return JSONResponse(
        {
            **head,
            "records": release.counts.n_records,
            "cells": [_cell(cell) for cell in table.cells],
            "comparisons": [_comparison(one) for one in table.comparisons],
            "test": found,
        }
    )


def _cell(cell: GroupCell) -> dict[str, Any]:
    numbers = {"share": cell.share, "low": cell.low, "high": cell.high}
    return {
        **_group(cell.group),
        "row": str(cell.answer),
        **{name: None if own is None else _number(own) for name, own in numbers.items()},
        "suppressed": cell.hidden,
    }


def _comparison(one: GroupComparison) -> dict[str, Any]:
    numbers = {"difference": one.difference, "low": one.low, "high": one.high}
    against = str(one.second[-1])
    return {**_group(one.first), "against": against, "row": str(one.answer), **numbers}


def _group(labels: GroupLabels) -> dict[str, Any]:
    return {"layer": str(labels[0]) if len(labels) > 1 else None, "column": str(labels[-1])}


def close_survey(visit: PageVisit) -> Response:
    """Close a survey for good; `confirm` must be its title."""
    survey_pages.close_survey(visit, _text(visit, "confirm"))
    return JSONResponse(_survey(visit))


def freeze_snapshot(visit: PageVisit) -> Response:
    """Open comparisons and models before closing, from the records that are shown now; once."""
    if _text(visit, "confirm").strip() != visit.survey.title.strip():
        raise DataError("confirm must be the title of the survey")
    survey_pages.frozen_snapshot(visit)
    return JSONResponse(_survey(visit))


def new_links(visit: PageVisit) -> Response:
    """Make one-time links to an invited survey; they are shown only here."""
    number = visit.json.get("n")
    asked = str(number) if type(number) is int else ""
    base = _text(visit, "base") if "base" in visit.json else visit.studio.respondents or ""
    return JSONResponse({"links": survey_pages.new_links(visit, asked, base)}, 201)


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
    if not account_pages.revoke_invitation(visit):
        return refused(visit.studio, visit.request, NOT_FOUND)
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
    if _text(visit, "confirm").strip() != visit.survey.title.strip():
        raise DataError("confirm must be the title of the survey")
    draft_pages.deleted_survey(visit)
    return Response(status_code=204)


def duplicate_survey(visit: PageVisit) -> Response:
    """Make a draft with the content of a published survey."""
    if not has_right(visit.person, Right.AUTHOR):
        return refused(visit.studio, visit.request, NOT_ALLOWED)
    text = draft_pages.survey_text(visit.survey)
    return JSONResponse(_draft(draft_pages.new_draft(visit, text)), 201)


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
        why = Refusal("changed", 409, newest.conflict, details=details)
        return refused(visit.studio, visit.request, why)
    return JSONResponse(_draft(newest))


def delete_draft(visit: PageVisit) -> Response:
    """Delete a draft."""
    visit.studio.drafts.delete(visit.draft.id)
    visit.record("draft deleted", visit.draft.title)
    return Response(status_code=204)


def check_draft(visit: PageVisit) -> Response:
    """Every problem of a text with its line and place; without a text, of the draft."""
    text = checked_text(_text(visit, "text")) if "text" in visit.json else visit.draft.text
    return JSONResponse({"problems": DraftDocument(text).problems})


def publish_draft(visit: PageVisit) -> Response:
    """Publish a draft; 422 with its problems if it has some."""
    made = draft_pages.published_draft(visit)
    return JSONResponse({"slug": made.slug, "fingerprint": made.survey.fingerprint}, 201)


def preview_draft(visit: PageVisit) -> Response:
    """Make a preview: the address of a page that works for an hour and stores nothing."""
    address = str(visit.request.base_url).rstrip("/") + draft_pages.preview_path(visit)
    return JSONResponse({"address": address}, 201)


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
    found = visit.json.get(key)
    if not isinstance(found, str):
        raise DataError(f"the key {key} must be a text")
    return found


def _number(value: Any) -> float | None:
    """A number for JSON; None if it is not finite."""
    return float(value) if np.isfinite(value) else None


_SURVEY, _DRAFT = "surveys/{survey}", "drafts/{draft}"
_ROUTES: tuple[tuple[str, str, Right | Role, Handler, RouteNote], ...] = (
    ("GET", "surveys", Right.SIGNED_IN, surveys_json, RouteNote("Surveys")),
    ("GET", _SURVEY, Role.VIEWER, survey_status, RouteNote("Survey")),
    ("DELETE", _SURVEY, Role.OWNER, delete_survey, RouteNote(None, 204, "Confirmation")),
    ("GET", f"{_SURVEY}/results", Role.VIEWER, estimates_json, RouteNote("Results")),
    (
        "GET",
        f"{_SURVEY}/table",
        Role.VIEWER,
        survey_table,
        RouteNote("Table", query=_TABLE, optional=("layer",)),
    ),
    (
        "POST",
        f"{_SURVEY}/close",
        Role.OWNER,
        close_survey,
        RouteNote("Survey", 200, "Confirmation"),
    ),
    (
        "POST",
        f"{_SURVEY}/snapshot",
        Role.OWNER,
        freeze_snapshot,
        RouteNote("Survey", 200, "Confirmation"),
    ),
    ("POST", f"{_SURVEY}/links", Role.OWNER, new_links, RouteNote("Links", 201, "NewLinks")),
    (
        "GET",
        f"{_SURVEY}/invitations",
        Role.OWNER,
        list_invitations,
        RouteNote("Invitations"),
    ),
    (
        "POST",
        f"{_SURVEY}/invitations",
        Role.OWNER,
        new_invitation,
        RouteNote("NewInvitation", 201, "Invite"),
    ),
    (
        "DELETE",
        f"{_SURVEY}/invitations/{{number:int}}",
        Role.OWNER,
        revoke_invitation,
        RouteNote(None, 204),
    ),
    ("POST", f"{_SURVEY}/draft", Role.OWNER, duplicate_survey, RouteNote("Draft", 201)),
    ("GET", "plan", Right.SIGNED_IN, plan_json, RouteNote("Plan", optional=FIELDS)),
    ("GET", "drafts", Right.SIGNED_IN, list_drafts, RouteNote("Drafts")),
    ("POST", "drafts", Right.AUTHOR, new_draft, RouteNote("Draft", 201, "SurveyText")),
    ("GET", _DRAFT, Role.VIEWER, show_draft, RouteNote("Draft")),
    ("PUT", _DRAFT, Role.OWNER, save_draft, RouteNote("Draft", 200, "NewVersion")),
    ("DELETE", _DRAFT, Role.OWNER, delete_draft, RouteNote(None, 204)),
    (
        "POST",
        f"{_DRAFT}/check",
        Role.VIEWER,
        check_draft,
        RouteNote("Problems", 200, "CheckedText"),
    ),
    ("POST", f"{_DRAFT}/publish", Right.PUBLISHER, publish_draft, RouteNote("Published", 201)),
    ("POST", f"{_DRAFT}/preview", Role.VIEWER, preview_draft, RouteNote("Preview", 201)),
)
API_PAGES = (
    *(
        PageRoute(method, f"/api/{path}", needs, handler, LONGEST_TEXT_FORM, note)
        for method, path, needs, handler, note in _ROUTES
    ),
    *MODEL_API,
)
