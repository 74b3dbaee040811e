"""The entry of the command line: every error becomes one line and an exit status.

A survey file has a line per problem.

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
from tacit.core.imports import DISTRIBUTION, optional_imports
from tacit.errors import TacitError
from tacit.records.memory_limit import end_limit, exceeded_error, needs_more

MISTAKE, INTERRUPTED, TERMINATED = 2, 130, 143
# Typer brings its own copy of Click or uses Click, depending on its version; the base class of
# what it reports about usage is found either way.
USAGE_ERROR = cast("type[Exception]", typer.BadParameter.__mro__[2])

#: Module and name of each command and what the help says of it, in the order of the help. Only
#: what is called is loaded: `tacit serve` may not load what reconstructs.
COMMANDS = {
    "demo": (
        "demo:demo",
        "Ask the people of a census five questions in disguise, and see what is learnt.",
    ),
    "design": ("design:design_commands", "Check a design file, or start one from data."),
    "disguise": (
        "count:disguise_file",
        "Draw reported records from true ones, as the design says.",
    ),
    "estimate": (
        "estimate:estimate",
        "Estimate tables of the true answers from reported records, with their errors.",
    ),
    "compare": (
        "estimate:compare",
        "Compare the share of an event between two groups of records, with errors.",
    ),
    "test": (
        "estimate:hypothesis",
        "Test a hypothesis about the true answers from reported records.",
    ),
    "compliance": (
        "compliance:compliance",
        "Combine samples, and estimate how many people do not follow the instructions.",
    ),
    "numbers": (
        "numbers:number_commands",
        "Scramble numbers, and estimate from scrambled ones.",
    ),
    "mine": ("mine:mine_commands", "Learn a model from reported records."),
    "regress": (
        "regress:regress",
        "Regress an answer on others and on covariates, from reported records.",
    ),
    "evaluate": (
        "models:evaluate",
        "Test a model on reported records that it was not learnt from.",
    ),
    "predict": (
        "models:predict",
        "Predict the class of true records: those that you may see, not reported ones.",
    ),
    "query": ("models:query", "Compute probabilities and tables from a saved joint distribution."),
    "synthesize": (
        "models:synthesize",
        "Draw synthetic true records from a saved joint distribution.",
    ),
    "plan": (
        "plan:plan",
        "Plan a survey: solve for respondents, interval width, power or privacy.",
    ),
    "privacy": ("privacy:privacy", "Show how private the answers of a design are."),
    "optimize": (
        "optimize:optimize",
        "Find the channels with the best trade-off between privacy and accuracy, with a lower "
        "bound.",
    ),
    "count": (
        "count:count",
        "Count reported records into a file, from which every other command can estimate.",
    ),
    "merge": (
        "count:merge",
        "Merge count files of one design, such as those of several organisations.",
    ),
    "survey": ("survey:survey_commands", "Start, check and publish a survey file."),
    "backup": (
        "survey:backup",
        "Copy a database as it is at this moment, while it is served.",
    ),
    "serve": (
        "serve:serve",
        "Serve surveys: pages that disguise answers, and a store that takes disguised records "
        "only.",
    ),
    "studio": (
        "studio:studio",
        "Serve the studio: surveys and their results in the browser, for people with an account.",
    ),
    "report": (
        "report:report",
        "Write the results of a published survey as a report for a paper's appendix.",
    ),
    "page": (
        "page:page_commands",
        "Check that a server sends the respondent's page as it was released.",
    ),
    "reproduce": (
        "reproduce:reproduce",
        "Run the papers' experiments as described, beside tacit's own answer, and write a report.",
    ),
}


def command_line(*names: str) -> typer.Typer:
    """The command line with these commands; with all of them if none is named."""
    app = _without_commands()
    for name in names or COMMANDS:
        module, _, attribute = COMMANDS[name][0].partition(":")
        command = getattr(import_module(f"tacit.cli.{module}"), attribute)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def outline() -> typer.Typer:
    """The command line with the names and help lines of its commands, and nothing loaded."""
    app = _without_commands()
    for name, (_, text) in COMMANDS.items():
        app.command(name, help=text)(lambda: None)
    return app


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
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Ask what people would rather not say; learn about the crowd, not about a person.

    Example: [bold]tacit demo[/bold]
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


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
