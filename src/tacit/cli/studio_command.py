"""`tacit studio`: the site for the people who run surveys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.survey_store import DatabaseOption


def studio(
    database: DatabaseOption,
    data: Annotated[Path, typer.Option(help="A folder for accounts and released counts.")] = Path(
        "tacit-studio"
    ),
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any free one.")] = 8001,
) -> None:
    """Serve the studio: surveys and their results in the browser, for people with an account.

    The first start prints a link that makes the first account. Results are shown from 100 records
    on and are updated in batches, so that no single answer can be read from a change.

    Example: [bold]tacit studio --database survey.db --data studio --port 8001[/bold]
    """
    from tacit.extras import optional_imports

    with optional_imports():
        from tacit.studio.studio_server import serve_studio
    serve_studio(database, data, host, port, typer.echo)
