"""`tacit optimize`: a prior in, the best channels out."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from tacit.cli import show
from tacit.cli.arguments import AsJson, split
from tacit.cli.options import grouped_options, option
from tacit.cli.sources import FromDatabase, counted, given_source
from tacit.core.design import Design
from tacit.core.schema import Attribute
from tacit.errors import FileError, SchemaError
from tacit.output.json_documents import parse_json
from tacit.output.table import Table
from tacit.reconstruction import Estimate, em, reconstruct
from tacit.records import check_apart, check_figure, read_described, write_text

if TYPE_CHECKING:
    from tacit.optimize import ChosenChannel, Front
    from tacit.optimize.problem import SearchMethod

SURVEYS = (".yaml", ".yml")
#: Rows of the table on the screen.
SHOWN = 12
DRAWS = 200


#: The methods by name.
MethodName = enum.StrEnum("MethodName", ["EXACT", "SQUARE", "SPEA2", "WARNER"])


Prior = Annotated[
    Path,
    typer.Argument(
        metavar="PRIOR",
        help="The prior (JSON): a list of probabilities or an object from category to "
        "probability. Or, with DATA, the design of a pilot.",
    ),
]
Pilot = Annotated[
    Path | None,
    typer.Argument(metavar="[DATA]", help="Reported records of a pilot: .csv, .csv.gz, .parquet."),
]
Records = Annotated[int, typer.Option(min=1, help="Number of respondents.")]
Attributes = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="The pilot's attributes to disguise together, separated by commas. Or, for a prior "
        "with categories, what the attribute is called.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Write the front (JSON); or, if a channel is picked, a design (JSON) or the groups "
        "of a survey file (.yaml)."
    ),
]
Delta = Annotated[str | None, typer.Option(help="Bound on the worst posterior, such as 0.8.")]
Epsilon = Annotated[str | None, typer.Option(help="Bound on local differential privacy.")]


@dataclass(frozen=True)
class SearchOptions:
    """The search method and its settings."""

    method: MethodName = option(
        MethodName.EXACT,
        help="exact: no channel is better; square: reports the true categories; spea2: the "
        "search of Huang & Du; warner: the classic.",
    )
    points: int = option(30, min=1, help="Points of the front.")
    generations: int = option(20_000, min=1, help="Generations of spea2.")
    resume: Path | None = option(
        None, help="File of the spea2 search (JSON): continued from there if it exists, and saved."
    )
    tolerance: float = option(
        0.0005, help="Share of the error that exact may give away for fewer reported categories."
    )
    seed: int = option(0, min=0, help="Seed of spea2 and of random starts.")

    def chosen(self) -> SearchMethod:
        """The method; a search by Spea2 continues from its file and is saved there."""
        from tacit.optimize import Exact, Spea2, Square, Warner

        if self.method is MethodName.SPEA2:
            return Spea2(generations=self.generations, seed=self.seed, **self._resumed())
        if self.resume is not None:
            raise SchemaError("--resume: only spea2 can be continued; give --method spea2")
        if self.method is MethodName.EXACT:
            return Exact(self.points, tolerance=self.tolerance)
        return Warner() if self.method is MethodName.WARNER else Square(self.points, seed=self.seed)

    def _resumed(self) -> dict[str, Any]:
        from tacit.optimize.spea2 import SearchState

        path = self.resume
        if path is None:
            return {}
        there = path.exists()
        state = read_described(path, SearchState.from_json, "search") if there else None

        def keep(state: SearchState) -> None:
            write_text(path, state.to_json())

        return {"resume": state, "keep": keep}


Privacy = Annotated[float | None, typer.Option(help="Pick the channel of this privacy.")]
Error = Annotated[float | None, typer.Option(help="Pick the channel of this mean squared error.")]
Picture = Annotated[Path | None, typer.Option(help="Draw the front: .svg, .png or .pdf.")]


@grouped_options
def optimize(
    *,
    prior_file: Prior,
    data: Pilot = None,
    records: Records = 10_000,
    attributes: Attributes = None,
    delta: Delta = None,
    epsilon: Epsilon = None,
    search: SearchOptions,
    privacy: Privacy = None,
    error: Error = None,
    out: Out = None,
    figure: Picture = None,
    as_json: AsJson = False,
    database: FromDatabase = None,
) -> None:
    """Find the channels with the best trade-off between privacy and accuracy, with a lower bound.

    Example: [bold]tacit optimize prior.json --records 10000 --delta 0.8 --out front.json[/bold]

    Example: [bold]tacit optimize prior.json --delta 0.8 --privacy 0.5 --out design.json[/bold]

    Example: [bold]tacit optimize prior.json --privacy 0.5 --attributes job --out groups.yaml[/bold]

    Example: [bold]tacit optimize survey.json pilot.csv --attributes age --privacy 0.5[/bold]
    """
    from tacit.optimize import front  # SciPy's solvers are slow to start

    _check_output(out, figure, (prior_file, data), privacy, error)
    prior, estimate = _prior(prior_file, given_source(data, database), attributes)
    chosen = search.chosen()
    with show.progress("searching") as tell:
        found = drawn = front(prior, records, delta, epsilon, _at(chosen, privacy), tell)
        if figure is not None and len(found) == 1 < search.points:
            drawn = front(prior, records, delta, epsilon, chosen, tell)
    found = _named(found, attributes) if estimate is None else found
    picked = None if privacy is error is None else found.pick(privacy=privacy, mse=error)
    written = list(_write(found, picked, out, (drawn, figure)))
    if as_json:
        typer.echo(show.json_text(found.to_dict() if picked is None else _content(picked)))
        return
    _render(found, picked)
    if estimate is not None:
        _render_robustness(found, estimate, search.seed)
    for path in written:
        show.console().print(f"wrote {path}", soft_wrap=True)


def _at(method: SearchMethod, privacy: float | None) -> SearchMethod:
    """The method at one privacy alone, if one is wanted and it can search there."""
    from tacit.optimize import Exact, Square

    if privacy is None or not isinstance(method, Exact | Square):
        return method
    return replace(method, privacy=[privacy])


def _write(
    found: Front, picked: ChosenChannel | None, out: Path | None, figure: tuple[Front, Path | None]
) -> Iterator[Path]:
    """Write the files; their paths."""
    if out is not None:
        write_text(out, found.to_json() if picked is None else _used(picked, out))
        yield out
    drawn, path = figure
    if path is not None:
        show.write_figure(path, drawn.plot())
        yield path


def _used(picked: ChosenChannel, out: Path) -> str:
    """A picked channel as a design, or as the groups of a survey file."""
    if out.suffix.lower() not in SURVEYS:
        return picked.design().to_json()
    import yaml

    groups = {"groups": [picked.survey_group()]}
    style: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "width": 100}
    return str(yaml.safe_dump(groups, default_flow_style=None, **style))


def _named(found: Front, name: str | None) -> Front:
    """The front with this name for its attribute."""
    if name is None:
        return found
    (unnamed,) = found.problem.attributes
    called = (Attribute(name, unnamed.categories),)
    return replace(found, problem=replace(found.problem, attributes=called))


def _check_output(
    out: Path | None,
    figure: Path | None,
    sources: tuple[Path | None, ...],
    privacy: float | None,
    error: float | None,
) -> None:
    """Raise all errors in the options before a long search."""
    if privacy is not None and error is not None:
        raise SchemaError("--privacy and --error: pick by one of them, not by both")
    if privacy is error is None and out is not None and out.suffix.lower() in SURVEYS:
        raise FileError(f"{out}: a survey file takes one channel; pick it by --privacy or --error")
    check_apart(out, *sources)
    check_figure(figure, *sources)


def _prior(
    file: Path, pilot: Path | str | None, attributes: str | None
) -> tuple[Any, Estimate | None]:
    """The prior of a file; or the EM estimate of a pilot, with the unbiased one."""
    content = read_described(file, _parsed, "prior")
    if not isinstance(content, Design):
        if pilot is not None:
            raise SchemaError(
                f"{file}: is a prior, so it goes without DATA; for a pilot give the design file"
            )
        if attributes is not None and not isinstance(content, dict):
            raise SchemaError(
                f"--attributes: {file} names no categories; write it as an object from category "
                "to probability"
            )
        return content, None
    if pilot is None:
        raise SchemaError(f"{file}: is a design; give the reported records of the pilot as well")
    names = content.schema.names
    alone = attributes is None and len(names) == 1
    wanted = list(names) if alone else split(attributes or "", names)
    if not wanted:
        raise SchemaError("--attributes: name the attributes to disguise; " + ", ".join(names))
    found = reconstruct(counted(file, content, pilot), content)
    likely = found.table(wanted, em)
    cells = likely.value * likely.n_records + 0.5  # half a record more in each, so none is 0
    return replace(likely, value=cells / cells.sum()), found.table(wanted)


def _parsed(text: str) -> Any:
    """A design, or the numbers of a prior."""
    content = parse_json(text, "prior file")
    if isinstance(content, dict) and "tacit" in content:
        return Design.from_json(text)
    if not isinstance(content, dict | list):
        raise FileError("not a prior file: it must be a JSON list or object of probabilities")
    return content


def _content(picked: ChosenChannel) -> dict[str, Any]:
    """A picked channel as plain values."""
    return {
        "tacit": "choice",
        "version": 1,
        "privacy": picked.privacy,
        "mse": picked.mse,
        "lower_bound": picked.lower_bound,
        "categories": picked.categories,
        "reports": [
            {"label": r.label, "share": r.share, "chances": list(r.chances)} for r in picked.reports
        ],
    }


def _render(found: Front, picked: ChosenChannel | None) -> None:
    console = show.console()
    if picked is None:
        show.print_table(found.to_table(SHOWN))
        return
    console.print(found.caption(), soft_wrap=True)
    console.print(
        f"privacy {picked.privacy:.4f}, mean squared error {picked.mse:.4g}; no channel of this "
        f"privacy has less than {picked.lower_bound:.4g}\n",
        soft_wrap=True,
    )
    rows = []
    for report in picked.reports:
        parts = zip(report.chances, picked.categories, strict=True)
        who = [f"{100 * chance:.3g} % of {name}" for chance, name in parts if chance > 0]
        rows.append([report.label, f"{100 * report.share:.2f} %", ", ".join(who)])
    show.print_table(Table(("report", "share", "reported by"), rows, align="lrl"))


def _render_robustness(front: Front, estimate: Estimate, seed: int) -> None:
    from tacit.optimize import robustness

    found = robustness(front, estimate, DRAWS, np.random.default_rng(seed))
    title = f"what the figures really are, if the pilot is off by chance ({DRAWS} draws, 95 %):"
    show.print_table(replace(found.to_table(most=SHOWN), title=title))
