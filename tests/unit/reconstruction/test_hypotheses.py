"""Tests of hypotheses: those of scipy without disguise, brute force with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2, chi2_contingency, power_divergence

from tacit import Attribute, Design, Group, Schema, matrix, reconstruct, related, truthful
from tacit.core.arrays import Array
from tacit.errors import TacitError
from tacit.reconstruction import Reconstruction, likelihood_ratio, pearson, wald

SCHEMA = Schema(
    [
        Attribute("smokes", ["no", "yes"]),
        Attribute("income", ["low", "mid", "high"]),
        Attribute("sex", ["f", "m"]),
    ]
)
PLAIN = Design(SCHEMA, [Group(list(SCHEMA.names), truthful())])
COINS = Design(
    SCHEMA,
    [
        Group(["smokes"], related("0.8")),
        Group(["income"], matrix([[0.8, 0.1, 0.1], [0.1, 0.7, 0.1], [0.1, 0.2, 0.8]])),
        Group(["sex"], truthful()),
    ],
)
COUNTS = np.array([[[120, 130], [110, 90], [60, 80]], [[30, 45], [40, 50], [60, 75]]])


def rec(design: Design = PLAIN, counts: Array = COUNTS) -> Reconstruction:
    cells = np.indices(counts.shape).reshape(3, -1).T.astype(np.uint8)
    return reconstruct(np.repeat(cells, np.ravel(counts), axis=0), design)


@pytest.mark.parametrize(
    ("method", "power"), [(pearson, "pearson"), (likelihood_ratio, "log-likelihood")]
)
def test_without_disguise_independence_is_tested_as_in_scipy(method: Any, power: str) -> None:
    """scipy.stats.chi2_contingency(table, correction=False, lambda_=...)."""
    found = rec().independence(["smokes", "income"], method=method)
    peer = chi2_contingency(COUNTS.sum(axis=2), correction=False, lambda_=power)
    assert found.statistic == pytest.approx(peer.statistic, rel=1e-9)
    assert found.df == peer.dof == 2
    assert found.pvalue == pytest.approx(peer.pvalue, rel=1e-9)
    same = rec().homogeneity(["smokes"], across=["income"], method=method)
    assert same.statistic == pytest.approx(peer.statistic, rel=1e-9)
    whole = rec().independence(["smokes", "income", "sex"], method=method)
    peer = chi2_contingency(COUNTS, correction=False, lambda_=power)
    assert (whole.statistic, whole.df) == (pytest.approx(peer.statistic, rel=1e-9), peer.dof)


def test_without_disguise_conditional_independence_adds_up_over_groups() -> None:
    for method, power in ((pearson, "pearson"), (likelihood_ratio, "log-likelihood")):
        found = rec().independence(["smokes", "income"], given=["sex"], method=method)
        peers = [chi2_contingency(COUNTS[:, :, i], correction=False, lambda_=power) for i in (0, 1)]
        assert found.statistic == pytest.approx(sum(p.statistic for p in peers), rel=1e-8)
        assert found.df == 4


def test_without_disguise_goodness_of_fit_is_that_of_scipy() -> None:
    shares = {"low": 0.4, "mid": 0.3, "high": 0.3}
    counts = COUNTS.sum(axis=(0, 2))
    for method, power in ((pearson, "pearson"), (likelihood_ratio, "log-likelihood")):
        found = rec().goodness_of_fit(["income"], shares, method=method)
        peer = power_divergence(counts, counts.sum() * np.array([0.4, 0.3, 0.3]), lambda_=power)
        assert found.statistic == pytest.approx(peer.statistic, rel=1e-9)
        assert found.pvalue == pytest.approx(peer.pvalue, rel=1e-9)
        assert found.df == 2


def test_without_disguise_a_trend_is_n_times_the_squared_correlation() -> None:
    """Mantel's test with n for n - 1; that of Cochran and Armitage for two categories."""
    table = COUNTS.sum(axis=2)
    a, b = (np.repeat(grid.ravel(), table.ravel()) for grid in np.indices(table.shape))
    expected = len(a) * np.corrcoef(a, b)[0, 1] ** 2
    found = rec().trend(["smokes", "income"], method=pearson)
    assert found.statistic == pytest.approx(expected, rel=1e-6)
    assert found.df == 1
    assert found.pvalue == pytest.approx(chi2.sf(expected, 1), rel=1e-5)
    spread = rec().trend(["smokes", "income"], {"income": [0, 10, 20]}, method=pearson)
    assert spread.statistic == pytest.approx(found.statistic)


def test_without_disguise_the_wald_test_of_two_shares_has_unpooled_variances() -> None:
    """Statistic: (p1 - p2)^2 / (p1 q1 / n1 + p2 q2 / n2) of shares in two groups, to O(1/n)."""
    table = COUNTS.sum(axis=1)
    found = rec().homogeneity(["smokes"], across=["sex"], method=wald)
    n = table.sum(axis=0)
    p = table[1] / n
    expected = (p[0] - p[1]) ** 2 / np.sum(p * (1 - p) / n)
    assert found.statistic == pytest.approx(expected, rel=0.02)
    assert found.df == 1


def test_the_likelihood_ratio_is_that_of_brute_force() -> None:
    """Independence of two disguised attributes: softmax of 2 and 3 logits, by BFGS."""
    channel = COINS.channel(list(SCHEMA.names))
    whole = channel.disguised(COUNTS.astype(float)).round().astype(int)
    counts = whole.sum(axis=2)
    M = COINS.channel(["smokes", "income"]).matrix

    def softmax(z: Array) -> Array:
        e = np.exp(z - z.max())
        return np.asarray(e / e.sum())

    def lost(p: Array) -> float:
        return -float(counts.ravel() @ np.log(M @ p.ravel()))

    def restricted(z: Array) -> float:
        return lost(np.outer(softmax(np.r_[0, z[:1]]), softmax(np.r_[0, z[1:]])))

    null = minimize(restricted, np.zeros(3), method="BFGS", options={"gtol": 1e-9}).fun
    free = minimize(lambda z: lost(softmax(np.r_[0, z])), np.zeros(5), options={"gtol": 1e-9}).fun
    found = rec(COINS, whole).independence(["smokes", "income"], method=likelihood_ratio)
    assert found.statistic == pytest.approx(2 * (null - free), abs=1e-8 * counts.sum())


def test_with_disguise_all_methods_agree_when_records_are_many() -> None:
    many = rec(COINS, COUNTS * 400)
    for ask in (
        lambda m: many.independence(["smokes", "income"], method=m),
        lambda m: many.independence(["smokes", "income"], given=["sex"], method=m),
        lambda m: many.goodness_of_fit(["income"], many.table(["income"]).value, method=m),
    ):
        found = [ask(m) for m in (likelihood_ratio, pearson, wald)]
        assert len({f.df for f in found}) == 1
    weak = COUNTS.sum(axis=1, keepdims=True) // 3 * np.ones((1, 3, 1), int)
    weak[1, 2] += 9
    near = rec(COINS, weak * 100)
    methods = (likelihood_ratio, pearson, wald)
    found = [near.independence(["smokes", "income"], method=m) for m in methods]
    assert found[0].statistic > 5
    for other in found[1:]:
        assert other.statistic == pytest.approx(found[0].statistic, rel=0.1)


def test_an_empty_category_takes_no_degrees_of_freedom() -> None:
    counts = COUNTS.copy()
    counts[:, 2] = 0
    for method in (likelihood_ratio, pearson, wald):
        assert rec(PLAIN, counts).independence(["smokes", "income"], method=method).df == 1


def test_a_margin_that_is_estimated_as_zero_does_not_decide_a_default_test() -> None:
    """11 yes of 50 reports by related(.7) make 0 the most likely share of smokers.

    Left out as an empty category, it would take the only degree of freedom: the test could never
    reject. What the reports say beyond the margins is tested.
    """
    schema = Schema([Attribute("a", ["no", "yes"]), Attribute("b", ["no", "yes"])])
    design = Design(schema, [Group(["a"], related("0.7")), Group(["b"], truthful())])
    records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [29, 10, 2, 9], axis=0)
    found = reconstruct(records, design).independence(["a", "b"])
    assert (found.df, found.method) == (1, "Pearson")
    assert 0.001 < found.pvalue < 0.01
    assert reconstruct(records, design).independence(["a", "b"], method=likelihood_ratio).df == 0


def test_a_result_prints_and_is_frozen() -> None:
    found = rec(COINS).independence(["smokes", "income"], given=["sex"])
    assert "independence of smokes, income given sex" in str(found)
    assert "Pearson" in found._repr_html_()
    assert set(found.to_dict()) >= {"statistic", "df", "pvalue"}
    with pytest.raises(AttributeError):
        found.df = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda r: r.independence(["smokes"]), "two attributes or more"),
        (lambda r: r.independence("smokes"), "two attributes or more"),
        (lambda r: r.independence(3), "list of names"),
        (lambda r: r.independence(["smokes", "wealth"]), "unknown attribute 'wealth'"),
        (lambda r: r.independence(["smokes", "income"], given=["smokes"]), "asked for twice"),
        (lambda r: r.independence(["smokes", "income"], method="t"), "method must be one of"),
        (lambda r: r.homogeneity(["smokes"], across=["smokes"]), "asked for twice"),
        (lambda r: r.goodness_of_fit(["income"], [0.5, 0.5]), r"shape \(3,\)"),
        (lambda r: r.goodness_of_fit(["income"], [0.5, 0.4, 0.2]), "sum to 1"),
        (lambda r: r.goodness_of_fit(["income"], {"low": 1}), "has no share of mid"),
        (lambda r: r.goodness_of_fit(["income"], {"lo": 1}), "did you mean 'low'"),
        (lambda r: r.goodness_of_fit(["income"], ["a", 1, 2]), "table of shares"),
        (lambda r: r.trend(["smokes"]), "between two attributes"),
        (lambda r: r.trend(["smokes", "income"], {"sex": [0, 1]}), "unknown attribute 'sex'"),
        (lambda r: r.trend(["smokes", "income"], {"income": [0, 1]}), "needs as many scores"),
        (lambda r: r.trend(["smokes", "income"], {"income": [1, 1, 1]}), "are all 1"),
        (lambda r: r.trend(["smokes", "income"], method=likelihood_ratio), "use pearson or wald"),
    ],
)
def test_a_mistake_is_one_clear_error(ask: Any, message: str) -> None:
    with pytest.raises(TacitError, match=message):
        ask(rec())


@pytest.mark.parametrize("name", ["pearson", "likelihood_ratio", "likelihood-ratio", "wald"])
def test_a_method_by_its_name_is_that_method(name: str) -> None:
    method = {"pearson": pearson, "wald": wald}.get(name, likelihood_ratio)
    named, passed = (
        rec(COINS).independence(["smokes", "income"], method=m) for m in (name, method)
    )
    assert named == passed
