"""accuracy, confusion, recall: how well a classifier does on true records, from reported ones.

Accuracy is the mean of h(record) = [model(record) = class] over true records, the entries of the
confusion table those of h = [class = c, model(record) = v]; see `signed_records`. One
estimator serves every design, the class disguised or not (Du & Zhan 2003, section 4.3, and Zhan &
Matwin, section 3.4, are the cases in
`paper_accuracies`). All standard errors are those of a mean over independent records:

    Cov = (mean of g g^T - mean of g  mean of g^T) / n

Intervals are normal and may reach below 0 or above 1; with few records, or where all records
contribute alike, they are too short.
A test set must be other records than those the model was fitted on, as always.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.arrays import Array, Codes
from tacit.counting import PatternTable
from tacit.design import Design
from tacit.errors import DataError
from tacit.evaluate.classifier import Classifier, Predicted
from tacit.evaluate.signed_records import RECORD_BLOCK, SignedRecords, signed_records
from tacit.reconstruction import Estimate, reconstruct
from tacit.schema import Attribute

#: Draws to average for each record where copies are drawn (see `signed_kernels`).
DRAWS = 8
#: A confusion table of more cells than this is refused: so would be its covariance.
MOST_CELLS = 4096

#: The outcome of testing each record, as a number.
Outcome = Callable[[Codes], Predicted]


def accuracy(
    model: Any,
    reported: Any,
    design: Design,
    target: str | None = None,
    rng: np.random.Generator | None = None,
    draws: int = DRAWS,
) -> Estimate:
    """Share of true records that the model classifies rightly.

    `model` is anything with `predict` (see `classifier`), `reported` whatever `reconstruct` takes.
    `target` is needed where the model does not say what it predicts. `rng` and `draws` matter
    only for designs that replace answers of many categories; None always draws the same.
    """
    test = _Test.of(model, reported, design, target)
    result = test.right(rng, draws)
    return Estimate(
        attributes=(),
        value=np.asarray(result.mean[1]),
        stderr=np.asarray(np.sqrt(max(result.covariance[1, 1], 0.0))),
        n_records=test.table.n_records,
        method="inversion",
        name="accuracy",
    )


def confusion(
    model: Any,
    reported: Any,
    design: Design,
    target: str | None = None,
    rng: np.random.Generator | None = None,
    draws: int = DRAWS,
) -> Estimate:
    """Joint distribution of the true class and the predicted one; arguments as for `accuracy`.

    The second attribute is called 'predicted', with underscores if the target is called so.
    """
    test = _Test.of(model, reported, design, target)
    result = test.cells(rng, draws)
    own = test.classifier.target
    beside = Attribute("predicted_" if own.name == "predicted" else "predicted", own.categories)
    return Estimate(
        attributes=(own, beside),
        value=result.mean.reshape(own.size, own.size),
        stderr=_stderr(result.covariance).reshape(own.size, own.size),
        n_records=test.table.n_records,
        method="inversion",
        name=f"P({own.name}, {beside.name})",
        covariance_of=lambda: result.covariance,
    )


def recall(
    model: Any,
    reported: Any,
    design: Design,
    target: str | None = None,
    rng: np.random.Generator | None = None,
    draws: int = DRAWS,
) -> Estimate:
    """Share of the records of each class that are classified rightly; arguments as for `accuracy`.

        R_c = P(c, c) / P(c),    dR_c = ((1 - R_c) dP(c, c) - R_c sum_{v != c} dP(c, v)) / P(c)

    Standard errors by the delta method: good where P(c) is several standard errors above 0. Not a
    number where the estimate of P(c) is not positive.
    """
    test = _Test.of(model, reported, design, target)
    result = test.cells(rng, draws)
    own = test.classifier.target
    table = result.mean.reshape(own.size, own.size)
    value, slopes = _ratios(table)
    covariance: Array = slopes @ result.covariance @ slopes.T
    return Estimate(
        attributes=(own,),
        value=value,
        stderr=_stderr(covariance),
        n_records=test.table.n_records,
        method="inversion",
        name=f"recall by {own.name}",
        covariance_of=lambda: covariance,
    )


def _ratios(table: Array) -> tuple[Array, Array]:
    """Recall of each class and its derivatives by the cells of the confusion table."""
    k = len(table)
    totals = table.sum(axis=1)
    totals = np.where(totals > 0, totals, np.nan)
    value: Array = table.diagonal() / totals
    slopes = np.zeros((k, k, k))
    each = np.arange(k)
    slopes[each, each, :] = (-value / totals)[:, None]
    slopes[each, each, each] += 1 / totals
    slopes[np.isnan(value)] = np.nan
    return value, slopes.reshape(k, k * k)


def _stderr(covariance: Array) -> Array:
    errors: Array = np.sqrt(np.maximum(covariance.diagonal(), 0))
    return errors


@dataclass(frozen=True, eq=False)
class Moments:
    """Means of the outcomes over true records, and the covariance of these means."""

    mean: Array
    covariance: Array


def moments(
    copies: SignedRecords,
    table: PatternTable,
    outcome: Outcome,
    outcomes: int,
    rng: np.random.Generator,
) -> Moments:
    """How often each outcome 0 .. outcomes - 1 of a function of the true record occurs."""
    total, squares = np.zeros(outcomes), np.zeros((outcomes, outcomes))
    for reported, counts in copies.blocks(table, max(256, min(RECORD_BLOCK, 2**22 // outcomes))):
        weights = _weights(copies, reported, outcome, outcomes, rng)
        total += counts @ weights
        squares += (weights.T * counts) @ weights
    mean = total / table.n_records
    return Moments(mean, (squares / table.n_records - np.outer(mean, mean)) / table.n_records)


def _summed(weights: Array, table: PatternTable) -> Moments:
    """Moments of what each pattern counts, patterns x outcomes."""
    n = table.n_records
    mean = table.counts @ weights / n
    squares = (weights.T * table.counts) @ weights
    return Moments(mean, (squares / n - np.outer(mean, mean)) / n)


def _weights(
    copies: SignedRecords,
    reported: Codes,
    outcome: Outcome,
    outcomes: int,
    rng: np.random.Generator,
) -> Array:
    """g: what each reported record contributes to each outcome."""
    places = np.arange(len(reported)) * outcomes
    result = np.zeros(len(reported) * outcomes)
    for batch, weights in copies.of(reported, rng):
        found = outcome(batch.reshape(-1, batch.shape[-1])).reshape(weights.shape)
        result += np.bincount((found + places).ravel(), weights.ravel(), result.size)
    return result.reshape(len(reported), outcomes)


@dataclass(frozen=True, eq=False)
class _Test:
    """A classifier and the reported records it is tested on."""

    classifier: Classifier
    table: PatternTable
    design: Design
    model: Any

    @classmethod
    def of(cls, model: Any, reported: Any, design: Design, target: str | None) -> _Test:
        table = reconstruct(reported, design).patterns
        return cls(Classifier(model, design.schema, target), table, design, model)

    def right(self, rng: np.random.Generator | None, draws: int) -> Moments:
        """Moments of being wrong (0) and right (1)."""
        told = self._told()
        if told is None:
            return self.moments(self.right_or_wrong, 2, rng, draws)
        right = told.trace(axis1=1, axis2=2)
        return _summed(np.stack([told.sum(axis=(1, 2)) - right, right], axis=1), self.table)

    def _told(self) -> Array | None:
        """What each pattern counts towards each true and predicted class, if the model tells.

        A tree does: it asks a few attributes a leaf, so copies of whole records are not needed and
        any number of groups will do.
        """
        outcomes = getattr(self.model, "outcomes", None)
        return None if outcomes is None else np.asarray(outcomes(self.table, self.design))

    def right_or_wrong(self, records: Codes) -> Predicted:
        """1 where the model is right."""
        return self.classifier.correct(records).astype(np.intp)

    def cell(self, records: Codes) -> Predicted:
        """The cell of the confusion table."""
        truth = self.classifier.truth(records)
        return truth * self.classifier.target.size + self.classifier.predict(records)

    def cells(self, rng: np.random.Generator | None, draws: int) -> Moments:
        """Moments of the confusion table."""
        size = self.classifier.target.size
        if size**2 > MOST_CELLS:
            raise DataError(
                f"the confusion table of {self.classifier.target.name!r} has {size**2:,} cells, "
                f"more than the {MOST_CELLS:,} allowed; ask for accuracy"
            )
        told = self._told()
        if told is None:
            return self.moments(self.cell, size**2, rng, draws)
        return _summed(told.reshape(len(told), -1), self.table)

    def moments(
        self, outcome: Outcome, outcomes: int, rng: np.random.Generator | None, draws: int
    ) -> Moments:
        """Moments of any outcome on this test set."""
        if isinstance(draws, bool) or not isinstance(draws, int) or draws < 1:
            raise DataError(f"draws must be a whole number of at least 1, got {draws!r}")
        copies = signed_records(self.design, self.table, draws)
        return moments(copies, self.table, outcome, outcomes, generator(rng))


def generator(rng: np.random.Generator | None) -> np.random.Generator:
    """The generator given, or one that always draws the same."""
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise DataError(
            f"rng must be a numpy.random.Generator, such as numpy.random.default_rng(7), or None, "
            f"got {rng!r}"
        )
    return np.random.default_rng(0) if rng is None else rng
