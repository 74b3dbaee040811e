"""Columns of frames as Arrow memory: distinct values, numbers, what is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacit.core import frames
from tacit.errors import DataError

MAKERS = [pd.DataFrame, pl.DataFrame, pa.table]


def column(frame: Any) -> Any:
    return frames.column(frames.open_frame(frame), "a")


@pytest.mark.parametrize("make", MAKERS)
def test_each_record_points_to_its_value_and_missing_cells_to_the_last(make: Any) -> None:
    seen = frames.distinct(column(make({"a": ["x", "y", None, "x"]})))
    assert seen.values[-1] is None
    assert [seen.values[i] for i in seen.positions] == ["x", "y", None, "x"]


@pytest.mark.parametrize("make", MAKERS)
def test_nan_and_null_are_both_missing(make: Any) -> None:
    seen = frames.distinct(column(make({"a": [1.0, float("nan"), None]})))
    assert [seen.values[i] for i in seen.positions] == [1.0, None, None]


@pytest.mark.parametrize("make", MAKERS)
def test_numbers_are_floats_with_nan_for_missing_cells(make: Any) -> None:
    values = frames.numbers(column(make({"a": [1, None, 3]})))
    np.testing.assert_array_equal(values, [1.0, np.nan, 3.0])


def test_chunks_with_their_own_dictionaries_share_one_set_of_values() -> None:
    chunks = [pa.array(part).dictionary_encode() for part in (["x", "y"], ["z", "x"])]
    seen = frames.distinct(column(pa.table({"a": pa.chunked_array(chunks)})))
    assert seen.values == ["x", "y", "z", None]
    assert seen.positions.tolist() == [0, 1, 2, 0]


def test_booleans_are_not_numbers() -> None:
    assert frames.is_boolean(column(pl.DataFrame({"a": [True]})))
    assert not frames.is_numeric(column(pl.DataFrame({"a": [True]})))
    assert frames.is_numeric(column(pl.DataFrame({"a": [1]})))


def test_only_declared_orders_count_as_ordered() -> None:
    loose = pd.DataFrame({"a": pd.Categorical(["x"])})
    strict = pd.DataFrame({"a": pd.Categorical(["x"], ordered=True)})
    assert not frames.is_ordered(column(loose))
    assert frames.is_ordered(column(strict))
    assert frames.is_ordered(column(pl.DataFrame({"a": ["x"]}, schema={"a": pl.Enum(["x"])})))


def test_a_number_is_not_taken_for_the_position_of_a_column() -> None:
    with pytest.raises(DataError, match="no column for attribute 'a'"):
        column(pd.DataFrame([[1, 2]]))
