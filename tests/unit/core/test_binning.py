"""Rules for numeric columns: where they cut, how they name, what they refuse."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.label_codes import encode
from tacit.core.schema import Attribute, Schema, edges, median, quantiles
from tacit.errors import SchemaError


def floats(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(values, dtype=np.float64)


def test_median_cuts_at_the_median_and_names_both_sides() -> None:
    assert median()("age", floats(30, 37, 50)) == Attribute("age", ["<= 37", "> 37"], edges=[37])
    assert median()("age", floats(1, 2, 3, 4)).edges == (2.5,)


def test_quantiles_name_the_categories_between_their_edges() -> None:
    age = quantiles(3)("age", np.arange(1, 10, dtype=np.float64))
    assert age.edges == (3.5, 6.5)
    assert age.categories == ("<= 3.5", "3.5 < x <= 6.5", "> 6.5")


def test_edges_cut_where_given_with_labels_or_readable_ones() -> None:
    assert edges([18, 65])("age", floats(1)).categories == ("<= 18", "18 < x <= 65", "> 65")
    named = edges([18, 65], ["young", "adult", "old"])("age", floats(1))
    assert named == Attribute("age", ["young", "adult", "old"], edges=[18, 65])


def test_edges_that_coincide_collapse() -> None:
    assert quantiles(4)("gain", floats(0, 0, 0, 0, 0, 0, 0, 9)).edges == (0,)


def test_edges_with_no_value_between_them_collapse() -> None:
    assert quantiles(3)("a", floats(1, 1, 2)).edges == (1,)


def test_a_median_at_the_largest_value_still_leaves_two_categories_in_use() -> None:
    assert median()("a", floats(0, 3, 7, 7, 7, 7)).edges == (3,)


@given(
    st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=60).filter(lambda v: len(set(v)) > 1),
    st.integers(2, 9),
)
def test_every_category_of_a_learned_attribute_is_in_use(values: list[float], n: int) -> None:
    learned = quantiles(n)("a", np.array(values))
    codes = encode(pl.DataFrame({"a": values}), Schema([learned]))
    assert set(codes[:, 0].tolist()) == set(range(learned.size))
    assert learned.size <= n


@given(st.lists(st.integers(-1000, 1000), min_size=2).filter(lambda v: len(set(v)) > 1))
def test_median_agrees_with_numpy_below_the_largest_value(values: list[int]) -> None:
    middle = float(np.median(values))
    if middle < max(values):
        assert median()("a", np.array(values, dtype=np.float64)).edges == (middle,)


def test_a_value_on_an_edge_belongs_to_the_category_below() -> None:
    schema = Schema([edges([1.5, 2])("a", floats())])
    codes = encode(pl.DataFrame({"a": [1.5, 1.500001, 2.0, 2.1, float("inf")]}), schema)
    assert codes[:, 0].tolist() == [0, 1, 1, 2, 2]


def test_a_constant_column_is_an_error_that_names_it() -> None:
    with pytest.raises(SchemaError, match=r"'age' is constant \(5\)"):
        median()("age", floats(5, 5, 5))


@pytest.mark.parametrize(("bad", "said"), [(float("nan"), "missing"), (float("inf"), "infinite")])
def test_values_that_are_not_finite_are_an_error_that_counts_them(bad: float, said: str) -> None:
    with pytest.raises(SchemaError, match=f"'age' has 2 {said} values"):
        median()("age", floats(1, bad, 2, bad))


def test_a_column_without_values_is_an_error() -> None:
    with pytest.raises(SchemaError, match="'age' has no values"):
        quantiles(4)("age", floats())


@pytest.mark.parametrize("n", [1, 0, -2, 2.5, True, "4"])
def test_quantiles_need_a_whole_number_of_two_or_more(n: object) -> None:
    with pytest.raises(SchemaError, match="n must be an integer of 2 or more"):
        quantiles(n)  # type: ignore[arg-type]


def test_malformed_edges_are_refused_before_they_meet_a_column() -> None:
    with pytest.raises(SchemaError, match="increase strictly"):
        edges([2, 1])
    with pytest.raises(SchemaError, match="2 edges need 3 categories"):
        edges([1, 2], ["low", "high"])
    with pytest.raises(SchemaError, match="at least one cut point"):
        edges([])
    with pytest.raises(SchemaError, match="finite number"):
        edges(["a"])  # type: ignore[list-item]
    with pytest.raises(SchemaError, match="finite number, got 1000"):
        edges([10**400])
    with pytest.raises(SchemaError, match="cuts must be a list, got 3"):
        edges(3)  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="labels must be a list, got 'ab'"):
        edges([1], "ab")
    with pytest.raises(SchemaError, match="categories"):
        edges([1], [])


def test_labels_of_close_edges_stay_distinct() -> None:
    close = edges([0.1, 0.1 + 2**-56, 1e300])("a", floats())
    assert len(set(close.categories)) == 4


def test_a_learned_attribute_is_applied_to_other_records_after_a_trip_through_json() -> None:
    learned = Schema([quantiles(4)("age", np.arange(100, dtype=np.float64))])
    again = Schema.from_dict(json.loads(json.dumps(learned.to_dict())))
    assert encode(pl.DataFrame({"age": [-5, 30, 60, 900]}), again)[:, 0].tolist() == [0, 1, 2, 3]
