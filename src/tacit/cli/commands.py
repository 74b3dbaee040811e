"""Commands as functions: the docstring is the help, a section "Parameters" the help of options.

A command takes options that belong together as one argument, a dataclass; on the command line
every field is an option. A parameter of type bool is a flag.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, cleandoc, signature
from typing import Annotated, Any, get_origin

import typer
from typer.models import ParameterInfo


class CommandGroup(typer.Typer):
    """A group of commands, whose help is the docstring of a function.

    It shows the help if no command is given.
    """

    def __init__(self, described: Callable[[], None]) -> None:
        super().__init__(rich_markup_mode="rich")
        self.callback(invoke_without_command=True, help=described.__doc__)(show_help)

    def command(self, name: str) -> Callable[..., Any]:  # type: ignore[override]
        """Add a function as a command; see `as_command`."""
        add = super().command(name)
        return lambda function: add(as_command(function))


def show_help(context: typer.Context) -> None:
    """Show the help if no command is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def typed(name: str) -> str:
    """The option of a field as it is typed."""
    return "--" + name.replace("_", "-")


def as_command(function: Callable[..., None]) -> Callable[..., None]:
    """The function as Typer takes it: with an option for each field of its dataclasses."""
    parameters = signature(function, eval_str=True).parameters.values()
    groups: dict[str, Any] = {
        parameter.name: parameter.annotation
        for parameter in parameters
        if is_dataclass(parameter.annotation)
    }

    @wraps(function)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{part.name: given.pop(part.name) for part in fields(group)})
        function(**given)

    run.__doc__, texts = _documented(function)
    options: list[Parameter] = []
    for parameter in parameters:
        group = groups.get(parameter.name)
        options += _options(group) if group else [_option(parameter, texts)]
    run.__signature__ = Signature(options)  # type: ignore[attr-defined]
    return run


def _options(group: type) -> list[Parameter]:
    """An option for each field; the docstring of a base class has the help of its own."""
    texts: dict[str, str] = {}
    for part in group.__mro__:
        texts = _documented(part)[1] | texts
    return [_option(each, texts) for each in signature(group, eval_str=True).parameters.values()]


def _option(parameter: Parameter, texts: dict[str, str]) -> Parameter:
    """What Typer has to know of a parameter; all of it may be in its type or default already."""
    name, kind, default = parameter.name, parameter.annotation, parameter.default
    if get_origin(kind) is not Annotated:
        if not isinstance(default, ParameterInfo):
            flag = [typed(name)] if kind is bool else []  # it has no opposite
            default = typer.Option(... if default is Parameter.empty else default, *flag)
        default.help = default.help or texts[name]
    return parameter.replace(kind=Parameter.KEYWORD_ONLY, default=default)


def _documented(described: Any) -> tuple[str, dict[str, str]]:
    """A docstring without its section "Parameters", and what this says of each parameter."""
    text, _, section = cleandoc(described.__doc__ or "").partition("\n\nParameters\n----------\n")
    items = re.findall(r"^(\w+)\n((?: .*\n?)+)", section, flags=re.MULTILINE)
    return text, {name: " ".join(said.split()) for name, said in items}
