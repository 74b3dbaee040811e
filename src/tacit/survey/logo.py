"""The logo of a survey: a small picture that is embedded in the published survey.

The page then shows it without a request. Formats that can contain script or refer to other
addresses (SVG) are refused.
"""

from __future__ import annotations

import base64
import binascii
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
    b"RIFF": "image/webp",
}
_ALLOWED = f"a PNG, JPEG or WebP picture of at most {MOST_LOGO_BYTES:,} bytes"


def _embedded(value: Any) -> str:
    """A data address of an allowed picture, as `_address` writes it."""
    head, comma, content = value.partition(",") if isinstance(value, str) else ("", "", "")
    try:
        picture = base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        picture = b""
    kind = _kind(picture)
    if not comma or kind is None or head != f"data:{kind};base64":
        raise wrong(f"must be data:image/png;base64,... of {_ALLOWED}")
    if len(picture) > MOST_LOGO_BYTES:
        raise wrong(f"must be {_ALLOWED}, got {len(picture):,} bytes")
    return _address(picture)


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
        source.data["logo"] = {**rest, "data": _address(_picture(logo["file"], folder))}
    except FileError as error:
        del source.data["logo"]
        source.twice.append((("logo", "file"), str(error)))


def _picture(name: str, folder: Path) -> bytes:
    """The content of a picture that is allowed."""
    if Path(name).name != name or "\\" in name or not name.isprintable():
        raise FileError(f"must be the name of a file next to the survey file, got {name!r:.60}")
    path = folder / name
    if path.suffix.lower() in (".svg", ".svgz"):
        raise FileError(f"{name}: SVG can contain script; save the logo as PNG, JPEG or WebP")
    check_readable(path)
    with reading(path), path.open("rb") as stream:
        picture = stream.read(MOST_LOGO_BYTES + 1)
    if len(picture) > MOST_LOGO_BYTES or _kind(picture) is None:
        raise FileError(f"{name}: must be {_ALLOWED}")
    return picture


def picture_address(picture: bytes) -> str:
    """A picture as the `data` of a logo; FileError if it is not allowed."""
    if len(picture) > MOST_LOGO_BYTES or _kind(picture) is None:
        raise FileError(f"must be {_ALLOWED}")
    return _address(picture)


def _kind(picture: bytes) -> str | None:
    """The media type of a picture, by its first bytes."""
    kind = next(
        (media_type for start, media_type in _FORMATS.items() if picture.startswith(start)), None
    )
    return None if kind == "image/webp" and picture[8:12] != b"WEBP" else kind


def _address(picture: bytes) -> str:
    return f"data:{_kind(picture)};base64,{base64.b64encode(picture).decode()}"
