"""The logo of a draft: a picture that is uploaded and embedded in the survey file."""

from __future__ import annotations

from email.parser import BytesParser
from email.policy import HTTP

from starlette.responses import RedirectResponse, Response

from tacit.errors import DataError, FileError
from tacit.studio.access import Refusal
from tacit.studio.accounts import Role
from tacit.studio.draft_forms import UNREADABLE
from tacit.studio.draft_pages import saved_text
from tacit.studio.form_fields import FormField
from tacit.studio.form_values import MISSING, read
from tacit.studio.site import LONGEST_TEXT_FORM, PageRoute, PageVisit, refused
from tacit.survey.logo import picture_address

_ALT = FormField("alt", "texts")


def save_logo(visit: PageVisit) -> Response:
    """Embed the picture that was sent, with its text for screen readers; without one, remove it."""
    document = visit.draft.document
    if document.data is None:
        return refused(visit.studio, visit.request, UNREADABLE)
    form, picture = uploaded(visit.request.headers.get("content-type", ""), visit.body)
    before = document.data.get("logo")
    data = {key: value for key, value in document.data.items() if key != "logo"}
    if picture:
        try:
            address = picture_address(picture)
        except FileError as error:
            raise DataError(f"the logo {error}") from None
        alt = read(_ALT, MISSING, form, document.context())
        data["logo"] = {"alt": "" if alt is MISSING else alt, "data": address}
    elif before is None:
        raise DataError("choose a picture")
    version = form.get("version", "")
    if not version.isascii() or not version.isdigit() or len(version) > 9:
        raise DataError("the form has no version; open the page again")
    text, _ = document.with_data(data)
    newest, saved = saved_text(visit, text, int(version))
    if not saved:
        return refused(visit.studio, visit.request, Refusal("changed", 409, newest.conflict))
    return RedirectResponse(f"/drafts/{visit.draft.id}", 303)


def uploaded(kind: str, body: bytes) -> tuple[dict[str, str], bytes]:
    """The fields of a form with a file (RFC 7578), and the content of the file."""
    if not kind.lower().startswith("multipart/form-data"):
        raise DataError("a picture is sent as a form of the type multipart/form-data")
    head = f"Content-Type: {kind}\r\n\r\n".encode("latin-1", "replace")
    message = BytesParser(policy=HTTP).parsebytes(head + body)
    form, file = {}, b""
    for part in message.iter_parts() if message.is_multipart() else ():
        content = part.get_payload(decode=True)
        content = content if isinstance(content, bytes) else b""
        name = part.get_param("name", header="content-disposition")
        if part.get_filename() is not None:
            file = content
        elif isinstance(name, str):
            form[name] = content.decode("utf-8", "replace")
    return form, file


LOGO_PAGES = (PageRoute("POST", "/drafts/{draft}/logo", Role.OWNER, save_logo, LONGEST_TEXT_FORM),)
