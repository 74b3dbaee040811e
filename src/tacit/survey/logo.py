"""The logo of a survey: a small picture that is embedded in the published survey.

The page then shows it without a request. Formats that can contain script or refer to other
addresses (SVG) are refused.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator

from tacit.errors import FileError
from tacit.records.paths import check_readable, reading
from tacit.survey.fields import SurveyPart, Texts, wrong
from tacit.survey.yaml_text import SurveySource

MOST_LOGO_BYTES = 100_000
#: The first bytes of each format, and its media type.
_FORMATS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"RIFF....WEBP": "image/webp",
}
_ALLOWED = f"a PNG, JPEG or WebP picture of at most {MOST_LOGO_BYTES:,} bytes"


def _embedded(value: Any) -> str:
    """A data address of an allowed picture, as `picture_address` writes it."""
    head, _, content = value.partition(",") if isinstance(value, str) else ("", "", "")
    try:
        picture = base64.b64decode(content, validate=True)
    except ValueError:
        picture = b""
    kind = _kind(picture)
    if kind is None or head != f"data:{kind};base64":
        raise wrong(f"must be data:image/png;base64,... of {_ALLOWED}")
    if len(picture) > MOST_LOGO_BYTES:
        raise wrong(f"must be {_ALLOWED}, got {len(picture):,} bytes")
    return picture_address(picture)


class Logo(SurveyPart):
    """A picture above the introduction."""

    alt: Texts = Field(description="What screen readers say instead of the picture.")
    file: str | None = Field(
        default=None, description="The name of a PNG, JPEG or WebP file next to the survey file."
    )
    data: Annotated[str, PlainValidator(_embedded), WithJsonSchema({"type": "string"})] | None = (
        Field(default=None, description="The picture itself, once it is published.")
    )

    @model_validator(mode="after")
    def _has_picture(self) -> Logo:
        if self.file is not None:
            raise wrong(
                "the file is read only with a survey file on disk; here give the picture as data, "
                "as in a published survey"
            )
        if self.data is None:
            raise wrong(f"the key 'file' is missing: {_ALLOWED} next to the survey file")
        return self


def embed_logo(source: SurveySource, folder: Path) -> None:
    """Replace the file of a logo by its content; what is wrong with it is noted in the source."""
    logo = source.data.get("logo") if isinstance(source.data, dict) else None
    if not isinstance(logo, dict) or not isinstance(logo.get("file"), str):
        return
    rest = {key: value for key, value in logo.items() if key != "file"}
    try:
        source.data["logo"] = {**rest, "data": _read(logo["file"], folder)}
    except FileError as error:
        del source.data["logo"]
        source.twice.append((("logo", "file"), str(error)))


def _read(name: str, folder: Path) -> str:
    """The content of a file with a picture that is allowed, as the `data` of a logo."""
    if Path(name).name != name or "\\" in name or not name.isprintable():
        raise FileError(f"must be the name of a file next to the survey file, got {name!r:.60}")
    path = folder / name
    if path.suffix.lower() in (".svg", ".svgz"):
        raise FileError(f"{name}: SVG can contain script; save the logo as PNG, JPEG or WebP")
    check_readable(path)
    with reading(path), path.open("rb") as stream:
        return picture_address(stream.read(MOST_LOGO_BYTES + 1), f"{name}: ")


def picture_address(picture: bytes, before: str = "") -> str:
    """A picture as the `data` of a logo; FileError, which begins so, if it is not allowed."""
    kind = _kind(picture)
    if len(picture) > MOST_LOGO_BYTES or kind is None:
        raise FileError(f"{before}must be {_ALLOWED}")
    return f"data:{kind};base64,{base64.b64encode(picture).decode()}"


def _kind(picture: bytes) -> str | None:
    """The media type of a picture, by its first bytes."""
    kinds = [kind for start, kind in _FORMATS.items() if re.match(start, picture, re.DOTALL)]
    return kinds[0] if kinds else None
