"""`tacit compliance`: several samples in one estimate, and people who do not comply."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Literal

from typer import Argument

from tacit import compliance as models
from tacit import survey as surveys
from tacit.cli import show
from tacit.cli.sources import counted
from tacit.compliance.mixture import MixtureResult
from tacit.compliance.noncompliance import NoncomplianceModel
from tacit.errors import DataError, FileError
from tacit.records import count_answers, read_design


def compliance(
    *,
    samples: list[Path] = Argument(metavar="DESIGN DATA..."),
    attribute: str | None = None,
    model: Literal["pool", "cheaters", "lying-carriers", "careless"] = "pool",
    safe: str | None = None,
    anchor: str | None = None,
    known: str | None = None,
    shares: str | None = None,
    unknown_question: bool = False,
    output: show.Output,
) -> None:
    """Combine samples, and estimate how many people do not follow the instructions.

    Example: [bold]tacit compliance one.json one.csv two.json two.csv --model cheaters[/bold]

    Example: [bold]tacit compliance one.json one.csv --model cheaters --shares 0,0.1,0.2[/bold]

    Parameters
    ----------
    samples
        A design and its reported records; more pairs for more samples.
    attribute
        The attribute to estimate.
    model
        pool: everybody complies. cheaters: some always give the safe answer. lying-carriers: some
        carriers deny. careless: some answer at random.
    safe
        The safe answer; the first category if left out.
    anchor
        The question with known shares for careless; the control of a published survey if left out.
    known
        Shares of the anchor's categories, separated by commas.
    shares
        Assumed shares of people who do not comply, separated by commas: shows the estimate from one
        sample for each.
    unknown_question
        For pool: also estimate the distribution of the personal question.
    """
    if len(samples) % 2:
        raise DataError(f"give a design and its records for each sample, got {len(samples)} files")
    pairs = list(zip(samples[::2], samples[1::2], strict=True))
    result: MixtureResult | models.SensitivityCurve
    if model == "pool":
        if shares is not None:
            raise DataError("--shares needs a --model of people who do not comply")
        result = models.pool(_counted(pairs), attribute, unknown_question)
    else:
        if model == "careless":
            chosen: NoncomplianceModel = _careless(anchor, known, pairs[0][0])
        else:
            chosen = (models.Cheaters if model == "cheaters" else models.LyingCarriers)(safe)
        if shares is None:
            result = chosen.fit(_counted(pairs), attribute)
        elif len(pairs) > 1:
            raise DataError("--shares is for one sample; several samples can estimate the share")
        else:
            ((records, design),) = _counted(pairs)
            assumed: Any = shares.split(",")
            result = models.sensitivity(records, design, chosen, assumed, attribute)
    output.show(result, output.level, tacit="compliance", version=1, model=model)


def _counted(pairs: list[tuple[Path, Path]]) -> list[tuple[Any, Any]]:
    designs = [read_design(design_file) for design_file, _ in pairs]
    return [
        (count_answers(partial(counted, design_file, design, data), design.reported), design)
        for (design_file, data), design in zip(pairs, designs, strict=True)
    ]


def _careless(anchor: str | None, known: str | None, design_file: Path) -> models.Careless:
    """The model with this anchor, else with the control question of a published survey, if any."""
    if (anchor is None) != (known is None):
        raise DataError("give both --anchor and --known, or neither")
    if anchor is not None and known is not None:
        return models.Careless(anchor, known.split(","))
    try:
        survey = surveys.read_published(design_file).survey
    except FileError:
        return models.Careless()
    return models.Careless() if survey.control is None else models.Careless.of_survey(survey)
