"""`tacit demo`: the main job end to end, on data that come with the package."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import tacit.table
from tacit.arrays import Array, Codes
from tacit.cli import show
from tacit.cli.demo_disguise import best_disguise, protection
from tacit.cli.demo_models import (
    Models,
    learnt,
    mark,
    percent,
    rule_table,
    score_table,
    truly,
)
from tacit.cli.demo_service import Service, answers, serving
from tacit.counting import PatternTable, count
from tacit.datasets import adult_survey
from tacit.design import Design
from tacit.label_codes import encode
from tacit.reconstruction import Estimate, Reconstruction, reconstruct
from tacit.record_disguise import disguise

ADULT_RECORDS = 48_842
ACROSS_GROUPS = ("marital", "income")
TARGET, SOUGHT = "income", ">50K"
TOPIC_WIDTH = 10


@dataclass(frozen=True, eq=False)
class Comparison:
    """A table as it is, as it was reported, and as it is estimated from the reports alone."""

    true: Array
    reported: Array
    estimate: Estimate

    @property
    def held(self) -> npt.NDArray[np.bool_]:
        """Whether the 95 % interval of each cell holds the true share."""
        lower, upper = self.estimate.interval()
        return np.ravel((lower <= self.true) & (self.true <= upper))


def demo(
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the simulated coins.")] = 7,
    records: Annotated[
        int,
        typer.Option("--records", min=500, max=ADULT_RECORDS, help="How many people are asked."),
    ] = ADULT_RECORDS,
) -> None:
    """Ask the people of a census five questions in disguise, and see what is learnt.

    Example: [bold]tacit demo --seed 1 --records 10000[/bold]
    """
    start = time.perf_counter()
    people, design = adult_survey()
    true = encode(people.slice(0, records), design.schema)
    with serving(design.schema) as service:  # it starts while the rest is learnt
        found = _found(true, design, seed)
        served = _served(true, design, service, seed)
    _render(design, found, served, time.perf_counter() - start)


@dataclass(frozen=True, eq=False)
class Found:
    """What is learnt from reports: tables, models, and how private the reports are."""

    comparisons: list[Comparison]
    models: Models
    disguised: list[str]


def _found(true: Codes, design: Design, seed: int) -> Found:
    from tacit.mine import DecisionTree, NaiveBayes  # scikit-learn is slow to start

    reported = disguise(true, design, np.random.default_rng(seed))
    found = reconstruct(reported, design)
    known = count(true, design.schema)
    alone = [compare([name], known, found) for name in design.schema.names]
    across = compare(ACROSS_GROUPS, known, found)
    miners = {"naive Bayes": NaiveBayes, "tree": DecisionTree}
    models = learnt(miners, [(true, truly(design)), (reported, design)], TARGET, SOUGHT)
    disguised = [*protection(design, found, known), best_disguise(design, found)]
    return Found([*alone, across], models, disguised)


def _served(true: Codes, design: Design, service: Service, seed: int) -> list[Comparison]:
    """The same by a survey that is published, answered over HTTP and stored."""
    asked, reported = answers(true, design.schema, service, seed)
    found = reconstruct(service.collect(reported), service.published.design)
    known = count(asked, service.published.design.schema)
    return [compare([name], known, found) for name in service.published.design.schema.names]


def compare(names: Sequence[str], known: PatternTable, found: Reconstruction) -> Comparison:
    """Truth and reports as shares of the records, beside the estimate."""
    return Comparison(
        known.marginal(names) / known.n_records,
        found.patterns.marginal(names) / found.n_records,
        found.table(names),
    )


def _render(design: Design, found: Found, served: list[Comparison], seconds: float) -> None:
    out = show.console()
    *alone, across = found.comparisons
    n_records = across.estimate.n_records
    held = [*np.concatenate([part.held for part in [*found.comparisons, *served]])]
    held += [tested.held for tested in found.models.scores]
    _say(out, "asked", f"{n_records:,} people of the 1994 US census (UCI Adult)", *_asked(design))
    _say(out, "one record", *_revealed(design))
    _say(out, "the crowd", "from the reported records alone, in percent:")
    out.print(show.table(_shown(("question", "answer"), _named_rows(alone))), "")
    out.print(show.table(_shown(ACROSS_GROUPS, _rows(across))), "")
    _say(
        out,
        "two models",
        f"for {TARGET} from four fifths of the people, tested on the others, in",
        "percent: on true records, and estimated by reports ± std. error",
    )
    out.print(score_table(found.models.scores), "")
    out.print(rule_table(found.models.rules), "")
    _say(out, "disguise", *found.disguised)
    _say(
        out,
        "service",
        f"a survey published and served; {served[0].estimate.n_records} of these people answer "
        "over HTTP,",
        "and from what the database holds:",
    )
    out.print(show.table(_shown(("question", "answer"), _named_rows(served))), "")
    _say(
        out,
        "result",
        f"{sum(held)} of {len(held)} intervals hold the truth; "
        f"{n_records:,} records in {seconds:.1f} s",
    )


def _say(out: Console, topic: str, *lines: str) -> None:
    """Lines beside their topic."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=TOPIC_WIDTH, style="bold cyan")
    grid.add_column()
    for i, line in enumerate(lines):
        grid.add_row("" if i else topic, line)
    out.print(grid, "")


def _asked(design: Design) -> Iterator[str]:
    """How each group is disguised, in words."""
    for group in design.groups:
        weight, _ = group.coin.strategies(design.attributes_of(group))[0]
        rest = "true, else the opposite" if len(group.attributes) == 1 else "all true, else random"
        yield f"{', '.join(group.attributes)}: with probability {weight} {rest}"


def _revealed(design: Design) -> Iterator[str]:
    """What a record tells about its respondent, at most."""
    for what, names in (("income", ["income"]), ("all five", design.schema.names)):
        channel = design.channel(names)
        times = math.ceil(channel.ratio) if channel.ratio is not None else math.inf
        yield (
            f"{what}: epsilon {show.epsilon(channel.epsilon)}, so a report changes the odds "
            f"at most {times}-fold"
        )


def _shown(labels: Sequence[str], rows: Iterable[list[str | Text]]) -> tacit.table.Table:
    heads = (*labels, "truth", "reported", "estimate", "std. error", "95 % interval", "")
    return tacit.table.Table(heads, list(rows), align="ll" + "r" * 6)


def _named_rows(comparisons: list[Comparison]) -> Iterator[list[str | Text]]:
    """Rows of tables of one attribute each, named at the first of its rows."""
    for comparison in comparisons:
        name = comparison.estimate.attributes[0].name
        for i, row in enumerate(_rows(comparison)):
            yield ["" if i else name, *row]


def _rows(comparison: Comparison) -> Iterator[list[str | Text]]:
    found = comparison.estimate
    lower, upper = found.interval()
    numbers = (comparison.true, comparison.reported, found.value, found.stderr, lower, upper)
    cells = zip(found.cells(), *map(np.ravel, numbers), comparison.held, strict=True)
    for labels, true, reported, value, stderr, low, high, held in cells:
        yield [
            *map(str, labels),
            percent(true),
            Text(percent(reported), style="dim"),
            Text(percent(value), style="bold"),
            percent(stderr),
            f"{percent(low):>4} .. {percent(high):>4}",
            mark(held),
        ]
