"""`tacit compliance`: several samples in one estimate, and people who do not comply."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli import show
from tacit.cli.arguments import AsJson, Level
from tacit.cli.sources import counted
from tacit.compliance import Careless, Cheaters, LyingCarriers, pool, sensitivity
from tacit.compliance.noncompliance import NoncomplianceModel
from tacit.errors import DataError
from tacit.files import read_design
from tacit.reconstruction.interval import check_level


class ModelKind(StrEnum):
    """What is estimated."""

    POOL = "pool"
    CHEATERS = "cheaters"
    LYING_CARRIERS = "lying-carriers"
    CARELESS = "careless"


Samples = Annotated[
    list[Path],
    typer.Argument(
        metavar="DESIGN DATA...",
        help="A design and its reported records; more pairs for more samples.",
    ),
]
ModelName = Annotated[
    ModelKind,
    typer.Option(
        "--model",
        help="pool: everybody complies. cheaters: some always give the safe answer. "
        "lying-carriers: some carriers deny. careless: some answer at random.",
    ),
]
Name = Annotated[str | None, typer.Option("--attribute", help="The attribute to estimate.")]
Safe = Annotated[str | None, typer.Option(help="The safe answer; the first category if left out.")]
Anchor = Annotated[
    str | None,
    typer.Option(
        help="The question with known shares for careless; the control of a published survey if "
        "left out."
    ),
]
Known = Annotated[
    str | None, typer.Option(help="Shares of the anchor's categories, separated by commas.")
]
Shares = Annotated[
    str | None,
    typer.Option(
        help="Assumed shares of people who do not comply, separated by commas: shows the "
        "estimate from one sample for each."
    ),
]
Unknown = Annotated[
    bool,
    typer.Option(
        "--unknown-question",
        help="For pool: also estimate the distribution of the personal question.",
    ),
]


def compliance(
    samples: Samples,
    model: ModelName = ModelKind.POOL,
    attribute: Name = None,
    safe: Safe = None,
    anchor: Anchor = None,
    known: Known = None,
    shares: Shares = None,
    unknown_question: Unknown = False,
    level: Level = 0.95,
    as_json: AsJson = False,
) -> None:
    """Combine samples, and estimate how many people do not follow the instructions.

    Example: [bold]tacit compliance one.json one.csv two.json two.csv --model cheaters[/bold]

    Example: [bold]tacit compliance one.json one.csv --model cheaters --shares 0,0.1,0.2[/bold]
    """
    check_level(level)
    pairs = _pairs(samples)
    if model is ModelKind.POOL:
        if shares is not None:
            raise DataError("--shares needs a --model of people who do not comply")
        found: Any = pool(_counted(pairs), attribute, unknown_question)
        tables = [each for each in (found.estimate, found.unrelated) if each is not None]
        tests = [found.agreement]
    else:
        chosen = _model(model, safe, anchor, known, pairs[0][0])
        if shares is not None:
            found = _curve(pairs, chosen, shares, attribute)
            tables, tests = [found], []
        else:
            found = chosen.fit(_counted(pairs), attribute)
            tables, tests = found.estimates, [found.test, found.fit]
    if as_json:
        header = {"tacit": "compliance", "version": 1, "model": model.value}
        typer.echo(show.json_text(header | found.to_dict(level)))
        return
    for each in tables:
        show.print_table(each.to_table(level))
    for test in tests:
        typer.echo(str(test))


def _pairs(samples: list[Path]) -> list[tuple[Path, Path]]:
    if len(samples) % 2:
        raise DataError(f"give a design and its records for each sample, got {len(samples)} files")
    return list(zip(samples[::2], samples[1::2], strict=True))


def _counted(pairs: list[tuple[Path, Path]]) -> list[tuple[Any, Any]]:
    designs = [read_design(design_file) for design_file, _ in pairs]
    return [
        (counted(design_file, design, data), design)
        for (design_file, data), design in zip(pairs, designs, strict=True)
    ]


def _curve(
    pairs: list[tuple[Path, Path]], model: NoncomplianceModel, shares: str, attribute: str | None
) -> Any:
    if len(pairs) > 1:
        raise DataError("--shares is for one sample; several samples can estimate the share")
    ((records, design),) = _counted(pairs)
    return sensitivity(records, design, model, shares.split(","), attribute)  # type: ignore[arg-type]


def _model(
    kind: ModelKind, safe: str | None, anchor: str | None, known: str | None, design_file: Path
) -> NoncomplianceModel:
    if kind is ModelKind.CHEATERS:
        return Cheaters(safe)
    if kind is ModelKind.LYING_CARRIERS:
        return LyingCarriers(safe)
    if (anchor is None) != (known is None):
        raise DataError("give both --anchor and --known, or neither")
    if anchor is not None and known is not None:
        return Careless(anchor, known.split(","))
    return _control(design_file)


def _control(design_file: Path) -> Careless:
    """The model with the control question of a published survey, if there is one."""
    from tacit.errors import FileError
    from tacit.survey import read_published

    try:
        survey = read_published(design_file).survey
    except FileError:
        return Careless()
    return Careless() if survey.control is None else Careless.of_survey(survey)
