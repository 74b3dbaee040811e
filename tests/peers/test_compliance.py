"""Published results of models of non-compliance."""

from __future__ import annotations

import numpy as np

from tacit import Attribute, crosswise
from tacit.compliance import Careless, sensitivity
from tests.support.compliance import design_of, records_of, sample

ANCHOR = Attribute("anchor", ["no", "yes"])
COIN = crosswise("0.15")
#: R package cWise 0.1.0, bc_est(Y = Y, A = A, p = 0.15, p.prime = 0.15, data = cmdata), as printed
#: in its vignette "Getting started with cWise": naive .1950 (.0144), interval .1667 to .2233;
#: bias-corrected .1054 (.0231 by bootstrap); attentive rate .7729; 2,000 respondents.
#: These figures imply 1,427 answers "the same" to the question and 1,541 to the anchor.
SAME, ANCHOR_SAME, N = 1427, 1541, 2000


def test_the_naive_estimate_equals_that_of_cwise() -> None:
    """pi = (lambda + p - 1) / (2 p - 1), where lambda is the share of "the same"."""
    records, design = sample([N - SAME, SAME], COIN)
    found = sensitivity(records, design, Careless(), [0])
    assert round(float(found.value[0, 1]), 4) == 0.1950
    assert round(float(found.stderr[0, 1]), 4) == 0.0144
    lower, upper = found.estimates[0].interval()
    np.testing.assert_allclose([lower[1], upper[1]], [0.1667, 0.2233], atol=6e-4)


def test_the_bias_corrected_estimate_equals_that_of_cwise() -> None:
    """Their bootstrap resamples people, who answered both; two samples give nearly its error."""
    anchor = records_of([N - ANCHOR_SAME, ANCHOR_SAME]), design_of(COIN, ANCHOR)
    found = Careless("anchor", [1, 0]).fit([sample([N - SAME, SAME], COIN), anchor], "drug")
    assert round(float(found.value[1]), 4) == 0.1054
    assert round(1 - float(found.share), 4) == 0.7729
    np.testing.assert_allclose(found.stderr[1], 0.0231, atol=1.5e-3)
