"""Conditional shares and comparisons: plain ones without disguise, the right errors with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from tacit import Attribute, Design, Group, Schema, reconstruct, related, truthful, unrelated
from tacit.errors import SchemaError, TacitError
from tacit.reconstruction import Reconstruction, em, inversion, simplex

SCHEMA = Schema([Attribute("smokes", ["no", "yes"]), Attribute("income", ["low", "mid", "high"])])
NAMES = list(SCHEMA.names)
PERSONAL = {"smokes": [0.5, 0.5], "income": [0.2, 0.3, 0.5]}
PLAIN = Design(SCHEMA, [Group(NAMES, truthful())])
DESIGNS = {
    "plain": PLAIN,
    "one group": Design(SCHEMA, [Group(NAMES, unrelated(0.7, PERSONAL))]),
    "truthful groups": Design(
        SCHEMA, [Group(["smokes"], related(0.8)), Group(["income"], truthful())]
    ),
    "two coins": Design(SCHEMA, [Group(["smokes"], related(0.9)), Group(["income"], related(0.9))]),
}
COUNTS = np.array([[300, 250, 150], [60, 90, 150]])


def records(counts: Any = COUNTS) -> Any:
    cells = np.indices(counts.shape).reshape(2, -1).T.astype(np.uint8)
    return np.repeat(cells, np.ravel(counts), axis=0)


def rec(design: str = "plain") -> Reconstruction:
    return reconstruct(records(), DESIGNS[design])


def test_without_disguise_a_conditional_share_is_that_of_the_group() -> None:
    found = rec().probability({"smokes": "yes"}, given={"income": "high"})
    assert float(found) == 0.5
    assert float(found.stderr) == pytest.approx(np.sqrt(0.25 / 300))
    peer = binomtest(150, 300).proportion_ci(0.95, method="exact")
    np.testing.assert_allclose(found.interval(), (peer.low, peer.high), rtol=1e-8)
    assert found.name == "P(smokes = yes | income = high)"


def test_a_table_given_groups_has_the_shares_of_each_group() -> None:
    found = rec().table(["smokes"], given=["income"])
    assert [a.name for a in found.attributes] == ["income", "smokes"]
    np.testing.assert_allclose(found.value, (COUNTS / COUNTS.sum(axis=0)).T)
    assert found.name == "P(smokes | income)"
    assert found.to_frame(backend="pandas").shape == (6, 6)


@pytest.mark.parametrize("name", DESIGNS)
def test_a_table_given_groups_agrees_with_single_probabilities(name: str) -> None:
    table = rec(name).table(["smokes"], given=["income"])
    np.testing.assert_allclose(table.value.sum(axis=1), 1)
    np.testing.assert_allclose(np.sqrt(np.diagonal(table.covariance)), table.stderr.ravel())
    for i, income in enumerate(("low", "mid", "high")):
        one = rec(name).probability({"smokes": "yes"}, given={"income": income})
        assert float(one) == pytest.approx(table.value[i, 1])
        assert float(one.stderr) == pytest.approx(table.stderr[i, 1])
        both = np.stack(one.interval()), np.stack(table.interval())[:, i, 1]
        np.testing.assert_allclose(*both, atol=1e-8)


@pytest.mark.parametrize("name", DESIGNS)
def test_comparisons_follow_from_the_conditional_shares_and_their_covariance(name: str) -> None:
    groups = {"income": "high"}, {"income": ["low", "mid"]}
    found = rec(name)
    r1, r2 = (float(found.probability({"smokes": "yes"}, given=g)) for g in groups)
    asked = (found.difference, found.ratio, found.odds_ratio)
    each = [ask({"smokes": "yes"}, between=groups) for ask in asked]
    values = [r1 - r2, r1 / r2, r1 * (1 - r2) / ((1 - r1) * r2)]
    np.testing.assert_allclose([float(e) for e in each], values)
    events = [({"smokes": "yes"}, g) for g in groups]
    functions = [
        lambda p: p[0] - p[1],
        lambda p: p[0] / p[1],
        lambda p: p[0] * (1 - p[1]) / ((1 - p[0]) * p[1]),
    ]
    for one, function in zip(each, functions, strict=True):
        same = found.contrast(function, events)
        assert float(same) == pytest.approx(float(one))
        assert float(same.stderr) == pytest.approx(float(one.stderr), rel=1e-5)
        lower, upper = one.interval()
        assert lower < float(one) < upper


def test_without_disguise_the_difference_has_newcombes_interval_from_exact_limits() -> None:
    """The peers are the exact limits of 150/300 and 150/700 in scipy.stats.binomtest."""
    found = rec().difference(
        {"smokes": "yes"}, between=({"income": "high"}, {"income": ["low", "mid"]})
    )
    (l1, u1), (l2, u2) = (
        binomtest(y, n).proportion_ci(0.95, "exact") for y, n in [(150, 300), (150, 700)]
    )
    r1, r2 = 150 / 300, 150 / 700
    expected = (
        r1 - r2 - np.hypot(r1 - l1, u2 - r2),
        r1 - r2 + np.hypot(u1 - r1, r2 - l2),
    )
    np.testing.assert_allclose(found.interval(), expected, rtol=1e-6)
    assert float(found.stderr) == pytest.approx(np.sqrt(r1 * (1 - r1) / 300 + r2 * (1 - r2) / 700))


def test_treating_the_size_of_a_disguised_group_as_known_would_be_wrong() -> None:
    found = rec("two coins").probability({"smokes": "yes"}, given={"income": "high"})
    joint = rec("two coins").probability({"smokes": "yes", "income": "high"})
    known = float(joint.stderr) / float(rec("two coins").probability({"income": "high"}))
    assert abs(float(found.stderr) / known - 1) > 0.02


def test_a_share_of_0_has_a_ratio_and_an_odds_ratio_with_an_upper_limit() -> None:
    counts = np.array([[300, 250, 150], [0, 90, 150]])
    found = reconstruct(records(counts), PLAIN)
    groups = {"income": "low"}, {"income": "high"}
    lower, upper = found.ratio({"smokes": "yes"}, between=groups).interval()
    assert lower == 0
    assert 0 < upper < 0.1
    lower, upper = found.odds_ratio({"smokes": "yes"}, between=groups).interval()
    assert lower == 0
    assert 0 < upper < 0.1
    lower, upper = found.ratio({"smokes": "yes"}, between=groups[::-1]).interval()
    assert lower > 10
    assert upper == np.inf


def test_methods_that_give_distributions_give_conditional_distributions() -> None:
    for method in (inversion, simplex, em):
        table = rec("two coins").table(["smokes"], method, given=["income"])
        np.testing.assert_allclose(table.value.sum(axis=1), 1)
    assert table.method == "em"


NOBODY_HIGH = np.array([[3000, 250, 0], [600, 90, 0]])


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("first", ["high", "low"])
def test_a_group_that_nobody_seems_to_be_in_stops_no_question_and_is_marked(
    name: str, first: str
) -> None:
    found = reconstruct(records(NOBODY_HIGH), DESIGNS[name])
    event, second = {"smokes": "yes"}, "low" if first == "high" else "high"
    table = found.table(["smokes"], given=["income"])
    np.testing.assert_array_equal(np.stack(table.interval())[:, 2], [[0, 0], [1, 1]])
    share = found.probability(event, given={"income": "high"})
    np.testing.assert_array_equal(share.interval(), (0, 1))
    ranges = {"difference": (-1, 1), "ratio": (0, np.inf), "odds_ratio": (0, np.inf)}
    estimates = [table, share]
    for kind, limits in ranges.items():
        groups = {"income": first}, {"income": second}
        compared = getattr(found, kind)(event, between=groups)
        np.testing.assert_array_equal(compared.interval(), limits)
        assert np.isnan(float(compared))
        estimates.append(compared)
    for estimate in estimates:
        assert "not informative" in str(estimate)
    odds = found.contrast(lambda p: p[0] / (1 - p[0]), [(event, {"income": "high"})])
    assert np.isnan([float(odds), float(odds.stderr), *odds.interval()]).all()


def test_a_comparison_without_an_upper_limit_says_so_and_why() -> None:
    found = reconstruct(records(np.array([[300, 25, 2], [90, 9, 15]])), DESIGNS["truthful groups"])
    event, groups = {"smokes": "yes"}, ({"income": "high"}, {"income": "low"})
    for compared in (found.ratio, found.odds_ratio):
        assert "unbounded\n" in str(compared(event, between=groups)) + "\n"
        assert "no upper limit: the reports allow" in str(compared(event, between=groups))
        assert "no upper limit" not in str(compared(event, between=groups[::-1]))
    assert "no upper limit" not in str(found.difference(event, between=groups))


YES = {"smokes": "yes"}


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda r: r.probability(YES, given={"wealth": "high"}), "unknown attribute 'wealth'"),
        (lambda r: r.probability(YES, given={}), "the condition names no attribute"),
        (lambda r: r.probability(YES, given={"smokes": "no"}), "exclude each other"),
        (lambda r: r.probability(YES, given={"income": []}), "allows no category of 'income'"),
        (lambda r: r.table(["smokes"], given=["smokes"]), "asked for twice"),
        (lambda r: r.table(["smokes"], given=3), "list of names"),
        (lambda r: r.difference(YES, between={"income": "low"}), "between must be a pair"),
        (lambda r: r.ratio(YES, between=({"income": "low"},) * 2), "both groups are income = low"),
        (lambda r: r.contrast(lambda p: p, [YES, {"income": "low"}]), "must return one number"),
        (lambda r: r.contrast(lambda p: np.log(-p[0]), [YES]), "is nan at the estimated"),
        (lambda r: r.contrast(3, [YES]), "must take the array"),
        (lambda r: r.contrast(np.sum, []), "at least one event"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_mistake_is_one_clear_error(ask: Any, message: str) -> None:
    with pytest.raises(TacitError, match=message):
        ask(rec())
    assert issubclass(SchemaError, TacitError)
