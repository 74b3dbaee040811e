"""Commands are functions: their docstrings are the help, fields of dataclasses are options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from tacit.cli.commands import as_command
from tacit.cli.show import Output
from tacit.errors import DataError


@dataclass(frozen=True)
class Drink:
    """What is ordered.

    Parameters
    ----------
    sugar
        Spoons of sugar.
    """

    kind: Annotated[str, typer.Argument(help="The drink.")]
    sugar: int = 0


@as_command
def order(*, table: int = 1, hot: bool = False, drink: Drink) -> None:
    """Order a drink.

    Parameters
    ----------
    table
        Where it
        stands.
    hot
        Heat it.
    """
    typer.echo(f"{drink!r} at {table}{' hot' * hot}")


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
    assert "Spoons of sugar." in shown
    assert "Where it stands." in shown
    assert "--drink" not in shown
    assert "Parameters" not in shown


def test_a_flag_has_no_opposite() -> None:
    assert run(order, "tea", "--hot").stdout == f"{Drink('tea')!r} at 1 hot\n"
    assert run(order, "tea", "--no-hot").exit_code == 2


def test_a_parameter_without_help_is_an_error() -> None:
    def silent(*, table: int) -> None:
        """Say nothing of the table."""

    with pytest.raises(KeyError, match="table"):
        as_command(silent)


def test_a_level_is_checked_before_the_command_runs() -> None:
    @as_command
    def never(*, output: Output) -> None:
        raise AssertionError(output)

    found = run(never, "--level", "2")
    assert isinstance(found.exception, DataError)
    with pytest.raises(DataError, match="confidence level"):
        raise found.exception
