"""`tacit survey status`: which surveys a database has, and how far they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import show
from tacit.cli.arguments import AsJson
from tacit.cli.survey_store import DatabaseOption, open_store
from tacit.output.table import Table

if TYPE_CHECKING:
    from tacit.collect.store import SurveyState
    from tacit.survey import Published


def status(
    database: DatabaseOption,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[PUBLISHED]", help="A published survey; all if left out."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the surveys of a database: open or closed, records, links issued and unused.

    Example: [bold]tacit survey status --database survey.db[/bold]
    """
    from tacit.survey import read_published

    wanted = None if file is None else read_published(file)
    with open_store(database, there=True) as store:
        found = store.published() if wanted is None else (wanted,)
        surveys = [(one, store.state(one.survey.fingerprint)) for one in found]
    if as_json:
        content = {"tacit": "survey-status", "version": 1, "surveys": [_plain(*s) for s in surveys]}
        typer.echo(show.json_text(content))
        return
    heads = ("survey", "address", "state", "records", "links issued", "links unused")
    show.print_table(Table(heads, [_row(*each) for each in surveys], align="lllrrr"))


def _plain(published: Published, state: SurveyState) -> dict[str, Any]:
    return {
        "title": published.title,
        "slug": published.slug,
        "fingerprint": published.fingerprint,
        "survey_fingerprint": published.survey.fingerprint,
        "access": published.survey.access,
        "open": state.open,
        "records": state.records,
        "links_issued": state.issued,
        "links_unused": state.remaining,
    }


def _row(published: Published, state: SurveyState) -> tuple[str, ...]:
    invited = published.survey.access == "invited"
    links = (f"{state.issued:,}", f"{state.remaining:,}") if invited else ("", "")
    word = "open" if state.open else "closed"
    return published.title, f"/s/{published.slug}/", word, f"{state.records:,}", *links
