"""The entry of the command line: every error becomes one line and an exit status.

A survey file has a line per problem.

0: done; 1: a page is not as released (`tacit page verify`); 2: a mistake in the input or the usage,
or output that cannot be written; 130: Ctrl-C; 141: the output pipe was closed; 143: terminated.
"""

from __future__ import annotations

import ast
import io
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn, cast

import typer

from tacit import TacitError, __version__
from tacit.cli import commands
from tacit.cli.notes import drop_notes, tell_notes
from tacit.core.imports import DISTRIBUTION, optional_imports
from tacit.records.memory_limit import end_limit, exceeded_error, needs_more

MISTAKE, INTERRUPTED, TERMINATED = 2, 130, 143
# Typer brings its own copy of Click or uses Click, depending on its version; the base class of
# what it reports about usage is found either way.
USAGE_ERROR = cast("type[Exception]", typer.BadParameter.__mro__[2])

#: Module and name of each command, in the order of the help. Only what is called is loaded:
#: `tacit serve` may not load what reconstructs.
COMMANDS = {
    "demo": "demo:demo",
    "design": "design:design_commands",
    "disguise": "count:disguise_file",
    "estimate": "estimate:estimate",
    "compare": "estimate:compare",
    "test": "estimate:hypothesis",
    "compliance": "compliance:compliance",
    "numbers": "numbers:number_commands",
    "mine": "mine:mine_commands",
    "regress": "regress:regress",
    "evaluate": "models:evaluate",
    "predict": "models:predict",
    "query": "models:query",
    "synthesize": "models:synthesize",
    "plan": "plan:plan",
    "privacy": "privacy:privacy",
    "optimize": "optimize:optimize",
    "count": "count:count",
    "merge": "count:merge",
    "survey": "survey:survey_commands",
    "backup": "survey:backup",
    "serve": "serve:serve",
    "studio": "serve:studio",
    "report": "report:report",
    "page": "page:page_commands",
    "reproduce": "reproduce:reproduce",
}


def command_line(*names: str) -> typer.Typer:
    """The command line with these commands; with all of them if none is named."""
    app = _without_commands()
    for name in names or COMMANDS:
        module, _, attribute = COMMANDS[name].partition(":")
        command = getattr(import_module(f"tacit.cli.{module}"), attribute)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(commands.as_command(command))
    return app


def outline() -> typer.Typer:
    """The command line with the names and help lines of its commands, and nothing loaded."""
    app = _without_commands()
    for name, command in COMMANDS.items():
        app.command(name, help=_first_line(*command.split(":")))(lambda: None)
    return app


def _first_line(module: str, attribute: str) -> str:
    """The first line of a command's help, from its source."""
    source = ast.parse(Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8"))
    (text,) = (
        ast.get_docstring(node) or ""
        for node in source.body
        if isinstance(node, ast.FunctionDef) and node.name == attribute
    )
    return " ".join(text.partition("\n\n")[0].split())


def _without_commands() -> typer.Typer:
    app = typer.Typer(
        name="tacit",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(start)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tacit {__version__} (distribution {DISTRIBUTION})")
        raise typer.Exit


def start(
    *,
    context: typer.Context,
    version: bool = typer.Option(
        False, "--version", help="Show the version.", callback=_show_version, is_eager=True
    ),
) -> None:
    """Ask what people would rather not say; learn about the crowd, not about a person.

    Example: [bold]tacit demo[/bold]
    """
    commands.show_help(context)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    signal.signal(signal.SIGTERM, _terminated)
    if hasattr(signal, "SIGPIPE"):  # a closed pipe, as in `| head`, is no error
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
    name = next((word for word in given if not word.startswith("-")), "")
    drop_notes()
    try:
        with optional_imports():
            app = command_line(name) if name in COMMANDS else outline()
            status = app(given, prog_name="tacit", standalone_mode=False) or 0
        if status == INTERRUPTED:  # Typer's word for Ctrl-C
            raise KeyboardInterrupt
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
        return _mistake(str(needs_more() or "not enough memory; ask for fewer attributes at once"))
    except OSError as error:
        _drop_output()
        return _mistake(f"the output cannot be written: {error.strerror or error}")
    except (typer.Abort, KeyboardInterrupt):
        return _interrupted()
    finally:
        end_limit()


def _mistake(*messages: str) -> int:
    with suppress(OSError):  # standard error may be unwritable too
        for message in messages:
            typer.echo("error: " + " ".join(message.split()), err=True)
    return MISTAKE


def _interrupted() -> int:
    """Ctrl-C, or the memory limit if it interrupted something that did not let its error pass."""
    error = exceeded_error()
    if error is not None:
        return _mistake(str(error))
    with suppress(OSError):
        typer.echo("interrupted", err=True)
    return INTERRUPTED


def _drop_output() -> None:
    """Discard buffered output, or Python would try to write it again at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _terminated(*_: object) -> NoReturn:
    """Exit by an exception, so that half-written files are removed."""
    sys.exit(TERMINATED)
