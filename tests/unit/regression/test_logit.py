"""logit: what it accepts, what it shows and what it refuses."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.optimize import brentq
from scipy.stats import chi2

from tacit import Attribute, Design, Group, Schema, matrix, related
from tacit.errors import DataError, DesignError, SchemaError, TacitError
from tacit.regression import linear, logit
from tests.support.regressions import DESIGNS, EXACT, SCHEMA, people, reported

ONE = DESIGNS["one group"]


@pytest.fixture(scope="module")
def data() -> Any:
    return reported(people(500), ONE)


@pytest.mark.slow
def test_every_kind_of_frame_and_file_gives_the_same_fit(data: Any, tmp_path: Path) -> None:
    formula = "smokes ~ age + C(region) + income"
    expected = logit(formula, data, ONE)
    path = tmp_path / "records.csv"
    data.to_csv(path, index=False)
    for other in (pl.from_pandas(data), pa.Table.from_pandas(data), path):
        found = logit(formula, other, ONE)
        assert found.names == expected.names
        np.testing.assert_allclose(found.values, expected.values, rtol=1e-9)


def test_a_matrix_of_covariates_gives_the_fit_of_the_formula(data: Any) -> None:
    formula = logit("smokes ~ age", data, ONE)
    columns = {"Intercept": np.ones(len(data)), "age": data["age"]}
    table = pd.DataFrame(columns)
    others = (pl.from_pandas(table), pa.Table.from_pandas(table), table.to_numpy())
    for given in (columns, table, *others):
        found = logit("smokes", data, ONE, covariates=given)
        np.testing.assert_allclose(found.values, formula.values, rtol=1e-9)
        np.testing.assert_allclose(found.covariance, formula.covariance, rtol=1e-9)
    effects = logit("smokes", data, ONE, covariates=columns).marginal_effects()
    np.testing.assert_allclose(effects.values, formula.marginal_effects().values, rtol=1e-6)


@pytest.mark.slow
def test_a_matrix_of_covariates_needs_no_formula_package() -> None:
    code = """
import sys
sys.modules |= dict.fromkeys(["formulaic", "pandas"])
import numpy as np
from tacit import Attribute, Design, Group, Schema, related
from tacit.errors import MissingExtraError
from tacit.regression import logit
design = Design(Schema([Attribute("a", ["no", "yes"])]), [Group(["a"], related(0.8))])
codes = np.array([[0], [1], [0], [1], [0]])
print(logit("a", codes, design, covariates=np.ones((5, 1))).nobs)
try:
    logit("a ~ 1", codes, design)
except MissingExtraError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first == "5"
    assert "pip install 'tacit-survey[formula]'" in second


def test_the_order_of_records_and_the_names_of_categories_do_not_matter(data: Any) -> None:
    expected = logit("income ~ age + smokes", data, ONE)
    shuffled = logit("income ~ age + smokes", data.sample(frac=1, random_state=3), ONE)
    np.testing.assert_allclose(shuffled.values, expected.values, atol=1e-7)


def test_records_with_missing_covariates_are_left_out_and_counted(data: Any) -> None:
    holes = data.assign(age=data["age"].where(np.arange(len(data)) % 10 > 0))
    fit = logit("smokes ~ age", holes, ONE)
    assert (fit.nobs, fit.n_left_out) == (450, 50)
    assert "50 records with missing cells left out" in str(fit)
    complete = logit("smokes ~ age", holes.dropna(), ONE)
    np.testing.assert_allclose(fit.values, complete.values)


def test_results_have_the_names_of_statsmodels(data: Any) -> None:
    fit = logit("smokes ~ age + C(region)", data, ONE)
    assert list(fit.params) == ["Intercept", "age", "C(region)[T.b]", "C(region)[T.c]"]
    assert fit.params["age"] == fit.values[1]
    assert np.asarray(fit.bse) == pytest.approx(np.sqrt(np.diag(fit.cov_params())))
    lower, upper = fit.conf_int(0.1).T
    assert (lower < fit.values).all()
    assert (upper > fit.values).all()
    assert np.asarray(fit.tvalues) == pytest.approx(fit.values / np.asarray(fit.bse))
    assert fit.pvalues["age"] < 0.01
    assert fit.aic == pytest.approx(8 - 2 * fit.llf)
    assert fit.bic == pytest.approx(4 * np.log(500) - 2 * fit.llf)
    assert fit.converged
    assert fit.warnings == ()
    assert "<table>" in fit._repr_html_()
    assert str(fit.summary()) == str(fit)
    assert len(fit.to_frame()) == 4
    assert fit.to_dict()["converged"] is True
    with pytest.raises(KeyError, match="did you mean 'age'"):
        fit.params["aeg"]


def test_predictions_take_true_records(data: Any) -> None:
    fit = logit("smokes ~ age + C(region)", data, ONE)
    np.testing.assert_allclose(fit.predict(data[:7]), fit.predict()[:7])
    many = logit("income ~ age + smokes", data, ONE)
    shares = many.predict(pd.DataFrame({"age": [0.0, 1.0], "smokes": ["no", "yes"]}))
    assert shares.shape == (2, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    with pytest.raises(DataError, match="unknown category 'd' of column 'region'"):
        fit.predict(pd.DataFrame({"age": [0.0], "region": ["d"]}))
    with pytest.raises(DataError, match="unknown column 'age'"):
        fit.predict(pd.DataFrame({"region": ["a"]}))
    with pytest.raises(DataError, match="true predictors of the fitted records are unknown"):
        many.predict()


def test_wald_and_likelihood_ratio_tests_agree_for_many_records() -> None:
    data = reported(people(20_000), ONE)
    full = logit("smokes ~ age + C(region)", data, ONE)
    nested = logit("smokes ~ age", data, ONE)
    wald, ratio = full.wald_test("C(region)"), full.compare_lr_test(nested)
    assert (wald.df, ratio.df) == (2, 2)
    assert wald.statistic == pytest.approx(ratio.statistic, rel=0.1)
    rows = [[0, 0, 1, 0], [0, 0, 0, 1]]
    assert full.wald_test(rows).statistic == pytest.approx(wald.statistic)
    at = full.wald_test("age", full.params["age"])
    assert at.statistic == pytest.approx(0)
    assert at.pvalue == 1


@pytest.mark.slow
def test_disguised_predictors_are_tested_on_the_same_reports() -> None:
    """Both tests agree closely where there is no effect."""
    rng = np.random.default_rng(9)
    data = reported(people(20_000), ONE).assign(luck=rng.normal(size=20_000))
    data["heads"] = rng.random(20_000) < 0.5
    full = logit("heads ~ age + income", data, ONE)
    ratio = full.compare_lr_test(logit("heads ~ age", data, ONE))
    wald = full.wald_test("income")
    assert (ratio.df, wald.df) == (2, 2)
    assert ratio.statistic == pytest.approx(wald.statistic, rel=0.02)
    full = logit("smokes ~ age + income + luck", data, ONE)
    ratio = full.compare_lr_test(logit("smokes ~ age + income", data, ONE))
    assert ratio.df == 1
    assert ratio.statistic == pytest.approx(full.wald_test("luck").statistic, rel=0.02)


@pytest.mark.slow
def test_effects_of_disguised_predictors_are_averaged_over_their_distribution() -> None:
    true = people(20_000)
    effects = logit("smokes ~ age + income", true, EXACT).marginal_effects()
    disguised = logit("smokes ~ age + income", reported(true, ONE), ONE).marginal_effects()
    assert disguised.names == effects.names
    far = np.abs(disguised.values - effects.values) / np.asarray(disguised.bse)
    assert far.max() < 4
    assert (np.asarray(disguised.bse) > np.asarray(effects.bse)).all()


def test_sandwich_errors_are_close_to_the_others_if_the_model_is_right(data: Any) -> None:
    plain = logit("smokes ~ age + income", data, ONE)
    robust = logit("smokes ~ age + income", data, ONE, robust=True)
    np.testing.assert_array_equal(plain.values, robust.values)
    ratio = np.asarray(robust.bse) / np.asarray(plain.bse)
    assert (np.abs(ratio - 1) < 0.2).all()
    assert (ratio != 1).all()
    assert "sandwich" in str(robust)


def test_an_order_that_is_not_declared_is_not_guessed(data: Any) -> None:
    with pytest.raises(DataError, match="the order of the categories of 'region' is unknown"):
        logit("region ~ age", data, ONE, ordered=True)
    declared = pd.Categorical(data["region"], ["c", "a", "b"], ordered=True)
    fit = logit("region ~ age", data.assign(region=declared), ONE, ordered=True)
    assert fit.names == ("c/a", "a/b", "age")


def test_results_survive_pickling(data: Any) -> None:
    for fit in (logit("smokes ~ age + income", data, ONE), linear("wage ~ income", data, ONE)):
        copy = pickle.loads(pickle.dumps(fit))
        assert str(copy) == str(fit)
        np.testing.assert_array_equal(copy.predict(people(3)), fit.predict(people(3)))


def test_profile_intervals_are_the_values_that_a_likelihood_ratio_test_does_not_reject() -> None:
    """Forced response with 300 no and 200 yes: the likelihood of one share, solved by bisection."""
    design = DESIGNS["two groups"]
    frame = pd.DataFrame({"smokes": ["no"] * 300 + ["yes"] * 200})
    fit = logit("smokes ~ 1", frame, design)

    def fall(log_odds: float) -> float:
        yes = 1 / 6 + 2 / 3 / (1 + math.exp(-log_odds))
        return 2 * (fit.llf - 200 * math.log(yes) - 300 * math.log(1 - yes)) - chi2.isf(0.1, 1)

    best = fit.params["Intercept"]
    expected = [brentq(fall, best - 5, best), brentq(fall, best, best + 5)]
    np.testing.assert_allclose(fit.profile_conf_int(0.1)[0], expected, atol=1e-4)


@pytest.mark.slow
def test_profile_intervals_are_near_the_others_for_many_records() -> None:
    fit = logit("smokes ~ age + income", reported(people(10_000), ONE), ONE)
    gap = (fit.profile_conf_int() - fit.conf_int()) / np.asarray(fit.bse)[:, None]
    assert np.abs(gap).max() < 0.1
    assert np.abs(gap).max() > 1e-4


def test_profile_intervals_are_unbounded_under_separation() -> None:
    design = DESIGNS["two groups"]
    frame = pd.DataFrame({"smokes": ["no"] * 470 + ["yes"] * 60})
    lower, upper = logit("smokes ~ 1", frame, design).profile_conf_int()[0]
    assert lower == -np.inf
    assert upper < 0


def test_separation_is_reported_with_its_coefficients() -> None:
    true = people(300).assign(perfect=lambda d: (d["smokes"] == "yes").astype(float))
    fit = logit("smokes ~ perfect + age", true, EXACT)
    assert any("separation" in text and "perfect" in text for text in fit.warnings)
    assert "Warning: separation" in str(fit)


def test_a_group_with_too_few_reports_of_yes_is_separated() -> None:
    """Fewer yes than the forced ones: the likeliest share is 0, its log-odds are unbounded."""
    design = DESIGNS["two groups"]
    counts = {("a", "no"): 900, ("a", "yes"): 600, ("b", "no"): 470, ("b", "yes"): 30}
    rows = [key for key, n in counts.items() for _ in range(n)]
    frame = pd.DataFrame(rows, columns=["place", "smokes"])
    fit = logit("smokes ~ place", frame, design)
    assert any("separation" in text and "place[T.b]" in text for text in fit.warnings)
    assert logit("smokes ~ 1", frame, design).warnings == ()


def test_a_search_that_ends_early_is_reported(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.regression.maximum.MAX_ITERATIONS", 1)
    fit = logit("smokes ~ age + income", data, ONE)
    assert not fit.converged
    assert "not converged after 1 iteration" in str(fit)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("smokes ~ agee", r"unknown name 'agee' in the formula; did you mean 'age'\?"),
        ("smoke ~ age", r"unknown outcome 'smoke' in the formula; did you mean 'smokes'\?"),
        ("smokes ~ np.log(income)", "'income' is disguised, so .* may only be a category"),
        ("smokes ~ I(income)", "'income' is disguised"),
        ("smokes ~ age + I(2 * age)", r"collinear: age, I\(2 \* age\)"),
        ("smokes ~ age +", "cannot be read"),
        ("smokes ~ nope(age)", "unknown name 'nope'"),
        ("smokes ~ age.nope()", "cannot be computed"),
        ("smokes ~ smokes", "on both sides"),
        ("smokes", "must have the form 'outcome ~ covariates'"),
        ("smokes ~ np.log(age)", r"'np.log\(age\)' is not a finite number at record"),
        ("smokes ~ 0", "has no covariates"),
        ("one ~ age", "has one category, 'x'"),
        ("smokes ~ empty", "every record has a missing cell"),
    ],
)
def test_a_bad_formula_is_one_clear_error(data: Any, formula: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        logit(formula, data.assign(one="x", empty=np.nan), ONE)
    assert "\n" not in str(caught.value)


def test_other_bad_input_is_one_clear_error(data: Any) -> None:
    with pytest.raises(DesignError, match="design must be a Design"):
        logit("smokes ~ age", data, None)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="the formula must be a text"):
        logit(3, data, ONE)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="500 records, but 3 rows"):
        logit("smokes", data, ONE, covariates=np.ones((3, 1)))
    with pytest.raises(DataError, match="covariates must be numbers"):
        logit("smokes", data, ONE, covariates=np.full((500, 1), "x"))
    with pytest.raises(DataError, match="covariate 'x1' is not a finite number"):
        logit("smokes", data, ONE, covariates=np.full((500, 1), np.nan))
    with pytest.raises(DataError, match="unknown outcome 'smoke'"):
        logit("smoke", data, ONE, covariates=np.ones((500, 1)))
    with pytest.raises(DataError, match="an ordered model has cut points"):
        logit("income", data, ONE, covariates=np.ones((500, 1)), ordered=True)
    both = np.column_stack([data["age"] > 0, data["age"] <= 0])
    with pytest.raises(DataError, match="collinear: the cut points"):
        logit("income", data, ONE, covariates=both, ordered=True)
    with pytest.raises(DataError, match="reports of the outcome 'smokes' are the same"):
        logit("smokes ~ age", data.assign(smokes="no"), ONE)
    with pytest.raises(DataError, match="alpha must be between 0 and 1"):
        logit("smokes ~ age", data, ONE).conf_int(95)
    with pytest.raises(DataError, match="0 in all records"):
        logit("smokes", data, ONE, covariates=np.zeros((500, 1)))
    with pytest.raises(TacitError, match="unknown category 'maybe'"):
        logit("smokes ~ age", data.assign(smokes="maybe"), ONE)


def test_bad_hypotheses_are_errors(data: Any) -> None:
    fit = logit("smokes ~ age", data, ONE)
    with pytest.raises(DataError, match="unknown coefficient 'ag'"):
        fit.wald_test("ag")
    with pytest.raises(DataError, match="a matrix with 2 columns"):
        fit.wald_test(np.ones((1, 3)))
    with pytest.raises(DataError, match="must be independent"):
        fit.wald_test([[0, 1], [0, 2]])
    with pytest.raises(DataError, match="same outcome and the same records"):
        fit.compare_lr_test(logit("income ~ age", data, ONE))
    with pytest.raises(DataError, match="only it has the disguised predictor 'income'"):
        fit.compare_lr_test(logit("smokes ~ income", data, ONE))
    with pytest.raises(DataError, match="500 different values"):
        logit("age ~ region", data, ONE)
    with pytest.raises(DataError, match="not nested"):
        logit("smokes ~ 1", data, ONE).compare_lr_test(fit)


def test_an_answer_that_carries_no_information_is_an_error(data: Any) -> None:
    blind = Design(SCHEMA, [Group(["smokes"], related("1/2")), Group(["income"], related("0.9"))])
    with pytest.raises(DesignError, match="cannot be reconstructed"):
        logit("smokes ~ age", data, blind)


def test_answers_that_one_matrix_disguises_together_are_used_together() -> None:
    schema = Schema([Attribute("a", ["0", "1"]), Attribute("b", ["0", "1"])])
    noise = (0.6 * np.eye(4) + 0.1).round(3).tolist()
    design = Design(schema, [Group(["a", "b"], matrix(noise))])
    frame = pd.DataFrame({"a": list("0011") * 10, "b": list("0101") * 10})
    frame["z"] = np.arange(40.0) % 7
    with pytest.raises(DataError, match="'a' cannot be used without 'b'"):
        logit("a ~ z", frame, design)
    assert logit("a ~ b", frame, design).nobs == 40


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TacitError, match=r"no\.csv"):
        logit("smokes ~ age", tmp_path / "no.csv", ONE)


def test_linear_refuses_labels_that_are_no_numbers(data: Any) -> None:
    with pytest.raises(DataError, match="not numbers; use logit"):
        linear("smokes ~ age", data, ONE)
    with pytest.raises(DataError, match="not numbers; use logit"):
        linear("region ~ age", data, ONE)


def test_unknown_attributes_of_codes_are_schema_errors() -> None:
    codes = np.zeros((4, 2), np.uint8)
    with pytest.raises((DataError, SchemaError), match="unknown"):
        logit("cheats", codes, ONE, covariates=np.ones((4, 1)))
