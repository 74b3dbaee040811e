"""The logo of a draft: a picture that is uploaded and embedded in the survey file."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.responses import RedirectResponse, Response

from tacit.errors import DataError, FileError
from tacit.studio.access import Refusal
from tacit.studio.accounts import Role
from tacit.studio.draft_forms import UNREADABLE
from tacit.studio.draft_pages import saved_text
from tacit.studio.form_fields import FormField
from tacit.studio.form_values import MISSING, read
from tacit.studio.site import PageRoute, PageVisit, refused
from tacit.survey.logo import picture_address

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

#: Bytes of an upload, its parts (a text per language, the version, the picture), and the headers
#: of a part: how many, and bytes of each.
LONGEST_UPLOAD, MOST_PARTS, MOST_HEADERS, LONGEST_HEADER = 1 << 20, 100, 8, 2048
_ALT = FormField("alt", "texts")
logging.getLogger("python_multipart").setLevel(logging.ERROR)  # it warns of each damaged form


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
    media_type, parameters = parse_options_header(kind)
    boundary = parameters.get(b"boundary")
    if media_type != b"multipart/form-data" or not boundary:
        raise DataError("a picture is sent as a form of the type multipart/form-data")
    parts = _FormParts()
    limits = dict(max_header_count=MOST_HEADERS, max_header_size=LONGEST_HEADER)
    try:
        MultipartParser(boundary, parts.callbacks, **limits).write(body)
    except FormParserError as error:
        raise DataError(f"the form is damaged: {error}") from None
    if not parts.complete:
        raise DataError("the form is damaged: it has no end")
    form = {name: content.decode("utf-8", "replace") for name, content in parts.fields.items()}
    return form, bytes(parts.file)


class _FormParts:
    """What the parser reads: the fields of a form and its last file."""

    def __init__(self) -> None:
        self.fields: dict[str, bytearray] = {}
        self.file = bytearray()
        self.complete = False
        self._number = 0
        self._header, self._value = bytearray(), bytearray()
        self._disposition = b""
        self._content = bytearray()

    @property
    def callbacks(self) -> MultipartCallbacks:
        return {
            "on_part_begin": self._begin,
            "on_header_field": lambda data, start, end: self._header.extend(data[start:end]),
            "on_header_value": lambda data, start, end: self._value.extend(data[start:end]),
            "on_header_end": self._end_header,
            "on_headers_finished": self._end_headers,
            "on_part_data": lambda data, start, end: self._content.extend(data[start:end]),
            "on_end": self._end,
        }

    def _begin(self) -> None:
        self._number += 1
        self._disposition = b""
        if self._number > MOST_PARTS:
            raise FormParserError(f"it has more than {MOST_PARTS} parts")

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = bytes(self._value)
        self._header.clear()
        self._value.clear()

    def _end_headers(self) -> None:
        _, parameters = parse_options_header(self._disposition)
        name = parameters.get(b"name")
        if name is None:
            raise FormParserError("a part has no name")
        self._content = bytearray()
        if b"filename" in parameters:
            self.file = self._content
        else:
            self.fields[name.decode("utf-8", "replace")] = self._content

    def _end(self) -> None:
        self.complete = True


LOGO_PAGES = (PageRoute("POST", "/drafts/{draft}/logo", Role.OWNER, save_logo, LONGEST_UPLOAD),)
