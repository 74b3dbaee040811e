"""NaiveBayes: a classifier learnt from reported records, for any design.

Count, reconstruct, learn. Reported records are counted once; `method` then finds P(c) and P(a | c):
`likelihood` from whole reports (the default), `pairs` from reconstructed tables of the class and
one attribute, as far as these stand out from their noise, `literal` as Zhan & Matwin print it.
Without a design it learns from undisguised records, as scikit-learn's CategoricalNB does.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.arrays import Array
from tacit.design import Design
from tacit.errors import DataError
from tacit.mine.bayes_likelihood import likelihood
from tacit.mine.learned_model import BayesParameters, Method, Tables, logit_blocks, shares
from tacit.mine.log_odds import log_odds_estimate, prior_estimate
from tacit.mine.miner import Miner
from tacit.mine.pairs import literal, pairs
from tacit.number_text import number_of
from tacit.reconstruction import Estimate, Reconstruction
from tacit.schema import Schema


class NaiveBayes(Miner):
    """Naive Bayes from reported records.

    design: how the records were disguised; None for undisguised records, fitted with X and y.
    target: the attribute to predict. alpha: records added to every category (Laplace's rule).
    method: `likelihood`, `pairs`, or `literal` for the papers' procedure.
    """

    def __init__(
        self,
        design: Design | None = None,
        target: str | None = None,
        alpha: float = 1.0,
        method: Method = likelihood,
    ) -> None:
        self.design = design
        self.target = target
        self.alpha = alpha
        self.method = method

    def fit(self, X: Any, y: Any = None) -> NaiveBayes:
        """Learn from reported records: a frame, codes, a file's path or a pattern table.

        With `y`, X holds the other attributes only and y the reported class: labels beside a
        frame, codes beside codes.
        """
        number = isinstance(self.alpha, numbers.Real) and not isinstance(self.alpha, bool)
        if not number or not 0 < self.alpha < math.inf:
            raise DataError(f"alpha must be a number above 0, got {self.alpha!r}")
        if self.method not in (likelihood, pairs, literal):
            raise DataError(
                f"method must be likelihood, pairs or literal of tacit.mine, got {self.method!r}"
            )
        if self.design is None:
            return self._fit_undisguised(X, y)
        patterns, target, features = self.count_reported(X, y)
        found = self.method(Reconstruction(patterns, self.design), target.name, self.alpha)
        places = [self.design.schema.index(name) for name in features.names]
        kept = replace(found, tables=[found.tables[i] for i in places])
        self.restore(features, np.array(target.categories), kept, self.design.fingerprint)
        return self

    def restore(
        self,
        features: Schema | None,
        classes: npt.NDArray[Any],
        learnt: BayesParameters,
        fingerprint: str = "",
    ) -> None:
        """Take over what was learnt, here or before, under the design of this fingerprint."""
        self.__dict__.pop("covariance_", None)
        self.set_fitted(features, classes, fingerprint)
        self.parameters_ = learnt
        with np.errstate(divide="ignore"):
            self.class_log_prior_ = np.log(learnt.prior)
            self.feature_log_prob_ = [np.log(table) for table in learnt.tables]

    def _fit_undisguised(self, X: Any, y: Any) -> NaiveBayes:
        X, codes, classes = self.encode_undisguised(X, y)
        n_classes = len(classes)
        tables: Tables = []
        for column in X.T:
            k = int(column.max()) + 1
            counts = np.bincount(codes * k + column, minlength=n_classes * k) + self.alpha
            tables.append(counts.reshape(n_classes, k).astype(np.float64))
        prior = np.bincount(codes) / len(codes)
        self.restore(None, classes, BayesParameters(prior, shares(tables), len(codes), "counts"))
        return self

    def predict_log_proba(self, X: Any) -> Array:
        """log P(class | true record), records x classes."""
        codes = self.feature_codes(X)
        joint = np.repeat(self.class_log_prior_[:, None], len(codes), axis=1)
        for column, table in zip(codes.T, self.feature_log_prob_, strict=True):
            joint += table.take(column, axis=1)
        top = joint.max(axis=0)
        return np.asarray((joint - top - np.log(np.exp(joint - top).sum(axis=0))).T)

    def predict_proba(self, X: Any) -> Array:
        """P(class | true record), records x classes."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The likeliest class of true records: a frame, or codes of the other attributes."""
        likeliest = self.predict_log_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])

    def prior(self) -> Estimate:
        """P(class) with its standard error."""
        design, target = self.design_and_target()
        own = logit_blocks(design, target)[target]
        return prior_estimate(
            design.schema[target], self.parameters_, self._covariance()[np.ix_(own, own)]
        )

    def log_odds(self, attribute: str) -> Estimate:
        """What each answer to an attribute adds to the belief in each class, with errors."""
        design, target = self.design_and_target()
        features = design.schema.subset([n for n in design.schema.names if n != target])
        table = np.exp(self.feature_log_prob_[features.index(attribute)])
        blocks = logit_blocks(design, target)
        own = np.concatenate([blocks[target], blocks[attribute]])
        return log_odds_estimate(
            design.schema[target],
            features[attribute],
            self.parameters_,
            table,
            self._covariance()[np.ix_(own, own)],
        )

    def notes(self) -> list[str]:
        """What a user should know: how learning ended, what was not used, what cannot be told."""
        self.design_and_target()
        learnt = self.parameters_
        said = [learnt.note] if learnt.note else []
        said += [f"no record of class {c}" for c in self.classes_[learnt.prior <= 0]]
        if learnt.convergence is not None and not learnt.convergence.converged:
            steps = number_of(learnt.convergence.iterations, "iteration")
            said.append(f"NOT converged after {steps}")
        said += self.undecided_note()
        return said

    def summary(self) -> str:
        """The priors, how they were learnt, and the notes."""
        return "\n".join([f"naive Bayes for {self.target}", str(self.prior()), *self.notes()])

    def _covariance(self) -> Array:
        if self.parameters_.covariance_of is None:
            raise DataError(f"{self.parameters_.method} gives no standard errors")
        if not hasattr(self, "covariance_"):
            self.covariance_ = self.parameters_.covariance_of()
        return self.covariance_

    def feature_sizes(self) -> list[int]:
        return [table.shape[1] for table in self.feature_log_prob_]
