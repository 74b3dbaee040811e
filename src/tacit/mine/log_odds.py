"""Naive Bayes to look at: priors and log-odds with their standard errors.

    log-odds(c, x) = log P(x | c) - log P(x | not c)

is what answer x adds to the belief in class c against all others. Standard errors follow from the
covariance of the logits by the delta method; d log P(x|c) / d logit(x'|c) = [x = x'] - P(x'|c).
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import Array
from tacit.mine.learned_model import BayesParameters
from tacit.reconstruction import Estimate
from tacit.schema import Attribute


def prior_estimate(target: Attribute, learnt: BayesParameters, covariance: Array) -> Estimate:
    """P(class) with its standard error; `covariance` is that of the prior's logits."""
    prior = learnt.prior
    slope = np.diag(prior) - np.outer(prior, prior)
    spread = slope @ covariance @ slope
    return Estimate(
        attributes=(target,),
        value=prior,
        stderr=np.sqrt(np.maximum(np.diagonal(spread), 0)),
        n_records=learnt.n_records,
        method=learnt.method,
        name=f"P({target.name})",
        covariance_of=lambda: spread,
    )


def log_odds_estimate(
    target: Attribute,
    attribute: Attribute,
    learnt: BayesParameters,
    table: Array,
    covariance: Array,
) -> Estimate:
    """Log-odds, classes x categories; `covariance` is that of the logits of prior and table."""
    value, slopes = _log_odds(learnt.prior, table)
    spread = slopes @ covariance @ slopes.T
    return Estimate(
        attributes=(target, attribute),
        value=value,
        stderr=np.sqrt(np.maximum(np.diagonal(spread), 0)).reshape(value.shape),
        n_records=learnt.n_records,
        method=learnt.method,
        name=f"log-odds of {target.name} by {attribute.name}",
        covariance_of=lambda: spread,
    )


def _log_odds(prior: Array, table: Array) -> tuple[Array, Array]:
    """Values, and their slopes by the logits of prior and table."""
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
