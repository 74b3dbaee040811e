"""A connection to a studio for notebooks: surveys, estimates and disguised records as frames."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from tacit.errors import ServiceError

if TYPE_CHECKING:
    from tacit.core.design import Design
    from tacit.reconstruction import Reconstruction

SECONDS = 60.0


class _RefusedRedirects(HTTPRedirectHandler):
    """A token is sent to the address that was given and to no other."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


@dataclass(frozen=True)
class StudioConnection:
    """What a token may read; `slug` is the name of a survey in addresses."""

    url: str
    token: str = field(repr=False)
    backend: str | None = None

    def surveys(self) -> Any:
        """The surveys that the token may read: slug, title, open, records, role."""
        surveys = self._json("surveys.json")["surveys"]
        return self._frame(surveys, ("slug", "title", "open", "records", "role"))

    def estimates(self, slug: str) -> Any:
        """A row per answer: its estimated share, the 95 % interval, the share of the reports."""
        content = self._json(f"surveys/{quote(slug, safe='')}/estimates.json")
        rows = [
            {"question": question["name"], **question, **answer, "answer": answer["label"]}
            for question in content["questions"]
            for answer in question["answers"]
        ]
        heads = ("question", "text", "answer", "share", "low", "high", "reported")
        return self._frame(rows, heads)

    def records(self, slug: str, labels: bool = False) -> Any:
        """The disguised records of the release: categories, or their texts with `labels`.

        Without labels, `tacit.reconstruct` takes them together with the design of the survey.
        """
        import pyarrow.parquet

        from tacit.output.table import native_frame

        end = "?labels=yes" if labels else ""
        content = self._get(f"surveys/{quote(slug, safe='')}/records.parquet{end}")
        table = pyarrow.parquet.read_table(io.BytesIO(content))
        columns = dict(zip(table.column_names, table.columns, strict=True))
        return native_frame(columns, self.backend)

    def design(self, slug: str) -> Design:
        """The design that the records were disguised with."""
        from tacit.core.design import Design

        return Design.from_json(self._get(f"surveys/{quote(slug, safe='')}/design.json").decode())

    def reconstruct(self, slug: str) -> Reconstruction:
        """Estimates from the disguised records: tables, comparisons, tests."""
        from tacit.reconstruction import reconstruct

        return reconstruct(self.records(slug), self.design(slug))

    def _frame(self, rows: list[dict[str, Any]], heads: tuple[str, ...]) -> Any:
        from tacit.output.table import frame_of

        return frame_of({head: [row[head] for row in rows] for head in heads}, self.backend)

    def _json(self, path: str) -> Any:
        content = self._get(path)
        try:
            return json.loads(content)
        except ValueError:
            raise ServiceError(f"{self.url}: answers, but is no studio") from None

    def _get(self, path: str) -> bytes:
        headers = {"Authorization": f"Bearer {self.token}"}
        request = Request(f"{self.url}/{path}", headers=headers)
        try:
            with build_opener(_RefusedRedirects).open(request, timeout=SECONDS) as answer:
                return bytes(answer.read())
        except HTTPError as error:
            raise ServiceError(f"{self.url}: {_reason(error)}") from None
        except (OSError, HTTPException) as error:
            why = getattr(error, "reason", error)
            raise ServiceError(f"{self.url}: the studio does not answer: {why}") from None


def connect(url: str, token: str, backend: str | None = None) -> StudioConnection:
    """Connect to a studio with a token of its page "Account".

    `backend` is the library of the frames: pandas, polars or pyarrow; else the first that is there.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ServiceError(f"{url}: must be an address such as https://studio.example.org")
    if not token or not token.isascii() or any(letter.isspace() for letter in token):
        raise ServiceError("the token must be that of the page Account, without spaces")
    return StudioConnection(url.rstrip("/"), token, backend)


def _reason(error: HTTPError) -> str:
    if error.status == 401:
        return "the token is not valid, or was revoked"
    try:
        return str(json.loads(error.read())["title"])
    except (ValueError, KeyError, TypeError, OSError):  # no problem details
        return f"the server answered with status {error.status}"
