"""Options of a command that are the fields of a dataclass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from tacit.cli.commands import grouped_options
from tacit.cli.options import Output
from tacit.errors import DataError


@dataclass(frozen=True)
class Drink:
    """What is ordered."""

    kind: Annotated[str, typer.Argument(help="The drink.")]
    sugar: Annotated[int, typer.Option(help="Spoons of sugar.")] = 0


@grouped_options
def order(*, table: Annotated[int, typer.Option(help="Where.")] = 1, drink: Drink) -> None:
    """Order a drink."""
    typer.echo(f"{drink!r} at {table}")


def run(command: Any, *words: str) -> Any:
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, list(words))


def test_a_field_is_an_argument_or_an_option() -> None:
    assert run(order, "tea").stdout == f"{Drink('tea')!r} at 1\n"
    found = run(order, "tea", "--sugar", "2", "--table", "7")
    assert found.stdout == f"{Drink('tea', 2)!r} at 7\n"


def test_a_field_without_default_is_required() -> None:
    assert run(order).exit_code == 2


def test_the_help_has_every_field_and_the_text_of_the_command() -> None:
    shown = run(order, "--help").stdout
    assert "Order a drink." in shown
    assert "--sugar" in shown
    assert "--drink" not in shown


def test_a_level_is_checked_before_the_command_runs() -> None:
    @grouped_options
    def never(*, output: Output) -> None:
        raise AssertionError(output)

    found = run(never, "--level", "2")
    assert isinstance(found.exception, DataError)
    with pytest.raises(DataError, match="confidence level"):
        raise found.exception
