"""One attribute: what its constructor refuses, how labels find their codes."""

from __future__ import annotations

import dataclasses
from decimal import Decimal

import numpy as np
import pytest

from tacit.core.schema import Attribute
from tacit.errors import SchemaError


def test_the_code_of_a_category_is_its_position() -> None:
    income = Attribute("income", ["low", "mid", "high"])
    assert [income.code(label) for label in ("low", "mid", "high")] == [0, 1, 2]
    assert income.size == 3


def test_categories_may_be_any_iterable_and_are_kept_as_plain_values() -> None:
    assert Attribute("a", np.array([1, 2])).categories == (1, 2)
    assert type(Attribute("a", np.array([1, 2])).categories[0]) is int
    assert Attribute("a", (c for c in "xy")).categories == ("x", "y")


@pytest.mark.parametrize("same", [1, 1.0, "1", np.int8(1), np.float32(1)])
def test_whole_numbers_of_any_type_and_their_text_are_one_label(same: object) -> None:
    assert Attribute("a", [0, 1]).code(same) == 1
    assert Attribute("a", ["0", "1"]).code(same) == 1
    assert Attribute("a", [0.0, 1.0]).code(same) == 1


def test_booleans_match_their_text_but_not_zero_and_one() -> None:
    answer = Attribute("a", [False, True])
    assert answer.code("True") == answer.code(np.True_) == 1
    assert answer.find(1) is None
    assert Attribute("a", [0, 1]).find(True) is None


@pytest.mark.parametrize("other", [None, float("nan"), float("inf"), [1], b"None", object()])
def test_what_is_not_a_label_is_never_found(other: object) -> None:
    assert Attribute("a", ["None", "nan", "inf"]).find(other) is None


def test_an_unknown_category_is_an_error_that_names_the_nearest_and_the_attribute() -> None:
    with pytest.raises(SchemaError, match=r"'hihg' of attribute 'income'.*'high'"):
        Attribute("income", ["low", "high"]).code("hihg")


@pytest.mark.parametrize("name", ["", "  ", 3, None])
def test_a_name_must_be_a_non_empty_text(name: object) -> None:
    with pytest.raises(SchemaError, match="name of an attribute"):
        Attribute(name, ["a", "b"])  # type: ignore[arg-type]


@pytest.mark.parametrize("categories", [[], ["one"]])
def test_fewer_than_two_categories_are_an_error(categories: list[str]) -> None:
    with pytest.raises(SchemaError, match="'a': needs 2 or more categories"):
        Attribute("a", categories)


@pytest.mark.parametrize("twice", [["x", "x"], [1, "1"], [1, 1.0], [True, "True"], ["a", "b", "a"]])
def test_categories_must_be_distinct_as_text(twice: list[str]) -> None:
    with pytest.raises(SchemaError, match="distinct as text"):
        Attribute("a", twice)


@pytest.mark.parametrize("bad", [None, float("nan"), float("-inf"), ("x",), b"x", 1j])
def test_a_category_of_another_type_is_an_error(bad: object) -> None:
    with pytest.raises(SchemaError, match="'a': a category must be"):
        Attribute("a", ["x", bad])  # type: ignore[list-item]


@pytest.mark.parametrize(
    "categories", ["no", b"no", bytearray(b"no"), 3, None, np.array(3), {1, 2}, frozenset("ab")]
)
def test_categories_must_be_a_list(categories: object) -> None:
    with pytest.raises(SchemaError, match="'a': categories must be a list"):
        Attribute("a", categories)  # type: ignore[arg-type]


def test_a_set_is_refused_because_it_has_no_order() -> None:
    with pytest.raises(SchemaError, match="a set has no order"):
        Attribute("a", {"no", "yes"})


def test_an_integer_too_long_to_print_is_no_category() -> None:
    endless = 10**5000
    with pytest.raises(SchemaError, match=r"must be .*, got 'an integer of over 1000 digits'"):
        Attribute("a", [1, endless])
    with pytest.raises(SchemaError, match="unknown category 'an integer of over 1000 digits'"):
        Attribute("a", [1, 2], missing=endless)
    with pytest.raises(SchemaError, match="unknown category 'an integer of over 1000 digits'"):
        Attribute("a", [1, 2]).code(endless)
    with pytest.raises(SchemaError, match="finite number, got 'an integer of over 1000 digits'"):
        Attribute("a", ["x", "y"], edges=[endless])


def test_whole_decimals_are_integers_and_others_are_no_label() -> None:
    answer = Attribute("a", [Decimal("1.00"), Decimal(2)])  # type: ignore[list-item]
    assert answer == Attribute("a", [1, 2])
    assert answer.find(Decimal("2.0")) == 1
    for other in ("1.5", "nan", "inf", "1e999999999"):
        assert answer.find(Decimal(other)) is None


def test_missing_must_be_one_of_the_categories_and_is_kept_as_that_category() -> None:
    assert Attribute("a", ["x", "y", "9"], missing=9).missing == "9"
    with pytest.raises(SchemaError, match="'z' as missing of attribute 'a'"):
        Attribute("a", ["x", "y"], missing="z")


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([2, 1], "increase strictly"),
        ([1, 1], "increase strictly"),
        ([1], "1 edges need 2 categories"),
        ([1, float("nan")], "finite number"),
        ([1, float("inf")], "finite number"),
        ([1, True], "finite number"),
        ([1, "2"], "finite number"),
        ("12", "edges must be a list"),
    ],
)
def test_edges_must_be_finite_increasing_and_fit_the_categories(
    edges: object, message: str
) -> None:
    with pytest.raises(SchemaError, match=message):
        Attribute("a", ["low", "mid", "high"], edges=edges)  # type: ignore[arg-type]


def test_the_missing_category_of_a_binned_attribute_comes_after_the_others() -> None:
    assert Attribute("a", ["low", "high", "?"], missing="?", edges=[1]).edges == (1.0,)
    with pytest.raises(SchemaError, match="must be the last"):
        Attribute("a", ["?", "low", "high"], missing="?", edges=[1])
    with pytest.raises(SchemaError, match="need 3 categories"):
        Attribute("a", ["low", "high"], missing="high", edges=[1])


def test_the_categories_of_a_binned_attribute_must_be_text() -> None:
    with pytest.raises(SchemaError, match="must be text: 0"):
        Attribute("a", [0, 1], edges=[0.5])


def test_attributes_are_equal_when_their_labels_are_of_the_same_type_too() -> None:
    assert Attribute("a", [0, 1]) == Attribute("a", (0, 1))
    assert hash(Attribute("a", [0, 1])) == hash(Attribute("a", (0, 1)))
    assert Attribute("a", [0, 1]) != Attribute("a", [False, True])
    assert Attribute("a", [0, 1]) != Attribute("a", [0, 1], missing=1)
    assert Attribute("a", [0, 1]) != ("a", (0, 1))


def test_an_attribute_cannot_be_changed_but_a_changed_copy_can_be_made() -> None:
    smokes = Attribute("smokes", ["no", "yes"])
    with pytest.raises(dataclasses.FrozenInstanceError):
        smokes.name = "drinks"  # type: ignore[misc]
    assert dataclasses.replace(smokes, name="drinks") == Attribute("drinks", ["no", "yes"])
