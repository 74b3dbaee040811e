"""`tacit serve`: the survey service."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tacit.survey import Published


_Surveys = Annotated[
    list[Path] | None,
    typer.Argument(metavar="PUBLISHED", help="Published surveys (tacit survey publish)."),
]
_Config = Annotated[
    Path | None, typer.Option(help="A TOML file of settings; also named by TACIT_CONFIG.")
]
_Database = Annotated[
    str | None, typer.Option(help="A file for SQLite (tacit.db), or postgresql://...")
]
_Host = Annotated[str | None, typer.Option(help="Address to listen on (127.0.0.1).")]
_Port = Annotated[int | None, typer.Option(help="Port to listen on (8000); 0 for any free one.")]
_ReusePort = Annotated[
    bool | None,
    typer.Option("--reuse-port/--no-reuse-port", help="Share the port with other servers (no)."),
]
_Rate = Annotated[str | None, typer.Option(help="Submissions of one address (600/minute), or off.")]
_OpenRate = Annotated[
    str | None, typer.Option(help="Submissions to one open survey (6000/minute), or off.")
]
_TrustedProxy = Annotated[
    str | None, typer.Option(help="Proxies whose X-Forwarded-For is trusted (none).")
]
_Queue = Annotated[int | None, typer.Option(help="Responses that may wait (1000).")]
_Batch = Annotated[int | None, typer.Option(help="Responses stored together, at most (512).")]
_Connections = Annotated[int | None, typer.Option(help="Connections at a time (2000).")]
_ConnectionsPerAddress = Annotated[
    int | None, typer.Option(help="Connections of one address (500).")
]
_RequestSeconds = Annotated[float | None, typer.Option(help="Time for a request to arrive (10).")]
_WriteSeconds = Annotated[
    float | None, typer.Option(help="Time for the database to store a batch (5).")
]
_DrainSeconds = Annotated[
    int | None, typer.Option(help="Time for requests to finish when stopping (30).")
]
_Metrics = Annotated[
    bool | None, typer.Option("--metrics/--no-metrics", help="Serve /metrics (no).")
]
_Log = Annotated[
    str | None, typer.Option(help="json, console, or auto: console on a terminal (auto).")
]


def serve(
    surveys: _Surveys = None,
    config: _Config = None,
    database: _Database = None,
    host: _Host = None,
    port: _Port = None,
    reuse_port: _ReusePort = None,
    rate: _Rate = None,
    open_rate: _OpenRate = None,
    trusted_proxy: _TrustedProxy = None,
    queue: _Queue = None,
    batch: _Batch = None,
    connections: _Connections = None,
    connections_per_address: _ConnectionsPerAddress = None,
    request_seconds: _RequestSeconds = None,
    write_seconds: _WriteSeconds = None,
    drain_seconds: _DrainSeconds = None,
    metrics: _Metrics = None,
    log: _Log = None,
) -> None:
    """Serve surveys: pages that disguise answers, and a store that takes disguised records only.

    Settings come from flags, else from variables such as TACIT_PORT, else from the file; defaults
    are in brackets. Surveys in the database are served too. On Ctrl-C or SIGTERM the server
    stores all accepted responses, then stops.

    Example: [bold]tacit serve published.json --database tacit.db --port 8000[/bold]
    """
    given = dict(locals())
    from tacit.service.server import serve as run
    from tacit.service.settings import ServiceSettings, settings

    flags = {name: given[name] for name in ServiceSettings.model_fields}
    chosen = settings(flags | {"surveys": surveys or None}, config=config)
    run(chosen, tell, lambda warning: typer.echo(f"warning: {warning}"))


def tell(addresses: Sequence[tuple[str, Published]]) -> None:
    """One line per survey: its address, its title, and who may answer when."""
    for address, published in addresses:
        typer.echo(f"serving {address}  {published.title} ({published.survey.terms})")
