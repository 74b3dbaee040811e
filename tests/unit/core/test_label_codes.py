"""Frames and arrays to codes and back, in each library."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.frames import open_frame
from tacit.core.label_codes import code_type, decode, encode
from tacit.core.schema import Attribute, Schema, text
from tacit.errors import DataError
from tacit.output.table import frame_of

MAKERS = [pd.DataFrame, pl.DataFrame, pa.table]
BACKENDS = ["pandas", "polars", "pyarrow"]
SCHEMA = Schema([Attribute("smokes", ["no", "yes"]), Attribute("income", ["low", "mid", "high"])])
YES_NO = Schema([Attribute("a", ["no", "yes"])])


def codes_of(frame: Any, attribute: Attribute) -> list[int]:
    codes: list[int] = encode(frame, Schema([attribute]))[:, 0].tolist()
    return codes


@pytest.mark.parametrize("make", MAKERS)
def test_a_frame_is_coded_by_name_and_other_columns_are_ignored(make: Any) -> None:
    frame = make({"income": ["high", "low"], "id": [7, 8], "smokes": ["no", "yes"]})
    codes = encode(frame, SCHEMA)
    assert codes.tolist() == [[0, 2], [1, 0]]
    assert codes.dtype == np.uint8
    assert codes.flags.f_contiguous


@pytest.mark.parametrize("make", MAKERS)
def test_numbers_booleans_and_their_text_find_their_categories(make: Any) -> None:
    digits = Attribute("a", [0, 1, 2])
    for values in ([2, 0], [2.0, 0.0], ["2", "0"]):
        assert codes_of(make({"a": values}), digits) == [2, 0]
    assert codes_of(make({"a": [True, False]}), Attribute("a", ["False", "True"])) == [1, 0]
    assert codes_of(make({"a": [0.5, 1.0]}), Attribute("a", [1, 0.5])) == [1, 0]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": ["yes", "no"]}, dtype=object),
        pd.DataFrame({"a": ["yes", "no"]}, index=[5, 3]),
        pd.DataFrame({"a": pd.Categorical(["yes", "no"], categories=["unused", "yes", "no"])}),
        pd.DataFrame({"a": pd.array(["yes", "no"], dtype="string[pyarrow]")}),
        pl.DataFrame({"a": pl.Series(["yes", "no"], dtype=pl.Categorical)}),
        pl.DataFrame({"a": pl.Series(["yes", "no"], dtype=pl.Enum(["unused", "no", "yes"]))}),
        pl.concat([pl.DataFrame({"a": ["yes"]}), pl.DataFrame({"a": ["no"]})], rechunk=False),
        pa.table({"a": pa.array(["yes", "no"], pa.string_view())}),
        pa.table({"a": pa.chunked_array([["yes"], ["no"]])}),
        pa.table(
            {"a": pa.chunked_array([pa.array([x]).dictionary_encode() for x in ("yes", "no")])}
        ),
    ],
)
def test_every_way_to_store_text_gives_the_same_codes(frame: Any) -> None:
    assert encode(frame, YES_NO)[:, 0].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("categories", "values"),
    [
        ([0, 1, 2], pa.array([2, 0, 1], pa.int8())),
        ([2, 1, 5], pa.array([5, 1, 2, 2], pa.uint16())),
        ([-128, 127, 3], pa.array([127, -128, 3], pa.int8())),
        ([2**63, 2**63 + 2], pa.array([2**63 + 2, 2**63], pa.uint64())),
        ([0, 10**6], pa.array([10**6, 0])),
        ([7], pa.array([7, 7])),
        ([True, False], pa.array([False, True, True])),
        ([1.0, "0"], pa.chunked_array([[0, 1], [], [1, 1]], pa.int64())),
        (["n", "y"], pa.chunked_array([["y"], [], ["n", "y"]], pa.string())),
        ([1, 0], pa.array(["11", "0", "1", "1"], pa.large_string())[1:]),
        (["a", "é"], pa.array(["a", "é"])),
        (["a", "", "bb"], pa.array(["a", "", "bb"])),
    ],
)
def test_numbers_booleans_and_single_characters_find_their_categories(
    categories: list[Any], values: Any
) -> None:
    schema = Schema([Attribute("a", [*categories, "other"])])
    texts = [text(label) for label in categories]
    expected = [texts.index(text(value)) for value in values.to_pylist()]
    assert encode(pa.table({"a": values}), schema)[:, 0].tolist() == expected


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ([0, 1, 3], "3"),
        ([0, 10**6], "1000000"),
        ([False, False], "False"),
        (["0", "3"], "'3'"),
        (["0", "10", ""], "'10'"),
    ],
)
def test_a_number_or_character_without_a_category_is_named(values: list[Any], named: str) -> None:
    schema = Schema([Attribute("a", [0, 1, 2, 4])])
    with pytest.raises(DataError, match=f"unknown category {named} of attribute 'a' at record"):
        encode(pa.table({"a": values}), schema)


def test_a_full_set_of_declared_categories_leaves_room_for_missing_cells() -> None:
    labels = [f"c{i:03}" for i in range(128)]
    frame = pd.DataFrame({"a": pd.Categorical(["c127", None], categories=labels)})
    assert codes_of(frame, Attribute("a", [*labels, "?"], missing="?")) == [127, 128]


@pytest.mark.parametrize("make", MAKERS)
def test_a_missing_cell_is_an_error_that_names_the_attribute_and_what_would_help(make: Any) -> None:
    frame = make({"a": ["no", None, "yes", None]})
    with pytest.raises(DataError, match=r"'a': 2 missing cells, the first at record 1.*missing="):
        encode(frame, YES_NO)


@pytest.mark.parametrize("make", MAKERS)
def test_a_missing_cell_takes_the_missing_category(make: Any) -> None:
    kept = Attribute("a", ["no", "?", "yes"], missing="?")
    assert codes_of(make({"a": ["no", None, "yes", "?"]}), kept) == [0, 1, 2, 1]
    numbers = Attribute("a", [-1, 0, 1], missing=-1)
    assert codes_of(make({"a": [0.0, float("nan"), 1.0]}), numbers) == [1, 0, 2]


@pytest.mark.parametrize("make", MAKERS)
def test_a_column_of_nothing_but_missing_cells_counts_them_all(make: Any) -> None:
    with pytest.raises(DataError, match="'a': 2 missing cells, the first at record 0"):
        encode(make({"a": [None, None]}), YES_NO)


def test_a_null_inside_the_dictionary_is_a_missing_cell() -> None:
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["no", None]))
    with pytest.raises(DataError, match="1 missing cells, the first at record 1"):
        encode(pa.table({"a": coded}), YES_NO)


@pytest.mark.parametrize("make", MAKERS)
def test_a_missing_column_is_an_error_that_names_the_nearest(make: Any) -> None:
    with pytest.raises(DataError, match=r"no column for attribute 'smokes'.*did you mean 'smoke'"):
        encode(make({"smoke": ["no"], "income": ["low"]}), SCHEMA)


@pytest.mark.parametrize("make", MAKERS)
def test_an_unknown_category_is_an_error_that_names_attribute_record_and_nearest(make: Any) -> None:
    frame = make({"smokes": ["no", "yes", "yess", "nope"], "income": ["low"] * 4})
    with pytest.raises(DataError, match=r"'yess' of attribute 'smokes' at record 2.*'yes'"):
        encode(frame, SCHEMA)


def test_the_first_unknown_record_is_named_also_for_declared_categories() -> None:
    loose = pd.Categorical(["no", "b", "a"], categories=["a", "b", "no"])
    with pytest.raises(DataError, match="'b' of attribute 'a' at record 1"):
        encode(pd.DataFrame({"a": loose}), YES_NO)


def test_fractions_in_an_attribute_without_edges_are_an_error_that_offers_binning() -> None:
    with pytest.raises(
        DataError, match=r"1\.5 of attribute 'a' at record 1.*tacit\.core\.schema\.edges"
    ):
        codes_of(pl.DataFrame({"a": [1.0, 1.5]}), Attribute("a", [1, 2]))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [datetime.date(2020, 1, 1)]}),
        pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}),
        pd.DataFrame({"a": [[1], [2]]}),
        pd.DataFrame({"a": ["no", 1]}, dtype=object),
        pd.DataFrame({"a": [1 + 2j]}),
        pd.DataFrame({"a": pd.cut(pd.Series([1.0, 2.0]), 2)}),
        pd.DataFrame({"a": pd.Series([1, 0], dtype="Sparse[int]")}),
        pl.DataFrame({"a": [datetime.date(2020, 1, 1)]}),
        pl.DataFrame({"a": [["no"]]}),
        pl.DataFrame({"a": pl.Series([object()], dtype=pl.Object)}),
        pl.DataFrame({"a": [{"b": 1}]}),
        pa.table({"a": [b"no"]}),
        pa.table({"a": [datetime.timedelta(1)]}),
    ],
)
def test_a_column_of_another_type_is_an_error_that_names_it(frame: Any) -> None:
    with pytest.raises(DataError, match=r"attribute 'a': its column is of type .*allowed: text"):
        encode(frame, YES_NO)


AGE = Attribute("age", ["<= 37", "> 37", "?"], missing="?", edges=[37])


@pytest.mark.parametrize("make", MAKERS)
def test_a_binned_attribute_takes_numbers_or_its_own_categories(make: Any) -> None:
    assert codes_of(make({"age": [37, 38, -1]}), AGE) == [0, 1, 0]
    assert codes_of(make({"age": [37.0, None, 37.1]}), AGE) == [0, 2, 1]
    assert codes_of(make({"age": ["> 37", "?", "<= 37", None]}), AGE) == [1, 2, 0, 2]


def test_a_binned_attribute_takes_decimals_and_coded_numbers() -> None:
    assert codes_of(pl.DataFrame({"age": [Decimal("37.0"), Decimal("37.5")]}), AGE) == [0, 1]
    assert codes_of(pd.DataFrame({"age": pd.Categorical([90, 3, None])}), AGE) == [1, 0, 2]


@pytest.mark.parametrize("make", MAKERS)
def test_a_missing_number_is_an_error_without_a_category_for_it(make: Any) -> None:
    bare = Attribute("age", ["young", "old"], edges=[37])
    with pytest.raises(DataError, match="'age': 1 missing cells, the first at record 2"):
        codes_of(make({"age": [1.0, 90.0, None]}), bare)


@pytest.mark.parametrize("make", MAKERS)
def test_a_frame_without_records_is_an_error(make: Any) -> None:
    with pytest.raises(DataError, match="0 records"):
        encode(make({"a": []}), YES_NO)


def test_a_lazy_frame_is_an_error_that_says_to_collect() -> None:
    with pytest.raises(DataError, match="collect"):
        encode(pl.LazyFrame({"a": ["no"]}), YES_NO)  # type: ignore[arg-type]


@pytest.mark.parametrize("records", [[[0], [1]], None, "file.csv", pd.Series(["no"])])
def test_what_is_neither_frame_nor_array_is_an_error(records: Any) -> None:
    with pytest.raises(DataError, match=f"type {type(records).__name__}"):
        encode(records, YES_NO)


def test_columns_of_the_same_name_are_an_error() -> None:
    frame = pd.DataFrame([["no", "yes"]], columns=["a", "a"])
    with pytest.raises(DataError, match="must be distinct"):
        encode(frame, YES_NO)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_unsigned_codes_in_range_are_passed_through_without_a_copy(dtype: Any, order: Any) -> None:
    codes = np.array([[0, 2], [1, 0]], dtype=dtype, order=order)
    assert encode(codes, SCHEMA) is codes


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int64, ">i4", ">u2"])
def test_other_integers_become_the_smallest_unsigned_type(dtype: Any) -> None:
    codes = encode(np.array([[0, 2], [1, 0]], dtype=dtype), SCHEMA)
    assert codes.tolist() == [[0, 2], [1, 0]]
    assert codes.dtype == np.uint8
    assert codes.flags.f_contiguous


def test_a_matrix_of_codes_is_an_array_of_codes() -> None:
    plain = np.array([[0, 2], [1, 0]])
    assert encode(plain.view(np.matrix), SCHEMA).tolist() == plain.tolist()
    with pytest.raises(DataError, match="attribute 'smokes': code 2 at record 1"):
        encode((plain + 1).view(np.matrix), SCHEMA)


def test_booleans_are_codes_of_two_categories() -> None:
    codes = encode(np.array([[True], [False]]), YES_NO)
    assert codes.dtype == np.uint8
    assert codes.tolist() == [[1], [0]]


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([[0, 0], [1, 3]], "attribute 'income': code 3 at record 1 .*allowed: 0 to 2"),
        ([[0, 2], [2, 2]], "attribute 'smokes': code 2 at record 1 .*allowed: 0 to 1"),
        ([[0, -1]], "attribute 'income': code -1 at record 0"),
        ([[0, -(2**63)]], "attribute 'income': code -9223372036854775808"),
    ],
)
def test_a_code_out_of_range_is_an_error_that_names_it(codes: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        encode(np.array(codes), SCHEMA)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((3, 1), dtype=int), r"records x 2 attributes, got shape \(3, 1\)"),
        (np.zeros(2, dtype=int), r"got shape \(2,\)"),
        (np.zeros((0, 2), dtype=int), "0 records"),
        (np.zeros((2, 2)), "must be integers, got an array of float64"),
        (np.array([["no", "low"]]), "must be integers"),
        (np.array([["no", "low"]], dtype=object), "must be integers"),
        (np.ma.array([[0, 0]], mask=[[True, False]]), "masked cells"),
    ],
)
def test_an_array_of_another_shape_or_type_is_an_error(array: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        encode(array, SCHEMA)


def test_the_code_type_is_the_smallest_that_holds_every_code() -> None:
    for size, expected in ((2, np.uint8), (256, np.uint8), (257, np.uint16), (65537, np.uint32)):
        assert code_type(Schema([Attribute("a", range(size))])) == expected


@pytest.mark.parametrize("backend", BACKENDS)
def test_decoding_gives_columns_of_the_type_of_the_labels(backend: str) -> None:
    schema = Schema(
        [
            Attribute("t", ["no", "yes"]),
            Attribute("i", [7, -3]),
            Attribute("b", [False, True]),
            Attribute("f", [0.5, 2.0]),
            Attribute("mixed", [False, "?"]),
            Attribute("wide", [1, 2**70]),
        ]
    )
    codes = np.array([[0] * 6, [1] * 6], dtype=np.uint8)
    native = decode(codes, schema, backend)
    frame = nw.from_native(native, eager_only=True)
    assert frame.implementation.value == backend
    kinds = [nw.String, nw.Int64, nw.Boolean, nw.Float64, nw.String, nw.String]
    assert list(frame.schema.values()) == kinds
    assert frame.rows() == [
        ("no", 7, False, 0.5, "False", "1"),
        ("yes", -3, True, 2.0, "?", str(2**70)),
    ]
    assert encode(native, schema).tolist() == codes.tolist()


@pytest.mark.parametrize("backend", BACKENDS)
@given(data=st.data())
def test_encoding_undoes_decoding(backend: str, data: st.DataObject) -> None:
    labels = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=5)
    categories = data.draw(st.lists(labels, min_size=2, max_size=9, unique=True))
    schema = Schema([Attribute("a", categories), Attribute("b", [0, 1])])
    rows = st.tuples(st.integers(0, len(categories) - 1), st.integers(0, 1))
    codes = np.array(data.draw(st.lists(rows, min_size=1, max_size=20)), dtype=np.uint8)
    assert encode(decode(codes, schema, backend), schema).tolist() == codes.tolist()


@pytest.mark.parametrize("make", MAKERS)
def test_a_frame_is_decoded_into_the_library_it_came_from(make: Any) -> None:
    frame = make({"smokes": ["no", "yes"], "income": ["high", "low"]})
    again = decode(encode(frame, SCHEMA), SCHEMA, open_frame(frame).implementation)
    assert type(again) is type(frame)
    assert encode(again, SCHEMA).tolist() == [[0, 2], [1, 0]]


def test_an_unknown_backend_is_an_error_that_names_the_nearest() -> None:
    codes = np.zeros((1, 1), dtype=np.uint8)
    with pytest.raises(DataError, match="unknown backend 'panda'; did you mean 'pandas'"):
        decode(codes, YES_NO, "panda")
    with pytest.raises(DataError, match="unknown backend 'duckdb'"):
        decode(codes, YES_NO, nw.Implementation.DUCKDB)


@pytest.mark.parametrize("backend", BACKENDS)
def test_columns_of_values_become_a_frame_of_the_library_named(backend: str) -> None:
    columns: dict[str, list[Any]] = {"a": ["x", 1], "estimate": [0.5, float("nan")]}
    frame = nw.from_native(frame_of(columns, backend), eager_only=True)
    assert frame.implementation.value == backend
    assert frame["a"].to_list() == ["x", "1"]
    assert frame["estimate"][0] == 0.5
    assert frame.schema["estimate"] == nw.Float64


def test_a_frame_is_made_by_the_first_library_installed_unless_one_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert isinstance(frame_of({"a": [1]}), pd.DataFrame)
    monkeypatch.setattr("tacit.output.table.find_spec", lambda name: name == "pyarrow" or None)
    assert isinstance(frame_of({"a": [1]}), pa.Table)
    with pytest.raises(DataError, match="'polars' is not installed"):
        frame_of({"a": [1]}, "polars")


def test_decoding_checks_its_codes() -> None:
    with pytest.raises(DataError, match="code 2 at record 0"):
        decode(np.array([[2]], dtype=np.uint8), YES_NO, "polars")


def test_numbers_stay_numbers_beside_a_missing_one() -> None:
    frame = frame_of({"bound": [0.75, None]}, "pyarrow")
    assert frame.to_pydict() == {"bound": [0.75, None]}
    assert frame_of({"mixed": [1, "one", None]}, "pyarrow").to_pydict() == {
        "mixed": ["1", "one", None]
    }
