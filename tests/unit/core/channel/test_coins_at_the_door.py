"""Parameters and designs as people give them: what is taken, what is refused and how."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, reconstruct
from tacit.core.channel import forced, frapp, matrix, related, uniform_perturbation
from tacit.errors import DesignError, FileError, TacitError


def yes_no(n: int) -> Schema:
    return Schema([Attribute(f"q{i}", ["no", "yes"]) for i in range(n)])


@pytest.mark.parametrize(
    "theta", [0.7, "0.7", "7/10", Decimal("0.7"), Fraction(7, 10), np.float64(0.7), np.float32(0.7)]
)
def test_a_number_means_the_decimal_it_prints_as(theta: Any) -> None:
    assert related(theta).theta == Fraction(7, 10)


@pytest.mark.parametrize(
    "theta", [True, np.bool_(True), None, "", "seven", "1/0", float("nan"), float("inf"), [0.7]]
)
def test_what_is_no_number_is_an_error_that_names_the_parameter(theta: Any) -> None:
    with pytest.raises(DesignError, match="related: theta must be a number"):
        related(theta)


@pytest.mark.parametrize("theta", ["1e-3000000", "0." + "5" * 5000, Fraction(1, 10**5000)])
def test_a_number_of_endless_digits_is_refused_at_once(theta: Any) -> None:
    with pytest.raises(DesignError, match="related: theta"):
        related(theta)


def test_floats_may_miss_0_and_1_by_their_rounding() -> None:
    coin = matrix(np.array([[1.0000000000000002, -1e-17], [0.0, 1.0]]))
    assert coin.rows == ((1, 0), (0, 1))


def test_four_hundred_groups_have_an_epsilon_that_is_never_below_the_sum() -> None:
    rng = np.random.default_rng(1)
    schema = yes_no(400)
    groups = [Group([name], related(0.7 + rng.random() / 10)) for name in schema.names]
    design = Design(schema, groups)
    single = [Fraction(design.channel([name]).epsilon) for name in schema.names]
    whole = Fraction(design.channel(schema.names).epsilon)
    assert sum(single) <= whole <= sum(single) * (1 + Fraction(1, 2**50))


def test_many_answers_with_one_coin_can_be_reconstructed_pair_by_pair() -> None:
    schema = yes_no(60)
    design = Design(schema, [Group(schema.names, forced("1/2", [0.9, 0.1]))])
    assert design.channel(schema.names).reconstructable
    rng = np.random.default_rng(2)
    true = (rng.random((4000, 60)) < 0.5).astype(np.uint8)
    pair = reconstruct(disguise(true, design, rng), design).table(["q0", "q59"])
    lower, upper = pair.interval(1 - 1e-9)
    assert (lower <= 0.25).all()
    assert (upper >= 0.25).all()


def test_a_very_wide_group_has_a_channel_without_overflow() -> None:
    schema = yes_no(1500)
    design = Design(schema, [Group(schema.names, forced("1/2", [0.9, 0.1]))])
    assert design.channel(schema.names).condition == np.inf
    assert design.channel(schema.names).reconstructable


def test_frapp_below_one_disguises_wide_groups_and_never_keeps_at_zero() -> None:
    schema = yes_no(20)
    design = Design(schema, [Group(schema.names, frapp(0))])
    true = np.zeros((1000, 20), np.uint8)
    assert (disguise(true, design, np.random.default_rng(3)).any(axis=1)).all()
    with pytest.raises(DesignError, match=r"2\^62 joint categories"):
        Design(yes_no(63), [Group(yes_no(63).names, frapp(0.5))])


@pytest.mark.parametrize("reported", [5, "xy", ["x", "x"], [["x"], ["y"]]])
def test_labels_of_reports_are_checked_like_categories(reported: Any) -> None:
    with pytest.raises(TacitError, match="reported"):
        matrix([[1, 0], [0, 1]], reported=reported)


def test_labels_of_reports_keep_their_type() -> None:
    numbers = matrix([[1, 0], [0, 1]], reported=np.array([1, 0]))
    assert numbers != matrix([[1, 0], [0, 1]], reported=[True, False])
    design = Design(yes_no(1), [Group(["q0"], numbers)])
    assert Design.from_json(design.to_json()) == design


def test_an_error_in_a_design_file_names_its_place() -> None:
    text = Design(yes_no(1), [Group(["q0"], related(0.7))]).to_json()
    with pytest.raises(DesignError, match=r"groups\[0\].coin: related: theta must lie between"):
        Design.from_json(text.replace("7/10", "17/10"))


def test_a_design_file_that_says_a_thing_twice_is_refused() -> None:
    text = Design(yes_no(1), [Group(["q0"], related(0.7))]).to_json()
    with pytest.raises(FileError, match="'theta' appears twice"):
        Design.from_json(text.replace('"theta"', '"theta": "1/3", "theta"'))
    with pytest.raises(FileError, match="nested too deeply"):
        Design.from_json("[" * 100_000)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Design(yes_no(1), Group(["q0"], related(0.7))),  # type: ignore[arg-type]
        lambda: Design(yes_no(1), None),  # type: ignore[arg-type]
        lambda: Design(yes_no(1), [related(0.7)]),  # type: ignore[list-item]
        lambda: Design([Attribute("q0", [0, 1])], []),  # type: ignore[arg-type]
        lambda: Group(5, related(0.7)),  # type: ignore[arg-type]
        lambda: Group([5], related(0.7)),  # type: ignore[list-item]
        lambda: Group(["q0"], 0.7),  # type: ignore[arg-type]
    ],
)
def test_arguments_of_another_kind_are_design_errors(make: Any) -> None:
    with pytest.raises(DesignError, match="needs"):
        make()


def test_attributes_may_come_as_any_ordered_collection() -> None:
    schema = yes_no(2)
    design = Design(schema, [Group(np.array(["q0", "q1"]), uniform_perturbation(0.5))])
    rec = reconstruct(np.zeros((4, 2), np.uint8), design)
    expected = rec.table(["q1", "q0"]).value
    np.testing.assert_array_equal(rec.table(iter(["q1", "q0"])).value, expected)  # type: ignore[arg-type]
    np.testing.assert_array_equal(rec.table("q0").value, rec.table(["q0"]).value)
    for wrong in (None, {"q0", "q1"}, 3):
        with pytest.raises(TacitError, match="must be a list of names"):
            rec.table(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("level", ["0.95", None, True, 0, 1, 95, float("nan")])
def test_a_level_that_is_none_is_an_error(level: Any) -> None:
    design = Design(yes_no(1), [Group(["q0"], related(0.7))])
    with pytest.raises(TacitError, match="confidence level"):
        reconstruct(np.zeros((4, 1), np.uint8), design).table(["q0"]).interval(level)
