"""Classifiers that learn from reported records; scikit-learn estimators."""

from tacit.mine.decision_tree import DecisionTree
from tacit.mine.likelihood import likelihood
from tacit.mine.naive_bayes import NaiveBayes
from tacit.mine.pairs import literal, pairs
from tacit.mine.pruning import (
    choose_depth,
    cost_complexity,
    cost_complexity_path,
    reduced_error,
)
from tacit.mine.saving import model_from_json, model_to_json

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
