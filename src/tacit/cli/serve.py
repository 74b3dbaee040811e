"""`tacit serve`: the survey service."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from typer import Argument, Option, echo

from tacit.collect.settings import ServiceSettings, settings

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from tacit.survey import Published


def serve(config: Path | None, **given: Any) -> None:
    """Serve surveys: pages that disguise answers, and a store that takes disguised records only.

    Settings come from flags, else from variables such as TACIT_PORT, else from the file; defaults
    are in brackets. Surveys in the database are served too. On Ctrl-C or SIGTERM the server
    stores all accepted responses, then stops.

    Example: [bold]tacit serve published.json --database tacit.db --port 8000[/bold]
    """
    from tacit.collect.server import serve as run

    chosen = settings(given | {"surveys": given["surveys"] or None}, config=config)
    run(chosen, tell, lambda warning: echo(f"warning: {warning}"))


def _parameter(name: str, kind: Any, said: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=said, annotation=kind | None)


def _flag(name: str, field: FieldInfo) -> Parameter:
    """The flag of a setting; what was not given is None, and texts are parsed later."""
    kind = field.annotation if field.annotation in (bool, int, float) else str
    default = "no" if field.default is False else str(field.default or "none").removesuffix(".0")
    one_of = get_origin(field.annotation) is Literal
    choices = "|".join(get_args(field.annotation)) if one_of else None
    return _parameter(
        name, kind, Option(None, metavar=choices, help=f"{field.description} ({default})")
    )


_SURVEYS = Argument(None, metavar="PUBLISHED", help="Published surveys (tacit survey publish).")
_CONFIG = Option(None, help="A TOML file of settings; also named by TACIT_CONFIG.")
#: Every setting is a flag, but the surveys are arguments.
serve.__signature__ = Signature(  # type: ignore[attr-defined]
    [
        _parameter("surveys", list[Path], _SURVEYS),
        _parameter("config", Path, _CONFIG),
        *(_flag(*each) for each in ServiceSettings.model_fields.items() if each[0] != "surveys"),
    ]
)


def tell(addresses: Sequence[tuple[str, Published]]) -> None:
    """One line per survey: its address, its title, and who may answer when."""
    for address, published in addresses:
        echo(f"serving {address}  {published.title} ({published.survey.terms})")
