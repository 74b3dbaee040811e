"""`tacit survey`: start, check and publish a survey file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import show, survey_store
from tacit.cli.arguments import AsJson, command_group
from tacit.cli.simulate import simulate
from tacit.cli.survey_export import export
from tacit.cli.survey_round import accuracy_round
from tacit.cli.survey_status import status
from tacit.core.bounds import DesignReports, is_undisguised
from tacit.core.channel.numbers import sum_up
from tacit.core.design import Design
from tacit.errors import FileError, SchemaError
from tacit.output import rounding
from tacit.output.number_text import number_of
from tacit.output.table import Table
from tacit.records import check_apart, write_text

if TYPE_CHECKING:
    from tacit.privacy import Report
    from tacit.survey import Published, Survey, Width

survey_commands = command_group(
    "Start, check and publish a survey file.\n\nExample: [bold]tacit survey new survey.yaml[/bold]"
)

survey_commands.command("invite")(survey_store.invite)
survey_commands.command("close")(survey_store.close)
survey_commands.command("export")(export)
survey_commands.command("status")(status)
survey_commands.command("simulate")(simulate)
survey_commands.command("round")(accuracy_round)

SurveyFile = Annotated[Path, typer.Argument(metavar="SURVEY", help="A survey file (YAML or JSON).")]
DEFAULT_RESPONDENTS = 1000
_MOST_SHOWN = 12


@survey_commands.command("new")
def new(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The survey file to write.")],
    open_to_all: Annotated[
        bool,
        typer.Option("--open/--invited", help="Anyone may answer, or only by a one-time link."),
    ] = True,
    start: Annotated[
        str | None, typer.Option(metavar="DAY", help="First day; open at once if left out.")
    ] = None,
    end: Annotated[
        str | None, typer.Option(metavar="DAY", help="Last day; open until closed if left out.")
    ] = None,
    languages: Annotated[
        str, typer.Option(help="Languages of the texts: any of en, de, fr, es.")
    ] = "en,de",
) -> None:
    """Write a commented example survey to edit; never overwrites an existing file.

    Example: [bold]tacit survey new survey.yaml --languages en,fr[/bold]

    Example: [bold]tacit survey new survey.yaml --invited --start 2027-03-01[/bold]
    """
    from tacit.survey import example

    if out.suffix.lower() not in (".yaml", ".yml"):
        raise FileError(f"{out}: the example is YAML; name it .yaml or .yml")
    if out.exists():
        raise FileError(f"{out}: already exists; write to another file")
    access = "open" if open_to_all else "invited"
    opens, closes = _day("--start", start), _day("--end", end)
    if opens and closes and opens > closes:
        raise SchemaError(f"--end: {end} is before --start {start}")
    spoken = [part.strip() for part in languages.split(",")]
    write_text(out, example(spoken, access, opens, closes))
    typer.echo(f"wrote {out}: edit it, then run: tacit survey check {out}")


def _day(option: str, given: str | None) -> date | None:
    try:
        return None if given is None else date.fromisoformat(given)
    except ValueError:
        raise SchemaError(f"{option}: must be a day such as 2027-03-01, got {given!r}") from None


@survey_commands.command("check")
def check(
    file: SurveyFile,
    respondents: Annotated[
        int, typer.Option(min=1, help="How many people you plan to ask.")
    ] = DEFAULT_RESPONDENTS,
    as_json: AsJson = False,
) -> None:
    """Check a survey file: list its errors, or show its privacy and the precision to expect.

    Exit status 2, and a line with file, line and place for each problem.

    Example: [bold]tacit survey check survey.yaml --respondents 2000[/bold]
    """
    from tacit.privacy import report
    from tacit.privacy.report_text import wording_of
    from tacit.survey import read_survey, widths

    survey = read_survey(file)
    planned = widths(survey.design, respondents)
    wording = wording_of(survey)
    if as_json:
        told = report(survey.design, wording=wording)
        typer.echo(show.json_text(_plain(survey, told, planned)))
        return
    _render(file, survey, planned)
    # Slow for a large survey, so it comes last.
    told = report(survey.design, wording=wording)
    out = show.console()
    out.print("How private an answer is:")
    for said in (*_waves(survey), *told.sentences):
        out.print(said)
    for said in told.warnings:
        if said != told.disclosure.warning:
            out.print(f"\nwarning: {said}")


@survey_commands.command("publish")
def publish_file(
    file: SurveyFile,
    out: Annotated[Path, typer.Option(help="The published survey to write (JSON).")],
) -> None:
    """Freeze a survey with its design; print the design's fingerprint and the page's address.

    What is published is never overwritten; publishing the same again changes nothing.

    Example: [bold]tacit survey publish survey.yaml --out published.json[/bold]
    """
    from tacit.survey import publish, read_survey

    check_apart(out, file)
    survey = read_survey(file)
    there = out.exists()
    published = publish(survey, out)
    typer.echo(f"{'unchanged' if there else 'wrote'} {out}")
    typer.echo(f"fingerprint {published.fingerprint}")
    typer.echo(f"address     /s/{published.slug}/")


@survey_commands.command("preview")
def preview(
    file: SurveyFile,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any free one.")] = 0,
) -> None:
    """Show the page of a survey file in a browser, on any day; nothing is stored.

    Ctrl-C stops it.

    Example: [bold]tacit survey preview survey.yaml[/bold]
    """
    from tacit.collect.server import preview as run
    from tacit.survey import Published, read_survey

    run(Published(read_survey(file)), host, port, _print_addresses)


def _print_addresses(addresses: Sequence[tuple[str, Published]]) -> None:
    """Print the address; as in an invitation, it has a token if the survey needs one."""
    for address, published in addresses:
        token = "#preview" if published.survey.access == "invited" else ""
        typer.echo(f"preview: nothing is stored; open {address}{token} and stop with Ctrl-C")


@survey_commands.command("schema")
def schema() -> None:
    """Print the JSON Schema of survey files, for editors.

    Example: [bold]tacit survey schema[/bold]
    """
    from tacit.survey import json_schema

    typer.echo(json_schema(), nl=False)


def _plain(survey: Survey, told: Report, planned: tuple[Width, ...]) -> dict[str, Any]:
    design, waves = survey.design, survey.waves or 1
    reports = DesignReports(design, waves=waves)
    shares = {name: told.prior.table([name])[:, 0].tolist() for name in design.schema.names}

    def of_all_waves(epsilon: float | None) -> float | None:
        return None if epsilon is None else sum_up([epsilon] * waves)

    return {
        "tacit": "survey-check",
        "version": 1,
        "fingerprint": design.fingerprint,
        "survey_fingerprint": survey.fingerprint,
        "warnings": list(told.warnings),
        "waves": waves,
        "respondents": planned[0].respondents,
        "attributes": [
            {
                "name": width.attribute,
                "categories": list(design.schema[width.attribute].categories),
                "asked_if": design.asked_if.get(width.attribute),
                "epsilon": of_all_waves(told.epsilon.attributes[width.attribute]),
                "stderr": {"worst": width.worst, "0.1": width.at_tenth, "0.5": width.at_half},
            }
            for width in planned
        ],
        "groups": [
            {
                "attributes": list(group.attributes),
                "coin": group.coin.to_dict(),
                "epsilon": of_all_waves(epsilon),
            }
            for group, epsilon in zip(design.groups, told.epsilon.groups, strict=True)
        ],
        "record": {
            "epsilon": of_all_waves(told.epsilon.record),
            "epsilon_disguised": of_all_waves(told.epsilon_disguised),
            "bound": min(reports.bound(name, p).accuracy for name, p in shares.items()),
        },
        "sentences": [*_waves(survey), *told.sentences],
    }


def _render(file: Path, survey: Survey, planned: tuple[Width, ...]) -> None:
    from tacit.privacy import prior_of
    from tacit.privacy.report import NOT_KNOWN

    out = show.console()
    if not prior_of(None, survey.design).ties_all:
        out.print(f"warning: {NOT_KNOWN}\n")
    questions = number_of(len(survey.questions), "question")
    attributes = number_of(len(survey.design.schema), "attribute")
    out.print(f"{file}: {questions}, {attributes}, {', '.join(survey.languages)}")
    out.print(f"{survey.terms}; thrown by: {survey.device.replace('_', ' ')}")
    out.print(f"fingerprint {survey.design.fingerprint}\n")
    rows = [
        [q.name, q.kind.replace("_", "/"), "yes" if q.sensitive else "no", _few(q.answers)]
        for q in survey.questions
    ]
    show.print_table(Table(("question", "kind", "sensitive", "answers"), rows, align="llll"))
    for condition in survey.design.conditions:
        out.print(f"{condition.attribute} is asked if {condition}; else it does not apply")
    if survey.design.conditions:
        out.print("“Does not apply” is disguised as any other answer to the question.\n")
    for said in _visible(survey):
        out.print(f"{said}\n")
    waves = survey.waves or 1
    epsilon = "epsilon" if waves == 1 else f"epsilon, {waves} waves"
    heads = ("group", "attributes", "coin", epsilon)
    show.print_table(Table(heads, _group_rows(survey.design, waves), align="rllr"))
    for meaning in survey.design.report_meanings:
        out.print(meaning)
    out.print()
    rows = []
    for width in planned:
        halves = (width.half(s) for s in (width.at_tenth, width.at_half, width.worst))
        shown = ("not known" if h is None else f"± {100 * h:.1f}" for h in halves)
        rows.append([width.attribute, *shown])
    n = number_of(planned[0].respondents, "respondent")
    title = f"95 % intervals of a share from {n}, in points of 100:"
    show.print_table(Table(("attribute", "share 10 %", "share 50 %", "at worst"), rows, title))


def _waves(survey: Survey) -> tuple[str, ...]:
    """What all waves together reveal; those sentences that follow are about one."""
    from tacit.survey.disclosure_bound import waves_sentence

    return () if survey.waves is None else (waves_sentence(survey.design, survey.waves),)


def _visible(survey: Survey) -> Iterator[str]:
    """What is sent undisguised beside the answers to questions that are not sensitive."""
    optional = tuple(question.name for question in survey.questions if question.optional)
    if optional:
        yield f"optional: {_few(optional)}. Missing answers are visible, not disguised."
    texts = tuple(own.name for own in survey.free_texts or ())
    if texts:
        yield f"free texts: {_few(texts)}. They are not disguised, but stored apart from records."


def _few(names: tuple[str, ...]) -> str:
    """The first names, and the total number."""
    if len(names) <= _MOST_SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[:_MOST_SHOWN])}, ... ({len(names):,} in all)"


def _group_rows(design: Design, waves: int) -> list[list[str]]:
    def epsilon(names: tuple[str, ...]) -> str:
        return rounding.epsilon(sum_up([design.channel(names).epsilon] * waves))

    rows = [
        [str(number), _few(group.attributes), str(group.coin), epsilon(group.attributes)]
        for number, group in enumerate(design.groups, start=1)
    ]
    disguised = [g for g in design.groups if not is_undisguised(g)]
    if 0 < len(disguised) < len(design.groups):
        names = tuple(name for group in disguised for name in group.attributes)
        rows.append(["", "all disguised answers", "", epsilon(names)])
    return [*rows, ["", "the whole record", "", epsilon(design.schema.names)]]
