"""Pages for drafts: the list, the text, checking, publishing, copies, deleting."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from tacit.errors import DataError, SurveyError
from tacit.studio.access import NOT_ALLOWED, Right, has_right
from tacit.studio.accounts import Role
from tacit.studio.draft_document import DraftDocument
from tacit.studio.drafts import Draft, checked_text
from tacit.studio.form_fields import kinds
from tacit.studio.site import LONGEST_TEXT_FORM, PageRoute, PageVisit, refused
from tacit.studio.survey_pages import file_response
from tacit.survey import Published, example
from tacit.survey.published import waves_sentence
from tacit.survey.yaml_text import to_yaml


def show_drafts(visit: PageVisit) -> Response:
    """The drafts of the account, and the form for a new one."""
    return visit.page("drafts.html", drafts=visit.studio.own_drafts(visit.person))


def create(visit: PageVisit) -> Response:
    """Make a draft: empty with a title, or the example."""
    title = " ".join(visit.form.get("title", "").split())
    if visit.form.get("from") == "example":
        text = example()
    elif title:
        text = empty_survey(title)
    else:
        raise DataError("give the new survey a title")
    return _opened(new_draft(visit, text))


def show_draft(visit: PageVisit, status: int = 200) -> Response:
    """A draft: its problems, its questions and groups, and what can be done with it."""
    document = visit.draft.document
    survey, problems = document.checked
    waves = None if survey is None else survey.survey.waves
    return visit.page(
        "draft.html",
        status,
        draft=visit.draft,
        survey=survey,
        waves=waves and survey and waves_sentence(survey.design, waves),
        problems=problems,
        readable=document.data is not None,
        questions=document.summary("questions"),
        groups=document.summary("groups"),
        kinds=kinds("questions"),
        families=kinds("groups"),
        role=visit.person.role(visit.draft.key),
        languages=document.languages,
        logo=document.logo,
        lost=visit.request.query_params.getlist("lost"),
    )


def show_text(visit: PageVisit) -> Response:
    """The text of a draft."""
    return _text_page(visit, visit.draft, visit.draft.text)


def save_text(visit: PageVisit) -> Response:
    """Check the text that was sent, or save it unless somebody saved another one meanwhile."""
    text = checked_text(visit.form.get("text", ""))
    if visit.form.get("action") == "check":
        status = 400 if DraftDocument(text).problems else 200
        return _text_page(visit, visit.draft, text, status, sent_version(visit))
    newest, saved = saved_text(visit, text)
    if not saved:
        return _text_page(visit, newest, text, 409)
    return RedirectResponse(f"/drafts/{visit.draft.id}", 303)


def download(visit: PageVisit) -> Response:
    """The draft as a survey file."""
    return file_response(
        visit.draft.text, "application/yaml; charset=utf-8", f"{visit.draft.id}.yaml"
    )


def publish(visit: PageVisit) -> Response:
    """Publish a draft; servers that collect serve it from now on."""
    try:
        made = published_draft(visit)
    except SurveyError:
        return show_draft(visit, 400)
    return RedirectResponse(f"/surveys/{made.slug}", 303)


def duplicate(visit: PageVisit) -> Response:
    """A new draft with the same text."""
    return _opened(new_draft(visit, visit.draft.text))


def duplicate_survey(visit: PageVisit) -> Response:
    """A new draft with the content of a published survey."""
    if not has_right(visit.person, Right.AUTHOR):
        return refused(visit.studio, visit.request, NOT_ALLOWED)
    return _opened(new_draft(visit, survey_text(visit.survey)))


def delete(visit: PageVisit) -> Response:
    """Delete a draft, if that was confirmed."""
    if visit.form.get("confirm") != "yes":
        raise DataError("tick the box to confirm that the draft is deleted")
    visit.studio.drafts.delete(visit.draft.id)
    visit.record("draft deleted", visit.draft.title)
    return RedirectResponse("/drafts", 303)


def delete_survey(visit: PageVisit) -> Response:
    """Delete a closed survey with its records, if its title was typed to confirm it."""
    if visit.form.get("confirm", "").strip() != visit.survey.title.strip():
        raise DataError("type the title of the survey to delete it with all its records")
    deleted_survey(visit)
    return RedirectResponse("/", 303)


def start_preview(visit: PageVisit) -> Response:
    """Open the respondent's page of a draft."""
    try:
        return RedirectResponse(preview_path(visit), 303)
    except SurveyError:
        return show_draft(visit, 400)


# What pages and the API share --------------------------------------------------------------------


def empty_survey(title: str) -> str:
    """The text of a survey without questions."""
    return to_yaml({"title": title, "languages": ["en"], "questions": [], "groups": []})


def survey_text(survey: Published) -> str:
    """A published survey as the text of a draft."""
    return to_yaml(survey.survey.to_dict())


def new_draft(visit: PageVisit, text: str) -> Draft:
    """Make a draft of the account."""
    made = visit.studio.drafts.create(text, visit.person.id, visit.person.name)
    visit.record("draft made", made.title)
    return made


def sent_version(visit: PageVisit) -> int:
    """The version that a form was made from."""
    sent = visit.form.get("version", "")
    if not sent.isascii() or not sent.isdigit() or len(sent) > 9:
        raise DataError("the form has no version; open the page again")
    return int(sent)


def saved_text(visit: PageVisit, text: str, version: int | None = None) -> tuple[Draft, bool]:
    """Save a text; the newest draft, and whether it is this one."""
    based_on = sent_version(visit) if version is None else version
    newest, saved = visit.studio.drafts.save(visit.draft.id, based_on, text, visit.person.name)
    if saved:
        visit.record("draft saved", newest.title)
    return newest, saved


def preview_path(visit: PageVisit) -> str:
    """The path of a new preview of a draft."""
    made = visit.studio.previews.add(_correct(visit))
    visit.record("preview made", visit.draft.title)
    return f"/preview/{made}/"


def _correct(visit: PageVisit) -> Published:
    survey, problems = visit.draft.document.checked
    if survey is None:
        raise SurveyError(problems)
    return survey


def published_draft(visit: PageVisit) -> Published:
    """Publish a draft; its members get the same roles for the survey."""
    survey = _correct(visit)
    fingerprint = survey.survey.fingerprint
    if fingerprint in {one.survey.fingerprint for one in visit.studio.store.published()}:
        raise DataError(
            "this survey is published already, word for word; change the title or something else"
        )
    accounts = visit.studio.accounts
    visit.studio.store.register(survey)
    for member in accounts.members(visit.draft.key):
        accounts.give(member.id, fingerprint, member.role)
    accounts.give(visit.person.id, fingerprint, Role.OWNER)
    visit.studio.drafts.mark_published(visit.draft.id, survey.slug)
    visit.record("survey published", survey.title)
    return survey


def deleted_survey(visit: PageVisit) -> None:
    """Delete a closed survey: its records and links, its released counts, its roles."""
    fingerprint = visit.survey.survey.fingerprint
    visit.studio.releases.forget(visit.survey)
    visit.studio.models.forget(visit.survey)
    visit.studio.store.delete_survey(fingerprint)
    visit.studio.releases.forget(visit.survey)  # somebody may have looked at it meanwhile,
    visit.studio.models.forget(visit.survey)  # or begun to learn a model
    visit.studio.accounts.forget_survey(fingerprint)
    visit.record("survey deleted", visit.survey.title)


def _opened(draft: Draft) -> Response:
    return RedirectResponse(f"/drafts/{draft.id}", 303)


def _text_page(
    visit: PageVisit, draft: Draft, text: str, status: int = 200, version: int | None = None
) -> Response:
    """The form for the text; the hidden version is the one that the text was made from."""
    survey, problems = DraftDocument(text).checked
    return visit.page(
        "draft_text.html",
        status,
        "check.js",
        draft=draft,
        text=text,
        version=draft.version if version is None else version,
        survey=survey,
        problems=problems,
        conflict=draft.conflict if status == 409 else None,
        role=visit.person.role(draft.key),
    )


_OWN = "/drafts/{draft}"
DRAFT_PAGES = (
    PageRoute("GET", "/drafts", Right.PERSON, show_drafts),
    PageRoute("POST", "/drafts", Right.AUTHOR, create),
    PageRoute("GET", _OWN, Role.VIEWER, show_draft),
    PageRoute("GET", f"{_OWN}/text", Role.VIEWER, show_text),
    PageRoute("POST", f"{_OWN}/text", Role.OWNER, save_text, LONGEST_TEXT_FORM),
    PageRoute("GET", f"{_OWN}/survey.yaml", Role.VIEWER, download),
    PageRoute("POST", f"{_OWN}/publish", Right.PUBLISHER, publish),
    PageRoute("POST", f"{_OWN}/duplicate", Role.OWNER, duplicate),
    PageRoute("POST", f"{_OWN}/delete", Role.OWNER, delete),
    PageRoute("POST", f"{_OWN}/preview", Role.VIEWER, start_preview),
    PageRoute("POST", "/surveys/{survey}/duplicate", Role.OWNER, duplicate_survey),
    PageRoute("POST", "/surveys/{survey}/delete", Role.OWNER, delete_survey),
)
