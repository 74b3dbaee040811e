"""`tacit studio`: the site for the people who run surveys."""

from __future__ import annotations

from pathlib import Path

from typer import BadParameter, Option, echo

from tacit.cli.arguments import DatabaseOption
from tacit.errors import ServiceError


def studio(
    *,
    database: DatabaseOption,
    data: Path = Path("tacit-studio"),
    host: str = "127.0.0.1",
    port: int = 8001,
    address: str | None = Option(None, envvar="TACIT_STUDIO_ADDRESS"),
    collect: bool = False,
    collect_port: int | None = None,
) -> None:
    """Serve the studio: surveys and their results in the browser, for people with an account.

    The first start prints a link that makes the first account. Results are shown from 132 records
    on and are updated in batches, so that no single answer can be read from a change. Once a survey
    is closed, all its records are shown, if there are 100, and groups can be compared.

    With --address, nothing depends on the Host header of requests: passkeys, links and the check of
    forms from other sites use this address. Give it if the studio is behind a proxy.

    With --collect, the process also does what tacit serve does, on a port of its own. Its other
    settings come from variables such as TACIT_HOST, and from the file that TACIT_CONFIG names.

    Example: [bold]tacit studio --database survey.db --data studio --collect[/bold]

    Parameters
    ----------
    data
        A folder for accounts and released counts.
    host
        Address to listen on.
    port
        Port to listen on; 0 for any free one.
    address
        Where people open the studio, such as https://studio.example.org.
    collect
        Collect responses too, in the same process.
    collect_port
        With --collect: the port for respondents; TACIT_PORT, else 8000.
    """
    from tacit.cli.serve import tell
    from tacit.collect.server import serve
    from tacit.collect.settings import settings
    from tacit.studio.server import StudioPlace, serve_studio, studio_beside

    at = StudioPlace(host, port, address)
    if not collect:
        if collect_port is not None:
            raise BadParameter("needs --collect", param_hint="--collect-port")
        serve_studio(database, data, at, echo)
        return
    chosen = settings({"database": database, "port": collect_port})
    with studio_beside(database, data, at, echo) as beside:

        def begun(address: str) -> None:
            """The studio learns where surveys are served."""
            beside.respondents = address
            echo(f"collecting at {address}")

        try:
            serve(chosen, tell, lambda warning: echo(f"warning: {warning}"), begun)
        except ServiceError as error:
            raise ServiceError(str(error).replace("--port", "--collect-port")) from None
