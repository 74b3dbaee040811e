"""`tacit plan`: respondents, widths, power and privacy of a survey; solve for any one."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.channel import FAMILIES, Coin
from tacit.cli import show
from tacit.cli.arguments import AsJson, Level
from tacit.errors import DataError
from tacit.files import check_figure, check_out, write_frame

if TYPE_CHECKING:
    from tacit.plan import SurveyPlan, Tradeoff

DEFAULT_PREVALENCE = 0.2


class PrivacyFigure(StrEnum):
    """Figures of privacy of an answer."""

    EPSILON = "epsilon"
    POSTERIOR = "worst-posterior"


Subject = Annotated[
    str,
    typer.Argument(
        metavar="SUBJECT",
        help="A survey file (.yaml), a design or a published survey (.json); or a family: related, "
        "unrelated, forced, crosswise, uniform_perturbation, frapp, optimal.",
    ),
]
Theta = Annotated[
    str | None,
    typer.Option(
        help="The parameter of a family (theta, q, p or lambda), such as 0.7 or 2/3. Left open: "
        "solved for, or set by a bound on privacy."
    ),
]
Drawn = Annotated[
    str | None,
    typer.Option(
        help="The distribution of the personal question (unrelated) or of forced answers, "
        "separated by commas; all alike if left out."
    ),
]
Respondents = Annotated[int | None, typer.Option(min=1, help="Number of respondents.")]
Width = Annotated[
    float | None, typer.Option(help="Half the width of an interval: 0.03 is ± 3 points.")
]
Power = Annotated[
    float | None,
    typer.Option(help="Probability to find what --null or --difference describes, such as 0.8."),
]
Prevalence = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SHARE",
        help="Assumed true share of the last category, 0.2 if left out; or shares of all "
        "categories, separated by commas; or name=SHARE for one question. May be repeated.",
    ),
]
Null = Annotated[float | None, typer.Option(help="Compare the share with this null prevalence.")]
Difference = Annotated[
    float | None,
    typer.Option(help="Compare two groups: the first has this much more than --prevalence."),
]
By = Annotated[
    str | None,
    typer.Option(help="The attribute whose last category is the first group of --difference."),
]
GroupShare = Annotated[float, typer.Option(help="Share of respondents in the first group.")]
Epsilon = Annotated[
    float | None, typer.Option(help="Bound on local differential privacy of an answer.")
]
Odds = Annotated[
    float | None, typer.Option(help="Bound on the factor by which a report changes odds.")
]
WorstPosterior = Annotated[
    float | None, typer.Option(help="Bound on the probability of any answer after a report.")
]
Categories = Annotated[
    int | None, typer.Option(min=2, help="Number of categories of a question, for a family.")
]
AttributeName = Annotated[str | None, typer.Option("--attribute", help="Plan for this one only.")]
Compare = Annotated[
    str | None,
    typer.Option(
        metavar="FAMILIES",
        help="Instead: a table of privacy against precision, also for these families (separated "
        "by commas).",
    ),
]
Axis = Annotated[
    PrivacyFigure,
    typer.Option(help="With --compare: the figure of privacy that the families are compared by."),
]
Questions = Annotated[
    int, typer.Option(min=1, help="With --compare: so many questions, in 1 to so many groups.")
]
Picture = Annotated[Path | None, typer.Option(help="Also draw it: .svg, .png or .pdf.")]
Out = Annotated[Path | None, typer.Option(help="Also write the table: .csv, .csv.gz or .parquet.")]


#: Options that the planner takes under the same name.
_WISHES = (
    "width",
    "power",
    "null",
    "difference",
    "by",
    "group_share",
    "epsilon",
    "odds",
    "worst_posterior",
    "categories",
    "attribute",
    "level",
)
#: Those that a comparison of families does not take.
_ALONE = ("power", "null", "difference", "by", "epsilon", "odds", "worst_posterior", "attribute")


def plan(
    context: typer.Context,
    subject: Subject,
    theta: Theta = None,
    drawn: Drawn = None,
    respondents: Respondents = None,
    width: Width = None,
    power: Power = None,
    prevalence: Prevalence = None,
    null: Null = None,
    difference: Difference = None,
    by: By = None,
    group_share: GroupShare = 0.5,
    epsilon: Epsilon = None,
    odds: Odds = None,
    worst_posterior: WorstPosterior = None,
    categories: Categories = None,
    attribute: AttributeName = None,
    compare: Compare = None,
    axis: Axis = PrivacyFigure.EPSILON,
    questions: Questions = 1,
    level: Level = 0.95,
    figure: Picture = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Plan a survey: solve for respondents, interval width, power or privacy.

    Give all but one of them; the one left out is solved for.

    Example: [bold]tacit plan related --theta 0.7 --width 0.03 --prevalence 0.2[/bold]

    Example: [bold]tacit plan related --epsilon 1 --power 0.8 --difference 0.1[/bold]

    Example: [bold]tacit plan related --respondents 2000 --width 0.05[/bold]

    Example: [bold]tacit plan survey.yaml --respondents 1000 --prevalence smokes=0.3[/bold]

    Example: [bold]tacit plan related --compare optimal,forced --respondents 1000[/bold]
    """
    check_figure(figure, *_files(subject))
    check_out(out, *_files(subject))
    given = _subject(subject, theta, drawn, categories)
    found = _compared(given, context.params) if compare else _planned(given, context.params)
    _show(found, figure, out, as_json)


def _files(subject: str) -> list[Path]:
    return [] if subject in FAMILIES else [Path(subject)]


def _subject(subject: str, theta: str | None, drawn: str | None, categories: int | None) -> Any:
    """A path, or a family with or without its parameter."""
    if subject in FAMILIES and (theta is not None or drawn is not None):
        return _family(subject, theta, drawn, categories)
    if theta is not None or drawn is not None:
        raise DataError("--theta and --drawn are for a family; give one instead of a file")
    return subject


def _family(name: str, theta: str | None, drawn: str | None, categories: int | None) -> Any:
    """A coin; or, without theta, a function from it to a coin."""
    more: dict[str, Any] = {}
    if name in ("unrelated", "forced"):
        size = categories or 2
        shares = [f"1/{size}"] * size if drawn is None else drawn.split(",")
        more = {"personal" if name == "unrelated" else "forced": shares}
    elif drawn is not None:
        raise DataError("--drawn is for unrelated and forced")
    if name in ("truthful", "matrix"):
        raise DataError(f"--theta: {name} has no such parameter")
    make = FAMILIES[name]
    if theta is not None:
        return make(theta, **more)

    def coin(value: Any) -> Coin:
        return make(value, **more)

    coin.__name__ = name
    return coin


def _shares(given: list[str]) -> Any:
    """One share, a distribution, or either by name."""
    named: dict[str, Any] = {}
    plain: list[Any] = []
    for text in given:
        name, separator, value = text.rpartition("=")
        parts = [_number(part) for part in value.split(",")]
        share = parts[0] if len(parts) == 1 else parts
        if separator:
            named[name] = share
        else:
            plain.append(share)
    if len(plain) > 1 or (plain and named):
        raise DataError("--prevalence: give one share for all questions, or name=SHARE for each")
    return named or (plain[0] if plain else DEFAULT_PREVALENCE)


def _number(text: str) -> float:
    try:
        return float(Fraction(text.strip()))
    except (ValueError, ZeroDivisionError):
        raise DataError(f"--prevalence: {text!r} is not a number such as 0.2 or 1/5") from None


def _planned(given: Any, params: dict[str, Any]) -> SurveyPlan:
    from tacit.plan import plan as solve  # SciPy is slow to start

    shares = _shares(params["prevalence"] or [])
    wishes = {name: params[name] for name in _WISHES}
    return solve(given, params["respondents"], prevalence=shares, **wishes)


def _compared(given: Any, params: dict[str, Any]) -> Tradeoff:
    from tacit.plan import tradeoff

    refused = [name for name in _ALONE if params[name] is not None]
    if refused:
        option = "--" + refused[0].replace("_", "-")
        raise DataError(f"{option}: --compare shows privacy against --respondents or --width only")
    others = [name.strip() for name in params["compare"].split(",")]
    candidates = {params["subject"]: given} | {name: name for name in others}
    with show.progress("comparing") as tell:
        return tradeoff(
            candidates,
            params["respondents"],
            params["width"],
            _shares(params["prevalence"] or []),
            questions=params["questions"],
            categories=params["categories"],
            figure=params["axis"].value.replace("-", "_"),
            level=params["level"],
            progress=tell,
        )


def _show(
    found: SurveyPlan | Tradeoff, figure: Path | None, out: Path | None, as_json: bool
) -> None:
    if figure is not None:
        show.write_figure(figure, found.plot())
    if out is not None:
        write_frame(out, found.to_frame("pyarrow"))
    if as_json:
        typer.echo(show.json_text(found.to_dict()))
        return
    for table in found.tables():
        show.print_table(table)
    for text in found.warnings:
        show.console().print(f"warning: {text}")
