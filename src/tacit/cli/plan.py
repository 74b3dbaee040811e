"""`tacit plan`: respondents, widths, power and privacy of a survey; solve for any one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from typer import Argument, Option

from tacit import plan as planner
from tacit.cli import show
from tacit.cli.arguments import Picture
from tacit.cli.commands import typed
from tacit.core.channel import FAMILIES
from tacit.errors import DataError
from tacit.plan.subject import family_of_text, shares_of_texts
from tacit.records import check_figure, check_out


@dataclass(frozen=True)
class WishOptions:
    """What a plan must reach, and what it is compared with.

    Parameters
    ----------
    power
        Probability to find what --null or --difference describes, as 0.8.
    null
        Compare the share with this null prevalence.
    difference
        Compare two groups: the first has this much more than --prevalence.
    by
        The attribute whose last category is the first group of --difference.
    group_share
        Share of respondents in the first group; if left out, the --prevalence of --by, or 0.5.
    epsilon
        Bound on local differential privacy of an answer.
    odds
        Bound on the factor by which a report changes odds.
    worst_posterior
        Bound on the probability of any answer after a report.
    attribute
        Plan for this question only.
    """

    power: float | None = None
    null: float | None = None
    difference: float | None = None
    by: str | None = None
    group_share: float | None = None
    epsilon: float | None = None
    odds: float | None = None
    worst_posterior: float | None = None
    attribute: str | None = None


def plan(
    *,
    subject: str = Argument(metavar="SUBJECT"),
    theta: str | None = None,
    drawn: str | None = None,
    categories: int | None = Option(None, min=2),
    respondents: int | None = Option(None, min=1),
    width: float | None = None,
    prevalence: list[str] | None = Option(None, metavar="SHARE"),
    wishes: WishOptions,
    compare: str | None = Option(None, metavar="FAMILIES"),
    axis: Literal["epsilon", "worst-posterior"] = "epsilon",
    questions: int = Option(1, min=1),
    figure: Picture = None,
    out: Path | None = None,
    output: show.Output,
) -> None:
    """Plan a survey: solve for respondents, interval width, power or privacy.

    Give all but one of them; the one left out is solved for.

    Example: [bold]tacit plan related --theta 0.7 --width 0.03 --prevalence 0.2[/bold]

    Example: [bold]tacit plan related --epsilon 1 --power 0.8 --difference 0.1[/bold]

    Example: [bold]tacit plan related --respondents 2000 --width 0.05[/bold]

    Example: [bold]tacit plan survey.yaml --respondents 1000 --prevalence smokes=0.3[/bold]

    Example: [bold]tacit plan related --compare optimal,forced --respondents 1000[/bold]

    Parameters
    ----------
    subject
        A survey file (.yaml), a design or a published survey (.json); or a family: related,
        unrelated, forced, crosswise, uniform_perturbation, frapp, optimal.
    theta
        The parameter of a family (theta, q, p or lambda), such as 0.7 or 2/3. Left open: solved
        for, or set by a bound on privacy.
    drawn
        The distribution of the personal question (unrelated) or of forced answers, separated by
        commas; all alike if left out.
    categories
        Number of categories of a question, for a family.
    respondents
        Number of respondents.
    width
        Half the width of an interval: 0.03 is ± 3 points.
    prevalence
        Assumed true share of the last category, 0.2 if left out; or shares of all categories,
        separated by commas; or name=SHARE for one question. May be repeated.
    compare
        Instead: a table of privacy against precision, also for these families (separated by
        commas).
    axis
        With --compare: the figure of privacy to compare by.
    questions
        With --compare: so many questions, in one group and in groups of their own.
    out
        Also write the table: .csv, .csv.gz or .parquet.
    """
    files = [] if subject in FAMILIES else [Path(subject)]
    check_figure(figure, *files)
    check_out(out, *files)
    given: Any = subject
    if (theta, drawn) != (None, None):
        if subject not in FAMILIES:
            raise DataError("--theta and --drawn are for a family; give one instead of a file")
        given = family_of_text(subject, theta, drawn, categories, dashes="--")
    common: dict[str, Any] = {
        "n": respondents,
        "width": width,
        "prevalence": shares_of_texts(prevalence or [], dashes="--"),
        "categories": categories,
        "level": output.level,
    }
    goals = {name: value for name, value in asdict(wishes).items() if value is not None}
    if compare is None:
        result: Any = planner.plan(given, **goals, **common)
    else:
        for name in goals:
            raise DataError(
                f"{typed(name)}: --compare shows privacy against --respondents or --width only"
            )
        others = [other.strip() for other in compare.split(",")]
        candidates = {subject: given} | {other: other for other in others}
        figure_name = axis.replace("-", "_")
        common |= {"questions": questions, "figure": figure_name}
        with show.progress("comparing") as tell:
            result = planner.tradeoff(candidates, progress=tell, **common)
    show.write_also(result, figure, out)
    output.show(result)
