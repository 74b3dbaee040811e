"""Learn a model from released records, with its accuracy and what publishing it discloses.

A part of the records is kept out of learning, always the same one: accuracy and the figures of
rules come from it, so that their intervals hold although the others chose the model.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit import mine
from tacit.core.arrays import Array
from tacit.core.channel.numbers import sum_up
from tacit.core.design import Design
from tacit.core.schema import Label
from tacit.errors import TacitError
from tacit.evaluate import accuracy, recall
from tacit.mine import DecisionTree, summaries
from tacit.mine.tree.picture import readable, short, tree_nodes
from tacit.mine.tree.view import TreeView, percent
from tacit.output.number_text import number_of
from tacit.output.rounding import finite
from tacit.privacy import Limits, Prior, prior_of, published_model
from tacit.privacy.prior import tied_parts
from tacit.reconstruction import reconstruct
from tacit.records import PatternTable, write_text
from tacit.records.count_file import read_counts
from tacit.records.memory_limit import limited_memory
from tacit.studio import disclosure
from tacit.studio.disclosure import SMALLEST_GROUP, Cells
from tacit.studio.group_tables import MOST_CELLS
from tacit.studio.models import ModelRequest
from tacit.studio.release import Release
from tacit.survey import Published

if TYPE_CHECKING:
    from tacit.mine.miner import Miner

#: The confidence level of all intervals, and the seed of what is kept for estimates.
LEVEL, SEED = 0.95, 0
#: Random starts of latent classes.
STARTS = 10


def train(release: Release, request: ModelRequest) -> dict[str, Any]:
    """The model, its summary, its accuracy and the cost of publishing it, as plain values.

    Summary and accuracy have no figure of a group of fewer than `smallest` people. `small_groups`
    says whether the model itself has some; then it is not published in an accuracy round.
    """
    rng = np.random.default_rng(SEED)
    test, learn = mine.split_records(release.counts, release.survey.design, rng, request.test_share)
    training = _Training(learn, test, release, request)
    trained = getattr(training, request.kind)()  # its methods have the names of the kinds
    trained["summary"]["smallest"] = SMALLEST_GROUP
    content: dict[str, Any] = finite(
        {"n_learnt": learn.n_records, "n_tested": test.n_records} | trained
    )
    return content


Part = dict[str, Any]
#: What somebody knows about how common answers are, with at most so many cells.
PublishedPrior = Callable[[Prior, int], Prior | None]
#: Most ends of a tree that are drawn.
_MOST_ENDS = 60


@dataclass(frozen=True)
class _Training:
    """The records to learn from and to test on, parts of a release, and what is asked for."""

    learn: PatternTable
    test: PatternTable
    release: Release
    request: ModelRequest

    @property
    def design(self) -> Design:
        return self.release.survey.design

    def tree(self) -> Part:
        target, criterion = self.request.target, self.request.criterion
        model = DecisionTree(self.design, target, criterion, None, self.request.max_depth)
        model = without_small_leaves(model.fit(self.learn), self.release)
        view = readable(model.view(self.test), _MOST_ENDS)
        n_people = self.learn.n_records + self.test.n_records
        picture = tree_nodes(view, lambda view, node: _end_lines(view, node, n_people))
        summary = summaries.tree_summary(model, LEVEL, self.test)
        return {
            "summary": summary | {"picture": picture, "small_groups": False},
            "evaluation": self.evaluation(model),
            "privacy": self.cost_of_rules(list(model.rules().known), [target]),
            "model": mine.model_to_json(model),
        }

    def naive_bayes(self) -> Part:
        target = self.request.target
        model = mine.NaiveBayes(self.design, target).fit(self.learn)
        learnt = model.parameters_
        assert model.features_ is not None
        tables = dict(zip(model.features_.names, learnt.tables, strict=True))
        used = {name: table for name, table in tables.items() if name not in learnt.unused}

        def published_prior(prior: Prior, max_cells: int) -> Prior | None:
            return published_model.class_prior(prior, target, learnt.prior, used, max_cells)

        summary = summaries.bayes_summary(model, LEVEL)
        summary["log_odds"] = without_log_odds(summary["log_odds"], self.release, target)
        summary["small_groups"] = has_small_groups(self.release, target, used)
        return {
            "summary": summary,
            "evaluation": self.evaluation(model),
            "privacy": self.cost(published_prior, [target]),
            "model": mine.model_to_json(model),
        }

    def rules(self) -> Part:
        itemsets = mine.itemsets(self.learn, self.design, self.request.min_support)
        mined = mine.association_rules(
            itemsets.estimated_on(self.test), self.request.min_confidence
        )
        names = sorted({rule.attribute for rule in mined}, key=self.design.schema.index)
        hidden = [not _may_show_labels(self.release, {**a, **b}) for a, b in mined.sides]
        columns = _blanked(mined.columns(LEVEL), hidden) | {"hidden": hidden}
        return {
            "summary": {"title": mined.title, "claim": mined.itemsets.claim, "rules": columns},
            "evaluation": None,
            "privacy": self.cost_of_rules(list(mined), names),
            "model": json.dumps(mined.to_dict(LEVEL), indent=1, ensure_ascii=False) + "\n",
        }

    def clusters(self) -> Part:
        classes, names = self.request.classes, self.design.schema.names
        model = mine.LatentClass(self.design, classes, n_init=STARTS, random_state=SEED)
        model.fit(self.learn)

        def published_prior(prior: Prior, max_cells: int) -> Prior | None:
            tables = dict(zip(names, model.tables_, strict=True))
            return published_model.class_prior(prior, None, model.prior_, tables, max_cells)

        summary = summaries.classes_summary(model, LEVEL)
        summary["profiles"] = without_small_clusters(
            summary["profiles"], model.prior_, model.tables_, self.release.counts.n_records
        )
        likelihoods = {"likelihood": model.score(self.test), "of_learnt": model.score(self.learn)}
        return {
            "summary": summary,
            "evaluation": likelihoods,
            "privacy": self.cost(published_prior, names),
            "model": mine.model_to_json(model),
        }

    def evaluation(self, model: Miner) -> Part:
        """Accuracy and recall on records that the model was not learnt from, beside the baseline.

        The baseline always guesses the class that the model's records have most often. Recalls of
        small classes are left out; `hidden` lists these.
        """
        target, records = str(model.target), self.test
        common = int(np.argmax(model.prior().value))
        columns = reconstruct(records, self.design).table([target]).columns(LEVEL)
        try:
            right = accuracy(model, records, self.design).to_dict(LEVEL)
            recalls = recall(model, records, self.design).to_dict(LEVEL)
        except TacitError as error:
            return {"problem": str(error)}
        baseline = {key: columns[key][common] for key in _NUMBERS}
        hidden, table = hidden_classes(self.release, target), recalls["table"]
        return {
            "accuracy": right,
            "recall": recalls | {"table": _blanked(table, hidden)},
            "baseline": baseline | {"category": self.design.schema[target].categories[common]},
            "hidden": [label for label, few in zip(table[target], hidden, strict=True) if few],
        }

    def cost_of_rules(self, rules: Sequence[Any], names: Sequence[str]) -> Part:
        """What publishing these rules costs."""

        def published_prior(prior: Prior, max_cells: int) -> Prior | None:
            priors = published_model.told_priors(rules, self.design, prior, max_cells)
            return priors[-1][1] if priors else prior

        return self.cost(published_prior, names)

    def cost(self, published_prior: PublishedPrior, names: Sequence[str]) -> Part:
        """What publishing costs the people whose reports the model was learnt from.

        Epsilon of the reports, which publishing does not change, and what someone can infer who
        knows how common the answers are. Attributes that are sent undisguised have no line: their
        reports tell everything.
        """
        design, limits, estimates = self.design, Limits(), reconstruct(self.learn, self.design)
        shares = {part: np.maximum(estimates.table(part).value, 0) for part in tied_parts(design)}
        prior = prior_of({part: value / value.sum() for part, value in shares.items()}, design)
        model_prior = published_prior(prior, limits.max_cells)
        groups = [group for group in design.groups if group.disguised]
        disguised = {name for group in groups for name in group.attributes}
        epsilons = [design.channel(group.attributes).epsilon for group in groups]
        inferred = [name for name in names if name in disguised]
        inferences = published_model.inferences(design, prior, model_prior, inferred, limits)
        return {
            "epsilon": sum_up(epsilons) if epsilons else None,
            "undisguised": [name for name in design.schema.names if name not in disguised],
            "measured": model_prior is not None,
            "inferences": [*map(asdict, inferences)],
        }


def _end_lines(view: TreeView, node: int, n_people: int) -> list[str]:
    """The class of an end, how often it is right, and its share; no figures for few people."""
    figures, label = view.figures(node), short(str(view.category(node)))
    if figures.support * n_people < SMALLEST_GROUP:
        return [label, "too few people for figures"]
    right = percent(figures.confidence, figures.confidence_stderr, "±")
    share = percent(figures.support, figures.support_stderr, "±")
    below = int(view.leaves_below[node])
    more = f", {number_of(below, 'leaf', 'leaves')} below" if below else ""
    return [label, f"right for {right}, of {share}{more}"]


# Figures of small groups --------------------------------------------------------------------------
#
# A model is stored without figures of groups of fewer than 20 people, so that no page can show
# them; only its file for analysts is whole. A group is the people with some answers, among all
# records that the model was learnt from or tested on. A figure that could be computed from the
# others is left out too: groups of answers follow `hidden_table`, so that models agree with each
# other and with tables of groups.

#: The columns of a table of estimates.
_NUMBERS = ("estimate", "stderr", "lower", "upper")


def may_show(release: Release, answers: Mapping[str, Iterable[int]]) -> bool:
    """Whether figures of the people with these answers, as codes by question, are kept."""
    names = list(answers)
    if len(names) < 2:
        return True
    if disclosure.table_cells(release, names) > MOST_CELLS:
        return False
    return not disclosure.hidden_table(release, names)[np.ix_(*map(list, answers.values()))].any()


def has_small_groups(release: Release, target: str, names: Iterable[str]) -> bool:
    """Whether the table of a target and one of these questions has a cell that is not shown."""
    schema = release.survey.design.schema
    pairs = ({target: range(schema[target].size), n: range(schema[n].size)} for n in names)
    return any(not may_show(release, pair) for pair in pairs)


def without_small_leaves(model: DecisionTree, release: Release) -> DecisionTree:
    """The tree without splits that lead to a leaf of too few people.

    The answer of a tiny leaf is that of its people, so the leaf itself is removed.
    """
    while True:
        tree, schema = model.tree_, model.view().schema
        cut = np.zeros(len(tree), bool)
        for leaf in tree.leaves[tree.leaves > 0]:
            answers: dict[str, set[int]] = {}
            for attribute, codes in tree.conditions(int(leaf)):
                name = schema.names[attribute]
                allowed = answers.get(name, {*range(schema.sizes[attribute])})
                answers[name] = allowed & {*map(int, codes)}
            target = schema.names[model.target_index_]
            whole = answers | {target: range(schema[target].size)}
            cut[tree.parent[leaf]] |= not may_show(release, whole)
        if not cut.any():
            return model
        model = model.cut(cut)


def hidden_classes(release: Release, target: str) -> Cells:
    """The classes of which no recall is kept.

    Shares of classes and the accuracy tell one recall from the others: two are hidden, or none.
    """
    return _few(disclosure.most_people(release, [target]))


def _few(people: Array) -> Cells:
    """Small groups; if it is one of several, the next larger one too."""
    few = np.asarray(people < SMALLEST_GROUP)
    if few.sum() == 1 and len(few) > 1:
        few[np.where(few, np.inf, people).argmin()] = True
    return few


def without_log_odds(
    cells: Sequence[dict[str, Any]], release: Release, target: str
) -> list[dict[str, Any]]:
    """The log-odds without those of small classes or answers."""
    rows = []
    for cell in cells:
        labels = {target: cell["class"], cell["attribute"]: cell["category"]}
        hidden = not _may_show_labels(release, labels)
        numbers = dict.fromkeys(_NUMBERS) if hidden else {}
        rows.append(cell | numbers | {"hidden": hidden})
    return rows


def without_small_clusters(
    profiles: Mapping[str, list[Any]], prior: Array, tables: Sequence[Array], n: int
) -> dict[str, list[Any]]:
    """The profiles of clusters without those of small clusters or answers."""
    people = n * prior
    hidden = [_few(people), *(_hidden_profile(people[:, None] * table) for table in tables)]
    return _blanked(profiles, np.concatenate([np.ravel(cells) for cells in hidden]))


def _hidden_profile(people: Array) -> Cells:
    """The hidden cells of a table of clusters and answers; one cluster alone is everybody."""
    if len(people) == 1:
        return np.zeros(people.shape, bool)

    def most(axes: tuple[int, ...]) -> Array:
        return np.asarray(people.sum(axis=tuple({0, 1} - {*axes})))

    return disclosure.hidden_cells(people, most)


def _may_show_labels(release: Release, answers: Mapping[str, Label]) -> bool:
    schema = release.survey.design.schema
    codes = {name: [schema[name].categories.index(label)] for name, label in answers.items()}
    return may_show(release, codes)


def _blanked(columns: Mapping[str, list[Any]], hidden: Iterable[bool]) -> dict[str, list[Any]]:
    """The columns of numbers with None where a row is hidden."""
    return {
        name: [
            None if gone and isinstance(value, float) else value
            for value, gone in zip(column, hidden, strict=True)
        ]
        for name, column in columns.items()
    }


# The process that learns a model: `python -m tacit.studio.model_training` -------------------------

#: Seconds of processor time and bytes of memory that a model may take.
MOST_SECONDS, MOST_MEMORY = 600, 2 << 30


def learn(job: dict[str, Any]) -> None:
    """Learn the model of a job and write it where the job says."""
    counts = Path(job["counts"])
    try:
        table = read_counts(counts).table
    finally:
        counts.unlink(missing_ok=True)
    release = Release(Published.from_json(job["published"]), table)
    trained = train(release, ModelRequest(**job["request"]))
    head = job["about"] | {"request": job["request"], "n_records": table.n_records}
    text = json.dumps(head | trained, ensure_ascii=False, allow_nan=False)
    write_text(job["out"], text + "\n", private=True)


def main() -> int:
    """Read a job from standard input; write what is wrong with it beside its model."""
    _limit()
    job = json.loads(sys.stdin.read())
    try:
        with limited_memory(MOST_MEMORY):
            learn(job)
    except (TacitError, MemoryError) as error:
        problem = str(error) or "there is not enough memory for this model; ask for a smaller one"
        write_text(job["problem"], problem, private=True)
        return 1
    return 0


def _limit() -> None:
    """Let requests go first, and end after too long a time, where the system can do this."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        os.nice(5)
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))


if __name__ == "__main__":
    sys.exit(main())
