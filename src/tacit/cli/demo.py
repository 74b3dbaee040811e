"""`tacit demo`: the main job end to end, on data that come with the package."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tacit.channel import truthful
from tacit.channel.linear import Array
from tacit.cli import show
from tacit.coding import Codes, encode
from tacit.counting import PatternTable, count
from tacit.datasets import adult_survey
from tacit.design import Design, Group
from tacit.disguising import disguise
from tacit.evaluate import accuracy, recall
from tacit.reconstruction import Estimate, Reconstruction, reconstruct

ADULT_RECORDS = 48_842
ACROSS_GROUPS = ("marital", "income")
TARGET, SOUGHT = "income", ">50K"
TOPIC_WIDTH = 10


@dataclass(frozen=True, eq=False)
class Score:
    """How a model does on true test records, and what the disguised ones tell of it."""

    learnt_from: str
    measure: str
    true: float
    estimate: float
    stderr: float
    interval: tuple[float, float]

    @property
    def held(self) -> bool:
        """Whether the 95 % interval holds the true score."""
        return self.interval[0] <= self.true <= self.interval[1]


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
    from tacit.mine import NaiveBayes  # scikit-learn is slow to start

    start = time.perf_counter()
    people, design = adult_survey()
    true = encode(people.slice(0, records), design.schema)
    reported = disguise(true, design, np.random.default_rng(seed))
    found = reconstruct(reported, design)
    known = count(true, design.schema)
    alone = [compare([name], known, found) for name in design.schema.names]
    across = compare(ACROSS_GROUPS, known, found)
    scores = list(score(NaiveBayes, true, reported, design))
    _render(design, [*alone, across], scores, time.perf_counter() - start)


def compare(names: Sequence[str], known: PatternTable, found: Reconstruction) -> Comparison:
    """Truth and reports as shares of the records, beside the estimate."""
    return Comparison(
        known.marginal(names) / known.n_records,
        found.patterns.marginal(names) / found.n_records,
        found.table(names),
    )


def score(
    miner: Callable[[Design, str], Any], true: Codes, reported: Codes, design: Design
) -> Iterator[Score]:
    """Models of four fifths of the records, undisguised and disguised, tested on the others."""
    n_learnt = len(true) * 4 // 5
    plain = Design(design.schema, [Group(design.schema.names, truthful())])
    sought = design.schema[TARGET].code(SOUGHT)
    for learnt_from, records, known in (
        ("true records", true, plain),
        ("reported records", reported, design),
    ):
        model = miner(known, TARGET).fit(records[:n_learnt])
        for name, measure, cell in (
            ("accuracy", accuracy, ()),
            (f"finds {SOUGHT}", recall, (sought,)),
        ):
            exact = measure(model, true[n_learnt:], plain).value[cell]
            found = measure(model, reported[n_learnt:], design)
            lower, upper = (float(limit[cell]) for limit in found.interval())
            value, stderr = float(found.value[cell]), float(found.stderr[cell])
            yield Score(learnt_from, name, float(exact), value, stderr, (lower, upper))


def _render(
    design: Design, comparisons: list[Comparison], scores: list[Score], seconds: float
) -> None:
    out = show.console()
    *alone, across = comparisons
    n_records = across.estimate.n_records
    held = [*np.concatenate([comparison.held for comparison in comparisons])]
    held += [tested.held for tested in scores]
    _say(out, "asked", f"{n_records:,} people of the 1994 US census (UCI Adult)", *_asked(design))
    _say(out, "one record", *_revealed(design))
    _say(out, "the crowd", "from the reported records alone, in percent:")
    out.print(show.table(_columns("question", "answer"), _named_rows(alone)), "")
    out.print(show.table(_columns(*ACROSS_GROUPS), _rows(across)), "")
    _say(
        out,
        "a model",
        f"naive Bayes for {TARGET}, learnt from four fifths of the people and",
        "tested on the others (truth: on true records; estimate: by reports)",
    )
    out.print(show.table(_score_columns(), _score_rows(scores)), "")
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


def _columns(*labels: str) -> list[tuple[str, str]]:
    numbers = ("truth", "reported", "estimate", "std. error", "95 % interval", "")
    return [*((label, "left") for label in labels), *((number, "right") for number in numbers)]


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
            _percent(true),
            Text(_percent(reported), style="dim"),
            Text(_percent(value), style="bold"),
            _percent(stderr),
            f"{_percent(low):>4} .. {_percent(high):>4}",
            _mark(held),
        ]


def _score_columns() -> list[tuple[str, str]]:
    numbers = ("truth", "estimate", "std. error", "95 % interval", "")
    return [
        ("learnt from", "left"),
        ("measure", "left"),
        *((number, "right") for number in numbers),
    ]


def _score_rows(scores: Iterable[Score]) -> Iterator[list[str | Text]]:
    """Rows named by what the model was learnt from at the first of them."""
    before = ""
    for tested in scores:
        lower, upper = tested.interval
        yield [
            "" if tested.learnt_from == before else tested.learnt_from,
            tested.measure,
            _percent(tested.true),
            Text(_percent(tested.estimate), style="bold"),
            _percent(tested.stderr),
            f"{_percent(lower):>4} .. {_percent(upper):>4}",
            _mark(tested.held),
        ]
        before = tested.learnt_from


def _mark(held: bool) -> Text:
    return Text("ok", style="green") if held else Text("missed", style="red")


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
