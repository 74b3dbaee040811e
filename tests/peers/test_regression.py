"""Regressions without disguise equal statsmodels; a published case with forced response."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

with warnings.catch_warnings():  # of packages that statsmodels loads
    warnings.simplefilter("ignore")
    import statsmodels.api as sm
    from statsmodels.miscmodels.ordinal_model import OrderedModel

from tacit import Attribute, Design, Group, Schema, forced
from tacit.regression import correlation, linear, logit
from tests.support.regressions import EXACT, people

TOLERANCE = 1e-6


@pytest.fixture(scope="module")
def true() -> pd.DataFrame:
    return people(1500)


@pytest.fixture(scope="module")
def exog(true: pd.DataFrame) -> Any:
    """The columns of "age + C(region)", in tacit's order."""
    columns = [np.ones(len(true)), true["age"], true["region"] == "b", true["region"] == "c"]
    return np.column_stack(columns).astype(float)


def same(ours: Any, peer: Any, tolerance: float = TOLERANCE) -> None:
    np.testing.assert_allclose(np.asarray(ours), np.asarray(peer), atol=tolerance, rtol=0)


@pytest.mark.parametrize("robust", [False, True])
def test_two_categories_equal_the_logit_of_statsmodels(
    true: pd.DataFrame, exog: Any, robust: bool
) -> None:
    ours = logit("smokes ~ age + C(region)", true, EXACT, robust=robust)
    model = sm.Logit((true["smokes"] == "yes").astype(float), exog)
    peer = model.fit(disp=0, tol=1e-12, cov_type="HC0" if robust else "nonrobust")
    same(ours.params, peer.params)
    same(ours.bse, peer.bse)
    same(ours.cov_params(), peer.cov_params())
    same(ours.conf_int(), peer.conf_int())
    same(ours.pvalues, peer.pvalues)
    same([ours.llf, ours.aic, ours.bic], [peer.llf, peer.aic, peer.bic])
    same(ours.predict(), peer.predict())


def test_average_marginal_effects_equal_those_of_statsmodels(true: pd.DataFrame) -> None:
    both = true.assign(b=(true["region"] == "b").map({False: "no", True: "yes"}))
    ours = logit("smokes ~ age + b", both, EXACT).marginal_effects()
    exog = np.column_stack([np.ones(len(true)), true["age"], both["b"] == "yes"]).astype(float)
    fit = sm.Logit((true["smokes"] == "yes").astype(float), exog).fit(disp=0, tol=1e-12)
    peer = fit.get_margeff(dummy=True)
    same([ours.params["age"], ours.params["b[T.yes]"]], peer.margeff)
    same([ours.bse["age"], ours.bse["b[T.yes]"]], peer.margeff_se)


def test_several_categories_equal_the_multinomial_logit_of_statsmodels(
    true: pd.DataFrame, exog: Any
) -> None:
    ours = logit("income ~ age + C(region)", true, EXACT)
    codes = true["income"].map({"low": 0, "mid": 1, "high": 2})
    peer = sm.MNLogit(codes, exog).fit(disp=0, method="newton", tol=1e-12)
    same(ours.params, np.asarray(peer.params).T.ravel())
    same(ours.bse, np.asarray(peer.bse).T.ravel())
    same([ours.llf, ours.aic, ours.bic], [peer.llf, peer.aic, peer.bic])
    same(ours.predict(), peer.predict())


def test_ordered_categories_equal_the_ordered_model_of_statsmodels(
    true: pd.DataFrame, exog: Any
) -> None:
    """Its standard errors come from numerical derivatives."""
    ours = logit("health ~ age + C(region)", true, EXACT, ordered=True)
    model = OrderedModel(true["health"], exog[:, 1:], distr="logit")
    peer = model.fit(method="bfgs", disp=0, gtol=1e-8)
    cuts = model.transform_threshold_params(np.asarray(peer.params))[1:-1]
    same(ours.params, [*cuts, *np.asarray(peer.params)[:3]])
    same(np.asarray(ours.bse)[2:], np.asarray(peer.bse)[:3], 1e-5)
    same([ours.llf, ours.aic], [peer.llf, peer.aic])
    same(ours.predict(), peer.predict())


def test_linear_regression_equals_ordinary_least_squares(true: pd.DataFrame, exog: Any) -> None:
    ours = linear("wage ~ age + C(region)", true, EXACT)
    peer = sm.OLS(true["wage"], exog).fit(cov_type="HC1")
    same(ours.params, peer.params)
    same(ours.bse, peer.bse)
    same([ours.rsquared, ours.scale], [peer.rsquared, peer.scale])
    same(ours.predict(), peer.predict())


def test_tests_of_hypotheses_equal_those_of_statsmodels(true: pd.DataFrame, exog: Any) -> None:
    ours = logit("smokes ~ age + C(region)", true, EXACT)
    y = (true["smokes"] == "yes").astype(float)
    peer = sm.Logit(y, exog).fit(disp=0, tol=1e-12)
    nested = sm.Logit(y, exog[:, :2]).fit(disp=0, tol=1e-12)
    wald = peer.wald_test(np.eye(4)[2:], scalar=True)
    found = ours.wald_test("C(region)")
    same([found.statistic, found.pvalue], [wald.statistic, wald.pvalue])
    ratio = ours.compare_lr_test(logit("smokes ~ age", true, EXACT))
    same(ratio.statistic, 2 * (peer.llf - nested.llf))


def test_a_correlation_without_disguise_is_pearsons(true: pd.DataFrame) -> None:
    found = correlation("age", "smokes", true, EXACT)
    expected = np.corrcoef(true["age"], true["smokes"] == "yes")[0, 1]
    assert float(found) == pytest.approx(expected, abs=1e-12)


def test_a_published_regression_with_forced_response() -> None:
    """The issue's figures, from a search that stopped early: -.761980 (.092593), women -.648696
    (.159425). The model is saturated, so the maximum has a closed form: women -.648702.
    """
    counts = [815, 497, 789, 334]
    frame = pd.DataFrame(
        {
            "cheats": np.repeat(["no", "yes", "no", "yes"], counts),
            "sex": np.repeat(["man", "man", "woman", "woman"], counts),
        }
    )
    coin = forced("2/3", ["1/2", "1/2"])
    design = Design(Schema([Attribute("cheats", ["no", "yes"])]), [Group(["cheats"], coin)])
    fit = logit("cheats ~ sex", frame, design)
    same(fit.params, [-0.761980, -0.648696], 1e-5)
    same(fit.bse, [0.092593, 0.159425], 1e-5)
    men, women = ((yes / (no + yes) - 1 / 6) * 1.5 for no, yes in ((815, 497), (789, 334)))
    log_odds = [math.log(p / (1 - p)) for p in (men, women)]
    same(fit.params, [log_odds[0], log_odds[1] - log_odds[0]], 1e-9)
    effect = fit.marginal_effects()
    assert effect.params["sex[T.woman]"] == pytest.approx(women - men, abs=1e-9)
    assert effect.bse["sex[T.woman]"] == pytest.approx(0.0287, abs=5e-5)
