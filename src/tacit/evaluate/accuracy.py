"""accuracy, confusion, recall: how well a classifier does on true records, from reported ones.

Accuracy is the mean of h(record) = [model(record) = class] over true records, the entries of the
confusion table those of h = [class = c, model(record) = v]; see `signed_records`. One estimator
serves every design, the class disguised or not (Du & Zhan 2003, section 4.3, and Zhan & Matwin,
section 3.4, are the cases in `paper_accuracies`).

Intervals lie in [0, 1]. They assume that the disguise adds as much noise to records that are
classified correctly as to others.
A test set must contain other records than those the model was fitted on, as always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from tacit.core.arrays import Array, Codes
from tacit.core.design import Design
from tacit.core.schema import Attribute
from tacit.errors import DataError
from tacit.evaluate.classifier import Classifier, Predicted
from tacit.evaluate.signed_records import RECORD_BLOCK, SignedRecords, signed_records
from tacit.reconstruction import Estimate, reconstruct
from tacit.reconstruction.estimate import Numbers, linear_estimate
from tacit.reconstruction.fit import DesignFit
from tacit.reconstruction.sampling.incomplete_patterns import IncompletePatterns
from tacit.reconstruction.sampling.sample_columns import SamplingArguments
from tacit.reconstruction.sampling.weighted_patterns import WeightedPatterns, sample_of
from tacit.reconstruction.shares import conditional_shares
from tacit.records import PatternTable

#: Draws to average for each record if copies are drawn (see `signed_kernels`).
DRAWS = 8
#: A confusion table of more cells than this is refused; its covariance would be too large.
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
    **sampling: Unpack[SamplingArguments],
) -> Estimate:
    """Share of true records that the model classifies correctly.

    `model` is anything with `predict` (see `classifier`), `reported` whatever `reconstruct` takes.
    `target` is needed if the model does not say what it predicts. `rng` and `draws` matter only for
    designs that replace answers of many categories; None always draws the same. `weights`,
    `strata`, `clusters` and `fpc` say how people were sampled, as in `reconstruct`. Records with
    missing answers are left out.
    """
    table, left_out = _test_records(reported, design, sampling)
    classifier = Classifier(model, design.schema, target)
    own = _model_weights(model, table, design)
    if own is not None:
        right_weights = own.trace(axis1=1, axis2=2)
        return _tested([(right_weights, table.counts)], "accuracy", table, design, left_out)

    def right(records: Codes) -> Predicted:
        return classifier.correct(records).astype(np.intp)

    signed = signed_records(design, table, draws)
    table = _drawn_alone(table, signed)
    blocks = outcome_weights(signed, table, right, 2, rng)
    rights = ((weights[:, 1], counts) for weights, counts in blocks)
    return _tested(rights, "accuracy", table, design, left_out)


def confusion(
    model: Any,
    reported: Any,
    design: Design,
    target: str | None = None,
    rng: np.random.Generator | None = None,
    draws: int = DRAWS,
    **sampling: Unpack[SamplingArguments],
) -> Estimate:
    """Joint distribution of the true class and the predicted one; arguments as for `accuracy`.

    The second attribute is called 'predicted', or 'predicted_' if that is the target's name.
    """
    table, left_out = _test_records(reported, design, sampling)
    classifier = Classifier(model, design.schema, target)
    true, cells = classifier.target, classifier.target.size**2
    if cells > MOST_CELLS:
        raise DataError(
            f"the confusion table of {true.name!r} has {cells:,} cells, "
            f"more than the {MOST_CELLS:,} allowed; ask for accuracy"
        )

    def cell(records: Codes) -> Predicted:
        return classifier.truth(records) * true.size + classifier.predict(records)

    name = "predicted_" if true.name == "predicted" else "predicted"
    title, attributes = f"P({true.name}, {name})", (true, Attribute(name, true.categories))
    own = _model_weights(model, table, design)
    if own is not None:
        return _tested([(own, table.counts)], title, table, design, left_out, attributes)
    signed = signed_records(design, table, draws)
    table = _drawn_alone(table, signed)
    blocks = outcome_weights(signed, table, cell, cells, rng)
    return _tested(blocks, title, table, design, left_out, attributes)


def recall(
    model: Any,
    reported: Any,
    design: Design,
    target: str | None = None,
    rng: np.random.Generator | None = None,
    draws: int = DRAWS,
    **sampling: Unpack[SamplingArguments],
) -> Estimate:
    """Share of each class that is classified correctly; arguments as for `accuracy`.

        R_c = P(c, c) / P(c)

    See `conditional_shares` for errors and intervals. Not a number if the estimate of P(c) is not
    positive; the interval is then all of [0, 1].
    """
    table = confusion(model, reported, design, target, rng, draws, **sampling)
    own, name = table.attributes[0], f"recall by {table.attributes[0].name}"
    each = np.arange(own.size) * (own.size + 1)
    return conditional_shares(table, 1, name).part(each, (own,), name)


def _test_records(
    reported: Any, design: Design, sampling: SamplingArguments
) -> tuple[PatternTable, int]:
    """The records to test on, and how many were left out because answers are missing."""
    found = reconstruct(reported, design, **sampling).patterns
    if isinstance(found, IncompletePatterns):
        complete = found.complete(found.schema.names)
        return complete, found.n_records - complete.n_records
    return found, 0


def _drawn_alone(table: PatternTable, signed: SignedRecords) -> PatternTable:
    """A row per record of a sample, if copies are drawn."""
    return table.expanded() if signed.random and isinstance(table, WeightedPatterns) else table


def _tested(
    blocks: Iterable[tuple[Numbers, Numbers]],
    name: str,
    table: PatternTable,
    design: Design,
    left_out: int,
    attributes: tuple[Attribute, ...] = (),
) -> Estimate:
    """Probabilities from weights of reports, with the test of fit of the design."""
    sample = sample_of(table)
    found = linear_estimate(blocks, name, attributes, probability=True, sample=sample)
    fit = DesignFit(table, design, design.schema.names)
    return replace(found, fit_of=fit, n_left_out=left_out)


def _model_weights(model: Any, table: PatternTable, design: Design) -> Array | None:
    """Weights of patterns for each true and predicted class, if the model can compute them.

    A tree can: each of its leaves is an event with few conditions, so whole records need not be
    copied and the design may have any number of groups.
    """
    outcomes = getattr(model, "outcomes", None)
    return None if outcomes is None else np.asarray(outcomes(table, design))


def outcome_weights(
    records: SignedRecords,
    table: PatternTable,
    outcome: Outcome,
    outcomes: int,
    rng: np.random.Generator | None,
) -> Iterator[tuple[Array, Array]]:
    """g of reported records for each outcome 0 .. outcomes - 1 of a function of the true record.

    Blocks of weights, records x outcomes, and how often each record counts.
    """
    source = generator(rng)
    for reported, counts in records.blocks(table, max(256, min(RECORD_BLOCK, 2**22 // outcomes))):
        places = np.arange(len(reported)) * outcomes
        result = np.zeros(len(reported) * outcomes)
        for batch, weights in records.of(reported, source):
            found = outcome(batch.reshape(-1, batch.shape[-1])).reshape(weights.shape)
            result += np.bincount((found + places).ravel(), weights.ravel(), result.size)
        yield result.reshape(len(reported), outcomes), counts


def generator(rng: np.random.Generator | None) -> np.random.Generator:
    """The generator given, or one that always draws the same."""
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise DataError(
            f"rng must be a numpy.random.Generator, such as numpy.random.default_rng(7), or None, "
            f"got {rng!r}"
        )
    return np.random.default_rng(0) if rng is None else rng
