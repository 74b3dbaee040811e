"""`tacit demo`: the main job end to end, on census records that come with the package."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import rich.table
from rich.text import Text
from typer import Option

from tacit import Attribute, Design, Group, Schema, disguise, reconstruct
from tacit import survey as surveys
from tacit.cli import show
from tacit.cli.arguments import open_store
from tacit.cli.simulate import send
from tacit.core.arrays import Codes
from tacit.core.channel import related, truthful, uniform_perturbation
from tacit.core.conditions import DOES_NOT_APPLY
from tacit.core.label_codes import encode
from tacit.datasets import adult_survey
from tacit.errors import ServiceError
from tacit.evaluate import accuracy, recall
from tacit.mine import ChowLiuTree, DecisionTree, Forest, NaiveBayes
from tacit.mine.summaries import strongest_rules
from tacit.optimize import Exact, front, objectives
from tacit.output import rounding
from tacit.output.table import Table
from tacit.plan import plan
from tacit.privacy import report
from tacit.reconstruction import Reconstruction, simplex
from tacit.records import PatternTable, count

#: The rows of a table; some cells show whether an interval holds the truth.
Rows = list[list[str | Text]]
#: Marks of intervals that hold the truth, and of those that do not.
OK, MISS = Text("ok", style="green"), Text("miss", style="red")

ADULT_RECORDS = 48_842
#: A joint table of attributes in different groups.
ACROSS_GROUPS = ("marital", "income")
#: What the models predict, and the class that they should find.
TARGET, SOUGHT = "income", ">50K"
#: How many rules of the tree are shown, and of how many trees the forest is made.
RULES, TREES = 3, 40
#: Whose income the joint model is asked for.
CONDITIONS = {"marital": "married"}
#: The groups that are compared.
COMPARED = ({"marital": "married"}, {"marital": "single"})
#: What is asked only of those with the class that is sought.
CONDITIONAL = "hours"
#: The half width, in points, of the interval that is planned for the next survey.
PLANNED_WIDTH = 2
#: The attribute that a better channel is searched for.
OPTIMIZED = "age"
#: Share of the uniform distribution in the prior, so that no category is impossible.
UNIFORM_SHARE = 0.01
#: The question asked over HTTP, and of how many people.
SERVED, RESPONDENTS = "marital", 400


def demo(
    *,
    seed: int = Option(7, min=0),
    records: int = Option(ADULT_RECORDS, min=500, max=ADULT_RECORDS),
) -> None:
    """Ask the people of a census five questions in disguise, and see what is learnt.

    Example: [bold]tacit demo --seed 1 --records 10000[/bold]

    Parameters
    ----------
    seed
        Seed of the simulated coins.
    records
        How many people are asked.
    """
    start = time.perf_counter()
    people, design = adult_survey()
    true = encode(people.slice(0, records), design.schema)
    starting = serving(design.schema) if find_spec("uvicorn") else nullcontext()
    with starting as ask:  # the service starts while the rest is computed
        reported = disguise(true, design, np.random.default_rng(seed))
        rec = reconstruct(reported, design)
        true_counts = count(true, design.schema)
        alone = [row for name in design.schema.names for row in shares([name], true_counts, rec)]
        across = shares(ACROSS_GROUPS, true_counts, rec)
        scores, tree = learn(true, reported, design)
        compared = list(groups(rec, true_counts))
        applicable = list(conditional(true, design, seed))
        together = list(joint_model(reported, design, true_counts))
        disguised = [*disclosure(design, rec, true_counts), best_channel(design, rec), planned(rec)]
        answers = true[:RESPONDENTS, [design.schema.index(SERVED)]]
        served = ask(answers, seed) if ask else []
    cells = [cell for row in (*alone, *across, *served, *scores) for cell in row]
    hits, misses = (sum(cell is mark for cell in cells) for mark in (OK, MISS))

    say("asked", f"{records:,} people of the 1994 US census (UCI Adult)", *described(design))
    say("one record", *revealed(design))
    say("the crowd", "from the reported records alone, in percent:")
    print_shares(("question", "answer"), alone)
    print_shares(ACROSS_GROUPS, across)
    say("groups", *compared)
    say("conditions", *applicable)
    print_models(scores, tree)
    say("joint", *together)
    say("disguise", *disguised)
    if served:
        answered = f"{len(answers)} of these people answer over HTTP,"
        say("service", f"a survey published and served; {answered}", "estimates from its database:")
        print_shares(("question", "answer"), served)
    else:
        say("service", "not installed; to include it: pip install 'tacit-survey[service]'")
    truth = f"{hits} of {hits + misses} intervals hold the truth"
    say("result", f"{truth}; {records:,} records in {time.perf_counter() - start:.1f} s")


def shares(names: Sequence[str], true_counts: PatternTable, rec: Reconstruction) -> Rows:
    """True, reported and estimated shares in percent; one attribute is named in its first row."""
    true = true_counts.marginal(names) / true_counts.n_records
    reported = rec.patterns.marginal(names) / rec.n_records
    estimate = rec.table(names)
    numbers = (true, reported, estimate.value, estimate.stderr, *estimate.interval())
    rows: Rows = []
    for labels, *cell in zip(estimate.cells(), *map(np.ravel, numbers), strict=True):
        share, seen, value, stderr, low, high = cell
        first = [] if len(names) > 1 else ["" if rows else names[0]]
        interval = f"{percent(low):>4} .. {percent(high):>4}"
        reports = Text(percent(seen), style="dim"), Text(percent(value), style="bold")
        mark = OK if low <= share <= high else MISS
        rows.append(
            [*first, *map(str, labels), percent(share), *reports, percent(stderr), interval, mark]
        )
    return rows


def print_shares(labels: Sequence[str], rows: Rows) -> None:
    """Rows of `shares`; `labels` are the heads of the two label columns."""
    heads = (*labels, "truth", "reported", "estimate", "std. error", "95 % interval", "")
    show.print_table(Table(heads, rows, align="llrrrrrr"))


def learn(true: Codes, reported: Codes, design: Design) -> tuple[Rows, DecisionTree]:
    """Naive Bayes, trees and forests from four fifths of the records, true and reported.

    Returns a row per model with its scores on the other fifth, exact and estimated from reports;
    and the tree learnt from reports.
    """

    def forest(scheme: Design, target: str) -> Forest:
        return Forest(scheme, target, n_estimators=TREES)

    undisguised = Design(design.schema, [Group(design.schema.names, truthful())])
    cut = len(true) * 4 // 5
    sought = design.schema[TARGET].code(SOUGHT)
    rows: Rows = []
    miners = (("naive Bayes", NaiveBayes), ("forest", forest), ("tree", DecisionTree))
    sources = (("truth", true, undisguised), ("reports", reported, design))
    for name, miner in miners:
        for source, records, scheme in sources:
            model: Any = miner(scheme, TARGET).fit(records[:cut])
            rows.append([name if source == "truth" else "", source])
            for measure, cell in ((accuracy, ()), (recall, (sought,))):
                exact = measure(model, true[cut:], undisguised).value[cell]
                estimated = measure(model, reported[cut:], design)
                lower, upper = (limit[cell] for limit in estimated.interval())
                estimate = plus_minus(estimated.value[cell], estimated.stderr[cell])
                mark = OK if lower <= exact <= upper else MISS
                rows[-1] += [percent(exact), Text(estimate, style="bold"), mark]
    return rows, model


def print_models(scores: Rows, tree: DecisionTree) -> None:
    """How good the models are, and the strongest rules of the tree."""
    say(
        "models",
        f"for {TARGET} from four fifths of the people, tested on the others, in",
        "percent: on true records, and estimated by reports ± std. error",
    )
    heads = ("model", "from", "accuracy", "estimate", "", f"finds {SOUGHT}", "estimate", "")
    show.print_table(Table(heads, scores, align="llrrlrrl"))
    rows = []
    for rule in strongest_rules(tree.rules())[:RULES]:
        conditions = [
            f"{name} {' or '.join(map(str, labels))}" for name, labels in rule.conditions.items()
        ]
        support = plus_minus(rule.support, rule.support_stderr)
        confidence = plus_minus(rule.confidence, rule.confidence_stderr)
        rows.append((", ".join(conditions) or "always", str(rule.category), support, confidence))
    rule_heads = ("rule of the tree learnt from reports", TARGET, "support", "confidence")
    show.print_table(Table(rule_heads, rows, align="llrr"))


def groups(rec: Reconstruction, true_counts: PatternTable) -> Iterator[str]:
    """The difference between two groups, and a test."""
    difference = rec.difference({TARGET: SOUGHT}, between=COMPARED)
    first, second = (true_share(true_counts, group) for group in COMPARED)
    compared = " and ".join(str(label) for group in COMPARED for label in group.values())
    share = plus_minus(difference.value, difference.stderr)
    yield f"{SOUGHT}, {compared}: they differ by {share}, in truth {percent(first - second)};"
    yield f"test of independence: p = {rec.independence([*COMPARED[0], TARGET]).pvalue:.2g}"


def true_share(true_counts: PatternTable, given: Mapping[str, str]) -> Any:
    """The share of the class that is sought among people with these answers."""
    table = true_counts.marginal([*given, TARGET])
    row = table[tuple(true_counts.schema[name].code(label) for name, label in given.items())]
    return row[true_counts.schema[TARGET].code(SOUGHT)] / row.sum()


def conditional(true: Codes, design: Design, seed: int) -> Iterator[str]:
    """A question that is asked of some, and reports do not show of whom."""
    hours = Attribute(CONDITIONAL, [*design.schema[CONDITIONAL].categories, DOES_NOT_APPLY])
    schema = Schema([design.schema[TARGET], hours])
    groups = [Group([TARGET], related("3/4")), Group([CONDITIONAL], uniform_perturbation("1/2"))]
    asking = Design(schema, groups, asked_if={CONDITIONAL: {TARGET: SOUGHT}})
    codes = true[:, [design.schema.index(name) for name in schema.names]].copy()
    applies = codes[:, 0] == schema[TARGET].code(SOUGHT)
    codes[~applies, 1] = schema[CONDITIONAL].code(DOES_NOT_APPLY)
    reported = disguise(codes, asking, np.random.default_rng([seed, 1]))  # coins of their own
    estimate = reconstruct(reported, asking).asked(CONDITIONAL)
    code = design.schema[CONDITIONAL].size - 1
    share = plus_minus(estimate.value[code], estimate.stderr[code])
    truth = codes[applies, 1] == code
    yield f"{CONDITIONAL} asked only of those with {SOUGHT}, no report proves who was asked;"
    yield f"{schema[CONDITIONAL].categories[code]}: {share}, in truth {percent(truth.mean())}"


def joint_model(reported: Codes, design: Design, true_counts: PatternTable) -> Iterator[str]:
    """The pairs that a Chow-Liu tree joins, and a conditional probability."""
    model = ChowLiuTree(design).fit(reported)
    share = model.probability({TARGET: SOUGHT}, given=CONDITIONS)
    true = true_share(true_counts, CONDITIONS)
    yield "pairs of answers that go together, as a tree:"
    yield ", ".join("-".join((*edge.first, *edge.second)) for edge in model.edges_)
    given = " and ".join(f"{name} {label}" for name, label in CONDITIONS.items())
    yield f"{SOUGHT} if {given}: {plus_minus(share.value, share.stderr)}, in truth {percent(true)}"


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
        epsilon = rounding.epsilon(channel.epsilon)
        yield f"{what}: epsilon {epsilon}, so a report changes the odds at most {times}-fold"


def disclosure(design: Design, rec: Reconstruction, true_counts: PatternTable) -> Iterator[str]:
    """What a whole record discloses, estimated from the reports and with the true distribution."""
    names = design.schema.names
    record = report(design, rec).disclosure.record
    truth = report(design, true_counts.marginal(names) / true_counts.n_records).record.from_record
    right, span = f"in truth {100 * truth.accuracy:.0f}", ""
    share = "an unknown share of cases"
    if record.accuracy is not None and record.span is not None:
        share = f"about {100 * record.accuracy:.0f} of 100 cases"
        span = f"{math.floor(100 * record.span[0])} to {math.ceil(100 * record.span[1])}; "
    most = math.ceil(100 * (1.0 if record.bound is None else record.bound))
    yield f"whole record: all {len(names)} answers guessed right in {share}"
    yield f"({span}{right}), whatever the dependence in at most {most}"


def best_channel(design: Design, rec: Reconstruction) -> str:
    """The error of the best channel of the same privacy, relative to that of the design."""
    prior = (1 - UNIFORM_SHARE) * rec.table([OPTIMIZED], method=simplex).value
    prior = prior + UNIFORM_SHARE / prior.size
    matrix = design.channel([OPTIMIZED]).matrix
    privacy = objectives.privacy(matrix, prior)
    best = front(prior, rec.n_records, method=Exact(privacy=[privacy]))
    share = 100 * best.mse[0] / objectives.mse(matrix, prior, rec.n_records)
    return f"{OPTIMIZED}: the best channel as private as this one has {share:.0f} % of its error"


def planned(rec: Reconstruction) -> str:
    """How many people another survey needs."""
    prevalence = rec.probability({TARGET: SOUGHT}).value
    next_plan = plan(related("3/4"), width=PLANNED_WIDTH / 100, prevalence=prevalence)
    return f"{TARGET} to ± {PLANNED_WIDTH} points: {next_plan.n:,} people, if nothing else is asked"


@contextmanager
def serving(schema: Schema) -> Iterator[Callable[[Codes, int], Rows]]:
    """Publish a survey with one question and serve it from a process of its own.

    Yields a function that disguises answers, sends them over HTTP, stops the server and estimates
    from what is stored.
    """
    labels = list(schema[SERVED].categories)
    question = {"name": SERVED, "kind": "choice", "text": "Are you married?", "categories": labels}
    group = {"questions": [SERVED], "family": "uniform_perturbation", "q": "2/3"}
    survey = surveys.survey_from_dict(
        {"title": "Marriage", "questions": [question], "groups": [group]}
    )
    with tempfile.TemporaryDirectory() as folder, Path(folder, "log").open("w+") as log:
        file, database = Path(folder, "published.json"), Path(folder, "tacit.db")
        published = surveys.publish(survey, file)
        arguments = [str(file), "--database", str(database), "--port", "0", "--rate", "off"]
        command = [sys.executable, "-m", "tacit", "serve", *arguments]

        def ask(true: Codes, seed: int) -> Rows:
            assert server.stdout is not None
            address = re.search(r"http://[\d.]+:\d+", server.stdout.readline())
            if address is None:
                log.seek(0)
                raise ServiceError(f"the service did not start: {log.read().strip()}")
            reported = disguise(true, published.design, np.random.default_rng(seed))
            send(address[0], published, reported)
            server.terminate()
            server.wait(60)
            with open_store(str(database)) as store:
                rec = reconstruct(store.codes(survey.fingerprint), published.design)
            return shares([SERVED], count(true, published.design.schema), rec)

        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as server:
            try:
                yield ask
            finally:
                server.kill()


def say(topic: str, *lines: str) -> None:
    """Print lines beside their topic."""
    grid = rich.table.Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=10, style="bold cyan")
    grid.add_column()
    for number, line in enumerate(lines):
        grid.add_row("" if number else topic, line)
    show.console().print(grid, "")


def percent(share: Any) -> str:
    """A share as a number out of 100."""
    return f"{100 * share:.1f}"


def plus_minus(share: Any, stderr: Any) -> str:
    """A share and its standard error, in percent."""
    return f"{percent(share)} ± {percent(stderr)}"
