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
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit import mine
from tacit.core.arrays import Array
from tacit.core.channel.numbers import sum_up
from tacit.core.design import Design
from tacit.core.schema import Label, Schema
from tacit.errors import TacitError
from tacit.evaluate import accuracy, recall
from tacit.mine import DecisionTree
from tacit.mine.summaries import bayes_summary, classes_summary, tree_summary
from tacit.mine.tree.picture import readable, short, tree_nodes
from tacit.mine.tree.view import TreeView, percent
from tacit.output.number_text import number_of
from tacit.output.rounding import finite
from tacit.privacy import Limits, Prior, prior_of
from tacit.privacy.prior import tied_parts
from tacit.privacy.published_model import class_prior, inferences, told_priors
from tacit.reconstruction import Reconstruction, reconstruct
from tacit.records import PatternTable, write_text
from tacit.records.count_file import read_counts
from tacit.records.memory_limit import limited_memory
from tacit.studio.disclosure import (
    SMALLEST_GROUP,
    Cells,
    hidden_cells,
    hidden_table,
    most_people,
    table_cells,
)
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
    design = release.survey.design
    test, learn = mine.split_records(release.counts, design, rng, request.test_share)
    trained = _TRAINED[request.kind](learn, test, release, request)
    trained["summary"]["smallest"] = SMALLEST_GROUP
    content: dict[str, Any] = finite(
        {"n_learnt": learn.n_records, "n_tested": test.n_records} | trained
    )
    return content


Part = dict[str, Any]
#: Most ends of a tree that are drawn.
_MOST_ENDS = 60


def _tree(learn: PatternTable, test: PatternTable, release: Release, request: ModelRequest) -> Part:
    design = release.survey.design
    model = mine.DecisionTree(design, request.target, request.criterion, None, request.max_depth)
    model = without_small_leaves(model.fit(learn), release)
    rules = list(model.rules().known)
    n_people = learn.n_records + test.n_records
    view = readable(model.view(test), _MOST_ENDS)
    picture = tree_nodes(view, lambda view, node: _end_lines(view, node, n_people))
    return {
        "summary": tree_summary(model, LEVEL, test) | {"picture": picture, "small_groups": False},
        "evaluation": _evaluation(model, test, release),
        "privacy": _by_rules(rules, learn, design, [request.target]),
        "model": mine.model_to_json(model),
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


def _bayes(
    learn: PatternTable, test: PatternTable, release: Release, request: ModelRequest
) -> Part:
    design = release.survey.design
    model = mine.NaiveBayes(design, request.target).fit(learn)
    learnt = model.parameters_
    assert model.features_ is not None
    tables = dict(zip(model.features_.names, learnt.tables, strict=True))
    used = {name: table for name, table in tables.items() if name not in learnt.unused}

    def published_prior(prior: Prior, max_cells: int) -> Prior | None:
        return class_prior(prior, request.target, learnt.prior, used, max_cells)

    summary = bayes_summary(model, LEVEL)
    summary["log_odds"] = without_log_odds(summary["log_odds"], release, request.target)
    summary["small_groups"] = has_small_groups(release, request.target, used)
    return {
        "summary": summary,
        "evaluation": _evaluation(model, test, release),
        "privacy": _cost(published_prior, learn, design, [request.target]),
        "model": mine.model_to_json(model),
    }


def _rules(
    learn: PatternTable, test: PatternTable, release: Release, request: ModelRequest
) -> Part:
    design = release.survey.design
    itemsets = mine.itemsets(learn, design, request.min_support)
    mined = mine.association_rules(itemsets.estimated_on(test), request.min_confidence)
    names = sorted({rule.attribute for rule in mined}, key=design.schema.index)
    columns = without_rules(mined.columns(LEVEL), mined.sides, release)
    return {
        "summary": {"title": mined.title, "claim": mined.itemsets.claim, "rules": columns},
        "evaluation": None,
        "privacy": _by_rules(list(mined), learn, design, names),
        "model": json.dumps(mined.to_dict(LEVEL), indent=1, ensure_ascii=False) + "\n",
    }


def _clusters(
    learn: PatternTable, test: PatternTable, release: Release, request: ModelRequest
) -> Part:
    design = release.survey.design
    model = mine.LatentClass(design, request.classes, n_init=STARTS, random_state=SEED).fit(learn)
    profiles = model.profiles_

    def published_prior(prior: Prior, max_cells: int) -> Prior | None:
        tables = dict(zip(design.schema.names, profiles.tables, strict=True))
        return class_prior(prior, None, profiles.prior, tables, max_cells)

    summary = classes_summary(model, LEVEL)
    n = release.counts.n_records
    summary["profiles"] = without_small_clusters(
        summary["profiles"], profiles.prior, profiles.tables, n
    )
    return {
        "summary": summary,
        "evaluation": {"likelihood": model.score(test), "of_learnt": model.score(learn)},
        "privacy": _cost(published_prior, learn, design, design.schema.names),
        "model": mine.model_to_json(model),
    }


_TRAINED: dict[str, Callable[[PatternTable, PatternTable, Release, ModelRequest], Part]] = {
    "tree": _tree,
    "naive_bayes": _bayes,
    "rules": _rules,
    "clusters": _clusters,
}


def _evaluation(model: Miner, test: PatternTable, release: Release) -> Part:
    """Accuracy and recall on records that the model was not learnt from, beside the baseline.

    The baseline always guesses the class that the model's records have most often.
    """
    target, design = str(model.target), release.survey.design
    common = int(np.argmax(model.prior().value))
    shares = reconstruct(test, design).table([target])
    try:
        measured = [measure(model, test, design).to_dict(LEVEL) for measure in (accuracy, recall)]
    except TacitError as error:
        return {"problem": str(error)}
    columns = shares.columns(LEVEL)
    baseline = {key: columns[key][common] for key in ("estimate", "stderr", "lower", "upper")}
    label = design.schema[target].categories[common]
    evaluation = {
        "accuracy": measured[0],
        "recall": measured[1],
        "baseline": baseline | {"category": label},
    }
    return without_recalls(evaluation, release, target)


def _by_rules(
    rules: Sequence[Any], learn: PatternTable, design: Design, names: Sequence[str]
) -> Part:
    def published_prior(prior: Prior, max_cells: int) -> Prior | None:
        priors = told_priors(rules, design, prior, max_cells)
        return priors[-1][1] if priors else prior

    return _cost(published_prior, learn, design, names)


def _cost(
    published_prior: Callable[[Prior, int], Prior | None],
    learn: PatternTable,
    design: Design,
    names: Sequence[str],
) -> Part:
    """What publishing costs the people whose reports the model was learnt from.

    Epsilon of the reports, which publishing does not change, and what someone can infer who knows
    how common the answers are. Attributes that are sent undisguised have no line: their reports
    tell everything.
    """
    limits, estimates = Limits(), reconstruct(learn, design)
    prior = prior_of({part: _share(estimates, part) for part in tied_parts(design)}, design)
    model_prior = published_prior(prior, limits.max_cells)
    groups = [group for group in design.groups if group.disguised]
    disguised = {name for group in groups for name in group.attributes}
    epsilons = [design.channel(group.attributes).epsilon for group in groups]
    inferred = [name for name in names if name in disguised]
    return {
        "epsilon": sum_up(epsilons) if epsilons else None,
        "undisguised": [name for name in design.schema.names if name not in disguised],
        "measured": model_prior is not None,
        "inferences": [*map(asdict, inferences(design, prior, model_prior, inferred, limits))],
    }


def _share(estimates: Reconstruction, names: Sequence[str]) -> Array:
    """The joint distribution of a few attributes: the estimate without its negative shares."""
    value = np.maximum(np.asarray(estimates.table(list(names)).value), 0)
    return np.asarray(value / value.sum())


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
    if table_cells(release, names) > MOST_CELLS:
        return False
    return not hidden_table(release, names)[np.ix_(*map(list, answers.values()))].any()


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
    people = most_people(release, [target])
    hidden = np.asarray(people < SMALLEST_GROUP)
    if hidden.sum() == 1:
        hidden[np.where(hidden, np.inf, people).argmin()] = True
    return hidden


def without_recalls(evaluation: dict[str, Any], release: Release, target: str) -> dict[str, Any]:
    """The evaluation without recalls of small classes; `hidden` lists these."""
    if "recall" not in evaluation:
        return evaluation
    hidden = hidden_classes(release, target)
    table = evaluation["recall"]["table"]
    labels = [label for label, small in zip(table[target], hidden, strict=True) if small]
    recall = evaluation["recall"] | {"table": _blanked(table, hidden)}
    return evaluation | {"recall": recall, "hidden": labels}


def without_log_odds(
    cells: Sequence[dict[str, Any]], release: Release, target: str
) -> list[dict[str, Any]]:
    """The log-odds without those of small classes or answers."""
    rows = []
    for cell in cells:
        schema = release.survey.design.schema
        labels = {target: cell["class"], cell["attribute"]: cell["category"]}
        hidden = not may_show(release, _codes(schema, labels))
        numbers = dict.fromkeys(_NUMBERS) if hidden else {}
        rows.append(cell | numbers | {"hidden": hidden})
    return rows


def without_rules(
    columns: Mapping[str, list[Any]], sides: Sequence[tuple[Any, Any]], release: Release
) -> dict[str, list[Any]]:
    """The columns of association rules without the figures of small groups."""
    schema = release.survey.design.schema
    hidden = np.array(
        [not may_show(release, _codes(schema, {**a, **b})) for a, b in sides], dtype=bool
    )
    words = {name: columns[name] for name in ("conditions", "conclusion")}
    return _blanked(columns, hidden) | words | {"hidden": hidden.tolist()}


def without_small_clusters(
    profiles: Mapping[str, list[Any]], prior: Array, tables: Sequence[Array], n: int
) -> dict[str, list[Any]]:
    """The profiles of clusters without those of small clusters or answers."""
    people = n * prior
    few = np.asarray(people < SMALLEST_GROUP)
    if few.sum() == 1 and len(few) > 1:
        few[np.where(few, np.inf, people).argmin()] = True
    hidden = [few, *(_hidden_profile(people[:, None] * table) for table in tables)]
    mask = np.concatenate([np.ravel(cells) for cells in hidden])
    return _blanked(profiles, mask) | {
        name: profiles[name] for name in ("class", "attribute", "category")
    }


def _hidden_profile(people: Array) -> Cells:
    """The hidden cells of a table of clusters and answers; one cluster alone is everybody."""
    if len(people) == 1:
        return np.zeros(people.shape, bool)

    def most(axes: tuple[int, ...]) -> Array:
        return np.asarray(people.sum(axis=tuple({0, 1} - {*axes})))

    return hidden_cells(people, most)


def _codes(schema: Schema, answers: Mapping[str, Label]) -> dict[str, list[int]]:
    return {name: [schema[name].categories.index(label)] for name, label in answers.items()}


def _blanked(columns: Mapping[str, list[Any]], hidden: Cells) -> dict[str, list[Any]]:
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
