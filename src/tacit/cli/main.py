"""The entry of the command line: every error becomes one line (each problem of a survey file one)
and an exit status.

0: done; 1: a page is not as released (`tacit page verify`); 2: a mistake in the input or the usage,
or output that cannot be written; 130: Ctrl-C; 141: the output pipe was closed; 143: terminated.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Annotated, NoReturn, cast

import typer

from tacit import __version__
from tacit.cli.notes import drop_notes, tell_notes
from tacit.errors import TacitError
from tacit.extras import optional_imports

MISTAKE, INTERRUPTED, TERMINATED = 2, 130, 143
# Typer brings its own copy of Click or uses Click, depending on its version; the base class of
# what it reports about usage is found either way.
USAGE_ERROR = cast(type[Exception], typer.BadParameter.__mro__[2])

#: Where each command is, in the order of the help. Only what is called is loaded: `tacit serve`
#: may not load what reconstructs.
COMMANDS = {
    "demo": "tacit.cli.demo:demo",
    "design": "tacit.cli.design_commands:design_commands",
    "disguise": "tacit.cli.disguise:disguise_file",
    "estimate": "tacit.cli.estimate_command:estimate",
    "mine": "tacit.cli.mine:mine_commands",
    "evaluate": "tacit.cli.evaluate:evaluate",
    "predict": "tacit.cli.predict:predict",
    "privacy": "tacit.cli.privacy:privacy",
    "optimize": "tacit.cli.optimize:optimize",
    "survey": "tacit.cli.survey_commands:survey_commands",
    "backup": "tacit.cli.survey_store:backup",
    "serve": "tacit.cli.serve:serve",
    "page": "tacit.cli.page_commands:page_commands",
    "reproduce": "tacit.cli.reproduce:reproduce",
}


def command_line(*names: str) -> typer.Typer:
    """The command line with the commands of these names; with all of them if none is given."""
    app = typer.Typer(
        name="tacit",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(start)
    for name in names or COMMANDS:
        module, _, attribute = COMMANDS[name].partition(":")
        command = getattr(import_module(module), attribute)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tacit {__version__}")
        raise typer.Exit


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
    given = sys.argv[1:] if arguments is None else arguments
    app = command_line(*(name for name in given[:1] if name in COMMANDS))
    drop_notes()
    try:
        with optional_imports():
            status = app(given, prog_name="tacit", standalone_mode=False) or 0
        tell_notes()
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
