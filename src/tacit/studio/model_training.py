"""Learn a model from released records, with its accuracy and what publishing it discloses.

A part of the records is kept out of learning, always the same one: accuracy and the figures of
rules come from it, so that their intervals hold although the others chose the model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit import mine
from tacit.core.arrays import Array
from tacit.core.design import Design
from tacit.errors import TacitError
from tacit.evaluate import accuracy, recall
from tacit.mine.summaries import bayes_summary, classes_summary, tree_summary
from tacit.output.rounding import finite
from tacit.privacy import Limits, Prior, prior_of
from tacit.privacy.prior import tied_parts
from tacit.privacy.published_model import class_prior, mixture_prior, told_priors
from tacit.reconstruction import Reconstruction, reconstruct
from tacit.records import PatternTable
from tacit.studio.model_figures import (
    has_small_groups,
    without_log_odds,
    without_recalls,
    without_rules,
    without_small_clusters,
    without_small_leaves,
)
from tacit.studio.model_request import ModelRequest
from tacit.studio.publication_cost import publication_cost
from tacit.studio.release import Release
from tacit.studio.small_groups import SMALLEST_GROUP
from tacit.studio.tree_picture import tree_nodes

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
    made = _TRAINED[request.kind](learn, test, release, request)
    made["summary"]["smallest"] = SMALLEST_GROUP
    content: dict[str, Any] = finite(
        {"n_learnt": learn.n_records, "n_tested": test.n_records} | made
    )
    return content


Part = dict[str, Any]


def _tree(learn: PatternTable, test: PatternTable, release: Release, asked: ModelRequest) -> Part:
    design = release.survey.design
    model = mine.DecisionTree(design, asked.target, asked.criterion, None, asked.max_depth)
    model = without_small_leaves(model.fit(learn), release)
    rules = list(model.rules().known)
    n_people = learn.n_records + test.n_records
    return {
        "summary": tree_summary(model, LEVEL, test)
        | {"picture": tree_nodes(model.view(test), n_people), "small_groups": False},
        "evaluation": _evaluation(model, test, release),
        "privacy": _by_rules(rules, learn, design, [asked.target]),
        "model": mine.model_to_json(model),
    }


def _bayes(learn: PatternTable, test: PatternTable, release: Release, asked: ModelRequest) -> Part:
    design = release.survey.design
    model = mine.NaiveBayes(design, asked.target).fit(learn)
    learnt = model.parameters_
    assert model.features_ is not None
    tables = dict(zip(model.features_.names, learnt.tables, strict=True))
    used = {name: table for name, table in tables.items() if name not in learnt.unused}

    def told(prior: Prior, max_cells: int) -> Prior | None:
        return class_prior(prior, asked.target, learnt.prior, used, max_cells)

    summary = bayes_summary(model, LEVEL)
    summary["log_odds"] = without_log_odds(summary["log_odds"], release, asked.target)
    summary["small_groups"] = has_small_groups(release, asked.target, used)
    return {
        "summary": summary,
        "evaluation": _evaluation(model, test, release),
        "privacy": _cost(told, learn, design, [asked.target]),
        "model": mine.model_to_json(model),
    }


def _rules(learn: PatternTable, test: PatternTable, release: Release, asked: ModelRequest) -> Part:
    design = release.survey.design
    found = mine.itemsets(learn, design, asked.min_support)
    mined = mine.association_rules(found.estimated_on(test), asked.min_confidence)
    names = sorted({rule.attribute for rule in mined}, key=design.schema.index)
    columns = without_rules(mined.columns(LEVEL), mined.sides, release)
    return {
        "summary": {"title": mined.title, "claim": mined.itemsets.claim, "rules": columns},
        "evaluation": None,
        "privacy": _by_rules(list(mined), learn, design, names),
        "model": json.dumps(mined.to_dict(LEVEL), indent=1, ensure_ascii=False) + "\n",
    }


def _clusters(
    learn: PatternTable, test: PatternTable, release: Release, asked: ModelRequest
) -> Part:
    design = release.survey.design
    model = mine.LatentClass(design, asked.classes, n_init=STARTS, random_state=SEED).fit(learn)
    found = model.profiles_

    def told(prior: Prior, max_cells: int) -> Prior | None:
        tables = dict(zip(design.schema.names, found.tables, strict=True))
        return mixture_prior(prior, found.prior, tables, max_cells)

    summary = classes_summary(model, LEVEL)
    n = release.counts.n_records
    summary["profiles"] = without_small_clusters(summary["profiles"], found.prior, found.tables, n)
    return {
        "summary": summary,
        "evaluation": {"likelihood": model.score(test), "of_learnt": model.score(learn)},
        "privacy": _cost(told, learn, design, design.schema.names),
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
        measured = [one(model, test, design).to_dict(LEVEL) for one in (accuracy, recall)]
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
    def told(prior: Prior, max_cells: int) -> Prior | None:
        found = told_priors(rules, design, prior, max_cells)
        return found[-1][1] if found else prior

    return _cost(told, learn, design, names)


def _cost(
    told: Callable[[Prior, int], Prior | None],
    learn: PatternTable,
    design: Design,
    names: Sequence[str],
) -> Part:
    """What publishing discloses, for someone who knows how common the answers are."""
    limits, found = Limits(), reconstruct(learn, design)
    prior = prior_of({names: _share(found, names) for names in tied_parts(design)}, design)
    return publication_cost(design, prior, told(prior, limits.max_cells), names, limits)


def _share(found: Reconstruction, names: Sequence[str]) -> Array:
    """The joint distribution of a few attributes: the estimate without its negative shares."""
    value = np.maximum(np.asarray(found.table(list(names)).value), 0)
    return np.asarray(value / value.sum())
