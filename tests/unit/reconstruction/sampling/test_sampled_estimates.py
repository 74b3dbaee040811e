"""Estimates from samples with design weights, strata and clusters."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import f as f_distribution
from scipy.stats import norm, t

from tacit import reconstruct
from tacit.core.arrays import Array
from tacit.reconstruction import Estimate, likelihood_ratio, pearson, wald
from tacit.reconstruction.sampling import bootstrap, jackknife, linearised
from tests.support.samples import (
    DISGUISED,
    HOW,
    PLAIN,
    jackknife_variance,
    linearised_variance,
    sample,
    units_of,
)

CLOSE = 1e-12
YES, HIGH, LOW = {"smokes": "yes"}, {"income": "high"}, {"income": "low"}


def _yes(frame: Any) -> Array:
    return (frame["smokes"] == "yes").to_numpy().astype(float)


def _weights(frame: Any) -> Array:
    return frame["w"].to_numpy().astype(float)


@pytest.mark.parametrize("clustered", [True, False])
def test_without_disguise_the_errors_are_those_of_a_loop_over_strata_and_units(
    clustered: bool,
) -> None:
    frame = sample(PLAIN)
    how = HOW if clustered else {"weights": "w", "strata": "region"}
    found = reconstruct(frame, PLAIN, **how).probability(YES)
    values, weights = _yes(frame), _weights(frame)
    assert float(found.value) == pytest.approx(values @ weights / weights.sum(), rel=CLOSE)
    expected = linearised_variance(values, weights, *units_of(frame, clustered), f={})
    assert float(found.stderr) ** 2 == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("clustered", [True, False])
def test_the_jackknife_equals_leaving_out_every_unit(clustered: bool) -> None:
    frame = sample(PLAIN, n=150)
    how = HOW if clustered else {"weights": "w", "strata": "region"}
    found = reconstruct(frame, PLAIN, errors=jackknife, **how).probability(YES)
    expected = jackknife_variance(_yes(frame), _weights(frame), *units_of(frame, clustered))
    assert float(found.stderr) ** 2 == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("fpc", [None, 9])
def test_the_bootstrap_is_close_to_linearisation_and_repeats(fpc: int | None) -> None:
    """With 20,000 replicates the standard deviation of a variance is 1 % of it."""
    frame, how = sample(DISGUISED), {**HOW, "fpc": fpc}
    rec = reconstruct(frame, DISGUISED, errors=bootstrap(20_000, seed=3), **how)
    again = reconstruct(frame, DISGUISED, errors=bootstrap(20_000, seed=3), **how)
    plain = reconstruct(frame, DISGUISED, **how)
    found = float(rec.probability(YES).stderr)
    assert found == float(again.probability(YES).stderr)
    assert found == pytest.approx(float(plain.probability(YES).stderr), rel=0.05)


def test_a_disguised_estimate_is_the_mean_of_the_weights_of_reports() -> None:
    frame = sample(DISGUISED)
    g = np.where(_yes(frame) == 1, 0.8, -0.2) / 0.6
    weights = _weights(frame)
    found = reconstruct(frame, DISGUISED, **HOW).probability(YES)
    assert float(found.value) == pytest.approx(g @ weights / weights.sum(), rel=CLOSE)
    expected = linearised_variance(g, weights, *units_of(frame), f={})
    assert float(found.stderr) ** 2 == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("errors", [linearised, jackknife, bootstrap(50)])
@pytest.mark.parametrize("fpc", [None, 9])
def test_tables_events_and_expectations_agree(errors: Any, fpc: int | None) -> None:
    rec = reconstruct(sample(DISGUISED), DISGUISED, errors=errors, fpc=fpc, **HOW)
    table = rec.table(["smokes", "income"])
    margin = table.covariance.reshape(2, 3, 2, 3).sum(axis=(1, 3))
    event = rec.probability(YES)
    mean = rec.expectation(lambda smokes: smokes == "yes", ["smokes"])
    scaled = rec.expectation(lambda smokes: 5 + 2 * (smokes == "yes"), ["smokes"])
    for own in (rec.table(["smokes"]).stderr[1], event.stderr, mean.stderr, scaled.stderr / 2):
        assert float(own) ** 2 == pytest.approx(margin[1, 1], rel=1e-9)
    assert np.allclose(scaled.interval()[0], 5 + 2 * mean.interval()[0])


def test_conditional_shares_have_the_errors_of_their_influence() -> None:
    frame = sample(DISGUISED)
    g, high = np.where(_yes(frame) == 1, 0.8, -0.2) / 0.6, (frame["income"] == "high").to_numpy()
    weights = _weights(frame)
    share = (weights * g)[high].sum() / weights[high].sum()
    influence = high * (g - share) / (weights[high].sum() / weights.sum())
    found = reconstruct(frame, DISGUISED, **HOW).probability(YES, given=HIGH)
    assert float(found.value) == pytest.approx(share, rel=1e-10)
    expected = linearised_variance(influence, weights, *units_of(frame), f={})
    assert float(found.stderr) ** 2 == pytest.approx(expected, rel=1e-9)


def test_comparisons_and_contrasts_have_the_covariance_of_the_sample() -> None:
    rec = reconstruct(sample(DISGUISED), DISGUISED, **HOW)
    difference = rec.difference(YES, between=(HIGH, LOW))
    contrast = rec.contrast(lambda p: p[0] - p[1], [(YES, HIGH), (YES, LOW)])
    assert float(difference.stderr) == pytest.approx(float(contrast.stderr), rel=1e-6)
    assert float(difference.value) == pytest.approx(float(contrast.value), rel=1e-9)
    assert contrast.df == 15
    reach = t.isf(0.025, 15) * float(contrast.stderr)
    assert float(contrast.interval()[1]) == pytest.approx(float(contrast.value) + reach, rel=1e-9)
    assert float(rec.ratio(YES, between=(HIGH, LOW)).design_effect) > 0
    assert float(rec.odds_ratio(YES, between=(HIGH, LOW)).design_effect) > 0


def test_equal_weights_of_single_people_change_nothing_but_one_degree_of_freedom() -> None:
    frame = sample(DISGUISED)
    plain = reconstruct(frame, DISGUISED).table(["smokes"])
    weighted = reconstruct(frame, DISGUISED, weights=np.full(len(frame), 7.0)).table(["smokes"])
    n = len(frame)
    assert np.allclose(weighted.value, plain.value, rtol=CLOSE)
    assert np.allclose(weighted.stderr, plain.stderr * math.sqrt(n / (n - 1)), rtol=1e-10)
    assert np.allclose(weighted.design_effect, n / (n - 1))
    assert np.allclose(weighted.n_effective, n - 1)


def test_intervals_are_those_of_the_effective_number_of_records() -> None:
    found = reconstruct(sample(DISGUISED), DISGUISED, **HOW).probability(YES)
    assert found.simple is not None
    assert found.simple.score is not None
    ratio = (norm.isf(0.025) / t.isf(0.025, 15)) ** 2
    score = found.simple.score.times(ratio / float(found.design_effect))
    simple = Estimate.of_covariance((), found.value, found.covariance, 0, "", "")
    expected = replace(simple, score_of=lambda: score).interval()
    assert np.allclose(found.interval(), expected)
    lower, upper = found.interval()
    assert 0 <= lower < found.value < upper <= 1


def test_reports_that_are_all_alike_keep_a_wide_interval() -> None:
    frame = sample(PLAIN, n=60).with_columns(smokes=np.array(["no"] * 60))
    found = reconstruct(frame, PLAIN, **HOW).probability(YES)
    assert float(found.interval()[1]) > 0.05


def test_a_finite_population_without_disguise_has_the_usual_correction() -> None:
    frame = sample(PLAIN)
    fpc = {"north": 8, "south": 12, "west": 6}
    found = reconstruct(frame, PLAIN, fpc=fpc, **HOW).probability(YES)
    shares = {stratum: 6 / size for stratum, size in fpc.items()}
    expected = linearised_variance(_yes(frame), _weights(frame), *units_of(frame), f=shares)
    assert float(found.stderr) ** 2 == pytest.approx(expected, rel=1e-10)


def test_a_census_keeps_the_noise_of_the_disguise() -> None:
    """Everybody is asked, so the only error is that of the coin: theta (1 - theta) / .36 / n."""
    frame = sample(DISGUISED)
    found = reconstruct(frame, DISGUISED, fpc=len(frame)).table(["smokes"])
    assert np.allclose(found.stderr**2, 0.8 * 0.2 / 0.36 / len(frame), rtol=1e-9)
    rec = reconstruct(frame, DISGUISED, fpc=len(frame))
    assert float(rec.probability(HIGH).stderr) == pytest.approx(0, abs=1e-9)
    given = rec.probability(YES, given=HIGH)
    n_high = int((frame["income"] == "high").sum())
    assert float(given.stderr) ** 2 == pytest.approx(0.8 * 0.2 / 0.36 / n_high, rel=1e-9)


def test_a_wald_test_of_one_number_is_the_square_of_t() -> None:
    rec = reconstruct(sample(DISGUISED), DISGUISED, **HOW)
    own = rec.table(["smokes"])
    found = rec.goodness_of_fit(["smokes"], [0.7, 0.3], method=wald)
    statistic = ((float(own.value[1]) - 0.3) / float(own.stderr[1])) ** 2
    assert found.statistic == pytest.approx(statistic, rel=1e-6)
    assert found.pvalue == pytest.approx(f_distribution.sf(statistic, 1, 15), rel=1e-6)


@pytest.mark.parametrize("method", [pearson, likelihood_ratio])
def test_a_test_of_one_number_is_divided_by_its_design_effect(method: Any) -> None:
    frame = sample(DISGUISED)
    rec = reconstruct(frame, DISGUISED, **HOW)
    own = rec.table(["smokes"])
    found = rec.goodness_of_fit(["smokes"], [0.7, 0.3], method=method)
    assert own.simple is not None
    same = reconstruct(frame, DISGUISED, weights="w").goodness_of_fit(
        ["smokes"], [0.7, 0.3], method=method
    )
    ratio = float(own.design_effect[1])
    single = reconstruct(frame, DISGUISED, weights="w").table(["smokes"])
    expected = same.statistic * float(single.design_effect[1]) / ratio
    assert found.statistic == pytest.approx(expected, rel=1e-6)
    assert found.method.endswith("Rao-Scott")


@pytest.mark.parametrize("method", [pearson, likelihood_ratio, wald])
def test_independence_is_tested_alike_by_all_methods(method: Any) -> None:
    frame = sample(DISGUISED, n=3000)
    found = reconstruct(frame, DISGUISED, **HOW).independence(["smokes", "income"], method=method)
    other = reconstruct(frame, DISGUISED).independence(["smokes", "income"], method=method)
    assert found.df == other.df == 2
    assert found.pvalue < 1e-3
    assert other.pvalue < 1e-3


def test_a_misfit_is_judged_by_the_effective_number_of_records() -> None:
    frame = sample(DISGUISED).with_columns(smokes=np.array(["no"] * 395 + ["yes"] * 5))
    plain = reconstruct(frame, DISGUISED).table(["smokes"]).fit
    weighted = reconstruct(frame, DISGUISED, **HOW).table(["smokes"]).fit
    assert plain is not None
    assert weighted is not None
    assert weighted.pvalue < 1e-3
    assert weighted.statistic <= plain.statistic * 1.2


def test_the_caption_and_the_json_state_the_design_effect() -> None:
    found = reconstruct(sample(DISGUISED), DISGUISED, **HOW).table(["smokes"])
    assert "design effect" in str(found)
    assert "15 degrees of freedom" in str(found)
    content = found.to_dict()
    assert content["df"] == 15
    assert len(content["table"]["design_effect"]) == 2
