"""Groups of commands, and commands whose options are fields of dataclasses.

A command takes options that belong together as one argument, a dataclass; on the command line
every field is an option.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any

import typer


class CommandGroup(typer.Typer):
    """A group of commands; it shows its help if no command is given."""

    def __init__(self, text: str) -> None:
        super().__init__(rich_markup_mode="rich")
        self.callback(invoke_without_command=True, help=text)(show_help)

    def command(self, name: str) -> Callable[..., Any]:  # type: ignore[override]
        """Add a function as a command, with an option for each field of its dataclasses."""
        add = super().command(name)
        return lambda function: add(grouped_options(function))


def show_help(context: typer.Context) -> None:
    """Show the help if no command is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def typed(name: str) -> str:
    """The option of a field as it is typed."""
    return "--" + name.replace("_", "-")


def grouped_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each field of its dataclasses."""
    parameters = signature(command, eval_str=True).parameters.values()
    groups: dict[str, Any] = {
        parameter.name: parameter.annotation
        for parameter in parameters
        if is_dataclass(parameter.annotation)
    }

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{part.name: given.pop(part.name) for part in fields(group)})
        command(**given)

    flat: list[Parameter] = []
    for parameter in parameters:
        group = groups.get(parameter.name)
        flat += signature(group, eval_str=True).parameters.values() if group else [parameter]
    keywords = [option.replace(kind=Parameter.KEYWORD_ONLY) for option in flat]
    run.__signature__ = Signature(keywords)  # type: ignore[attr-defined]
    return run
