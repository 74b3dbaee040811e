"""`tacit demo`: the main job end to end, on census records that come with the package."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
import rich.table
import typer
from rich.text import Text

from tacit.arrays import Array, Codes
from tacit.channel import truthful
from tacit.cli import show
from tacit.cli.mine_tree import strongest
from tacit.cli.respondents import send
from tacit.counting import PatternTable, count
from tacit.datasets import adult_survey
from tacit.design import Design, Group
from tacit.errors import ServiceError
from tacit.evaluate import accuracy, recall
from tacit.label_codes import encode
from tacit.reconstruction import Estimate, Reconstruction, reconstruct, simplex
from tacit.record_disguise import disguise
from tacit.schema import Schema
from tacit.table import Table

if TYPE_CHECKING:
    from tacit.mine import DecisionTree
    from tacit.survey import Published

ADULT_RECORDS = 48_842
#: A joint table of attributes in different groups.
ACROSS_GROUPS = ("marital", "income")
#: What the models predict, and the class that they should find.
TARGET, SOUGHT = "income", ">50K"
#: How many rules of the tree are shown.
RULES = 3
#: The attribute that a better channel is searched for.
OPTIMIZED = "age"
#: Share of the uniform distribution in the prior, so that no category is impossible.
UNIFORM_SHARE = 0.01
#: The question asked over HTTP, and of how many people.
SERVED, RESPONDENTS = "marital", 400
SECONDS = 60.0


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
    starting = serving(design.schema) if find_spec("uvicorn") else nullcontext()
    with starting as service:  # it starts while the rest is computed
        reported = disguise(true, design, np.random.default_rng(seed))
        found = reconstruct(reported, design)
        known = count(true, design.schema)
        alone = [CheckedTable.of([name], known, found) for name in design.schema.names]
        across = CheckedTable.of(ACROSS_GROUPS, known, found)
        scores, tree = learn(true, reported, design)
        disguised = [*disclosure(design, found, known), best_channel(design, found)]
        asked = true[:RESPONDENTS, [design.schema.index(SERVED)]]
        served = [service.ask(asked, seed)] if service else []
    held = [inside for table in [*alone, across, *served] for inside in table.held]
    held += [score.held for score in scores]

    say("asked", f"{records:,} people of the 1994 US census (UCI Adult)", *described(design))
    say("one record", *revealed(design))
    say("the crowd", "from the reported records alone, in percent:")
    print_shares(("question", "answer"), (row for table in alone for row in table.named_rows()))
    print_shares(ACROSS_GROUPS, across.rows())
    say(
        "two models",
        f"for {TARGET} from four fifths of the people, tested on the others, in",
        "percent: on true records, and estimated by reports ± std. error",
    )
    print_scores(scores)
    print_rules(tree)
    say("disguise", *disguised)
    if served:
        answered = f"{len(asked)} of these people answer over HTTP,"
        say("service", f"a survey published and served; {answered}", "estimates from its database:")
        print_shares(("question", "answer"), served[0].named_rows())
    else:
        say("service", "not installed; to include it: pip install 'tacit[service]'")
    truth = f"{sum(held)} of {len(held)} intervals hold the truth"
    say("result", f"{truth}; {records:,} records in {time.perf_counter() - start:.1f} s")


# Estimates ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CheckedTable:
    """True and reported shares beside the estimate from the reports."""

    true: Array
    reported: Array
    estimate: Estimate

    @classmethod
    def of(cls, names: Sequence[str], known: PatternTable, found: Reconstruction) -> CheckedTable:
        """The table of these attributes."""
        reported = found.patterns.marginal(names) / found.n_records
        return cls(known.marginal(names) / known.n_records, reported, found.table(names))

    @property
    def held(self) -> npt.NDArray[np.bool_]:
        """Whether the 95 % interval of each cell holds the true share."""
        lower, upper = self.estimate.interval()
        return np.ravel((lower <= self.true) & (self.true <= upper))

    def rows(self) -> Iterator[list[str | Text]]:
        """A row per cell, in percent."""
        found = self.estimate
        numbers = (self.true, self.reported, found.value, found.stderr, *found.interval())
        cells = zip(found.cells(), *map(np.ravel, numbers), self.held, strict=True)
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

    def named_rows(self) -> Iterator[list[str | Text]]:
        """The rows of a single attribute, with its name in the first."""
        for number, row in enumerate(self.rows()):
            yield ["" if number else self.estimate.attributes[0].name, *row]


def print_shares(labels: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    """Rows of CheckedTable; `labels` are the heads of its two label columns."""
    heads = (*labels, "truth", "reported", "estimate", "std. error", "95 % interval", "")
    show.print_table(Table(heads, list(rows), align="llrrrrrr"))


# Models ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CheckedScore:
    """A measure of a model on true test records, and its estimate from disguised ones."""

    model: str
    learnt_from: str
    measure: str
    true: float
    estimate: float
    stderr: float
    held: bool


def learn(true: Codes, reported: Codes, design: Design) -> tuple[list[CheckedScore], DecisionTree]:
    """Naive Bayes and trees from four fifths of the records, true and reported.

    Returns their scores on the other fifth, and the tree learnt from reports.
    """
    from tacit.mine import DecisionTree, NaiveBayes  # scikit-learn is slow to start

    undisguised = Design(design.schema, [Group(design.schema.names, truthful())])
    cut = len(true) * 4 // 5
    scores: list[CheckedScore] = []
    for name, miner in (("naive Bayes", NaiveBayes), ("tree", DecisionTree)):
        for learnt_from, records, own in (
            ("truth", true, undisguised),
            ("reports", reported, design),
        ):
            model: Any = miner(own, TARGET).fit(records[:cut])
            for measure, score, cell in (
                ("accuracy", accuracy, ()),
                (f"finds {SOUGHT}", recall, (design.schema[TARGET].code(SOUGHT),)),
            ):
                exact = float(score(model, true[cut:], undisguised).value[cell])
                found = score(model, reported[cut:], design)
                lower, upper = (float(limit[cell]) for limit in found.interval())
                value, stderr = float(found.value[cell]), float(found.stderr[cell])
                held = lower <= exact <= upper
                scores.append(CheckedScore(name, learnt_from, measure, exact, value, stderr, held))
    return scores, model


def print_scores(scores: Sequence[CheckedScore]) -> None:
    """A row per model and source of records, its measures side by side."""
    measures = list(dict.fromkeys(score.measure for score in scores))
    rows: list[list[str | Text]] = []
    for place in range(0, len(scores), len(measures)):
        first, *_ = own = scores[place : place + len(measures)]
        rows.append([first.model if first.learnt_from == "truth" else "", first.learnt_from])
        for score in own:
            estimate = Text(plus_minus(score.estimate, score.stderr), style="bold")
            rows[-1] += [percent(score.true), estimate, mark(score.held)]
    heads = ["model", "from", *(head for name in measures for head in (name, "estimate", ""))]
    show.print_table(Table(heads, rows, align="ll" + "rrl" * len(measures)))


def print_rules(tree: DecisionTree) -> None:
    """The strongest rules with their support and confidence."""
    rows = []
    for rule in strongest(tree)[:RULES]:
        conditions = [
            f"{name} {' or '.join(map(str, labels))}" for name, labels in rule.conditions.items()
        ]
        rows.append(
            (
                ", ".join(conditions) or "always",
                str(rule.category),
                plus_minus(rule.support, rule.support_stderr),
                plus_minus(rule.confidence, rule.confidence_stderr),
            )
        )
    heads = ("rule of the tree learnt from reports", TARGET, "support", "confidence")
    show.print_table(Table(heads, rows, align="llrr"))


# Privacy and optimal channels -----------------------------------------------------------------


def described(design: Design) -> Iterator[str]:
    """How each group is disguised, in words."""
    for group in design.groups:
        weight, _ = group.coin.strategies(design.attributes_of(group))[0]
        rest = "true, else the opposite" if len(group.attributes) == 1 else "all true, else random"
        yield f"{', '.join(group.attributes)}: with probability {weight} {rest}"


def revealed(design: Design) -> Iterator[str]:
    """What a record reveals of its respondent, at most."""
    for what, names in (("income", ["income"]), ("all five", design.schema.names)):
        channel = design.channel(names)
        times = math.ceil(channel.ratio) if channel.ratio is not None else math.inf
        yield (
            f"{what}: epsilon {show.epsilon(channel.epsilon)}, so a report changes the odds "
            f"at most {times}-fold"
        )


def disclosure(design: Design, found: Reconstruction, known: PatternTable) -> Iterator[str]:
    """What a whole record discloses, estimated from the reports and with the true distribution."""
    from tacit.privacy import report

    names = design.schema.names
    record = report(design, found).disclosure.record
    truth = report(design, known.marginal(names) / known.n_records).record.from_record
    right, span = f"in truth {100 * truth.accuracy:.0f}", ""
    share = "an unknown share of cases"
    if record.accuracy is not None and record.span is not None:
        share = f"about {100 * record.accuracy:.0f} of 100 cases"
        span = f"{math.floor(100 * record.span[0])} to {math.ceil(100 * record.span[1])}; "
    most = math.ceil(100 * (1.0 if record.bound is None else record.bound))
    yield f"whole record: all {len(names)} answers guessed right in {share}"
    yield f"({span}{right}), whatever the dependence in at most {most}"


def best_channel(design: Design, found: Reconstruction) -> str:
    """The error of the best channel of the same privacy, relative to that of the design."""
    from tacit.optimize import Exact, front, objectives

    prior = (1 - UNIFORM_SHARE) * found.table([OPTIMIZED], method=simplex).value
    prior = prior + UNIFORM_SHARE / prior.size
    matrix = design.channel([OPTIMIZED]).matrix
    privacy = objectives.privacy(matrix, prior)
    best = front(prior, found.n_records, method=Exact(privacy=[privacy]))
    share = 100 * best.mse[0] / objectives.mse(matrix, prior, found.n_records)
    return f"{OPTIMIZED}: the best channel as private as this one has {share:.0f} % of its error"


# The service ----------------------------------------------------------------------------------


class DemoService:
    """A server for a published survey, in a process of its own."""

    def __init__(self, folder: Path, published: Published) -> None:
        self._published = published
        self._database = folder / "tacit.db"
        self._log = (folder / "log").open("w+")
        arguments = [str(folder / "published.json"), "--database", str(self._database)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tacit", "serve", *arguments, "--port", "0", "--rate", "off"],
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def ask(self, true: Codes, seed: int) -> CheckedTable:
        """Disguise these answers, send them over HTTP, and estimate from what is stored."""
        from tacit.service.store import Store

        design = self._published.design
        reported = disguise(true, design, np.random.default_rng(seed))
        send(self._address(), self._published, reported)
        self._process.terminate()
        self._process.wait(SECONDS)
        with closing(Store(self._database)) as store:
            found = reconstruct(store.codes(self._published.survey.fingerprint), design)
        return CheckedTable.of(design.schema.names, count(true, design.schema), found)

    def _address(self) -> str:
        assert self._process.stdout is not None
        found = re.search(r"http://[\d.]+:\d+", self._process.stdout.readline())
        if found is None:
            self._log.seek(0)
            raise ServiceError(f"the service did not start: {self._log.read().strip()}")
        return found[0]

    def stop(self) -> None:
        """End the process and close its files."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._log.close()


@contextmanager
def serving(schema: Schema) -> Iterator[DemoService]:
    """Publish a survey with one question and start a server for it with a new database."""
    from tacit.survey import publish, survey_from_dict

    question = {
        "name": SERVED,
        "kind": "choice",
        "text": "Are you married?",
        "categories": list(schema[SERVED].categories),
    }
    group = {"questions": [SERVED], "family": "uniform_perturbation", "q": "2/3"}
    survey = survey_from_dict({"title": "Marriage", "questions": [question], "groups": [group]})
    with tempfile.TemporaryDirectory() as folder:
        service = DemoService(Path(folder), publish(survey, Path(folder) / "published.json"))
        try:
            yield service
        finally:
            service.stop()


# Text -----------------------------------------------------------------------------------------


def say(topic: str, *lines: str) -> None:
    """Print lines beside their topic."""
    grid = rich.table.Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=10, style="bold cyan")
    grid.add_column()
    for number, line in enumerate(lines):
        grid.add_row("" if number else topic, line)
    show.console().print(grid, "")


def percent(share: float) -> str:
    """A share as a number out of 100."""
    return f"{100 * share:.1f}"


def plus_minus(share: float, stderr: float) -> str:
    """A share and its standard error, in percent."""
    return f"{percent(share)} ± {percent(stderr)}"


def mark(held: bool) -> Text:
    """Whether an interval holds the truth."""
    return Text("ok", style="green") if held else Text("miss", style="red")
