"""`tacit numbers`: describe how numbers are scrambled, scramble them, and estimate from reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from typer import Argument, Option, echo

from tacit import quantitative
from tacit.cli import commands, show
from tacit.cli.arguments import AsJson, DataFile, RecordsOut, SimulationSeed
from tacit.cli.notes import note, note_seed
from tacit.cli.sources import DrawnPeople
from tacit.core.arrays import Array, Mask
from tacit.core.frames import is_numeric, numbers
from tacit.errors import DataError, TacitError, unknown
from tacit.output.number_text import number_of
from tacit.quantitative import Scrambling
from tacit.records import Origin, designs, files


@commands.CommandGroup
def number_commands() -> None:
    """Scramble numbers, and estimate from scrambled ones.

    Example: [bold]tacit numbers check cards.json[/bold]
    """


#: The functions that describe a scrambling, by family.
FAMILIES: dict[str, Callable[..., Scrambling]] = {
    name: getattr(quantitative, name)
    for name in ("additive", "multiplicative", "bar_lev", "eriksson", "square_wave")
}


ScramblingFile = Annotated[
    Path, Argument(metavar="SCRAMBLING", help="How numbers are scrambled (JSON).")
]
Column = Annotated[str, Option(help="The column of the numbers.")]


@dataclass(frozen=True)
class ScramblingParameters:
    """What a family needs; each takes some of these.

    Parameters
    ----------
    noise
        The numbers on the cards, separated by commas: equally likely, or each with its share, as in
        --noise=-10:1/4,0:1/2,10:1/4.
    p
        Probability of the true number.
    listed
        eriksson: all true numbers are on the cards.
    epsilon
        square_wave: epsilon of a report.
    low
        square_wave: the smallest true number.
    high
        square_wave: the largest true number.
    """

    noise: str | None = Option(None, metavar="NUMBERS")
    p: str | None = None
    listed: bool = False
    epsilon: str | None = None
    low: str | None = None
    high: str | None = None

    def of_family(self, family: str) -> Scrambling:
        """The scrambling; raise if a parameter is missing, or is not one of this family."""
        if family not in FAMILIES:
            raise DataError(unknown("family", family, FAMILIES))
        taken = signature(FAMILIES[family]).parameters
        values = {part.name: getattr(self, part.name) for part in fields(self)}
        given = {name: value for name, value in values.items() if value not in (None, False)}
        for name in given:
            if name not in taken:
                raise DataError(f"{commands.typed(name)} does not go with {family}; leave it out")
        for name, parameter in taken.items():
            if parameter.default is Parameter.empty and name not in given:
                raise DataError(f"{family} needs {commands.typed(name)}")
        if "noise" in given:
            given["noise"] = _cards(given["noise"])
        return FAMILIES[family](**given)


@number_commands.command("new")
def new(
    *,
    family: str = Argument(metavar="|".join(FAMILIES)),
    out: Path,
    parameters: ScramblingParameters,
) -> None:
    """Describe how numbers are scrambled, in a file for the other commands.

    Example: [bold]tacit numbers new additive --noise=-10:1/4,0:1/2,10:1/4 --out cards.json[/bold]

    Example: [bold]tacit numbers new square_wave --epsilon 2 --low 0 --high 100
    --out wave.json[/bold]

    Parameters
    ----------
    family
        How to scramble.
    out
        The scrambling file to write (JSON).
    """
    files.check_apart(out)
    scrambling = parameters.of_family(family)
    files.write_text(out, scrambling.to_json())
    echo(f"wrote {out}: {scrambling}")


@number_commands.command("check")
def check(file: ScramblingFile, as_json: AsJson = False) -> None:
    """Show what a report discloses, and the instructions for people who draw cards.

    Example: [bold]tacit numbers check cards.json[/bold]
    """
    scrambling = _read(file)
    names = ("epsilon", "privacy", "instructions", "fingerprint")
    content = scrambling.to_dict() | {name: getattr(scrambling, name) for name in names}
    output = show.Format("text", as_json)
    output.say(f"{file}: {scrambling}", f"fingerprint {scrambling.fingerprint}\n")
    output.show(show.Printout(content, [], below=(scrambling.privacy, scrambling.instructions)))


@number_commands.command("group")
def group(
    *, file: ScramblingFile, question: str, low: int, high: int, out: Path | None = None
) -> None:
    """Show the group of a survey file that asks for whole numbers and scrambles them with cards.

    The question has these numbers as its categories, in order.

    Example: [bold]tacit numbers group cards.json --question hours --low 0 --high 8[/bold]

    Parameters
    ----------
    question
        The name of the question.
    low
        The smallest true number.
    high
        The largest true number.
    out
        Write it to a .yaml file instead.
    """
    import yaml

    files.check_apart(out, file)
    coin = quantitative.as_matrix(_read(file), range(low, high + 1))
    groups = {"groups": [{"questions": [question], **coin.to_dict()}]}
    text = yaml.safe_dump(groups, default_flow_style=None, sort_keys=False, allow_unicode=True)
    if out is None:
        echo(text, nl=False)
        return
    files.write_text(out, text)
    echo(f"wrote {out}: {number_of(len(coin.rows), 'possible report')}")


@number_commands.command("scramble")
def scramble_file(
    file: ScramblingFile,
    data: DataFile,
    column: Column,
    out: RecordsOut,
    seed: SimulationSeed = None,
) -> None:
    """Draw a reported number for each true one.

    Without --seed the draws come from the operating system's entropy, as they must for answers
    of real people. Other columns are left out. Missing answers stay missing.

    Example: [bold]tacit numbers scramble cards.json true.csv --column income
    --out reported.csv[/bold]
    """
    scrambling = _read(file)
    files.check_out(out, data, file)
    designs.check_true(data, "scramble true numbers")
    true, answered = _numbers(data, files.read_frame(data), column)
    rng = None if seed is None else np.random.default_rng(seed)
    reported = np.zeros(len(true))
    with _errors_of(data, column):
        reported[answered] = quantitative.scramble(true[answered], scrambling, rng)
    table = pa.table({column: pa.array(reported, mask=~answered)})
    files.write_frame(out, table, Origin(scrambling.fingerprint), private=True)
    echo(f"wrote {out}: {number_of(len(true), 'record')}")
    if not answered.all():
        missing = number_of(int((~answered).sum()), "missing answer")
        note(f"{missing} passed on as missing; everybody can see who did not answer")
    note_seed(seed)


@number_commands.command("estimate")
def estimate_numbers(
    *,
    file: ScramblingFile,
    data: DataFile,
    column: Column,
    bins: int | None = None,
    people: DrawnPeople,
    output: show.Output,
) -> None:
    """Estimate mean and variance of the true numbers from reported ones, with their errors.

    Example: [bold]tacit numbers estimate cards.json reported.csv --column income[/bold]

    Parameters
    ----------
    bins
        Also the shares of this many ranges of equal width (square_wave).
    """
    scrambling = _read(file)
    if bins is not None and people.arguments:
        raise DataError("--bins goes without --weights, --strata and --clusters")
    if not designs.check_origin(data, Origin(scrambling.fingerprint), str(file)):
        note(f"{data} does not say how it was scrambled; make sure that it was by {file}")
    frame = files.read_frame(data)
    reported, answered = _numbers(data, frame, column)
    sample = people.arguments
    for argument, name in sample.items():
        if isinstance(name, str):
            cells = _column(data, frame, name).filter(pa.array(answered))
            sample[argument] = cells.combine_chunks()
    with _errors_of(data, column):
        moments = (quantitative.mean, quantitative.variance)
        estimates = [moment(reported[answered], scrambling, **sample) for moment in moments]
        if bins is not None:
            estimates.append(quantitative.distribution(reported[answered], scrambling, bins))
    missing = int((~answered).sum())
    named = [
        replace(estimate, name=f"{estimate.name} of {column}", n_left_out=missing)
        for estimate in estimates
    ]
    output.show_estimates("number-estimates", scrambling.fingerprint, named)


def _read(file: Path) -> Scrambling:
    return designs.read_described(file, quantitative.scrambling_from_json, "scrambling")


def _cards(text: str) -> Any:
    """The numbers of a deck, with their shares if they are given."""
    cards = [part.split(":") for part in text.split(",")]
    if all(len(card) == 1 for card in cards):
        return [number for (number,) in cards]
    if not all(len(card) == 2 for card in cards):
        raise DataError(
            f"--noise: {text!r} must be numbers separated by commas, all with a share "
            "(number:share) or all without"
        )
    shares = {number.strip(): share for number, share in cards}
    if len(shares) < len(cards):
        raise DataError("--noise: a number is given twice; add up its shares")
    return shares


def _numbers(data: Path, frame: Any, column: str) -> tuple[Array, Mask]:
    """A column of numbers, and where it is not missing."""
    cells = _column(data, frame, column)
    if not is_numeric(cells):
        raise DataError(f"{data}: column {column!r} is not a column of numbers")
    values = numbers(cells)
    return values, ~np.isnan(values)


def _column(data: Path, frame: Any, name: str) -> Any:
    if frame.column_names.count(name) != 1:
        raise DataError(f"{data}: {unknown('column', name, frame.column_names)}")
    return frame[name]


@contextmanager
def _errors_of(data: Path, column: str) -> Iterator[None]:
    """Errors name the file and the column."""
    try:
        yield
    except TacitError as error:
        raise type(error)(f"{data}: column {column!r}: {error}") from None
