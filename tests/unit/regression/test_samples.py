"""Regressions from samples with design weights, strata and clusters, and with missing answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import t

from tacit import Attribute, Design, Group, Schema, forced, reconstruct, truthful
from tacit.core.arrays import Array
from tacit.errors import DataError
from tacit.reconstruction.sampling import bootstrap, jackknife, linearised, poststratify
from tacit.regression import correlation, linear, logit
from tests.support.samples import linearised_variance

SCHEMA = Schema([Attribute("cheats", ["no", "yes"]), Attribute("sex", ["man", "woman"])])
COIN = forced("2/3", ["1/2", "1/2"])
DESIGN = Design(SCHEMA, [Group(["cheats"], COIN), Group(["sex"], truthful())])
METHODS = ["linearised", "jackknife", "bootstrap"]
HOW: Any = {"weights": "w", "strata": "stratum", "clusters": "cluster"}


def _frame(n: int = 600, seed: int = 2) -> Any:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "cheats": rng.choice(["no", "yes"], n, p=[0.6, 0.4]),
            "sex": rng.choice(["man", "woman"], n),
            "age": rng.normal(40, 10, n),
            "w": rng.integers(1, 4, n),
            "stratum": rng.integers(0, 2, n),
            "cluster": rng.integers(0, 8, n),
        }
    )


def _constant(frame: Any) -> Any:
    return {"constant": np.ones(len(frame))}


def _units(frame: Any) -> tuple[list[Any], list[Any]]:
    strata = frame["stratum"].to_list()
    return strata, list(zip(strata, frame["cluster"].to_list(), strict=True))


def test_a_logit_with_a_constant_alone_has_the_error_of_the_share_on_its_scale() -> None:
    """With one parameter the pseudo-likelihood has its maximum at the inverted share."""
    frame = _frame()
    fit = logit("cheats", frame, DESIGN, covariates=_constant(frame), **HOW)
    share = reconstruct(frame, DESIGN, **HOW).probability({"cheats": "yes"})
    p = float(share.value)
    assert fit.params["constant"] == pytest.approx(np.log(p / (1 - p)), rel=1e-6)
    assert fit.bse["constant"] == pytest.approx(float(share.stderr) / (p * (1 - p)), rel=1e-6)
    assert fit.df == 14
    half = t.isf(0.025, 14) * fit.bse["constant"]
    assert fit.conf_int()[0, 1] - fit.params["constant"] == pytest.approx(half, rel=1e-9)


@pytest.mark.parametrize("n", [90, 600])  # few rows are searched for equal ones, even if none is
def test_weights_count_as_copies_of_a_record_for_the_estimates(n: int) -> None:
    frame = _frame(n)
    copies = frame[np.repeat(np.arange(len(frame)), frame["w"].to_numpy())]
    fit = logit("cheats ~ age + sex", frame, DESIGN, weights="w")
    other = logit("cheats ~ age + sex", copies, DESIGN)
    assert np.allclose(np.asarray(fit.params), np.asarray(other.params), rtol=1e-6)
    effects = np.asarray(fit.marginal_effects().params)
    assert np.allclose(effects, np.asarray(other.marginal_effects().params), rtol=1e-6)


def test_a_linear_mean_has_the_linearised_error() -> None:
    frame = _frame()
    fit = linear("age", frame, DESIGN, covariates=_constant(frame), **HOW)
    ages, weights = frame["age"].to_numpy(), frame["w"].to_numpy().astype(float)
    expected = linearised_variance(ages, weights, *_units(frame), f={})
    assert fit.params["constant"] == pytest.approx(ages @ weights / weights.sum(), rel=1e-10)
    assert fit.bse["constant"] ** 2 == pytest.approx(expected, rel=1e-9)


def test_a_correlation_has_the_linearised_error_of_its_influence() -> None:
    frame = _frame().with_columns(height=pl.col("age") + np.random.default_rng(3).normal(0, 9, 600))
    found = correlation("age", "height", frame, DESIGN, **HOW)
    weights = frame["w"].to_numpy().astype(float)

    def scaled(name: str) -> Array:
        own = frame[name].to_numpy()
        centred = own - own @ weights / weights.sum()
        return np.asarray(centred / np.sqrt(centred**2 @ weights / weights.sum()))

    x, y = scaled("age"), scaled("height")
    r = x * y @ weights / weights.sum()
    influence = x * y - r / 2 * (x**2 + y**2)
    assert float(found.value) == pytest.approx(r, rel=1e-9)
    expected = linearised_variance(influence, weights, *_units(frame), f={})
    assert float(found.stderr) ** 2 == pytest.approx(expected, rel=1e-6)


def test_a_sample_has_wald_tests_and_no_likelihood() -> None:
    frame = _frame()
    fit = logit("cheats ~ age + sex", frame, DESIGN, **HOW)
    assert 0 <= fit.wald_test(["age", "C(sex)", "sex"][:1]).pvalue <= 1
    assert "weighted pseudo-likelihood" in str(fit)
    assert "14 degrees of freedom" in str(fit)
    assert fit.to_dict()["aic"] is None
    for use in (lambda: fit.aic, lambda: fit.bic, fit.profile_conf_int):
        with pytest.raises(DataError, match="needs a likelihood"):
            use()
    with pytest.raises(DataError, match="needs a likelihood"):
        fit.compare_lr_test(logit("cheats ~ age", frame, DESIGN, **HOW))


def test_a_finite_population_and_a_disguised_stratum_are_refused() -> None:
    frame = _frame()
    with pytest.raises(DataError, match="fpc: a regression"):
        logit("cheats ~ age", frame, DESIGN, weights="w", fpc=10_000)
    with pytest.raises(DataError, match="'cheats' is a disguised answer"):
        linear("age ~ sex", frame, DESIGN, strata="cheats")
    with pytest.raises(DataError, match="unknown column 'wt'"):
        logit("cheats ~ age", frame, DESIGN, weights="wt")
    with pytest.raises(DataError, match="is 0 at record 0"):
        logit("cheats ~ age", frame, DESIGN, weights=np.zeros(600))


@pytest.mark.parametrize("how", [{}, HOW])
def test_records_with_missing_answers_are_left_out(how: Any) -> None:
    frame = _frame()
    gaps = np.arange(600) % 10 == 0
    holed = frame.with_columns(
        cheats=pl.when(pl.Series(gaps)).then(None).otherwise(pl.col("cheats")).alias("cheats")
    )
    fit = logit("cheats ~ age + sex", holed, DESIGN, **how)
    assert fit.n_left_out == 60
    assert "60 records with missing cells left out" in str(fit)
    other = logit("cheats ~ age + sex", frame.filter(~pl.Series(gaps)), DESIGN, **how)
    assert np.allclose(np.asarray(fit.params), np.asarray(other.params), rtol=1e-7)
    assert np.allclose(np.asarray(fit.bse), np.asarray(other.bse), rtol=0.02)
    sexless = frame.with_columns(sex=pl.when(pl.Series(gaps)).then(None).otherwise(pl.col("sex")))
    assert logit("cheats ~ sex", sexless, DESIGN, **how).n_left_out == 60


def _leaving_out(frame: Any, estimate: Any) -> Array:
    """The jackknife by hand: a fit without each cluster; the others of its stratum weigh more."""
    strata, units = _units(frame)
    weights, whole = frame["w"].to_numpy().astype(float), estimate("w")
    variance = np.zeros(len(whole))
    for unit in sorted(set(units)):
        n = len({other for other in units if other[0] == unit[0]})
        factors = [
            0.0 if other == unit else n / (n - 1) if stratum == unit[0] else 1.0
            for stratum, other in zip(strata, units, strict=True)
        ]
        kept = np.array(factors) > 0
        without = estimate((weights * factors)[kept], frame.filter(pl.Series(kept)))
        variance += (n - 1) / n * (without - whole) ** 2
    return np.sqrt(variance)


@pytest.mark.parametrize("formula", ["cheats ~ sex", "cheats ~ age + sex"])
def test_the_jackknife_of_a_logit_refits_it_without_each_cluster(formula: str) -> None:
    frame = _frame(120)

    def estimate(weights: Any, data: Any = frame) -> Array:
        return np.asarray(logit(formula, data, DESIGN, weights=weights).params)

    fit = logit(formula, frame, DESIGN, **HOW, errors=jackknife)
    np.testing.assert_allclose(np.asarray(fit.bse), _leaving_out(frame, estimate), rtol=1e-6)
    assert "standard errors by jackknife" in str(fit)
    assert "sandwich" not in str(fit)
    linear_terms = logit(formula, frame, DESIGN, **HOW)
    assert (np.asarray(fit.bse) > np.asarray(linear_terms.bse)).all()
    assert "standard errors sandwich" in str(linear_terms)


def test_the_jackknife_of_linear_and_correlation_refits_them_without_each_cluster() -> None:
    frame = _frame(120)

    def slopes(weights: Any, data: Any = frame) -> Array:
        return np.asarray(linear("age ~ cheats", data, DESIGN, weights=weights).params)

    def pair(weights: Any, data: Any = frame) -> Array:
        return np.array([float(correlation("age", "cheats", data, DESIGN, weights=weights))])

    fit = linear("age ~ cheats", frame, DESIGN, **HOW, errors=jackknife)
    np.testing.assert_allclose(np.asarray(fit.bse), _leaving_out(frame, slopes), rtol=1e-6)
    assert "standard errors by jackknife" in str(fit)
    found = correlation("age", "cheats", frame, DESIGN, **HOW, errors=jackknife)
    np.testing.assert_allclose(float(found.stderr), _leaving_out(frame, pair)[0], rtol=1e-6)


@pytest.mark.slow
def test_the_bootstrap_of_a_logit_agrees_with_refits_of_resampled_clusters() -> None:
    """Both spreads come from 400 draws; they differ by 5 of their standard errors at most."""
    frame, rng = _frame(400), np.random.default_rng(5)
    fit = logit("cheats ~ sex", frame, DESIGN, **HOW, errors=bootstrap(400))
    assert "standard errors by bootstrap" in str(fit)
    units = _units(frame)[1]
    weights, draws = frame["w"].to_numpy().astype(float), []
    for _ in range(400):
        times: dict[Any, float] = {}
        for stratum in (0, 1):
            own = sorted({unit for unit in units if unit[0] == stratum})
            drawn = rng.multinomial(len(own) - 1, np.full(len(own), 1 / len(own)))
            times |= {u: m * len(own) / (len(own) - 1) for u, m in zip(own, drawn, strict=True)}
        factors = np.array([times[unit] for unit in units])
        kept = factors > 0
        again = logit(
            "cheats ~ sex",
            frame.filter(pl.Series(kept)),
            DESIGN,
            weights=(weights * factors)[kept],
        )
        draws.append(np.asarray(again.params))
    spread = np.sqrt(((np.array(draws) - fit.values) ** 2).mean(axis=0))
    error = np.sqrt(2 / (2 * 400))  # of the ratio of two standard deviations
    assert (np.abs(np.asarray(fit.bse) / spread - 1) < 5 * error).all()


@pytest.mark.parametrize("errors", [linearised, jackknife, bootstrap(30)], ids=METHODS)
def test_a_known_margin_has_no_error_in_a_replicate_either(errors: Any) -> None:
    """Weights that were calibrated are calibrated again in each replicate."""
    frame = _frame(300)
    weights = poststratify(frame, DESIGN, ["sex"], {"man": 480, "woman": 520})
    fit = logit("sex ~ 1", frame, DESIGN, weights=weights, clusters="cluster", errors=errors)
    assert fit.params["Intercept"] == pytest.approx(np.log(520 / 480))
    assert fit.bse["Intercept"] < 1e-6
    unknown = logit("sex ~ 1", frame, DESIGN, weights="w", clusters="cluster", errors=errors)
    assert unknown.bse["Intercept"] > 0.05
