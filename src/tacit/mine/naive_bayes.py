"""NaiveBayes: a classifier learnt from reported records, for any design.

Reported records are counted once; `method` (see `models.naive_bayes`) then finds P(c) and P(a | c).
Without a design it learns from undisguised records, as scikit-learn's CategoricalNB does.

    log-odds(c, x) = log P(x | c) - log P(x | not c)

is what answer x adds to the log-odds of class c against all others. If `likelihood` has learnt an
attribute, standard errors follow from the covariance of the logits by the delta method;
d log P(x|c) / d logit(x'|c) = [x = x'] - P(x'|c). They hold if the answers are independent given
the class. Intervals never assume this: they come from the table of the class and the attribute (see
`PairLogOdds`), as all other standard errors do. So every attribute has both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logit, ndtri

from tacit.core.arrays import Array, Mask
from tacit.core.channel.linear_maps import row_shares
from tacit.core.channel.numbers import quotient
from tacit.core.design import Design
from tacit.core.schema import Attribute
from tacit.errors import DataError
from tacit.mine.miner import Miner, check_positive
from tacit.models import naive_bayes as bayes
from tacit.output.number_text import number_of
from tacit.reconstruction import Estimate, Reconstruction
from tacit.reconstruction.interval import Interval, check_level
from tacit.records import PatternTable

#: Bisection steps for a limit.
_STEPS = 60


class PairLogOdds:
    """Log-odds with limits from the unbiased table of class and attribute.

    It has shares of (c, x), x and c, classes x categories, these three as events of the cells, and
    the noise between them.

    By Bayes' rule, with w = P(c | x) and p = P(c),

        log-odds(c, x) = log P(x | c) - log P(x | not c) = logit(w) - logit(p).

    A value of the log-odds, and with it a w, is inside the interval if

        (P(c, x) - w P(x))^2  <=  z^2 (h' D h + variance of true records under w) / n
        h = 1(c, x) - w 1(x) - k 1(c),    k = P(c, x) (1 - w) / (1 - p) + P(not c, x) w / p

    where D is what the disguise adds to the covariance of one report, and k accounts for the
    estimated P(c). Nothing is divided by a share that may be zero (Fieller, 1954), and the variance
    of the true records is that under the hypothesis (Wilson, 1927). If P(c, x) or P(not c, x) is
    within noise of zero, a limit is infinite: any value on that side agrees with the reports.

    The estimate is shrunk towards no influence by one record that has the answer. It is finite.
    """

    def __init__(self, pair: Estimate) -> None:
        self.pair, self.n_records = pair, pair.n_records
        classes, categories = pair.value.shape
        n, shares = pair.n_records, pair.value.ravel()
        cells = np.eye(shares.size).reshape(classes, categories, classes, categories)
        of_x = np.broadcast_to(cells.sum(axis=0), cells.shape)
        of_c = np.broadcast_to(cells.sum(axis=1, keepdims=True), cells.shape)
        self.events = np.stack([cells, of_x, of_c], axis=2).reshape(classes, categories, 3, -1)
        noise = n * pair.covariance + np.outer(shares, shares) - np.diag(shares)
        self.noise = self.events @ noise @ np.swapaxes(self.events, 2, 3)
        self.both: Array = np.maximum(pair.value, 0)
        self.answer: Array = self.both + np.maximum(pair.value.sum(axis=0) - pair.value, 0)
        prior = np.broadcast_to(pair.value.sum(axis=1, keepdims=True), self.both.shape)
        self.prior: Array = np.clip(prior, 0.5 / n, 1 - 0.5 / n)

    @property
    def value(self) -> Array:
        """Estimated log-odds."""
        return np.asarray(logit(self._likely()) - logit(self.prior))

    @property
    def stderr(self) -> Array:
        """Standard errors at the estimate."""
        w = self._likely()
        share = np.maximum(self.answer, 1 / self.n_records)
        spread = np.maximum(self._variance(w), 1 / self.n_records**2)
        return np.asarray(np.sqrt(spread) / (share * w * (1 - w)))

    def covariance(self) -> Array:
        """Covariance of all cells: the standard errors, correlated as the table is."""
        w = self._likely()
        slopes = (self._slopes(w)[:, :, None] @ self.events).reshape(w.size, -1)
        linear = slopes @ self.pair.covariance @ slopes.T
        spread = np.sqrt(np.maximum(np.diagonal(linear), 0))
        scale = quotient(self.stderr.ravel(), spread)
        covariance = linear * np.outer(scale, scale)
        np.fill_diagonal(covariance, self.stderr.ravel() ** 2)
        return np.asarray(covariance)

    def interval(self, level: float = 0.95) -> Interval:
        """Limits, infinite where the reports set none."""
        check_level(level)
        z = float(ndtri((1 + level) / 2))
        best = np.stack([self._observed()] * 2)
        ends = np.zeros_like(best)
        ends[1] = 1.0
        lower, upper = logit(self._edge(best, ends, z)) - logit(self.prior)
        return Interval(lower, upper)

    def _observed(self) -> Array:
        """P(c | x); P(c) where nobody seems to answer x."""
        return quotient(self.both, self.answer, self.prior)

    def _likely(self) -> Array:
        """P(c | x) with one more record that is of class c with probability P(c)."""
        p = self.prior
        spread = np.maximum(self._variance(p), 1 / self.n_records**2)
        records = p * (1 - p) * self.answer**2 / spread
        return np.asarray((records * self._observed() + p) / (records + 1))

    def _variance(self, w: Array) -> Array:
        """Variance of the estimate of P(c, x) - w P(x) if P(c | x) is w."""
        p, t = self.prior, np.minimum(self.answer, 1)
        h = self._slopes(w)
        k = -h[..., 2]
        disguise = np.einsum("...i,...ij,...j->...", h, self.noise, h)
        rest = np.clip(p - t * w, 0, 1 - t)
        square = t * w * (1 - w - k) ** 2 + t * (1 - w) * w**2 + rest * k**2
        mean = t * w * (1 - w - k) - t * (1 - w) * w - rest * k
        sampling = np.maximum(square - mean**2, 0)
        return np.asarray((np.maximum(disguise, 0) + sampling) / self.n_records)

    def _slopes(self, w: Array) -> Array:
        """h of the three events."""
        k = self.both * (1 - w) / (1 - self.prior) + (self.answer - self.both) * w / self.prior
        return np.stack([np.ones_like(w), -w, -k], axis=-1)

    def _accepted(self, w: Array, z: float) -> Mask:
        gap = self.both - w * self.answer
        return np.asarray(gap**2 <= z**2 * self._variance(w))

    def _edge(self, inside: Array, end: Array, z: float) -> Array:
        """The last accepted value on the way to an end; the end itself if it is accepted."""
        outside, free = end, self._accepted(end, z)
        for _ in range(_STEPS):
            middle = (inside + outside) / 2
            good = self._accepted(middle, z)
            inside, outside = np.where(good, middle, inside), np.where(good, outside, middle)
        return np.where(free, end, inside)


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
        method: bayes.BayesMethod = bayes.likelihood,
    ) -> None:
        super().__init__(design, target)
        self.alpha = alpha
        self.method = method

    def check_arguments(self) -> None:
        check_positive("alpha", self.alpha)
        if self.method not in (bayes.likelihood, bayes.pairs, bayes.literal):
            raise DataError(
                f"method must be likelihood, pairs or literal of tacit.mine, got {self.method!r}"
            )

    def _fit_reported(self, patterns: PatternTable, design: Design, target: Attribute) -> None:
        self.restore(self.method(Reconstruction(patterns, design), target.name, self.alpha))

    def _fit_undisguised(
        self, X: npt.NDArray[Any], codes: npt.NDArray[Any], classes: npt.NDArray[Any]
    ) -> None:
        n_classes, tables = len(classes), []
        for column in X.T:
            k = int(column.max()) + 1
            counts = np.bincount(codes * k + column, minlength=n_classes * k) + self.alpha
            table = counts.reshape(n_classes, k).astype(np.float64)
            tables.append(row_shares(table))
        prior = np.bincount(codes) / len(codes)
        self.restore(bayes.BayesParameters(prior, tables, len(codes), "counts"))

    def restore(self, parameters: bayes.BayesParameters) -> None:
        """Set the parameters."""
        self.parameters_ = parameters
        with np.errstate(divide="ignore"):
            self.class_log_prior_ = np.log(parameters.prior)
            self.feature_log_prob_ = [np.log(table) for table in parameters.tables]

    def predict_log_proba(self, X: Any) -> Array:
        """log P(class | true record), records x classes."""
        codes = self.feature_codes(X)
        return class_log_proba(self.class_log_prior_, self.feature_log_prob_, codes)

    def predict_proba(self, X: Any) -> Array:
        """P(class | true record), records x classes."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def prior(self) -> Estimate:
        """P(class) with its standard error; the interval is that of the unbiased estimate."""
        _, target = self.design_and_target()
        learnt, prior = self.parameters_, self.parameters_.prior
        alone = learnt.prior_table
        assert alone is not None
        covariance = alone.covariance
        if learnt.covariance_of is not None:
            slope = np.diag(prior) - np.outer(prior, prior)
            covariance = slope @ self._spread([target]) @ slope
        axes, name = alone.attributes, f"P({target})"
        estimate = Estimate.of_covariance(
            axes, prior, covariance, learnt.n_records, learnt.method, name
        )
        return replace(estimate, score_of=alone.score_of, fit_of=alone.fit_of)

    def log_odds(self, attribute: str) -> Estimate:
        """Log-odds of each class by the answers to an attribute, classes x categories.

        The interval comes from the table of the class and the attribute, whatever the method: it
        does not assume a naive Bayes model. A limit is infinite if this table sets none. If an
        attribute is within noise and not used for prediction, the estimate comes from it too.
        """
        design, target = self.design_and_target()
        features = design.schema.without(target)
        table = np.exp(self.feature_log_prob_[features.index(attribute)])
        learnt, unused = self.parameters_, attribute in self.parameters_.unused
        value, slopes = log_odds(learnt.prior, table)
        alone = PairLogOdds(learnt.pair_tables[attribute])
        covariance = np.full(np.shape(slopes)[:1] * 2, np.nan)
        if learnt.covariance_of is not None and not unused:
            covariance = slopes @ self._spread([target, attribute]) @ slopes.T
        if not np.isfinite(covariance).all():
            value = np.where(np.isfinite(value) & (not unused), value, alone.value)
            covariance = alone.covariance()
        method = f"{learnt.method}, not used for prediction" if unused else learnt.method
        name = f"log-odds of {target} by {attribute}"
        estimate = Estimate.of_covariance(
            alone.pair.attributes, value, covariance, learnt.n_records, method, name
        )
        return replace(estimate, interval_of=alone.interval)

    def _spread(self, names: list[str]) -> Array:
        """Covariance of the logits of these."""
        assert self.parameters_.covariance_of is not None
        positions = bayes.logit_positions(*self.design_and_target())
        rows = np.concatenate([positions[name] for name in names])
        return np.asarray(self.parameters_.covariance_of()[np.ix_(rows, rows)])

    def notes(self) -> list[str]:
        """How learning ended, what was not used, and what the reports leave open."""
        self.design_and_target()
        learnt = self.parameters_
        notes = [learnt.note] if learnt.note else []
        notes += [f"no record of class {c}" for c in self.classes_[learnt.prior <= 0]]
        if learnt.convergence is not None and not learnt.convergence.converged:
            steps = number_of(learnt.convergence.iterations, "iteration")
            notes.append(f"NOT converged after {steps}")
        return notes + self.undecided_note()

    def summary(self) -> str:
        """The priors, how they were learnt, and the notes."""
        return "\n".join([f"naive Bayes for {self.target}", str(self.prior()), *self.notes()])


def class_log_proba(log_prior: Array, log_tables: list[Array], codes: npt.NDArray[Any]) -> Array:
    """log P(class | record) if answers are independent given the class, records x classes."""
    joint = np.repeat(log_prior[:, None], len(codes), axis=1)
    for column, table in zip(codes.T, log_tables, strict=True):
        joint += table.take(column, axis=1)
    top = joint.max(axis=0)
    return np.asarray((joint - top - np.log(np.exp(joint - top).sum(axis=0))).T)


def log_odds(prior: Array, table: Array) -> tuple[Array, Array]:
    """Log-odds, classes x categories, and their slopes by the logits of prior and table."""
    classes, size = table.shape
    value = np.empty((classes, size))
    slopes = np.zeros((classes, size, classes + classes * size))
    for c in range(classes):
        others = np.arange(classes) != c
        rest = prior[others].sum()
        if rest <= 0:  # no other class was ever seen
            value[c], slopes[c] = np.nan, np.nan
            continue
        weights = np.where(others, prior, 0) / rest
        among = weights[:, None] * table / (weights @ table)
        value[c] = np.log(table[c]) - np.log(weights @ table)
        share = np.where(others[:, None], -among, 1.0)
        slopes[c, :, :classes] = np.where(others[:, None], weights[:, None] - among, 0.0).T
        centred = np.eye(size)[None] - table[:, None, :]
        slopes[c, :, classes:] = (share[:, :, None] * centred).transpose(1, 0, 2).reshape(size, -1)
    return value, slopes.reshape(classes * size, -1)
