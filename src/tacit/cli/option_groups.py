"""Options that several commands share, or that belong together, as dataclasses.

A command takes such a group as one argument; on the command line every field is an option.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from tacit.cli import show
from tacit.reconstruction.interval import check_level

if TYPE_CHECKING:
    from tacit.reconstruction import Estimate

Value = TypeVar("Value")


def option(default: Value, *names: str, **settings: Any) -> Value:
    """A field of a group; the settings are those of `typer.Option`."""
    made: Any = field(default=default, metadata={"option": typer.Option(*names, **settings)})
    found: Value = made
    return found


def typed(name: str) -> str:
    """The option of a field as it is typed."""
    return "--" + name.replace("_", "-")


def grouped_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each field of its dataclasses."""
    own = signature(command, eval_str=True).parameters.values()
    groups: dict[str, Any] = {
        each.name: each.annotation for each in own if is_dataclass(each.annotation)
    }

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{each.name: given.pop(each.name) for each in fields(group)})
        command(**given)

    parameters = [
        new.replace(kind=Parameter.KEYWORD_ONLY)
        for each in own
        for new in (_parameters(each.annotation) if each.name in groups else [each])
    ]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return run


def _parameters(group: type) -> list[Parameter]:
    types: dict[str, Any] = get_type_hints(group, include_extras=True)
    for each in fields(group):
        if "option" in each.metadata:
            types[each.name] = Annotated[types[each.name], each.metadata["option"]]
    found = signature(group).parameters.values()
    return [each.replace(annotation=types[each.name]) for each in found]


def _checked_level(level: float) -> float:
    check_level(level)
    return level


@dataclass(frozen=True)
class Output:
    """How results are printed."""

    level: float = option(0.95, help="Confidence of the intervals.", callback=_checked_level)
    as_json: bool = option(False, "--json", help="Print JSON.")

    def print(self, content: Callable[[], dict[str, Any]], render: Callable[[], None]) -> None:
        """Print the content as JSON if that is wanted; else call what prints tables."""
        typer.echo(show.json_text(content())) if self.as_json else render()

    def content(
        self, kind: str, design: str, estimates: Sequence[Estimate], **others: Any
    ) -> dict[str, Any]:
        """A JSON document of estimates; `design` is a fingerprint."""
        header = {"tacit": kind, "version": 1, "design": design, **others}
        return header | {"estimates": [each.to_dict(self.level) for each in estimates]}
