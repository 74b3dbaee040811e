"""Summaries of learnt models as plain values, for the screen, for JSON and for pages."""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.mine.decision_tree import DecisionTree
    from tacit.mine.latent_class import LatentClass
    from tacit.mine.miner import Miner
    from tacit.mine.naive_bayes import NaiveBayes
    from tacit.mine.tree.view import TreeRule, TreeRules
    from tacit.records import PatternTable

#: How many log-odds a summary has.
STRONGEST = 10
_NUMBERS = ("estimate", "stderr", "lower", "upper")


def classifier_summary(kind: str, model: Miner, level: float, **others: Any) -> dict[str, Any]:
    """What all classifiers have, with P(class) at a confidence level, and what this one adds."""
    (_, classes), *numbers = model.prior().columns(level).items()
    return {
        "tacit": kind,
        "version": 1,
        "design": model.fingerprint_,
        "target": model.target,
        "level": level,
        "prior": {"class": classes, **dict(numbers)},
        **others,
        "notes": model.notes(),
    }


def bayes_summary(model: NaiveBayes, level: float) -> dict[str, Any]:
    """Naive Bayes: P(class) and the log-odds that stand out most."""
    parameters = model.parameters_
    return classifier_summary(
        "naive-bayes-summary",
        model,
        level,
        method=parameters.method,
        n_records=parameters.n_records,
        log_odds=strongest_log_odds(model, level),
    )


def strongest_log_odds(model: NaiveBayes, level: float) -> list[dict[str, Any]]:
    """The log-odds that stand out most from their standard errors, strongest first.

    With two classes, those of the first are left out: they only differ in sign.
    """
    assert model.features_ is not None
    cells = []
    for name in model.features_.names:
        estimate = model.log_odds(name)
        columns = estimate.columns(level)
        numbers = zip(*(columns[key] for key in _NUMBERS), strict=True)
        used = name not in model.parameters_.unused
        for (c, category), row in zip(estimate.cells(), numbers, strict=True):
            cell = {"class": c, "attribute": name, "category": category}
            cells.append(cell | dict(zip(_NUMBERS, row, strict=True), used=used))
    shown = [c for c in cells if len(model.classes_) > 2 or c["class"] != model.classes_[0]]
    return heapq.nlargest(STRONGEST, shown, key=_strength)


def _strength(cell: dict[str, Any]) -> float:
    size, error = abs(cell["estimate"]), cell["stderr"]
    return size / error if error > 0 else math.inf if size else 0.0


def tree_summary(
    model: DecisionTree, level: float, kept: PatternTable | None = None
) -> dict[str, Any]:
    """A tree: its size and its rules.

    `kept` are records that the tree was not learnt from; support and confidence come from them.
    """
    rules = model.rules(kept)
    return classifier_summary(
        "decision-tree-summary",
        model,
        level,
        criterion=model.criterion,
        n_records=model.tree_.n_records,
        leaves=model.get_n_leaves(),
        depth=model.get_depth(),
        pruned=None,
        rules_origin=rules.origin(level),
        rules=[rule.to_dict(level) for rule in strongest_rules(rules)],
    )


def strongest_rules(rules: TreeRules) -> list[TreeRule]:
    """The rules with a known confidence, sorted by the share of records they get right."""
    return sorted(rules.known, key=lambda rule: -rule.support * rule.confidence)


def classes_summary(model: LatentClass, level: float) -> dict[str, Any]:
    """Latent classes: their number, profiles, and what other numbers would give."""
    names = ("n_classes", "n_parameters", "bic", "held_out", "behind", "behind_stderr")
    selection = [
        {name: getattr(candidate, name) for name in names}
        | {"log_likelihood": candidate.fit.log_likelihood}
        for candidate in model.selection_
    ]
    return {
        "tacit": "latent-classes-summary",
        "version": 1,
        "design": model.fingerprint_,
        "n_records": model.n_records_,
        "n_classes": len(model.classes_),
        "log_likelihood": model.log_likelihood_,
        "bic": model.bic_,
        "level": level,
        "selection": selection,
        "profiles": model.columns(level),
        "notes": model.notes(),
    }
