"""Weighted, clustered regressions without disguise are those of statsmodels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacit import Attribute, Design, Group, Schema, reconstruct, truthful
from tacit.regression import linear, logit
from tests.support.samples import HOW, PLAIN, jackknife_variance, sample, units_of

sm = pytest.importorskip("statsmodels.api")

DESIGN = Design(Schema([Attribute("y", ["no", "yes"])]), [Group(["y"], truthful())])
CLUSTERS = 12


def _data() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(11)
    n = 800
    cluster = rng.integers(0, CLUSTERS, n)
    x = rng.normal(size=n) + cluster / 6
    yes = rng.random(n) < 1 / (1 + np.exp(0.5 - 0.7 * x))
    frame = pd.DataFrame(
        {"y": np.where(yes, "yes", "no"), "x": x, "w": rng.integers(1, 5, n), "c": cluster}
    )
    return frame, sm.add_constant(x), yes.astype(float)


@pytest.mark.filterwarnings("ignore:cov_type not fully supported")
def test_a_weighted_logit_is_the_clustered_glm_of_statsmodels() -> None:
    """GLM with cov_type="cluster", use_correction=False, lacks the factor G / (G - 1)."""
    frame, matrix, yes = _data()
    model = sm.GLM(yes, matrix, family=sm.families.Binomial(), var_weights=frame["w"].to_numpy())
    groups = {"groups": frame["c"].to_numpy(), "use_correction": False}
    peer = model.fit(cov_type="cluster", cov_kwds=groups, tol=1e-12)
    fit = logit("y ~ x", frame, DESIGN, weights="w", clusters="c")
    assert np.allclose(np.asarray(fit.params), peer.params, rtol=1e-6)
    expected = peer.bse * np.sqrt(CLUSTERS / (CLUSTERS - 1))
    assert np.allclose(np.asarray(fit.bse), expected, rtol=1e-5)


def test_a_weighted_linear_regression_is_the_clustered_wls_of_statsmodels() -> None:
    frame, _, _ = _data()
    matrix = sm.add_constant((frame["y"] == "yes").to_numpy().astype(float))
    model = sm.WLS(frame["x"].to_numpy(), matrix, weights=frame["w"].to_numpy())
    groups = {"groups": frame["c"].to_numpy(), "use_correction": False}
    peer = model.fit(cov_type="cluster", cov_kwds=groups)
    fit = linear("x ~ y", frame, DESIGN, weights="w", clusters="c")
    assert np.allclose(np.asarray(fit.params), peer.params, rtol=1e-9)
    expected = peer.bse * np.sqrt(CLUSTERS / (CLUSTERS - 1))
    assert np.allclose(np.asarray(fit.bse), expected, rtol=1e-9)


def test_a_weighted_mean_is_that_of_statsmodels() -> None:
    """WLS on a constant with cov_type="HC0", times n / (n - 1)."""
    frame = sample(PLAIN)
    yes = (frame["smokes"] == "yes").to_numpy().astype(float)
    weights = frame["w"].to_numpy().astype(float)
    found = reconstruct(frame, PLAIN, weights="w").probability({"smokes": "yes"})
    peer = sm.WLS(yes, np.ones((len(yes), 1)), weights=weights).fit(cov_type="HC0")
    n = len(yes)
    assert float(found.value) == pytest.approx(float(peer.params[0]), rel=1e-10)
    assert float(found.stderr) == pytest.approx(float(peer.bse[0]) * np.sqrt(n / (n - 1)), rel=1e-9)


def test_linearised_and_jackknife_errors_are_close() -> None:
    """The jackknife by hand, of the same stratified clustered sample: equal to first order."""
    frame = sample(PLAIN)
    yes = (frame["smokes"] == "yes").to_numpy().astype(float)
    weights = frame["w"].to_numpy().astype(float)
    found = reconstruct(frame, PLAIN, **HOW).probability({"smokes": "yes"})
    other = jackknife_variance(yes, weights, *units_of(frame))
    assert float(found.stderr) ** 2 == pytest.approx(other, rel=0.05)
