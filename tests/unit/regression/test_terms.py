"""Formulas: transforms that learn from the records, offsets, and names in errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from tacit import Attribute, Design, Group, Schema, forced
from tacit.errors import DataError
from tacit.regression import Factors, linear, logit
from tests.support.regressions import DESIGNS, EXACT, people, reported

ONE = DESIGNS["one group"]


@pytest.fixture(scope="module")
def data() -> Any:
    return reported(people(500), ONE)


@pytest.mark.parametrize(
    ("term", "same"),
    [
        ("poly(age, 2)", "age + I(age**2)"),
        ("poly(age, 2, raw=True)", "age + I(age**2)"),
        ("bs(age, df=3)", "age + I(age**2) + I(age**3)"),
        ("bs(age, knots=[0], degree=1)", "age + I(np.maximum(age, 0))"),
        ("scale(age)", "age"),
        ("center(age)", "age"),
        ("center(age):C(region)", "age:C(region) + C(region)"),
    ],
)
def test_a_transform_that_learns_from_the_records_spans_the_model_it_stands_for(
    data: Any, term: str, same: str
) -> None:
    """The same fit in another basis: equal likelihood, predictions and marginal effects."""
    extra = " + C(region)" if "region" in term else ""
    fit, other = (logit(f"smokes ~ {t}{extra}", data, ONE) for t in (term, same))
    assert fit.llf == pytest.approx(other.llf, abs=1e-6)
    new = data[100:103]
    np.testing.assert_allclose(fit.predict(new), other.predict(new), rtol=1e-5)
    effects, others = fit.marginal_effects(), other.marginal_effects()
    assert effects.params["age"] == pytest.approx(others.params["age"], rel=1e-4)
    assert effects.bse["age"] == pytest.approx(others.bse["age"], rel=1e-3)


def test_a_natural_spline_that_has_a_constant_is_centred_beside_an_intercept(data: Any) -> None:
    with pytest.raises(DataError, match="constraints='center'"):
        logit("smokes ~ cr(age, df=4)", data, ONE)
    centred = logit("smokes ~ cr(age, df=3, constraints='center')", data, ONE)
    free = logit("smokes ~ 0 + cr(age, df=4)", data, ONE)
    assert len(centred.names) == len(free.names) == 4
    assert centred.llf == pytest.approx(free.llf, abs=1e-6)


def test_a_transform_of_counted_records_is_that_of_the_records(data: Any, tmp_path: Any) -> None:
    """center() must take the mean of the records, not of their distinct rows."""
    whole = data.assign(age=data["age"].round())
    whole.to_parquet(tmp_path / "a.parquet")
    for formula in ("smokes ~ center(age)", "smokes ~ poly(age, 2)"):
        fit, counted = logit(formula, whole, ONE), logit(formula, tmp_path, ONE)
        assert counted.problem.n_rows < 50
        np.testing.assert_allclose(counted.values, fit.values, rtol=1e-5)


def test_a_transform_of_a_disguised_answer_is_refused(data: Any) -> None:
    for term in ("poly(income, 2)", "scale(income)", "offset(income)"):
        with pytest.raises(DataError, match=r"'income' is disguised, so .* may only"):
            logit(f"smokes ~ {term}", data, ONE)


def _forced_fit(y: Any, x: Any, offset: Any) -> Any:
    """Maximum likelihood of a forced response (truth 2/3) by a general optimiser."""

    def loss(b: Any) -> float:
        q = 1 / 6 + 2 / 3 * expit(b[0] + b[1] * x + offset)
        return -float(np.log(np.where(y, q, 1 - q)).sum())

    return minimize(loss, [0.0, 0.0], method="BFGS", options={"gtol": 1e-8})


def test_an_offset_is_a_term_with_the_coefficient_1() -> None:
    rng = np.random.default_rng(3)
    x, known = rng.normal(size=400), rng.normal(size=400)
    truth = rng.random(400) < expit(-0.5 + 0.7 * x + known)
    y = np.where(rng.random(400) < 2 / 3, truth, rng.random(400) < 0.5)
    schema = Schema([Attribute("cheats", ["no", "yes"])])
    design = Design(schema, [Group(["cheats"], forced("2/3", ["1/2", "1/2"]))])
    frame = pd.DataFrame({"cheats": np.where(y, "yes", "no"), "x": x, "known": known})
    fit = logit("cheats ~ x + offset(known)", frame, design)
    expected = _forced_fit(y, x, known)
    assert fit.names == ("Intercept", "x")
    np.testing.assert_allclose(fit.values, expected.x, atol=1e-4)
    assert fit.llf == pytest.approx(-expected.fun, abs=1e-6)
    chance = expit(fit.values[0] + fit.values[1] * x + known)
    np.testing.assert_allclose(fit.predict(), chance, rtol=1e-6)
    np.testing.assert_allclose(fit.predict(frame), chance, rtol=1e-6)
    slope = fit.values[1] * (chance * (1 - chance)).mean()
    assert fit.marginal_effects().params["x"] == pytest.approx(slope, rel=1e-4)
    wider = logit("cheats ~ x + offset(0.5 * known) + offset(known / 2)", frame, design)
    np.testing.assert_allclose(wider.values, fit.values, atol=1e-6)
    nested = logit("cheats ~ offset(known)", frame, design)
    assert 0 < fit.compare_lr_test(nested).pvalue < 0.05
    with pytest.raises(DataError, match="the same offset"):
        fit.compare_lr_test(logit("cheats ~ 1", frame, design))


def test_an_offset_of_ordered_categories_and_of_disguised_predictors_shifts_the_coefficient(
    data: Any,
) -> None:
    """age + offset(age) is age alone with a coefficient that is larger by 1."""
    for outcome, ordered in (("income", True), ("income", False), ("smokes", False)):
        terms = "age + smokes" if outcome == "income" else "age + income"
        fit = logit(f"{outcome} ~ {terms}", data, ONE, ordered=ordered)
        shifted = logit(f"{outcome} ~ {terms} + offset(age)", data, ONE, ordered=ordered)
        moved = np.array([name.endswith("age") for name in fit.names])
        np.testing.assert_allclose(shifted.values + moved, fit.values, atol=1e-5)
        np.testing.assert_allclose(shifted.covariance, fit.covariance, rtol=1e-3, atol=1e-6)


def test_an_offset_is_taken_from_the_outcome_of_a_linear_regression(data: Any) -> None:
    fit = linear("wage ~ income + offset(2 * age)", data, ONE)
    other = linear("rest ~ income", data.assign(rest=data["wage"] - 2 * data["age"]), ONE)
    np.testing.assert_allclose(fit.values, other.values, rtol=1e-9)
    np.testing.assert_allclose(fit.covariance, other.covariance, rtol=1e-9)
    fits = [[one.scale, one.rsquared] for one in (fit, other)]
    np.testing.assert_allclose(*fits, rtol=1e-9)
    new = people(3)
    expected = other.predict(new) + 2 * new["age"].to_numpy()
    np.testing.assert_allclose(fit.predict(new), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("term", "message"),
    [
        ("offset(region)", "cannot be computed"),
        ("offset(age):age", "offset.* must be a term of its own"),
        ("poly(agee, 2)", r"unknown name 'agee' in the formula; did you mean 'age'\?"),
    ],
)
def test_a_bad_transform_is_one_clear_error(data: Any, term: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        logit(f"smokes ~ {term}", data, ONE)
    assert "\n" not in str(caught.value)


def test_an_error_lists_each_name_once(data: Any) -> None:
    with pytest.raises(DataError) as caught:
        logit("smokes ~ zzz", data, ONE)
    assert str(caught.value).count("'smokes'") == 1


def test_a_column_may_have_the_name_of_a_transform() -> None:
    frame = people(200).rename(columns={"age": "scale"})
    fit = logit("smokes ~ scale + poly(scale, 3)[:, 2] + I(scale**2)", frame, EXACT)
    assert {"scale", "I(scale ** 2)"} < set(fit.names)


@pytest.mark.parametrize(
    ("references", "pairs", "formula"),
    [
        ({"region": "b"}, [], "smokes ~ C(region, contr.treatment(base='b'))"),
        ({"income": "low", "region": "a"}, [], "smokes ~ income + region"),
        ({"income": "low", "region": "a"}, [("income", "region")], "smokes ~ income * region"),
    ],
)
def test_factors_are_the_same_model_as_a_formula(
    data: Any, references: dict[str, str], pairs: list[tuple[str, str]], formula: str
) -> None:
    fit, other = logit("smokes", data, ONE, Factors(references, pairs)), logit(formula, data, ONE)
    np.testing.assert_allclose(np.sort(fit.values), np.sort(other.values))
    new = data[100:103]
    np.testing.assert_allclose(fit.predict(new), other.predict(new))
    effects, others = (abs(f.marginal_effects().values[0]) for f in (fit, other))
    assert effects == pytest.approx(others)


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        (Factors({}), "at least one"),
        (Factors({"regoin": "a"}), "unknown predictor 'regoin'"),
        (Factors({"smokes": "no"}), "outcome and a predictor"),
        (Factors({"region": "z"}), "unknown reference 'z'"),
        (Factors({"region": "a"}, [("region", "income")]), "two different predictors"),
    ],
)
def test_what_factors_lack_is_an_error(data: Any, factors: Factors, message: str) -> None:
    with pytest.raises(DataError, match=message):
        logit("smokes", data, ONE, factors)
