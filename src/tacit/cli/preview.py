"""`tacit survey preview`: the page of a survey that is not published yet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tacit.survey import Published


def preview(
    file: Annotated[Path, typer.Argument(metavar="SURVEY", help="A survey file (YAML or JSON).")],
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port; 0 for any free one.")
    ] = 0,
) -> None:
    """Show the page of a survey file in a browser, on any day; nothing is stored.

    Ctrl-C stops it.

    Example: [bold]tacit survey preview survey.yaml[/bold]
    """
    from tacit.service.server import preview as run
    from tacit.survey import Published, read_survey

    run(Published(read_survey(file)), host, port, _tell)


def _tell(addresses: Sequence[tuple[str, Published]]) -> None:
    """Where to look; a link of an invited survey carries a token, so this one does too."""
    for address, published in addresses:
        token = "#preview" if published.survey.access == "invited" else ""
        typer.echo(f"preview: nothing is stored; open {address}{token} and stop it by Ctrl-C")
