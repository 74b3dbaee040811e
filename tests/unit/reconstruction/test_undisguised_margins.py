"""Cells and groups of undisguised attributes: their margin is counted, not estimated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from tacit import Attribute, Design, Group, Schema, reconstruct, related, triangular, truthful
from tacit.core.channel import Coin, matrix
from tacit.plan.expected import expected_difference
from tacit.reconstruction import Estimate, Reconstruction

YES_NO = ["no", "yes"]
SCHEMA = Schema([Attribute("a", YES_NO), Attribute("b", YES_NO), Attribute("c", YES_NO)])


def design(coin: Coin, *undisguised: str) -> Design:
    names = ["a", *undisguised]
    truth = [Group([name], truthful()) for name in undisguised]
    return Design(SCHEMA.subset(names), [Group(["a"], coin), *truth])


def reports(counts: Any) -> Any:
    """Records whose reports have these counts."""
    cells = np.indices(np.shape(counts)).reshape(np.ndim(counts), -1).T.astype(np.uint8)
    return np.repeat(cells, np.ravel(counts), axis=0)


def limits(estimate: Estimate) -> tuple[float, float]:
    lower, upper = estimate.interval()
    return float(lower), float(upper)


def seven_of_200() -> Reconstruction:
    """7 people with b = yes, of whom 4 report a = yes."""
    return reconstruct(reports([[110, 3], [83, 4]]), design(related(0.6), "b"))


def test_a_joint_cell_does_not_exclude_0_when_the_reports_of_its_group_allow_it() -> None:
    cell = seven_of_200().probability({"a": "yes", "b": "yes"})
    assert float(cell) == pytest.approx(0.03)
    assert float(cell.stderr) == pytest.approx(0.0346, abs=5e-5)
    assert limits(cell)[0] == 0


def test_a_joint_cell_has_no_more_people_than_its_undisguised_margin_allows() -> None:
    peer = binomtest(7, 200).proportion_ci(0.95, "exact")
    assert limits(seven_of_200().probability({"a": "yes", "b": "yes"}))[1] <= peer.high + 1e-12


def test_a_table_and_an_event_give_a_joint_cell_the_same_interval() -> None:
    found = seven_of_200()
    table = found.table(["a", "b"])
    for i, a in enumerate(YES_NO):
        for j, b in enumerate(YES_NO):
            cell = limits(found.probability({"a": a, "b": b}))
            np.testing.assert_allclose(cell, [end[i, j] for end in table.interval()], atol=1e-9)


@pytest.mark.parametrize("counts", [[2, 1], [0, 1], [1, 0], [3, 4], [40, 60]], ids=str)
@pytest.mark.parametrize("coin", [triangular("1/4"), related("0.8")], ids=str)
def test_a_small_undisguised_group_has_the_interval_of_its_records_alone(
    coin: Coin, counts: Any
) -> None:
    whole = reconstruct(reports([[30, counts[0]], [50, counts[1]]]), design(coin, "b"))
    alone = reconstruct(reports(counts), design(coin))
    expected = limits(alone.probability({"a": "yes"}))
    group = {"b": "yes"}
    np.testing.assert_allclose(limits(whole.probability({"a": "yes"}, given=group)), expected)
    table = whole.table(["a"], given=["b"])
    np.testing.assert_allclose([end[1, 1] for end in table.interval()], expected)
    np.testing.assert_allclose(table.value[1, 1], alone.table(["a"]).value[1])


def test_a_group_of_two_undisguised_attributes_has_the_interval_of_its_records_alone() -> None:
    counts = np.array([[[20, 4], [9, 3]], [[11, 2], [13, 5]]])
    whole = reconstruct(reports(counts), design(triangular("1/4"), "b", "c"))
    alone = reconstruct(reports(counts[:, 1, 1]), design(triangular("1/4")))
    expected = limits(alone.probability({"a": "yes"}))
    group = {"b": "yes", "c": "yes"}
    np.testing.assert_allclose(limits(whole.probability({"a": "yes"}, given=group)), expected)
    within = reconstruct(reports(counts[:, 1]), Design(
        SCHEMA.subset(["a", "c"]), [Group(["a"], triangular("1/4")), Group(["c"], truthful())]
    ))  # fmt: skip
    event = {"a": "yes", "c": "yes"}
    part = limits(whole.probability(event, given={"b": "yes"}))
    np.testing.assert_allclose(part, limits(within.probability(event)))
    table = whole.table(["a", "c"], given=["b"])
    np.testing.assert_allclose([end[1, 1, 1] for end in table.interval()], part)


def test_a_further_condition_that_all_records_of_a_group_meet_keeps_its_lower_limit() -> None:
    counts = np.array([[[20, 4], [0, 3]], [[11, 2], [0, 5]]])
    found = reconstruct(reports(counts), design(triangular("1/4"), "b", "c"))
    event = limits(found.probability({"a": "yes", "c": "yes"}, given={"b": "yes"}))
    table = found.table(["a", "c"], given=["b"])
    np.testing.assert_allclose([end[1, 1, 1] for end in table.interval()], event)
    share = limits(found.probability({"a": "yes"}, given={"b": "yes"}))
    assert event[0] == pytest.approx(share[0])
    assert event[1] >= share[1]


def test_a_cell_with_all_records_is_no_wider_than_without_the_undisguised_attribute() -> None:
    data = reports([[0, 0], [0, 50]])
    cell = reconstruct(data, design(related("0.99"), "b")).probability({"a": "yes", "b": "yes"})
    alone = reconstruct(data[:, :1], design(related("0.99"))).probability({"a": "yes"})
    np.testing.assert_allclose(limits(cell), limits(alone))


def test_nobody_in_an_undisguised_group_leaves_its_share_unknown_and_its_cells_bounded() -> None:
    found = reconstruct(reports([[30, 0], [20, 0]]), design(triangular("1/4"), "b"))
    peer = binomtest(0, 50).proportion_ci(0.95, "exact")
    assert limits(found.probability({"a": "yes", "b": "yes"})) == pytest.approx((0, peer.high))
    share = found.probability({"a": "yes"}, given={"b": "yes"})
    assert limits(share) == (0, 1)
    assert "not informative" in str(share)


def test_a_cell_without_disguise_still_has_the_exact_interval() -> None:
    found = reconstruct(reports([[30, 24], [14, 12]]), design(truthful(), "b"))
    peer = binomtest(12, 80).proportion_ci(0.95, "exact")
    cell = found.probability({"a": "yes", "b": "yes"})
    np.testing.assert_allclose(limits(cell), (peer.low, peer.high), rtol=1e-8)


def test_half_of_a_group_that_always_tells_is_treated_like_a_disguised_attribute() -> None:
    """A joint matrix has no margin of its own: what is not asked for is summed out."""
    plain = Design(SCHEMA, [Group(["a", "c"], matrix(np.eye(4))), Group(["b"], truthful())])
    data = reports([[[20, 4], [9, 3]], [[11, 2], [13, 5]]])
    found = reconstruct(data, plain)
    table = found.table(["a", "b"])
    np.testing.assert_allclose(table.value * len(data), [[24, 12], [13, 18]])
    lower, upper = table.interval()
    assert ((lower < table.value) & (table.value < upper)).all()


def test_design_weights_that_are_all_alike_change_no_limit() -> None:
    data = reports([[3000, 40], [1400, 50]])
    plain = reconstruct(data, design(triangular("1/4"), "b"))
    same = reconstruct(data, design(triangular("1/4"), "b"), weights=np.full(len(data), 3.0))
    event, group = {"a": "yes"}, {"b": "yes"}
    for ask in (
        lambda found: found.probability(event | group),
        lambda found: found.probability(event, given=group),
    ):
        # The variance of a sample is n / (n - 1) times larger, and its deviate Student's.
        np.testing.assert_allclose(limits(ask(same)), limits(ask(plain)), rtol=2 / len(data))


def test_columns_and_missing_answers_use_the_records_of_the_group_that_answered() -> None:
    data = reports([[30, 4], [50, 5]])
    frame = pd.DataFrame({"a": np.array(YES_NO)[data[:, 0]], "region": data[:, 1]})
    absent = pd.DataFrame({"a": [None] * 3, "region": [1, 1, 0]})
    own = design(triangular("1/4"))
    found = reconstruct(pd.concat([frame, absent]), own, columns=["region"])
    expected = limits(reconstruct(reports([4, 5]), own).probability({"a": "yes"}))
    share = found.probability({"a": "yes"}, given={"region": 1})
    assert share.n_left_out == 3
    np.testing.assert_allclose(limits(share), expected)
    other = reconstruct(data, design(triangular("1/4"), "b"))
    cell = limits(found.probability({"a": "yes", "region": 1}))
    np.testing.assert_allclose(cell, limits(other.probability({"a": "yes", "b": "yes"})))


def test_a_comparison_of_small_undisguised_groups_uses_the_intervals_of_their_records() -> None:
    counts = np.array([[30, 4], [50, 5]])
    found = reconstruct(reports(counts), design(triangular("1/4"), "b"))
    groups = [reconstruct(reports(own), design(triangular("1/4"))) for own in counts.T]
    (r2, l2, u2), (r1, l1, u1) = (
        (float(np.clip(share.value, 0, 1)), *limits(share))
        for share in (group.probability({"a": "yes"}) for group in groups)
    )
    expected = r1 - r2 - np.hypot(r1 - l1, u2 - r2), r1 - r2 + np.hypot(u1 - r1, r2 - l2)
    compared = found.difference({"a": "yes"}, between=({"b": "yes"}, {"b": "no"}))
    np.testing.assert_allclose(limits(compared), np.clip(expected, -1, 1))


def test_a_plan_for_undisguised_groups_has_the_interval_that_the_survey_will_print() -> None:
    counts = np.array([[54, 11], [26, 9]])
    own = design(related("0.8"), "b")
    found = reconstruct(reports(counts), own)
    channel = own.channel(["b", "a"])
    table = channel.to_true([f.channel.inverse for f in channel.factors], counts.T / 100)
    planned = expected_difference(channel, table, category=1, n=100)[1]
    survey = found.difference({"a": "yes"}, between=({"b": "yes"}, {"b": "no"}))
    np.testing.assert_allclose(limits(planned), limits(survey))
