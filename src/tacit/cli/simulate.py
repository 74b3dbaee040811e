"""`tacit survey simulate`: made-up people answer a survey that is being served."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from tacit.cli import show
from tacit.cli.respondents import await_survey, send
from tacit.cli.survey_store import DatabaseOption, PublishedFile, open_store
from tacit.core.arrays import Codes
from tacit.core.conditions import DOES_NOT_APPLY, applies
from tacit.errors import ServiceError
from tacit.output.number_text import number_of
from tacit.output.table import Table

if TYPE_CHECKING:
    from tacit.survey import Published

#: Parameter of the Dirichlet distribution that true shares are drawn from: few are near 0.
_EVENNESS = 2.0


def simulate(
    file: PublishedFile,
    database: DatabaseOption,
    respondents: Annotated[
        int, typer.Option(min=1, max=100_000, help="How many people answer.")
    ] = 500,
    url: Annotated[
        str | None,
        typer.Option(help="Where the survey is served; else by TACIT_PORT, http://127.0.0.1:8000."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="The same people and coins every time.")
    ] = None,
) -> None:
    """Let made-up people answer a survey that is being served, to try it out.

    Their answers are drawn at random, disguised by the design and sent over HTTP. Prints their true
    shares, to compare with the estimates. Made-up answers look like real ones, so a survey
    that already has answers is refused: use a separate database.

    Example: [bold]tacit survey simulate published.json --database trial.db[/bold]
    """
    from tacit.survey import read_published

    published = read_published(file)
    # The address of the survey's page is good, too.
    address = url.partition("/s/")[0].rstrip("/") if url else _address()
    rng = np.random.default_rng(seed)
    true = made_up(published, respondents, rng)
    _answer(published, database, address, true, rng)
    people = number_of(respondents, "made-up person", "made-up people")
    typer.echo(f"{people} answered {address}/s/{published.slug}/")
    _render(published, true)


def made_up(published: Published, n: int, rng: np.random.Generator) -> Codes:
    """True records: each attribute on its own, a control question by its known shares.

    A question whose condition fails does not apply.
    """
    control = published.survey.control
    known = {} if control is None else {control.question: [float(p) for p in control.distribution]}
    schema = published.design.schema
    conditions = {c.attribute: c for c in published.design.conditions}
    columns: list[Any] = []
    for attribute in schema:
        condition = conditions.get(attribute.name)
        size = attribute.size - (condition is not None)  # "does not apply" is not chosen
        shares = known.get(attribute.name) or rng.dirichlet([_EVENNESS] * size)
        drawn = rng.choice(size, n, p=shares)
        if condition is not None:
            blank = attribute.code(DOES_NOT_APPLY)
            drawn = np.where(applies(condition, schema, columns), drawn, blank)
        columns.append(drawn)
    return np.column_stack(columns)


def _answer(
    published: Published, database: str, address: str, true: Codes, rng: np.random.Generator
) -> None:
    """Send all records; one goes first, to see that the server stores it in this database."""
    from tacit.core.disguise import disguise

    reported = disguise(true, published.design, rng)
    waiting = f"waiting for a server at {address}; start it with tacit serve"
    await_survey(address, published, lambda: typer.echo(waiting, err=True))
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


def _address() -> str:
    """Where `tacit serve` listens on this machine with the settings of the environment."""
    from tacit.collect.settings import settings

    found = settings({})
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(found.host, found.host)
    return f"http://{host}:{found.port}"


def _render(published: Published, true: Codes) -> None:
    out = show.console()
    out.print("true shares, to compare with the estimates:")
    rows = []
    for place, attribute in enumerate(published.design.schema):
        shares = np.bincount(true[:, place], minlength=attribute.size) / len(true)
        for number, (category, share) in enumerate(zip(attribute.categories, shares, strict=True)):
            rows.append(["" if number else attribute.name, str(category), f"{share:.4f}"])
    out.print(show.table(Table(("attribute", "answer", "true share"), rows, align="llr")))
