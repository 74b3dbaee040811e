"""Pages for drafts: the list, the text, publishing, forms, the logo, previews."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

from python_multipart import FormParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.responses import RedirectResponse, Response

from tacit.collect import page
from tacit.collect.http import PROTECTION, Refused
from tacit.collect.pages import language_of, preview_html
from tacit.collect.submission import SubmissionValidator
from tacit.errors import DataError, FileError, SurveyError, TacitError
from tacit.studio import forms, site
from tacit.studio.accounts import Role
from tacit.studio.drafts import KIND, Draft, DraftDocument, checked_text
from tacit.studio.forms import MISSING, kinds
from tacit.studio.site import Answer, PageRoute, PageVisit, Refusal, RefusalError, Right
from tacit.survey import Published, example
from tacit.survey.logo import picture_address
from tacit.survey.yaml_text import to_yaml


def create(visit: PageVisit) -> Draft:
    """Make a draft: empty with a title, the example, or the text of a survey file."""
    title = " ".join(visit.text("title").split())
    if visit.form.get("from") in ("example", "text"):
        return new_draft(
            visit, example() if visit.form["from"] == "example" else visit.text("text")
        )
    if not title:
        raise DataError("give the new survey a title")
    empty = {"title": title, "languages": ["en"], "questions": [], "groups": []}
    return new_draft(visit, to_yaml(empty))


def show_draft(visit: PageVisit, status: int = 200) -> Response:
    """A draft: its problems, its questions and groups, and what can be done with it."""
    lost = visit.request.query_params.getlist("lost")
    families = kinds("groups")
    return visit.page("draft.html", status, kinds=kinds("questions"), families=families, lost=lost)


def show_text(visit: PageVisit) -> Response:
    """The text of a draft."""
    return _text_page(visit, visit.draft, visit.draft.text)


def save_text(visit: PageVisit) -> Response | Draft:
    """Check the text that was sent, or save it unless somebody saved another one meanwhile."""
    text = checked_text(visit.text("text"))
    if visit.form.get("action") == "check":
        status = 400 if DraftDocument(text).problems else 200
        return _text_page(visit, visit.draft, text, status, sent_version(visit.form))
    try:
        return saved_text(visit, text, sent_version(visit.form))
    except DraftChangedError as error:
        return _text_page(visit, error.newest, text, 409)


def download(visit: PageVisit) -> Response:
    """The draft as a survey file."""
    return visit.file(visit.draft.text, f"{visit.draft.id}.yaml")


def if_correct(visit: PageVisit, make: Callable[[PageVisit], Any]) -> Any:
    """Publish or preview a draft, or show its problems."""
    try:
        return make(visit)
    except SurveyError:
        return show_draft(visit, 400)


def duplicate(visit: PageVisit) -> Draft:
    """A new draft with the same text."""
    return new_draft(visit, visit.draft.text)


# What pages and the API share --------------------------------------------------------------------


def draft_of_survey(visit: PageVisit) -> Draft:
    """A new draft with the content of a published survey."""
    if not site.has_right(visit.person, Right.AUTHOR):
        raise RefusalError(site.NOT_ALLOWED)
    return new_draft(visit, to_yaml(visit.survey.survey.to_dict()))


def deleted_draft(visit: PageVisit) -> None:
    """Delete a draft."""
    visit.require_tick("tick the box to confirm that the draft is deleted")
    visit.studio.drafts.delete(visit.draft.id)
    visit.record("draft deleted", visit.draft.title)


def new_draft(visit: PageVisit, text: str) -> Draft:
    """Make a draft of the account."""
    draft = visit.studio.drafts.create(text, visit.person.id, visit.person.name)
    visit.record("draft made", draft.title)
    return draft


def sent_version(form: Mapping[str, str]) -> int:
    """The version that a form was made from."""
    sent = form.get("version", "")
    if not sent.isascii() or not sent.isdigit() or len(sent) > 9:
        raise DataError("the form has no version; open the page again")
    return int(sent)


class DraftChangedError(RefusalError):
    """Somebody else saved a newer version meanwhile."""

    def __init__(self, newest: Draft) -> None:
        details = {"version": newest.version, "text": newest.text}
        super().__init__(Refusal("changed", 409, newest.conflict, details=details))
        self.newest = newest


def saved_text(visit: PageVisit, text: str, version: int) -> Draft:
    """The draft after a text is saved over a version; refused if there is a newer one."""
    newest, saved = visit.studio.drafts.save(visit.draft.id, version, text, visit.person.name)
    if not saved:
        raise DraftChangedError(newest)
    visit.record("draft saved", newest.title)
    return newest


def preview_path(visit: PageVisit) -> str:
    """The path of a new preview of a draft."""
    secret = visit.studio.previews.add(_correct(visit))
    visit.record("preview made", visit.draft.title)
    return f"/preview/{secret}/"


def _correct(visit: PageVisit) -> Published:
    survey, problems = visit.draft.document.checked
    if survey is None:
        raise SurveyError(problems)
    return survey


def published_draft(visit: PageVisit) -> Published:
    """Publish a draft; its members get the same roles for the survey."""
    visit.require_tick("tick the box to publish; a published survey cannot be changed")
    survey = _correct(visit)
    visit.register(
        survey,
        "this survey is published already, word for word; change the title or something else",
    )
    for member in visit.studio.accounts.members(visit.key):
        if member.id != visit.person.id:
            visit.studio.accounts.give(member.id, survey.survey.fingerprint, member.role)
    visit.studio.drafts.mark_published(visit.draft.id, survey.slug)
    visit.record("survey published", survey.title)
    return survey


def deleted_survey(visit: PageVisit) -> None:
    """Delete a closed survey with all its records; `confirm` must be its title."""
    visit.require_title("type the title of the survey to delete it with all its records")
    files = (visit.studio.releases, visit.studio.models)
    for folder in files:
        folder.forget(visit.survey)
    visit.studio.store.delete_survey(visit.key)
    for folder in files:  # somebody may have looked at it meanwhile, or begun to learn a model
        folder.forget(visit.survey)
    visit.studio.accounts.forget_survey(visit.key)
    visit.record("survey deleted", visit.survey.title)


def _text_page(
    visit: PageVisit, draft: Draft, text: str, status: int = 200, version: int | None = None
) -> Response:
    """The form for the text; the hidden version is the one that the text was made from."""
    return visit.page(
        "draft_text.html",
        status,
        "check.js",
        draft=draft,
        text=text,
        document=DraftDocument(text),
        version=draft.version if version is None else version,
        conflict=draft.conflict if status == 409 else None,
    )


# Forms: settings, one question, one group --------------------------------------------------------


#: A theta that a die, a birth month and the page can make.
_FIRST_THETA = "5/6"
#: A part of a draft is not what a form expects.
UNREADABLE = Refusal(
    "not-editable", 400, "A form cannot show this part of the draft; edit the text instead."
)


def show_form(visit: PageVisit, part: str) -> Response:
    """The form for the settings, a question or a group."""
    return _form_page(visit, part, _edited(visit, part))


def save_form(visit: PageVisit, part: str) -> Response:
    """Save the settings, a question or a group, or move or delete a question or a group."""
    document, number = visit.draft.document, visit.number
    action, items = visit.form.get("action", "save"), list(document.items(part))
    if number is not None and action in ("delete", "up", "down"):
        other = number - 1 + (1 if action == "down" else -1)
        if not 1 <= number <= len(items):
            raise RefusalError(site.NOT_FOUND)
        if action == "delete":
            del items[number - 1]
        elif 0 <= other < len(items):
            items[number - 1], items[other] = items[other], items[number - 1]
        return _saved(visit, part, document.with_items(part, items))
    data = _edited(visit, part)
    try:
        entered = _entered(visit, part, data)
    except DataError as error:
        return _form_page(visit, part, data, error)
    if number is None:
        return _saved(visit, part, document.with_data(_ordered(entered, data)))
    items[number - 1] = entered
    return _saved(visit, part, document.with_items(part, items))


def _edited(visit: PageVisit, part: str) -> dict[str, Any]:
    """The settings, or the question or group of the address; refused if a form cannot show it."""
    document, number = visit.draft.document, visit.number
    data = document.data if number is None else document.item(part, number)
    if data is None:
        missing = number is not None and not 1 <= number <= len(document.items(part))
        raise RefusalError(site.NOT_FOUND if missing else UNREADABLE)
    return data


def add_item(visit: PageVisit, part: str) -> Response:
    """Add a question or a group of a kind, and open its form."""
    document, kind = visit.draft.document, visit.text("kind")
    if not isinstance(_edited(visit, part).get(part) or [], list):
        raise RefusalError(UNREADABLE)
    items = [*document.items(part), _new_item(document, part, _checked_kind(part, kind))]
    saved_text(visit, document.with_items(part, items)[0], sent_version(visit.form))
    return RedirectResponse(f"/drafts/{visit.draft.id}/{part}/{len(items)}", 303)


def _checked_kind(part: str, kind: Any) -> str:
    if kind not in kinds(part):
        raise DataError(f"choose one of {', '.join(kinds(part))}")
    return str(kind)


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
    sensitive = [str(q.get("name")) for q in questions if q.get("sensitive", True)]
    group = {"questions": [name for name in sensitive if name not in grouped], "family": kind}
    return group | ({"theta": _FIRST_THETA} if "theta" in _keys(part, kind) else {})


def _entered(visit: PageVisit, part: str, data: dict[str, Any]) -> dict[str, Any]:
    """What a form says. If the kind of an item changes, keys of the old kind only are left out."""
    fields = _fields(part, data)
    context = visit.draft.document.context(data if part in KIND else None)
    entered = forms.changed(data, fields, visit.form, context)
    if part not in KIND:
        return entered
    kind = _checked_kind(part, entered.get(KIND[part]))
    old = {field.name for field in fields} - _keys(part, kind)
    return {key: value for key, value in entered.items() if key not in old}


def _fields(part: str, data: dict[str, Any]) -> tuple[forms.FormField, ...]:
    """The fields of the form for the settings, or for an item."""
    return forms.item_fields(part, data[KIND[part]]) if part in KIND else forms.survey_fields()


def _keys(part: str, kind: str) -> set[str]:
    return {field.name for field in forms.item_fields(part, kind)}


def _ordered(data: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """New keys at their usual place: each behind the last one that is before it in the schema."""
    usual = [field.name for field in forms.survey_fields()]
    keys = [key for key in data if key in before]
    for key in data:
        if key not in before:
            earlier = [name for name in usual[: usual.index(key)] if name in keys]
            keys.insert(keys.index(earlier[-1]) + 1 if earlier else 0, key)
    return {key: data[key] for key in keys}


def _saved(visit: PageVisit, part: str, changed: tuple[str, list[str]]) -> Response:
    """Save a changed text and show the draft with the comments that were lost."""
    text, lost = changed
    try:
        saved_text(visit, text, sent_version(visit.form))
    except DraftChangedError as error:
        document, number = error.newest.document, visit.number
        data = document.data if number is None else document.item(part, number)
        if data is None or visit.form.get("action", "save") != "save":
            raise
        return _form_page(visit, part, data, error)
    query = urlencode([("lost", line[:200]) for line in lost[:20]])
    return RedirectResponse(f"/drafts/{visit.draft.id}{'?' + query if query else ''}", 303)


def _form_page(
    visit: PageVisit, part: str, data: dict[str, Any], problem: TacitError | None = None
) -> Response:
    """A form with the values of the draft, or with what was entered if it was not saved."""
    newest = problem.newest if isinstance(problem, DraftChangedError) else None
    draft, fields, number = newest or visit.draft, _fields(part, data), visit.number
    context = draft.document.context(data if number is not None else None)
    names = {field.name for field in fields}
    item = part if number is None else f"{part}[{number - 1}]"
    all_problems = draft.document.problems
    return visit.page(
        "draft_form.html",
        409 if newest is not None else 400 if problem else 200,
        draft=draft,
        version=sent_version(visit.form) if problem and newest is None else draft.version,
        part=part,
        number=number,
        count=len(draft.document.items(part)),
        shown=[(f, forms.inputs(f, data.get(f.name, MISSING), context)) for f in fields],
        entered=visit.form if problem else {},
        others=[key for key in data if key not in names and number is not None],
        problem=problem and str(problem),
        # A new question has no text yet: its form is not a list of problems.
        problems=[] if data.get("text") == "" else [p for p in all_problems if f": {item}" in p],
    )


# The logo: a picture that is uploaded and embedded in the survey file ----------------------------


#: Bytes of an upload, its parts (a text per language, the version, the picture), and the headers
#: of a part: how many, and bytes of each.
LONGEST_UPLOAD, MOST_PARTS, MOST_HEADERS, LONGEST_HEADER = 1 << 20, 100, 8, 2048
_LIMITS = {"MAX_HEADER_COUNT": MOST_HEADERS, "MAX_HEADER_SIZE": LONGEST_HEADER}
_ALT = forms.FormField("alt", "texts")
logging.getLogger("python_multipart").setLevel(logging.ERROR)  # it warns of each damaged form


def save_logo(visit: PageVisit) -> Draft:
    """Embed the picture that was sent, with its text for screen readers; without one, remove it."""
    document, before = visit.draft.document, _edited(visit, "settings")
    form, picture = uploaded(visit.request.headers.get("content-type", ""), visit.body)
    data = {key: value for key, value in before.items() if key != "logo"}
    if picture:
        try:
            address = picture_address(picture)
        except FileError as error:
            raise DataError(f"the logo {error}") from None
        alt = forms.read(_ALT, MISSING, form, document.context())
        data["logo"] = {"alt": "" if alt is MISSING else alt, "data": address}
    elif before.get("logo") is None:
        raise DataError("choose a picture")
    return saved_text(visit, document.with_data(data)[0], sent_version(form))


def uploaded(kind: str, body: bytes) -> tuple[dict[str, str], bytes]:
    """The fields of a form with a file (RFC 7578), and the content of the file."""
    media_type, parameters = parse_options_header(kind)
    boundary = parameters.get(b"boundary")
    if media_type != b"multipart/form-data" or not boundary:
        raise DataError("a picture is sent as a form of the type multipart/form-data")
    if body.count(b"--%b\r\n" % boundary) > MOST_PARTS:
        raise DataError(f"the form is damaged: it has more than {MOST_PARTS} parts")
    form: dict[str, str] = {}
    files, ends = [b""], list[int]()

    def add_field(field: Any) -> None:
        name, content = field.field_name, field.value or b""
        form[name.decode("utf-8", "replace")] = content.decode("utf-8", "replace")

    def add_file(file: Any) -> None:
        files.append(file.file_object.getvalue())

    end = partial(ends.append, 1)
    kind = "multipart/form-data"
    try:
        FormParser(kind, add_field, add_file, end, boundary, config=_LIMITS).write(body)
    except FormParserError as error:
        raise DataError(f"the form is damaged: {error}") from None
    if not ends:
        raise DataError("the form is damaged: it has no end")
    return form, files[-1]


# Previews: the same files as respondents get, and nothing is stored ------------------------------


#: As respondents get them: these files may run their own scripts, unlike the pages of the studio.
_HEADERS = {name.decode(): value.decode() for name, value in PROTECTION}
_OVER = Refusal("not-found", 404, "This preview is over. Start it again from the draft.")


def show_preview(visit: PageVisit) -> Response:
    """The page of respondents with a banner that says so."""
    html = preview_html(language_of(visit.request.scope, _preview(visit).survey))
    return Response(html, media_type="text/html", headers=_HEADERS)


def preview_survey(visit: PageVisit) -> Response:
    """The survey that the page carries out."""
    return Response(_preview(visit).to_json(), media_type="application/json", headers=_HEADERS)


def preview_response(visit: PageVisit) -> Answer:
    """Check a record as a server would; it is not stored."""
    try:
        SubmissionValidator(_preview(visit)).validate(visit.body)
    except Refused as error:
        raise DataError(error.problem.title) from None
    return {"stored": True}


def page_file(visit: PageVisit) -> Response:
    """A file of the respondent's page."""
    name = visit.request.path_params["name"]
    if name not in page.FILES or name == page.HTML:
        raise RefusalError(site.NOT_FOUND)
    return Response(page.content(name), media_type=page.FILES[name], headers=_HEADERS)


def _preview(visit: PageVisit) -> Published:
    survey = visit.studio.previews.get(visit.request.path_params["secret"])
    if survey is None:
        raise RefusalError(_OVER)
    return survey


_DRAFT, _SURVEY, _PREVIEW = "/drafts/{draft}", "/surveys/{survey}", "/preview/{secret}"
#: The page of the draft that is made or saved.
_MADE = "/drafts/{made.id}"
_publish, _preview_page = (partial(if_correct, make=m) for m in (published_draft, preview_path))
_with_text = partial(PageRoute, longest=site.LONGEST_TEXT_FORM)
#: The pages of this module with the rights that they need.
ROUTES = (
    _with_text("POST", "/drafts", Right.AUTHOR, create, then=_MADE),
    PageRoute("GET", _DRAFT, Role.VIEWER, show_draft),
    PageRoute("GET", f"{_DRAFT}/text", Role.VIEWER, show_text),
    _with_text("POST", f"{_DRAFT}/text", Role.OWNER, save_text, then=_MADE),
    PageRoute("GET", f"{_DRAFT}/survey.yaml", Role.VIEWER, download),
    PageRoute("POST", f"{_DRAFT}/publish", Right.PUBLISHER, _publish, then="/surveys/{made.slug}"),
    PageRoute("POST", f"{_DRAFT}/duplicate", Role.OWNER, duplicate, then=_MADE),
    PageRoute("POST", f"{_DRAFT}/delete", Role.OWNER, deleted_draft, then="/?state=draft"),
    PageRoute("POST", f"{_DRAFT}/preview", Role.VIEWER, _preview_page, then="{made}"),
    PageRoute("POST", f"{_SURVEY}/duplicate", Role.OWNER, draft_of_survey, then=_MADE),
    PageRoute("POST", f"{_SURVEY}/delete", Role.OWNER, deleted_survey, then="/"),
    PageRoute("GET", f"{_DRAFT}/settings", Role.VIEWER, partial(show_form, part="settings")),
    _with_text("POST", f"{_DRAFT}/settings", Role.OWNER, partial(save_form, part="settings")),
    *(
        route(method, f"{_DRAFT}/{part}{rest}", needs, partial(handler, part=part))
        for part in KIND
        for route, method, rest, needs, handler in (
            (PageRoute, "POST", "", Role.OWNER, add_item),
            (PageRoute, "GET", "/{number:int}", Role.VIEWER, show_form),
            (_with_text, "POST", "/{number:int}", Role.OWNER, save_form),
        )
    ),
    PageRoute("POST", f"{_DRAFT}/logo", Role.OWNER, save_logo, longest=LONGEST_UPLOAD, then=_MADE),
    PageRoute("GET", f"{_PREVIEW}/", Right.EVERYONE, show_preview),
    PageRoute("GET", f"{_PREVIEW}/survey.json", Right.EVERYONE, preview_survey),
    _with_text("POST", f"{_PREVIEW}/responses", Right.EVERYONE, preview_response, status=201),
    PageRoute("GET", "/page/{name:path}", Right.EVERYONE, page_file),
)
