"""The entry of the command line: every error becomes one line (each problem of a survey file one)
and an exit status.

0: done; 2: a mistake in the input or the usage, or output that cannot be written; 130: Ctrl-C;
141: the reader of the output left; 143: terminated.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, NoReturn, cast

import typer

from tacit import __version__
from tacit.cli.demo import demo
from tacit.cli.design import design_commands
from tacit.cli.disguise import disguise_file
from tacit.cli.estimate import estimate
from tacit.cli.evaluate import evaluate
from tacit.cli.mine import mine_commands
from tacit.cli.optimize import optimize
from tacit.cli.predict import predict
from tacit.cli.privacy import privacy
from tacit.cli.reproduce import reproduce
from tacit.cli.serve import serve
from tacit.cli.survey import survey_commands
from tacit.cli.survey_store import backup
from tacit.errors import TacitError

MISTAKE, INTERRUPTED, TERMINATED = 2, 130, 143
# Typer brings its own copy of Click or uses Click, depending on its version; the base class of
# what it reports about usage is found either way.
USAGE_ERROR = cast(type[Exception], typer.BadParameter.__mro__[2])

app = typer.Typer(
    name="tacit",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo)
app.add_typer(design_commands, name="design")
app.command("disguise")(disguise_file)
app.command("estimate")(estimate)
app.add_typer(mine_commands, name="mine")
app.command("evaluate")(evaluate)
app.command("predict")(predict)
app.command("privacy")(privacy)
app.command("optimize")(optimize)
app.add_typer(survey_commands, name="survey")
app.command("backup")(backup)
app.command("serve")(serve)
app.command("reproduce")(reproduce)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tacit {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Ask what people would rather not say; learn the truth about the crowd, never a person.

    Example: [bold]tacit demo[/bold]
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    signal.signal(signal.SIGTERM, _terminated)
    if hasattr(signal, "SIGPIPE"):  # a reader that has enough, as in `| head`, is no error
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if sys.stdout is None:  # started with its output closed
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; its exit status."""
    try:
        status = app(arguments, prog_name="tacit", standalone_mode=False) or 0
        sys.stdout.flush()
        return status
    except TacitError as error:
        return _mistake(*error.problems)
    except USAGE_ERROR as error:
        return _mistake(
            str(getattr(error, "format_message", error.__str__)()).replace("Value error, ", "")
        )
    except MemoryError:
        return _mistake("not enough memory; ask for fewer attributes at once")
    except OSError as error:
        _drop_output()
        return _mistake(f"the output cannot be written: {error.strerror or error}")
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED


def _mistake(*messages: str) -> int:
    with suppress(OSError):  # the errors may go where the output went
        for message in messages:
            typer.echo("error: " + " ".join(message.split()), err=True)
    return MISTAKE


def _drop_output() -> None:
    """Send what is left to nowhere, or Python would try to write it again at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _terminated(*_: object) -> NoReturn:
    """Leave by an exception, so that half-written files are removed."""
    sys.exit(TERMINATED)
