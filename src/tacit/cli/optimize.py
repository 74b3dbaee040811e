"""`tacit optimize`: a prior in, the best channels out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from typer import Argument, Option

from tacit import Attribute, Design, reconstruct
from tacit.cli import show
from tacit.cli.arguments import split
from tacit.cli.sources import FromDatabase, counted, given_source
from tacit.errors import FileError, SchemaError
from tacit.optimize import ChosenChannel, Exact, Spea2, Square, Warner, front, robustness
from tacit.optimize.problem import SearchMethod
from tacit.optimize.spea2 import SearchState
from tacit.output.json_documents import parse_json
from tacit.reconstruction import Estimate, em
from tacit.records import check_apart, check_figure, read_described, write_text

SURVEYS = (".yaml", ".yml")
#: Rows of the table on the screen.
SHOWN = 12
DRAWS = 200


@dataclass(frozen=True)
class SearchOptions:
    """The search method and its settings.

    Parameters
    ----------
    method
        exact: no channel is better; square: reports the true categories; spea2: the search of Huang
        & Du; warner: the classic.
    points
        Points of the front.
    generations
        Generations of spea2.
    resume
        File of the spea2 search (JSON): continued from there if it exists, and saved.
    tolerance
        Share of the error that exact may give away for fewer reported categories.
    seed
        Seed of spea2 and of random starts.
    """

    method: Literal["exact", "square", "spea2", "warner"] = "exact"
    points: int = Option(30, min=1)
    generations: int = Option(20_000, min=1)
    resume: Path | None = None
    tolerance: float = 0.0005
    seed: int = Option(0, min=0)

    def chosen(self) -> SearchMethod:
        """The method; a search by Spea2 continues from its file and is saved there."""
        if self.method == "spea2":
            return Spea2(generations=self.generations, seed=self.seed, **self._resumed())
        if self.resume is not None:
            raise SchemaError("--resume: only spea2 can be continued; give --method spea2")
        if self.method == "exact":
            return Exact(self.points, tolerance=self.tolerance)
        return Warner() if self.method == "warner" else Square(self.points, seed=self.seed)

    def _resumed(self) -> dict[str, Any]:
        path, state = self.resume, None
        if path is None:
            return {}
        if path.exists():
            state = read_described(path, SearchState.from_json, "search")

        def keep(state: SearchState) -> None:
            write_text(path, state.to_json())

        return {"resume": state, "keep": keep}


def optimize(
    *,
    prior_file: Path = Argument(metavar="PRIOR"),
    data: Path | None = Argument(None, metavar="[DATA]"),
    records: int = Option(10_000, min=1),
    attributes: str | None = Option(None, metavar="NAMES"),
    delta: str | None = None,
    epsilon: str | None = None,
    search: SearchOptions,
    privacy: float | None = None,
    error: float | None = None,
    out: Path | None = None,
    figure: Path | None = None,
    output: show.Format,
    database: FromDatabase = None,
) -> None:
    """Find the channels with the best trade-off between privacy and accuracy, with a lower bound.

    Example: [bold]tacit optimize prior.json --records 10000 --delta 0.8 --out front.json[/bold]

    Example: [bold]tacit optimize prior.json --delta 0.8 --privacy 0.5 --out design.json[/bold]

    Example: [bold]tacit optimize prior.json --privacy 0.5 --attributes job --out groups.yaml[/bold]

    Example: [bold]tacit optimize survey.json pilot.csv --attributes age --privacy 0.5[/bold]

    Parameters
    ----------
    prior_file
        The prior (JSON): a list of probabilities or an object from category to probability. Or,
        with DATA, the design of a pilot.
    data
        Reported records of a pilot: .csv, .csv.gz, .parquet.
    records
        Number of respondents.
    attributes
        The pilot's attributes to disguise together, separated by commas. Or, for a prior with
        categories, what the attribute is called.
    delta
        Bound on the worst posterior, such as 0.8.
    epsilon
        Bound on local differential privacy.
    privacy
        Pick the channel of this privacy.
    error
        Pick the channel of this mean squared error.
    out
        Write the front (JSON); or, if a channel is picked, a design (JSON) or the groups of a
        survey file (.yaml).
    figure
        Draw the front: .svg, .png or .pdf.
    """
    # All errors in the options come before a long search.
    if privacy is not None and error is not None:
        raise SchemaError("--privacy and --error: pick by one of them, not by both")
    if privacy is error is None and out is not None and out.suffix.lower() in SURVEYS:
        raise FileError(f"{out}: a survey file takes one channel; pick it by --privacy or --error")
    check_apart(out, prior_file, data)
    check_figure(figure, prior_file, data)
    prior, estimate = _prior(prior_file, given_source(data, database), attributes)
    method = at_privacy = search.chosen()
    if privacy is not None and isinstance(method, Exact | Square):
        at_privacy = replace(method, privacy=[privacy])
    with show.progress("searching") as tell:
        channels = drawn = front(prior, records, delta, epsilon, at_privacy, tell)
        if figure is not None and len(channels) == 1 < search.points:
            drawn = front(prior, records, delta, epsilon, method, tell)
    if estimate is None and attributes is not None:
        (unnamed,) = channels.problem.attributes
        named = (Attribute(attributes, unnamed.categories),)
        channels = replace(channels, problem=replace(channels.problem, attributes=named))
    picked = None if privacy is error is None else channels.pick(privacy=privacy, mse=error)
    if out is not None:
        write_text(out, channels.to_json() if picked is None else _file_content(picked, out))
    show.write_also(drawn, figure)
    result = channels if picked is None else picked
    table = channels.to_table(SHOWN)
    if picked is not None:
        table = picked.to_table()
        table = replace(table, title=f"{channels.caption()}\n{table.title}")
    tables = [table]
    if estimate is not None and not output.as_json:
        rng = np.random.default_rng(search.seed)
        drawn_table = robustness(channels, estimate, DRAWS, rng).to_table(most=SHOWN)
        title = f"what the figures really are, if the pilot is off by chance ({DRAWS} draws, 95 %):"
        tables.append(replace(drawn_table, title=title))
    output.show(show.Printout(result.to_dict(), tables, result.columns()))
    output.say(*(f"wrote {path}" for path in (out, figure) if path is not None))


def _file_content(picked: ChosenChannel, out: Path) -> str:
    """A picked channel as a design, or as the groups of a survey file."""
    if out.suffix.lower() not in SURVEYS:
        return picked.design().to_json()
    import yaml

    groups = {"groups": [picked.survey_group()]}
    style: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "width": 100}
    return str(yaml.safe_dump(groups, default_flow_style=None, **style))


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
    chosen = list(names) if alone else split(attributes or "", names)
    if not chosen:
        raise SchemaError("--attributes: name the attributes to disguise; " + ", ".join(names))
    rec = reconstruct(counted(file, content, pilot), content)
    likely = rec.table(chosen, em)
    cells = likely.value * likely.n_records + 0.5  # half a record more in each, so none is 0
    return replace(likely, value=cells / cells.sum()), rec.table(chosen)


def _parsed(text: str) -> Any:
    """A design, or the numbers of a prior."""
    content = parse_json(text, "prior file")
    if isinstance(content, dict) and "tacit" in content:
        return Design.from_json(text)
    if not isinstance(content, dict | list):
        raise FileError("not a prior file: it must be a JSON list or object of probabilities")
    return content
