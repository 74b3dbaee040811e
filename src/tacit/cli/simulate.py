"""`tacit survey simulate`: made-up people answer a survey that is being served."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from typer import Option, echo

from tacit import survey as surveys
from tacit.cli import show
from tacit.cli.arguments import DatabaseOption, PublishedFile, open_store
from tacit.core.arrays import Codes
from tacit.core.conditions import DOES_NOT_APPLY, applies
from tacit.core.disguise import disguise
from tacit.errors import ServiceError
from tacit.output.number_text import number_of
from tacit.output.table import Table

# Simulated respondents: the requests of their devices, sent over HTTP.


#: How many respondents answer at the same time.
AT_ONCE = 4
_SECONDS = 60.0
#: Seconds of waiting for a server before a message is printed.
_PATIENCE = 3.0


def send(
    url: str, published: surveys.Published, reported: Codes, tokens: Sequence[str] | None = None
) -> None:
    """Send each reported record to the server at `url`, with a one-time token if there are any."""
    bodies = list(_bodies(reported, published, tokens))
    shares = [bodies[start::AT_ONCE] for start in range(AT_ONCE)]
    with ThreadPoolExecutor(AT_ONCE) as respondents:
        list(respondents.map(lambda share: _send(url, published, share), shares))


def await_survey(url: str, published: surveys.Published) -> None:
    """Wait until a starting server shows the survey's page; print a message if it takes long.

    A server that does not answer within a minute is an error.
    """
    start, announced = time.monotonic(), False
    while True:
        try:
            with closing(_connection(url)) as connection:
                connection.request("GET", f"/s/{published.slug}/")
                status = connection.getresponse().status
        except (OSError, HTTPException) as error:
            waited = time.monotonic() - start
            if waited > _PATIENCE and not announced:
                announced = True
                echo(f"waiting for a server at {url}; start it with tacit serve", err=True)
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


def _bodies(
    reported: Codes, published: surveys.Published, tokens: Sequence[str] | None
) -> Iterator[bytes]:
    """The request bodies."""
    from tacit.collect.padding import padded, submission_length

    length = submission_length(published, *(tokens or ())[:1])
    attributes = published.design.reported.attributes
    for number, record in enumerate(reported.tolist()):
        cells = zip(attributes, record, strict=True)
        labels = {attribute.name: str(attribute.categories[code]) for attribute, code in cells}
        key = secrets.token_hex(16)
        body = {"fingerprint": published.fingerprint, "key": key, "record": labels}
        if published.survey.free_texts:
            nothing = {text.name: "" for text in published.survey.free_texts}
            body |= {"text_key": secrets.token_hex(16), "texts": nothing}
        yield padded(body if tokens is None else body | {"token": tokens[number]}, length)


def _send(url: str, published: surveys.Published, bodies: Sequence[bytes]) -> None:
    """Send one body after the other over one connection; wait if the server asks to."""
    try:
        with closing(_connection(url)) as connection:
            for body in bodies:
                while (wait := _sent(connection, published, body)) is not None:
                    time.sleep(wait)
    except (OSError, HTTPException) as error:
        raise ServiceError(f"{url}: the server does not answer any more: {error}") from None


def _sent(connection: HTTPConnection, published: surveys.Published, body: bytes) -> float | None:
    """None if the record was accepted, else the seconds to wait before sending it again."""
    headers = {"Content-Type": "application/json"}
    connection.request("POST", f"/s/{published.slug}/responses", body, headers)
    answer: HTTPResponse = connection.getresponse()
    content = answer.read()
    if answer.status == 201:
        return None
    wait = answer.headers.get("Retry-After")
    if answer.status in (429, 503) and wait is not None:
        return float(wait)
    try:
        reason = str(json.loads(content)["title"])
    except (ValueError, KeyError, TypeError):  # no problem details
        reason = content.decode(errors="replace")[:200]
    raise ServiceError(f"the server refused a record: {reason}")


#: Parameter of the Dirichlet distribution that true shares are drawn from: few are near 0.
_EVENNESS = 2.0


def simulate(
    *,
    file: PublishedFile,
    database: DatabaseOption,
    respondents: int = Option(500, min=1, max=100_000),
    url: str | None = None,
    seed: int | None = Option(None, min=0),
) -> None:
    """Let made-up people answer a survey that is being served, to try it out.

    Their answers are drawn at random, disguised by the design and sent over HTTP. Prints their true
    shares, to compare with the estimates. Made-up answers look like real ones, so a survey
    that already has answers is refused: use a separate database.

    Example: [bold]tacit survey simulate published.json --database trial.db[/bold]

    Parameters
    ----------
    respondents
        How many people answer.
    url
        Where the survey is served; else by TACIT_PORT, http://127.0.0.1:8000.
    seed
        The same people and coins every time.
    """
    from tacit.collect.settings import settings

    published = surveys.read_published(file)
    if not url:  # where `tacit serve` listens on this machine by the environment's settings
        chosen = settings({})
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(chosen.host, chosen.host)
        url = f"http://{host}:{chosen.port}"
    address = url.partition("/s/")[0].rstrip("/")  # the address of the survey's page is good, too
    rng = np.random.default_rng(seed)
    true = made_up(published, respondents, rng)
    _answer(published, database, address, true, rng)
    people = number_of(respondents, "made-up person", "made-up people")
    echo(f"{people} answered {address}/s/{published.slug}/")
    rows = []
    for column, attribute in enumerate(published.design.schema):
        shares = np.bincount(true[:, column], minlength=attribute.size) / len(true)
        for number, (category, share) in enumerate(zip(attribute.categories, shares, strict=True)):
            rows.append(["" if number else attribute.name, str(category), f"{share:.4f}"])
    heads = ("attribute", "answer", "true share")
    title = "true shares, to compare with the estimates:"
    show.print_table(Table(heads, rows, title, "llr"))


def made_up(published: surveys.Published, n: int, rng: np.random.Generator) -> Codes:
    """True records: each attribute on its own, a control question by its known shares.

    A question whose condition fails does not apply.
    """
    control = published.survey.control
    fixed = {} if control is None else {control.question: [float(p) for p in control.distribution]}
    schema = published.design.schema
    conditions = {c.attribute: c for c in published.design.conditions}
    columns: list[Any] = []
    for attribute in schema:
        condition = conditions.get(attribute.name)
        size = attribute.size - (condition is not None)  # "does not apply" is not chosen
        shares = fixed.get(attribute.name) or rng.dirichlet([_EVENNESS] * size)
        drawn = rng.choice(size, n, p=shares)
        if condition is not None:
            blank = attribute.code(DOES_NOT_APPLY)
            drawn = np.where(applies(condition, schema, columns), drawn, blank)
        columns.append(drawn)
    return np.column_stack(columns)


def _answer(
    published: surveys.Published, database: str, address: str, true: Codes, rng: np.random.Generator
) -> None:
    """Send all records; one goes first, to see that the server stores it in this database."""
    reported = disguise(true, published.design, rng)
    await_survey(address, published)
    fingerprint = published.survey.fingerprint
    with open_store(database, there=True) as store:
        if store.state(fingerprint).records:
            raise ServiceError(
                "the survey already has answers, and made-up ones cannot be removed again; "
                "use a new database"
            )
        invited = published.survey.access == "invited"
        tokens = store.invite(fingerprint, len(true)) if invited else None
        send(address, published, reported[:1], tokens)
        if not store.state(fingerprint).records:
            raise ServiceError(
                f"{address}: stores answers in another database; one made-up answer is there now"
            )
        send(address, published, reported[1:], None if tokens is None else tokens[1:])
