"""Classifiers that learn from reported records; scikit-learn estimators.

Names are imported when they are first used, so `tacit.mine.tree` does not load the miners.
"""

from typing import TYPE_CHECKING

from tacit.lazy_names import lazy_names

if TYPE_CHECKING:
    from tacit.mine.bayes_parameters import likelihood, literal, pairs
    from tacit.mine.decision_tree import DecisionTree
    from tacit.mine.model_json import model_from_json, model_to_json
    from tacit.mine.naive_bayes import NaiveBayes
    from tacit.mine.pruned_trees import (
        choose_depth,
        cost_complexity,
        cost_complexity_path,
        reduced_error,
    )

__all__ = [
    "DecisionTree",
    "NaiveBayes",
    "choose_depth",
    "cost_complexity",
    "cost_complexity_path",
    "likelihood",
    "literal",
    "model_from_json",
    "model_to_json",
    "pairs",
    "reduced_error",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tacit.mine.bayes_parameters": "likelihood literal pairs",
        "tacit.mine.decision_tree": "DecisionTree",
        "tacit.mine.model_json": "model_from_json model_to_json",
        "tacit.mine.naive_bayes": "NaiveBayes",
        "tacit.mine.pruned_trees": (
            "choose_depth cost_complexity cost_complexity_path reduced_error"
        ),
    },
)
