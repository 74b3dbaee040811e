"""complement_accuracy, personal_accuracy: testing as the papers print it, each for its design.

Both are cases of `accuracy`; they are kept for reproduction, and `personal_accuracy` also for the
protocol in which respondents test the model on their personal answers themselves.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tacit.arrays import Array, Codes
from tacit.channel.distribution import Distribution
from tacit.channel.keep_or_draw import ReplacementChannel
from tacit.channel.related import AgreementChannel
from tacit.design import Design
from tacit.errors import DataError, DesignError
from tacit.evaluate.accuracy import generator
from tacit.evaluate.classifier import Classifier
from tacit.exact_draws import Draws, source_of
from tacit.label_codes import code_type
from tacit.reconstruction import Estimate, reconstruct

#: Up to this many joint answers P(Y cc) is summed over all of them; beyond, as many are drawn.
LISTED_CELLS = 1 << 16


def complement_accuracy(
    model: Any, reported: Any, design: Design, target: str | None = None
) -> Estimate:
    """Accuracy from the reported records S and their complement, for one related yes/no group.

        P*  = theta P + (1 - theta) P^c         share of S classified rightly
        P^c* = theta P^c + (1 - theta) P        share of the complements classified rightly
        P = (theta P* - (1 - theta) P^c*) / (2 theta - 1)

    The class is disguised with the rest. At theta = 1/2 no estimate exists. Du & Zhan (2003,
    section 4.3); the standard error is ours.
    """
    theta = _theta_of_complements(design)
    classifier = Classifier(model, design.schema, target)
    table = reconstruct(reported, design).patterns
    shares = table.counts / table.n_records
    right = classifier.correct(table.patterns).astype(np.float64)
    opposite = classifier.correct(1 - table.patterns).astype(np.float64)
    share, share_opposite = float(shares @ right), float(shares @ opposite)
    value = (theta * share - (1 - theta) * share_opposite) / (2 * theta - 1)
    each = (theta * right - (1 - theta) * opposite) / (2 * theta - 1)
    variance = float(shares @ each**2) - value**2
    return _estimate(value, variance / table.n_records, table.n_records)


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
    theta, drawn = _replaced(design)
    classifier = Classifier(model, design.schema, target)
    table = reconstruct(reported, design).patterns
    n = table.n_records
    right = float(table.counts @ classifier.correct(table.patterns)) / n
    variance = right * (1 - right) / n
    if results is None:
        personal, spread = _known(classifier, design, drawn, generator(rng))
        variance += (1 - theta) ** 2 * spread
    else:
        answers = _checked(results, n)
        personal, own = float(answers.mean()), float(answers.var())
        variance += (1 - theta) ** 2 * own * (1 / len(answers) - 2 / n)
    value = (right - (1 - theta) * personal) / theta
    return _estimate(value, variance / theta**2, n)


def _estimate(value: float, variance: float, n_records: int) -> Estimate:
    return Estimate(
        attributes=(),
        value=np.asarray(value),
        stderr=np.asarray(math.sqrt(max(variance, 0.0))),
        n_records=n_records,
        method="inversion",
        name="accuracy",
    )


def _theta_of_complements(design: Design) -> float:
    """theta of the one group of related yes/no answers."""
    channel = design.channel(design.schema.names)
    first = channel.factors[0].channel
    alone = len(channel.factors) == 1 and isinstance(first, AgreementChannel)
    if not alone or set(design.schema.sizes) != {2}:
        raise DesignError(
            "complement_accuracy is for one related group of yes/no attributes, the target among "
            "them; accuracy serves every design"
        )
    channel.require_reconstructable()
    assert isinstance(first, AgreementChannel)
    return float(first.theta)


def _replaced(design: Design) -> tuple[float, Distribution]:
    """theta and the known distribution of the one replacing group, in the schema's order."""
    channel = design.channel(design.schema.names)
    first = channel.factors[0].channel
    if len(channel.factors) > 1 or not isinstance(first, ReplacementChannel):
        raise DesignError(
            "personal_accuracy is for one group of unrelated, forced, uniform_perturbation or "
            "frapp, the target in it; accuracy serves every design"
        )
    channel.require_reconstructable()
    names = channel.factors[0].names
    return float(first.theta), first.drawn.marginal(tuple(map(names.index, design.schema.names)))


def _known(
    classifier: Classifier, design: Design, drawn: Distribution, rng: np.random.Generator
) -> tuple[float, float]:
    """P(Y cc) under the known distribution, and the variance of that figure where it is drawn."""
    sizes = design.schema.sizes
    if math.prod(sizes) <= LISTED_CELLS:
        cells = np.indices(sizes, dtype=code_type(design.schema)).reshape(len(sizes), -1).T
        return float(drawn.cells @ classifier.correct(cells)), 0.0
    right = classifier.correct(_draws(drawn, design, rng))
    return float(right.mean()), float(right.var()) / LISTED_CELLS


def _draws(drawn: Distribution, design: Design, rng: np.random.Generator) -> Codes:
    """Personal answers of as many people as cells would be listed."""
    records = np.empty((LISTED_CELLS, len(design.schema)), code_type(design.schema))
    for unit, distribution in zip(*drawn.units, strict=True):
        cells = Draws([distribution]).draw(None, LISTED_CELLS, source_of(rng))
        answers = np.unravel_index(cells, [design.schema.sizes[i] for i in unit])
        for place, codes in zip(unit, answers, strict=True):
            records[:, place] = codes
    return records


def _checked(results: Any, n_records: int) -> Array:
    """Results as an array of 0 and 1, at most one a record."""
    answers = np.asarray(results)
    good = answers.ndim == 1 and answers.dtype.kind in "biuf" and np.isin(answers, (0, 1)).all()
    if not good or not 1 <= len(answers) <= n_records:
        raise DataError(
            f"results must be a list of 0 and 1, at least one and at most one a reported record "
            f"({n_records:,}), got an array of {answers.dtype} of shape {answers.shape}"
        )
    return answers.astype(np.float64)
