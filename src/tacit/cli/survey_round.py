"""`tacit survey round`: a model as a survey that respondents' devices answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.arguments import ModelFile
from tacit.cli.survey_store import PublishedFile
from tacit.errors import FileError, SurveyError
from tacit.output.number_text import number_of
from tacit.records import check_apart, read_text, write_text


def accuracy_round(
    file: PublishedFile,
    model_file: ModelFile,
    out: Annotated[Path, typer.Option(help="The survey file to write: .json.")],
    theta: Annotated[
        str, typer.Option(help="Probability that a device reports the truth, such as 3/4.")
    ] = "3/4",
) -> None:
    """Write a survey in which devices test a model, and report only whether it was right.

    Each device asks what the model needs and what it predicts. These answers never leave it;
    whether the model was right is sent in disguise. The estimated share of yes is the accuracy.

    Example: [bold]tacit survey round published.json tree.json --out round.json[/bold]
    """
    from tacit.studio.accuracy_round import accuracy_round as made  # scikit-learn is slow to start
    from tacit.survey import read_published

    if out.suffix.lower() != ".json":
        raise FileError(f"{out}: the survey is written as JSON; name it .json")
    check_apart(out, file, model_file)
    published = read_published(file)
    try:
        survey = made(published, read_text(model_file), theta)
    except SurveyError as error:
        raise SurveyError([f"--theta: {error.problems[0]}"]) from None
    except FileError as error:
        raise FileError(f"{model_file}: {error}") from None
    assert survey.model is not None
    write_text(out, survey.to_json())
    asked = number_of(len(survey.model.questions) + 1, "question")
    typer.echo(f"wrote {out}: {asked} that stay on the device, 1 report whether the model is right")
    typer.echo(f"publish it: tacit survey publish {out} --out published-{out.name}")
