"""Schema.infer: what each kind of column becomes, in each library."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacit.core.label_codes import encode
from tacit.core.schema import Attribute, Schema, edges, median, quantiles
from tacit.errors import DataError, SchemaError

MAKERS = [pd.DataFrame, pl.DataFrame, pa.table]


def only(frame: Any, **options: Any) -> Attribute:
    (attribute,) = Schema.infer(frame, **options)
    return attribute


@pytest.mark.parametrize("make", MAKERS)
def test_text_is_sorted_booleans_are_false_true_and_integers_ascend(make: Any) -> None:
    frame = make({"t": ["b", "a", "b"], "b": [True, True, True], "i": [10, 2, 10]})
    assert Schema.infer(frame) == Schema(
        [Attribute("t", ["a", "b"]), Attribute("b", [False, True]), Attribute("i", [2, 10])]
    )


@pytest.mark.parametrize("make", MAKERS)
def test_whole_numbers_stored_as_floats_become_integers(make: Any) -> None:
    assert only(make({"a": [2.0, 1.0]})) == Attribute("a", [1, 2])


def test_ordered_categories_keep_their_order_and_those_not_in_use() -> None:
    order = ["low", "mid", "high"]
    expected = Attribute("a", order)
    ordered = pd.Categorical(["high", "low"], categories=order, ordered=True)
    assert only(pd.DataFrame({"a": ordered})) == expected
    assert only(pl.DataFrame({"a": pl.Series(["high", "low"], dtype=pl.Enum(order))})) == expected
    coded = pa.DictionaryArray.from_arrays(pa.array([2, 0]), pa.array(order), ordered=True)
    assert only(pa.table({"a": coded})) == expected


def test_unordered_categories_are_those_in_use_sorted() -> None:
    expected = Attribute("a", ["a", "b"])
    loose = pd.Categorical(["b", "a"], categories=["z", "b", "a"])
    assert only(pd.DataFrame({"a": loose})) == expected
    assert only(pl.DataFrame({"a": pl.Series(["b", "a"], dtype=pl.Categorical)})) == expected
    coded = pa.DictionaryArray.from_arrays(pa.array([1, 2]), pa.array(["z", "b", "a"]))
    assert only(pa.table({"a": coded})) == expected


@pytest.mark.parametrize("make", MAKERS)
def test_a_numeric_column_is_binned_by_its_rule(make: Any) -> None:
    schema = Schema.infer(make({"age": [30, 37, 50], "x": ["a", "b", "a"]}), bins={"age": median()})
    assert schema["age"] == Attribute("age", ["<= 37", "> 37"], edges=[37])


@pytest.mark.parametrize("make", MAKERS)
def test_numbers_that_are_not_whole_are_an_error_that_offers_bins(make: Any) -> None:
    with pytest.raises(SchemaError, match=r"'age'.*bins=\{'age': quantiles\(5\)\}"):
        Schema.infer(make({"age": [1.5, 2.0]}))


def test_infinite_numbers_are_an_error_that_offers_bins() -> None:
    for endless in (float("inf"), float("-inf")):
        with pytest.raises(SchemaError, match=r"'a' holds infinite numbers.*edges"):
            Schema.infer(pl.DataFrame({"a": [endless, 2.0]}))
        with pytest.raises(SchemaError, match=r"'a' has 1 infinite values.*edges"):
            Schema.infer(pl.DataFrame({"a": [endless, 2.0]}), bins={"a": median()})


@pytest.mark.parametrize(
    "frame",
    [
        pa.table({"a": pa.array([2, 1, 10], pa.decimal128(5, 2))}),
        pa.table({"a": pa.array([2, 1, 10], pa.decimal256(60))}),
        pl.DataFrame({"a": pl.Series([2, 1, 10], dtype=pl.Decimal(5, 2))}),
    ],
)
def test_whole_decimals_become_integers_that_encode(frame: Any) -> None:
    assert only(frame) == Attribute("a", [1, 2, 10])
    assert encode(frame, Schema.infer(frame))[:, 0].tolist() == [1, 0, 2]


def test_decimals_that_are_almost_whole_are_not_rounded() -> None:
    almost = pa.array([Decimal("12345678901234567890.5"), Decimal(1)])
    with pytest.raises(SchemaError, match="not whole"):
        Schema.infer(pa.table({"a": almost}))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"bins": ["a"]}, r"bins must map columns to rules, such as .*, got \['a'\]"),
        ({"bins": "a"}, "bins must map columns to rules"),
        ({"bins": {"a": "median"}}, r"the rule of column 'a' must be median\(\).*, got 'median'"),
        ({"bins": {"a": 3}}, "the rule of column 'a' must be .*, got 3"),
        ({"bins": {"a": median}}, r"the rule of column 'a' must be median\(\).*, got <function"),
        ({"bins": {"a": quantiles}}, "the rule of column 'a' must be"),
        ({"bins": {"a": edges}}, "cuts must be a list, got 'a'"),
        ({"bins": {"a": lambda name, values: 3}}, "the rule of column 'a' gave 3"),
        ({"max_categories": None}, "max_categories must be an integer of 2 or more, got None"),
        ({"max_categories": 1}, "max_categories must be"),
    ],
)
def test_options_of_another_kind_are_an_error(options: Any, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        Schema.infer(pl.DataFrame({"a": [1, 2, 3]}), **options)


def test_too_many_categories_are_an_error_that_says_what_to_do() -> None:
    with pytest.raises(SchemaError, match="'a' holds 70 categories, over 64; pass bins"):
        Schema.infer(pl.DataFrame({"a": range(70)}))
    with pytest.raises(SchemaError, match=r"'a' holds 70 categories.*leave it out or raise"):
        Schema.infer(pl.DataFrame({"a": [str(i) for i in range(70)]}))
    assert only(pl.DataFrame({"a": range(70)}), max_categories=70).size == 70


@pytest.mark.parametrize("make", MAKERS)
def test_missing_cells_are_an_error_unless_they_get_a_category(make: Any) -> None:
    frame = make({"a": ["y", None, "x", None], "b": ["p", "q", "p", "q"]})
    with pytest.raises(SchemaError, match="'a' has 2 missing cells; pass missing="):
        Schema.infer(frame)
    schema = Schema.infer(frame, missing="?")
    assert schema["a"] == Attribute("a", ["x", "y", "?"], missing="?")
    assert schema["b"] == Attribute("b", ["p", "q"])


@pytest.mark.parametrize("make", MAKERS)
def test_missing_numbers_are_left_out_of_what_a_rule_learns(make: Any) -> None:
    frame = make({"age": [30.0, None, 37.0, 50.0]})
    expected = Attribute("age", ["<= 37", "> 37", "?"], missing="?", edges=[37])
    assert only(frame, bins={"age": median()}, missing="?") == expected
    with pytest.raises(SchemaError, match="'age' has 1 missing cells"):
        Schema.infer(frame, bins={"age": median()})


def test_nan_is_a_missing_cell() -> None:
    frame = pl.DataFrame({"a": [1.0, 2.0, float("nan")]})
    assert only(frame, missing=-1) == Attribute("a", [1, 2, -1], missing=-1)


def test_a_missing_category_that_is_there_already_is_used() -> None:
    frame = pl.DataFrame({"a": ["x", "?", None]})
    assert only(frame, missing="?") == Attribute("a", ["?", "x"], missing="?")


@pytest.mark.parametrize("make", MAKERS)
def test_a_column_of_one_category_is_an_error_that_names_it(make: Any) -> None:
    with pytest.raises(SchemaError, match="'a' holds fewer than 2 categories"):
        Schema.infer(make({"a": ["x", "x"]}))


def test_a_column_of_nothing_but_missing_cells_is_an_error() -> None:
    with pytest.raises(SchemaError, match="'a' holds fewer than 2 categories"):
        Schema.infer(pl.DataFrame({"a": [None, None]}), missing="?")


def test_bins_for_an_unknown_or_a_text_column_are_an_error() -> None:
    frame = pl.DataFrame({"age": [1, 2], "name": ["a", "b"]})
    with pytest.raises(SchemaError, match="unknown column 'agee' in bins; did you mean 'age'"):
        Schema.infer(frame, bins={"agee": quantiles(2)})
    with pytest.raises(SchemaError, match="'name' is not numeric"):
        Schema.infer(frame, bins={"name": quantiles(2)})


def test_what_is_not_a_frame_or_has_no_records_is_an_error() -> None:
    with pytest.raises(DataError, match="type list"):
        Schema.infer([[1, 2]])
    with pytest.raises(DataError, match="0 records"):
        Schema.infer(pl.DataFrame({"a": []}))


def test_a_column_whose_name_is_not_text_is_an_error() -> None:
    with pytest.raises(SchemaError, match="name of an attribute must be a non-empty text, got 0"):
        Schema.infer(pd.DataFrame([[1], [2]]))
