"""complement_accuracy, personal_accuracy: testing as the papers print it, each for its design.

Both are cases of `accuracy`, kept for reproduction. `personal_accuracy` also serves the protocol in
which respondents test the model on their personal answers themselves.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel.coin import Distribution
from tacit.core.design import Design
from tacit.core.label_codes import code_type
from tacit.errors import DataError, DesignError
from tacit.evaluate.accuracy import accuracy, generator
from tacit.evaluate.classifier import Classifier
from tacit.reconstruction import Estimate
from tacit.reconstruction.estimate import linear_estimate
from tacit.reconstruction.fit import DesignFit
from tacit.reconstruction.group_weights import GroupWeights
from tacit.reconstruction.plain_patterns import plain_patterns
from tacit.reconstruction.report_weights import ReportWeights
from tacit.reconstruction.signed_kernels import DrawKernel
from tacit.reconstruction.weights import KeepOrComplementWeights, KeepOrDrawWeights
from tacit.records import PatternTable

#: Up to this many joint answers P(Y cc) is summed over all of them; beyond, as many are drawn.
LISTED_CELLS = 1 << 16


def complement_accuracy(
    model: Any, reported: Any, design: Design, target: str | None = None
) -> Estimate:
    """Accuracy from the reported records S and their complement, for one related yes/no group.

        P*  = theta P + (1 - theta) P^c         share of S classified correctly
        P^c* = theta P^c + (1 - theta) P        share of the complements classified correctly
        P = (theta P* - (1 - theta) P^c*) / (2 theta - 1)

    The class is disguised with the rest. At theta = 1/2 no estimate exists. Du & Zhan (2003,
    section 4.3); the standard error is ours. `accuracy` gives the same for this design.
    """
    patterns = plain_patterns(reported, design)
    if not isinstance(_only_group(patterns, design), KeepOrComplementWeights):
        raise DesignError(
            "complement_accuracy is for one related group of yes/no attributes, the target among "
            "them; accuracy serves every design"
        )
    return accuracy(model, patterns, design, target)


def personal_accuracy(
    model: Any,
    reported: Any,
    design: Design,
    target: str | None = None,
    results: Any = None,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """Accuracy from the known or reported accuracy on personal answers, for one replacing group.

        P(A cc) = (P*(cc) - (1 - theta) P(Y cc)) / theta

    P(Y cc) comes from the known distribution of the personal answers; or from `results`, 0 or 1 of
    respondents to `reported`, all or some, who applied the model to their own personal answers:
    then a report and a result of one person have covariance (1 - theta) Var(result), since a
    report is the personal answers with probability 1 - theta. With over 65,536 joint answers,
    P(Y cc) is estimated from as many draws, and the standard error includes these. At theta = 0 no
    estimate exists, although it is listed. Zhan & Matwin (section 3.4); the standard error is ours.
    """
    patterns = plain_patterns(reported, design)
    weights = _only_group(patterns, design)
    if not isinstance(weights, KeepOrDrawWeights):
        raise DesignError(
            "personal_accuracy is for one group of unrelated, forced, uniform_perturbation or "
            "frapp, the target in it; accuracy serves every design"
        )
    theta, n = weights.theta, patterns.n_records
    classifier = Classifier(model, design.schema, target)
    right = linear_estimate([(classifier.correct(patterns.patterns), patterns.counts)], "accuracy")
    variance = float(right.stderr**2)
    if results is None:
        personal, spread = _known(classifier, design, weights.drawn, generator(rng))
        variance += (1 - theta) ** 2 * spread
    else:
        answers = _checked(results, n)
        personal, own = float(answers.mean()), float(answers.var())
        variance += (1 - theta) ** 2 * own * (1 / len(answers) - 2 / n)
    value = np.asarray((float(right) - (1 - theta) * personal) / theta)
    covariance = np.full((1, 1), max(variance / theta**2, 0.0))
    found = Estimate.of_covariance((), value, covariance, n, right.method, right.name)
    fit = DesignFit(patterns, design, design.schema.names)
    return replace(found.as_probability(), fit_of=fit)


def _only_group(patterns: PatternTable, design: Design) -> GroupWeights | None:
    """The weights of the only group; None if there are several."""
    design.channel(design.schema.names).require_reconstructable()
    return ReportWeights(patterns, design).group(0).weights if len(design.groups) == 1 else None


def _known(
    classifier: Classifier, design: Design, drawn: Distribution, rng: np.random.Generator
) -> tuple[float, float]:
    """P(Y cc) under the known distribution, and the variance of that figure if it is drawn."""
    sizes, kind = design.schema.sizes, code_type(design.schema)
    (factor,) = design.channel(design.schema.names).factors
    if math.prod(sizes) <= LISTED_CELLS:
        cells = np.indices(sizes, dtype=kind).reshape(len(sizes), -1).T
        order = tuple(map(factor.true_axes.index, range(len(sizes))))
        return float(drawn.marginal(order).cells @ classifier.correct(cells)), 0.0
    records = np.empty((LISTED_CELLS, len(sizes)), kind)
    DrawKernel(factor, 1.0, drawn).write(records, records, rng)
    right = classifier.correct(records)
    return float(right.mean()), float(right.var()) / LISTED_CELLS


def _checked(results: Any, n_records: int) -> Array:
    """Results as an array of 0 and 1, at most one per record."""
    answers = np.asarray(results)
    good = answers.ndim == 1 and answers.dtype.kind in "biuf" and np.isin(answers, (0, 1)).all()
    if not good or not 1 <= len(answers) <= n_records:
        raise DataError(
            f"results must be a list of 0 and 1, at least one and at most one per reported record "
            f"({n_records:,}), got an array of {answers.dtype} of shape {answers.shape}"
        )
    return answers.astype(np.float64)
