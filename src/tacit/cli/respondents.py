"""Simulated respondents: the requests of their devices, sent over HTTP."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tacit.core.arrays import Codes
from tacit.errors import ServiceError

if TYPE_CHECKING:
    from tacit.survey import Published

#: How many respondents answer at the same time.
AT_ONCE = 4
_SECONDS = 60.0
#: Seconds of waiting for a server before a message is printed.
_PATIENCE = 3.0
_JSON = {"Content-Type": "application/json"}


def send(
    url: str, published: Published, reported: Codes, tokens: Sequence[str] | None = None
) -> None:
    """Send each reported record to the server at `url`, with a one-time token if there are any."""
    bodies = list(_bodies(reported, published, tokens))
    shares = [bodies[start::AT_ONCE] for start in range(AT_ONCE)]
    with ThreadPoolExecutor(AT_ONCE) as respondents:
        list(respondents.map(lambda share: _send(url, published, share), shares))


def await_survey(url: str, published: Published, waiting: Callable[[], object]) -> None:
    """Wait until a starting server shows the survey's page; call `waiting` if it takes long.

    A server that does not answer within a minute is an error.
    """
    start, told = time.monotonic(), False
    while True:
        try:
            with closing(_connection(url)) as connection:
                connection.request("GET", f"/s/{published.slug}/")
                status = connection.getresponse().status
        except (OSError, HTTPException) as error:
            waited = time.monotonic() - start
            if waited > _PATIENCE and not told:
                told = True
                waiting()
            if waited > _SECONDS:
                raise ServiceError(f"{url}: no server answers: {error}") from None
            time.sleep(0.1)
            continue
        if status == 404:
            raise ServiceError(f"{url}: does not serve this survey; serve this published file")
        return


def _connection(url: str) -> HTTPConnection:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ServiceError(f"{url}: must be an address such as http://127.0.0.1:8000")
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    return kind(parts.hostname, parts.port, timeout=_SECONDS)


def _bodies(reported: Codes, published: Published, tokens: Sequence[str] | None) -> Iterator[bytes]:
    """The request bodies."""
    from tacit.collect.padding import padded, submission_length

    length = submission_length(published, *(tokens or ())[:1])
    attributes = published.design.reported.attributes
    for number, record in enumerate(reported.tolist()):
        labels = (str(a.categories[code]) for a, code in zip(attributes, record, strict=True))
        body: dict[str, object] = {
            "fingerprint": published.fingerprint,
            "key": secrets.token_hex(16),
            "record": dict(zip((a.name for a in attributes), labels, strict=True)),
        }
        if published.survey.free_texts:
            nothing = {own.name: "" for own in published.survey.free_texts}
            body |= {"text_key": secrets.token_hex(16), "texts": nothing}
        yield padded(body if tokens is None else body | {"token": tokens[number]}, length)


def _send(url: str, published: Published, bodies: Sequence[bytes]) -> None:
    """Send one body after the other over one connection; wait if the server asks to."""
    with closing(_connection(url)) as connection:
        for body in bodies:
            while (wait := _sent(connection, published, body)) is not None:
                time.sleep(wait)


def _sent(connection: HTTPConnection, published: Published, body: bytes) -> float | None:
    """None if the record was accepted, else the seconds to wait before sending it again."""
    connection.request("POST", f"/s/{published.slug}/responses", body, _JSON)
    answer: HTTPResponse = connection.getresponse()
    said = answer.read()
    if answer.status == 201:
        return None
    wait = answer.headers.get("Retry-After")
    if answer.status in (429, 503) and wait is not None:
        return float(wait)
    try:
        reason = str(json.loads(said)["title"])
    except (ValueError, KeyError, TypeError):  # no problem details
        reason = said.decode(errors="replace")[:200]
    raise ServiceError(f"the server refused a record: {reason}")
