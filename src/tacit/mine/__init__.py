"""Classifiers that learn from reported records; scikit-learn estimators."""

from tacit.mine.naive_bayes import NaiveBayes, likelihood, literal
from tacit.mine.saving import model_from_json, model_to_json

__all__ = ["NaiveBayes", "likelihood", "literal", "model_from_json", "model_to_json"]
