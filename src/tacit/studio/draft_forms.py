"""Forms that edit the text of a draft: its settings, one question, one group."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from tacit.errors import DataError
from tacit.studio.access import NOT_FOUND, Refusal
from tacit.studio.accounts import Role
from tacit.studio.draft_document import KIND, DraftDocument
from tacit.studio.draft_pages import saved_text, sent_version
from tacit.studio.drafts import Draft
from tacit.studio.form_fields import FormField, item_fields, kinds, survey_fields
from tacit.studio.form_values import MISSING, FormContext, changed, inputs
from tacit.studio.site import LONGEST_FORM, LONGEST_TEXT_FORM, PageRoute, PageVisit, refused

#: A theta that a die, a birth month and the page can make.
_FIRST_THETA = "5/6"
#: A part of a draft is not what a form expects.
UNREADABLE = Refusal(
    "not-editable", 400, "A form cannot show this part of the draft; edit the text instead."
)


def show_settings(visit: PageVisit) -> Response:
    """The form for title, texts, languages and terms."""
    data = visit.draft.document.data
    if data is None:
        return refused(visit.studio, visit.request, UNREADABLE)
    return _form_page(visit, "settings", survey_fields(), data)


def save_settings(visit: PageVisit) -> Response:
    """Save the settings; keys that the form does not show stay as they are."""
    document = visit.draft.document
    if document.data is None:
        return refused(visit.studio, visit.request, UNREADABLE)
    fields = survey_fields()
    context = document.context()
    try:
        data = changed(document.data, fields, visit.form, context)
        made = document.with_data(_ordered(data, document.data))
    except DataError as error:
        return _form_page(visit, "settings", fields, document.data, problem=str(error))
    return _saved(visit, *made, "settings", fields)


def show_item(visit: PageVisit, part: str) -> Response:
    """The form for a question or a group."""
    number = visit.request.path_params["number"]
    item = visit.draft.document.item(part, number)
    if item is None:
        there = 1 <= number <= len(visit.draft.document.items(part))
        return refused(visit.studio, visit.request, UNREADABLE if there else NOT_FOUND)
    return _form_page(visit, part, item_fields(part, item[KIND[part]]), item, number)


def save_item(visit: PageVisit, part: str) -> Response:
    """Save, move or delete a question or a group."""
    number = visit.request.path_params["number"]
    document = visit.draft.document
    item, items = document.item(part, number), list(document.items(part))
    if not 1 <= number <= len(items):
        return refused(visit.studio, visit.request, NOT_FOUND)
    action = visit.form.get("action", "save")
    fields: tuple[FormField, ...] = ()
    if action == "delete":
        del items[number - 1]
    elif action in ("up", "down"):
        other = number - 1 + (1 if action == "down" else -1)
        if 0 <= other < len(items):
            items[number - 1], items[other] = items[other], items[number - 1]
    elif item is None:
        return refused(visit.studio, visit.request, UNREADABLE)
    else:
        fields = item_fields(part, item[KIND[part]])
        try:
            items[number - 1] = _changed_item(visit, document, part, item, fields)
        except DataError as error:
            return _form_page(visit, part, fields, item, number, problem=str(error))
    return _saved(visit, *document.with_items(part, items), part, fields, number)


def add_item(visit: PageVisit, part: str) -> Response:
    """Add a question or a group of a kind, and open its form."""
    document, kind = visit.draft.document, visit.form.get("kind", "")
    if document.data is None or not isinstance(document.data.get(part) or [], list):
        return refused(visit.studio, visit.request, UNREADABLE)
    if kind not in kinds(part):
        raise DataError(f"choose one of {', '.join(kinds(part))}")
    items = [*document.items(part), _new_item(document, part, kind)]
    text, _ = document.with_items(part, items)
    newest, saved = saved_text(visit, text)
    if not saved:
        return _conflict(visit, newest)
    return RedirectResponse(f"/drafts/{visit.draft.id}/{part}/{len(items)}", 303)


def _conflict(visit: PageVisit, newest: Draft) -> Response:
    return refused(visit.studio, visit.request, Refusal("changed", 409, newest.conflict))


def _new_item(document: DraftDocument, part: str, kind: str) -> dict[str, Any]:
    """An item without texts, which the check asks for; a group takes what is in no group yet."""
    questions = [q for q in document.items("questions") if isinstance(q, dict)]
    if part == "questions":
        names = {str(q.get("name")) for q in questions}
        free = next(n for n in range(1, 10_000) if f"question{n}" not in names)
        return {"name": f"question{free}", "kind": kind, "text": ""}
    groups = [group for group in document.items("groups") if isinstance(group, dict)]
    listed = [group["questions"] for group in groups if isinstance(group.get("questions"), list)]
    grouped = {str(name) for names in listed for name in names}
    open_ones = [str(q.get("name")) for q in questions if q.get("sensitive", True)]
    made = {"questions": [name for name in open_ones if name not in grouped], "family": kind}
    own = {field.name for field in item_fields(part, kind)}
    return made | ({"theta": _FIRST_THETA} if "theta" in own else {})


def _changed_item(
    visit: PageVisit,
    document: DraftDocument,
    part: str,
    item: dict[str, Any],
    fields: Sequence[FormField],
) -> dict[str, Any]:
    """The item of a form. If its kind changes, keys that only the old kind has are left out."""
    made = changed(item, fields, visit.form, document.context(item))
    kind = made.get(KIND[part])
    if kind not in kinds(part):
        raise DataError(f"choose one of {', '.join(kinds(part))}")
    known = {field.name for field in fields} - {field.name for field in item_fields(part, kind)}
    return {key: value for key, value in made.items() if key not in known}


def _ordered(data: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """New keys at their usual place: each behind the last one that is before it in the schema."""
    usual = [field.name for field in survey_fields()]
    keys = [key for key in data if key in before]
    for key in data:
        if key not in before:
            earlier = [one for one in usual[: usual.index(key)] if one in keys]
            keys.insert(keys.index(earlier[-1]) + 1 if earlier else 0, key)
    return {key: data[key] for key in keys}


def _saved(
    visit: PageVisit,
    text: str,
    lost: list[str],
    part: str,
    fields: Sequence[FormField],
    number: int | None = None,
) -> Response:
    newest, saved = saved_text(visit, text)
    if saved:
        query = urlencode([("lost", line[:200]) for line in lost[:20]])
        return RedirectResponse(f"/drafts/{visit.draft.id}{'?' + query if query else ''}", 303)
    document = newest.document
    data = document.data if number is None else document.item(part, number)
    if data is None or not fields:
        return _conflict(visit, newest)
    return _form_page(visit, part, fields, data, number, newest)


def _form_page(
    visit: PageVisit,
    part: str,
    fields: Sequence[FormField],
    data: dict[str, Any],
    number: int | None = None,
    problem: str | Draft | None = None,
) -> Response:
    """A form with the values of the draft, or with what was entered if it was not saved.

    `problem` says why, or is the newer draft that somebody else saved meanwhile.
    """
    newest = problem if isinstance(problem, Draft) else None
    draft = newest or visit.draft
    context: FormContext = draft.document.context(data if number is not None else None)
    shown = [(field, inputs(field, data.get(field.name, MISSING), context)) for field in fields]
    names = {field.name for field in fields}
    place = part if number is None else f"{part}[{number - 1}]"
    return visit.page(
        "draft_form.html",
        409 if newest is not None else 400 if problem else 200,
        draft=draft,
        version=sent_version(visit) if isinstance(problem, str) else draft.version,
        part=part,
        number=number,
        count=len(draft.document.items(part)),
        shown=shown,
        entered=visit.form if problem else {},
        others=[key for key in data if key not in names and number is not None],
        problem=problem if newest is None else newest.conflict,
        # A new question has no text yet: its form is not a list of problems.
        problems=[
            one for one in draft.document.problems if f": {place}" in one and data.get("text") != ""
        ],
        role=visit.person.role(draft.key),
    )


_OWN = "/drafts/{draft}"
FORM_PAGES = (
    PageRoute("GET", f"{_OWN}/settings", Role.VIEWER, show_settings),
    PageRoute("POST", f"{_OWN}/settings", Role.OWNER, save_settings, LONGEST_TEXT_FORM),
    *(
        PageRoute(method, f"{_OWN}/{part}{rest}", needs, partial(handler, part=part), longest)
        for part in KIND
        for method, rest, needs, handler, longest in (
            ("POST", "", Role.OWNER, add_item, LONGEST_FORM),
            ("GET", "/{number:int}", Role.VIEWER, show_item, LONGEST_FORM),
            ("POST", "/{number:int}", Role.OWNER, save_item, LONGEST_TEXT_FORM),
        )
    ),
)
