"""`tacit serve`: the survey service; `tacit studio`: the site for the people who run surveys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from typer import Argument, BadParameter, Option, echo

from tacit.cli.arguments import DatabaseOption
from tacit.collect.settings import ServiceSettings, settings
from tacit.errors import ServiceError

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from tacit.survey import Published


def _flag(name: str, field: FieldInfo) -> tuple[str, Any, Any]:
    """The flag of a setting; what was not given is None, and texts are parsed later."""
    kind = field.annotation if field.annotation in (bool, int, float) else str
    default = "no" if field.default is False else str(field.default or "none").removesuffix(".0")
    one_of = get_origin(field.annotation) is Literal
    choices = "|".join(get_args(field.annotation)) if one_of else None
    text = f"{field.description} ({default})"
    return name, kind | None, Option(None, metavar=choices, help=text)


_FIELDS = ServiceSettings.model_fields.items()
#: Every setting is a flag, but the surveys are arguments.
_Flags = make_dataclass("_Flags", [_flag(*each) for each in _FIELDS if each[0] != "surveys"])


def serve(
    *,
    surveys: list[Path] | None = Argument(None, metavar="PUBLISHED"),
    config: Path | None = None,
    flags: _Flags,  # type: ignore[valid-type]
) -> None:
    """Serve surveys: pages that disguise answers, and a store that takes disguised records only.

    Settings come from flags, else from variables such as TACIT_PORT, else from the file; defaults
    are in brackets. Surveys in the database are served too. On Ctrl-C or SIGTERM the server
    stores all accepted responses, then stops.

    Example: [bold]tacit serve published.json --database tacit.db --port 8000[/bold]

    Parameters
    ----------
    surveys
        Published surveys (tacit survey publish).
    config
        A TOML file of settings; also named by TACIT_CONFIG.
    """
    from tacit.collect.server import serve as run

    chosen = settings(vars(flags) | {"surveys": surveys or None}, config=config)
    run(chosen, tell, lambda warning: echo(f"warning: {warning}"))


def tell(addresses: Sequence[tuple[str, Published]]) -> None:
    """One line per survey: its address, its title, and who may answer when."""
    for address, published in addresses:
        echo(f"serving {address}  {published.title} ({published.survey.terms})")


# `tacit studio`


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
    from tacit.collect.server import serve as run
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
            run(chosen, tell, lambda warning: echo(f"warning: {warning}"), begun)
        except ServiceError as error:
            raise ServiceError(str(error).replace("--port", "--collect-port")) from None
