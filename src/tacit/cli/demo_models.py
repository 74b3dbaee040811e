"""The models of `tacit demo`: learnt from true and from reported records, and tested on both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

import tacit.table
from tacit.arrays import Codes
from tacit.channel import truthful
from tacit.cli import show
from tacit.cli.mine_tree import strongest
from tacit.design import Design, Group
from tacit.evaluate import accuracy, recall

if TYPE_CHECKING:
    from tacit.mine.tree.tree_rules import TreeRule

#: Records and the design that they came through.
Source = tuple[Codes, Design]

#: How many rules of the tree are shown.
RULES = 3


@dataclass(frozen=True, eq=False)
class Score:
    """How a model does on true test records, and what the disguised ones tell of it."""

    model: str
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
class Models:
    """What the models score, and the rules of the tree that was learnt from reports."""

    scores: list[Score]
    rules: list[TreeRule]


def truly(design: Design) -> Design:
    """The design that asks the same and disguises nothing."""
    return Design(design.schema, [Group(design.schema.names, truthful())])


def learnt(
    miners: Mapping[str, Callable[[Design, str], Any]],
    sources: Sequence[Source],
    target: str,
    sought: str,
) -> Models:
    """Models of four fifths of the records, true and reported, tested on the others.

    The last miner grows trees.
    """
    scores: list[Score] = []
    parts = [_parted(source) for source in sources]
    tests = [test for _, test in parts]
    for name, miner in miners.items():
        for learnt_from, ((records, design), _) in zip(("truth", "reports"), parts, strict=True):
            model = miner(design, target).fit(records)
            scores += _tested(model, (name, learnt_from), tests, sought)
    return Models(scores, strongest(model)[:RULES])


def _parted(source: Source) -> tuple[Source, Source]:
    """What is learnt from, and what is tested on."""
    records, design = source
    n_learnt = len(records) * 4 // 5
    return (records[:n_learnt], design), (records[n_learnt:], design)


def _tested(
    model: Any, names: tuple[str, str], tests: Sequence[Source], sought: str
) -> Iterator[Score]:
    """Accuracy, and how many of the sought class are found, on true and on reported records."""
    truth, reports = tests
    for name, measure, cell in (
        ("accuracy", accuracy, ()),
        (f"finds {sought}", recall, (reports[1].schema[model.target].code(sought),)),
    ):
        found = measure(model, *reports)
        lower, upper = (float(limit[cell]) for limit in found.interval())
        exact = float(measure(model, *truth).value[cell])
        value, stderr = float(found.value[cell]), float(found.stderr[cell])
        yield Score(*names, name, exact, value, stderr, (lower, upper))


def score_table(scores: Sequence[Score]) -> Table:
    """One row a model and what it was learnt from, its measures beside each other."""
    rows = dict.fromkeys((score.model, score.learnt_from) for score in scores)
    measures = dict.fromkeys(score.measure for score in scores)
    heads = ["model", "from"]
    for measure in measures:
        heads += [measure, "estimate", ""]
    named = ["", *(model for model, _ in rows)]
    made = show.table(tacit.table.Table(heads, [], align="ll" + "rrl" * len(measures)))
    for (before, model), row in zip(pairwise(named), rows, strict=True):
        own = [score for score in scores if (score.model, score.learnt_from) == row]
        cells = [cell for score in own for cell in _cells(score)]
        made.add_row("" if model == before else model, row[1], *cells)
    return made


def _cells(score: Score) -> list[str | Text]:
    estimate = f"{percent(score.estimate)} ± {percent(score.stderr)}"
    return [percent(score.true), Text(estimate, style="bold"), mark(score.held)]


def rule_table(rules: Sequence[TreeRule]) -> Table:
    """Rules with their support and confidence."""
    target = rules[0].attribute if rules else ""
    heads = ("rule of the tree learnt from reports", target, "support", "confidence")
    rows = [_rule_cells(rule) for rule in rules]
    return show.table(tacit.table.Table(heads, rows, align="llrr"))


def _rule_cells(rule: TreeRule) -> list[str]:
    conditions = [
        f"{name} {' or '.join(map(str, labels))}" for name, labels in rule.conditions.items()
    ]
    numbers = (rule.support, rule.support_stderr), (rule.confidence, rule.confidence_stderr)
    shown = [f"{percent(value)} ± {percent(stderr)}" for value, stderr in numbers]
    return [", ".join(conditions) or "always", str(rule.category), *shown]


def mark(held: bool) -> Text:
    """Whether an interval holds the truth."""
    return Text("ok", style="green") if held else Text("miss", style="red")


def percent(share: float) -> str:
    """A share as a number out of a hundred."""
    return f"{100 * share:.1f}"
