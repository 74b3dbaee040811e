"""Classifiers that learn from reported records; scikit-learn estimators."""

from tacit.mine.decision_tree import DecisionTree
from tacit.mine.likelihood import likelihood
from tacit.mine.naive_bayes import NaiveBayes
from tacit.mine.pairs import literal, pairs
from tacit.mine.saving import model_from_json, model_to_json

__all__ = [
    "DecisionTree",
    "NaiveBayes",
    "likelihood",
    "literal",
    "model_from_json",
    "model_to_json",
    "pairs",
]
