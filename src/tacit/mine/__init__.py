"""Classifiers that learn from reported records; scikit-learn estimators."""

from tacit.mine.bayes_likelihood import likelihood
from tacit.mine.decision_tree import DecisionTree
from tacit.mine.model_json import model_from_json, model_to_json
from tacit.mine.naive_bayes import NaiveBayes
from tacit.mine.pairs import literal, pairs
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
