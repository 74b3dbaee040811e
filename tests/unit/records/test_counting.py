from __future__ import annotations

import math
import tracemalloc
from functools import cache
from itertools import combinations, permutations

import numpy as np
import numpy.typing as npt
import pytest

from tacit.core.schema import Attribute, Schema
from tacit.errors import DataError, SchemaError
from tacit.records import PatternTable, count, count_or_list, keys, memory
from tacit.records.keys import COLUMN_BLOCK, all_keys, split

Codes = npt.NDArray[np.integer]

SIZES = {
    "one attribute": (5,),
    "few": (2, 3),
    "bytes": (2,) * 8,
    "17 binary": (2,) * 17,
    "mixed": (3, 2, 4, 2, 5, 9, 2, 6),
    "a whole byte": (256,),
    "a whole byte and more": (2, 256, 3),
    "more than a byte": (300, 2, 2, 2, 7),
    "more than two bytes": (2, 70_000, 3),
    "seven": (2, 2, 3, 2, 2, 2, 2),
    "32 bits": (16,) * 8,
    "40 binary": (2,) * 40,
    "exactly 64 bits": (2,) * 64,
    "65 bits": (2,) * 65,
    "100 of three": (3,) * 100,
    "wide categories": (60_000,) * 5,
}


@cache
def schema_of(sizes: tuple[int, ...]) -> Schema:
    return Schema([Attribute(f"a{i}", range(k)) for i, k in enumerate(sizes)])


def records(sizes: tuple[int, ...], n: int, seed: int = 1, repeats: int = 3) -> Codes:
    """Random codes in which each record occurs about `repeats` times, and the extremes once."""
    rng = np.random.default_rng(seed)
    few = np.stack([rng.integers(0, k, max(n // repeats, 1)) for k in sizes], axis=1)
    codes = few[rng.integers(0, len(few), n)]
    codes[0] = 0
    codes[-1] = np.array(sizes) - 1
    return codes.astype(np.min_scalar_type(max(sizes) - 1))


@cache
def more_than_a_block() -> tuple[Codes, Codes, Codes]:
    """Records, and what NumPy counts, which takes longer than all ways of counting together."""
    codes = records(SIZES["mixed"], COLUMN_BLOCK + 5000)
    return codes, *np.unique(codes, axis=0, return_counts=True)


def assert_counts(table: PatternTable, codes: Codes) -> None:
    patterns, counts = np.unique(codes, axis=0, return_counts=True)
    assert np.array_equal(table.patterns, patterns)
    assert table.counts.tolist() == counts.tolist()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", SIZES)
def test_patterns_and_counts_are_those_of_numpy_unique(name: str, order: str) -> None:
    codes = records(SIZES[name], 3000)
    table = count(np.asarray(codes, order=order), schema_of(SIZES[name]))
    assert_counts(table, codes)
    assert len(table) == len(np.unique(codes, axis=0))
    assert table.n_records == 3000


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "limits",
    [{}, {"ALWAYS_DENSE": 0, "DENSE_CELLS": 0}, {"DENSE_CELLS": 0, "KEY_CELLS": 1 << 16}],
    ids=["by cell", "by key", "by rank"],
)
def test_every_way_of_counting_gives_the_same_table(
    limits: dict[str, int], order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, cells in limits.items():
        monkeypatch.setattr(keys, name, cells)
    codes, patterns, counts = more_than_a_block()
    table = count(np.asarray(codes, order=order), schema_of(SIZES["mixed"]))
    assert np.array_equal(table.patterns, patterns)
    assert table.counts.tolist() == counts.tolist()


@pytest.mark.parametrize("repeats", [1, 3, 1000], ids=["distinct", "some", "few patterns"])
@pytest.mark.parametrize("name", ["40 binary", "65 bits"])
def test_blocks_are_merged_into_one_table(
    name: str, repeats: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "COLUMN_BLOCK", 512)
    monkeypatch.setattr(keys, "BUFFERED", 512)
    monkeypatch.setattr(memory, "SORTED", 512)
    codes = records(SIZES[name], 5001, repeats=repeats)
    assert_counts(count(codes, schema_of(SIZES[name])), codes)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", ["one attribute", "17 binary", "40 binary", "65 bits"])
def test_batches_of_records_are_counted_as_all_at_once(
    name: str, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "BUFFERED", 1 << 12)
    codes = records(SIZES[name], 5001)
    parts = (np.asarray(part, order=order) for part in np.split(codes, [1, 700, 3000]))
    sizes = SIZES[name]
    assert_counts(PatternTable(schema_of(sizes), *keys.counted(parts, sizes)), codes)


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", ">u2", "u8"])
@pytest.mark.parametrize("name", ["17 binary", "mixed", "65 bits"])
def test_any_integer_type_is_counted(name: str, dtype: str) -> None:
    codes = records(SIZES[name], 1000)
    for order in ("C", "F"):
        assert_counts(count(codes.astype(dtype, order=order), schema_of(SIZES[name])), codes)


def test_views_with_gaps_are_counted() -> None:
    wide = records((2,) * 24, 2000)
    schema = schema_of((2,) * 11)
    for view in (wide[:, 3:14], wide[::3, 3:14], wide[::-1, 13:2:-1], wide[:, 1:23:2]):
        assert_counts(count(view, schema), view)
        assert_counts(count(np.asfortranarray(wide)[:, 3:14], schema), wide[:, 3:14])


@pytest.mark.slow
def test_patterns_have_the_smallest_unsigned_type_in_fortran_order() -> None:
    for name, dtype in [("mixed", "u1"), ("more than a byte", "u2"), ("wide categories", "u2")]:
        table = count(records(SIZES[name], 100).astype(np.int64), schema_of(SIZES[name]))
        assert table.patterns.dtype == dtype
        assert table.patterns.flags.f_contiguous
        assert table.counts.dtype == np.int64


def test_a_table_cannot_be_changed() -> None:
    table = count(records((2, 3), 100), schema_of((2, 3)))
    with pytest.raises(ValueError, match="read-only"):
        table.counts[0] = 7
    with pytest.raises(ValueError, match="read-only"):
        table.patterns[0, 0] = 1


@pytest.mark.parametrize("name", [n for n, sizes in SIZES.items() if math.prod(sizes) <= 2**64])
def test_keys_split_into_the_codes_they_were_made_of(name: str) -> None:
    codes = records(SIZES[name], 500)
    assert np.array_equal(split(all_keys(codes, SIZES[name]), SIZES[name]), codes)


@pytest.mark.parametrize("n", [1, 7, 8, 1001, COLUMN_BLOCK + 13])
def test_keys_do_not_depend_on_the_memory_order_of_yes_no_records(n: int) -> None:
    widths = range(2, 65) if n < COLUMN_BLOCK else (2, 17, 57)
    for width in widths:
        codes = records((2,) * width, n)
        by_column = all_keys(np.asfortranarray(codes), (2,) * width)
        assert np.array_equal(all_keys(codes, (2,) * width), by_column), width


def test_the_key_of_a_record_is_its_number_among_all_records() -> None:
    sizes = (3, 4, 2, 5)
    every = np.stack(np.unravel_index(np.arange(120), sizes), axis=1).astype(np.uint8)
    for order in ("C", "F"):
        keys = all_keys(np.asarray(every, order=order), sizes)
        assert keys.tolist() == list(range(120))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.slow
def test_counting_takes_little_memory_on_top_of_the_records(order: str) -> None:
    n, limit = 1_000_000, 64 * 2**20
    codes = np.asarray(records((2,) * 17, n), order=order)
    many = np.asarray(records((2,) * 70, n, repeats=n // 1000), order=order)
    for data in (codes, many):
        schema = schema_of((2,) * data.shape[1])
        tracemalloc.start()
        count(data, schema)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak <= limit


# Errors


def test_records_that_hardly_repeat_are_listed_as_they_come() -> None:
    codes = np.random.default_rng(1).integers(0, 2, (20_000, 40), np.uint8)
    found = count_or_list(codes, schema_of((2,) * 40))
    np.testing.assert_array_equal(found.patterns, codes)
    assert found.n_records == len(found) == len(codes)
    sure = count(codes, schema_of((2,) * 40))
    names = found.schema.names[3:5]
    np.testing.assert_array_equal(found.marginal(names), sure.marginal(names))


@pytest.mark.parametrize("case", ["few records", "few cells", "repeated"])
def test_records_are_counted_if_that_is_fast_or_worth_it(case: str) -> None:
    d, n = (12 if case == "few cells" else 40), (1_000 if case == "few records" else 20_000)
    codes = np.random.default_rng(1).integers(0, 2, (n, d), np.uint8)
    if case == "repeated":
        codes = np.tile(codes[: n // 8], (8, 1))
    found, expected = (how(codes, schema_of((2,) * d)) for how in (count_or_list, count))
    np.testing.assert_array_equal(found.patterns, expected.patterns)
    np.testing.assert_array_equal(found.counts, expected.counts)


def test_no_records_are_an_error() -> None:
    with pytest.raises(DataError, match="no records"):
        count(np.empty((0, 2), np.uint8), schema_of((2, 3)))


def test_codes_that_are_not_integers_are_an_error_that_names_their_type() -> None:
    with pytest.raises(DataError, match="integers, got float64"):
        count(np.zeros((3, 2)), schema_of((2, 3)))
    with pytest.raises(DataError, match="integers, got list"):
        count([[0, 1]], schema_of((2, 3)))


def test_codes_of_the_wrong_shape_are_an_error_that_names_both_shapes() -> None:
    with pytest.raises(DataError, match="records x 2 attributes, got 5 x 3"):
        count(np.zeros((5, 3), np.uint8), schema_of((2, 3)))
    with pytest.raises(DataError, match="records x 2 attributes, got 5"):
        count(np.zeros(5, np.uint8), schema_of((2, 3)))


def test_patterns_that_do_not_fit_their_counts_are_an_error() -> None:
    with pytest.raises(DataError, match="3 x 2"):
        PatternTable(schema_of((2, 3)), np.zeros((2, 2), np.uint8), np.ones(3, np.int64))


# Marginals


def by_hand(codes: Codes, places: tuple[int, ...], sizes: tuple[int, ...]) -> npt.NDArray[np.int64]:
    table = np.zeros([sizes[place] for place in places], np.int64)
    for record, times in zip(*np.unique(codes, axis=0, return_counts=True), strict=True):
        table[tuple(record[list(places)])] += times
    return table


def test_every_marginal_in_every_order_is_counted_exactly() -> None:
    sizes = (2, 3, 4, 2, 5)
    codes = records(sizes, 2000)
    table = count(codes, schema_of(sizes))
    for size in range(len(sizes) + 1):
        for chosen in combinations(range(len(sizes)), size):
            for places in permutations(chosen) if size <= 3 else [chosen, chosen[::-1]]:
                marginal = table.marginal([f"a{place}" for place in places])
                assert marginal.dtype == np.int64
                assert np.array_equal(marginal, by_hand(codes, places, sizes))


def test_marginals_of_a_schema_beyond_64_bits_are_exact() -> None:
    sizes = SIZES["100 of three"]
    codes = records(sizes, 3000)
    table = count(codes, schema_of(sizes))
    for places in [(99,), (0, 99), (64, 12, 40)]:
        marginal = table.marginal([f"a{place}" for place in places])
        assert np.array_equal(marginal, by_hand(codes, places, sizes))


def test_the_marginal_of_more_patterns_than_a_block_is_exact() -> None:
    sizes = (2,) * 19
    present = np.flatnonzero(np.random.default_rng(2).random(2**19) < 0.4)
    present = np.concatenate([present, present[-1000:]])  # counts differ between the blocks
    codes = np.stack(np.unravel_index(present, sizes), axis=1).astype(np.uint8)
    expected = np.bincount(codes[:, 3] * 2 + codes[:, 17], minlength=4).reshape(2, 2)
    table = count(codes, schema_of(sizes))
    assert len(table) > COLUMN_BLOCK
    assert np.array_equal(table.marginal(["a3", "a17"]), expected)


def test_counts_beyond_the_exact_integers_of_floats_are_added_exactly() -> None:
    big = 2**53
    patterns = np.array([[0, 0], [0, 1], [1, 0]], np.uint8)
    table = PatternTable(schema_of((2, 2)), patterns, np.array([big, 1, big + 1]))
    assert table.marginal(["a0"]).tolist() == [big + 1, big + 1]
    assert table.n_records == 2 * big + 2


def test_the_marginal_of_no_attributes_is_the_number_of_records() -> None:
    table = count(records((2, 3), 100), schema_of((2, 3)))
    assert table.marginal([]).shape == ()
    assert int(table.marginal([])) == 100


def test_an_unknown_attribute_is_an_error_that_names_the_nearest() -> None:
    schema = Schema([Attribute("smokes", ["no", "yes"]), Attribute("income", ["low", "high"])])
    table = count(records((2, 2), 10), schema)
    with pytest.raises(SchemaError, match="'smoke'; did you mean 'smokes'"):
        table.marginal(["income", "smoke"])


def test_an_attribute_asked_for_twice_is_an_error() -> None:
    table = count(records((2, 3), 10), schema_of((2, 3)))
    with pytest.raises(SchemaError, match="'a1' is asked for twice"):
        table.marginal(["a1", "a0", "a1"])


def test_a_name_in_place_of_a_list_of_names_is_an_error() -> None:
    table = count(records((2, 3), 10), schema_of((2, 3)))
    with pytest.raises(SchemaError, match="list of attribute names, got the text 'a1'"):
        table.marginal("a1")


def test_a_marginal_of_too_many_cells_is_an_error_that_says_how_many() -> None:
    table = count(records((2,) * 40, 10), schema_of((2,) * 40))
    with pytest.raises(DataError, match=f"has {2**40} cells.*fewer attributes"):
        table.marginal(table.schema.names)


# Sums


@pytest.mark.parametrize("name", ["one attribute", "17 binary", "40 binary", "65 bits"])
def test_the_sum_of_the_tables_of_batches_is_the_table_of_all(name: str) -> None:
    schema = schema_of(SIZES[name])
    codes = records(SIZES[name], 3000)
    batches = [count(batch, schema) for batch in np.array_split(codes, 7)]
    total = batches[0]
    for batch in batches[1:]:
        total = total + batch
    assert_counts(total, codes)
    assert total.n_records == 3000


def test_tables_of_different_schemas_cannot_be_added() -> None:
    one, other = (count(records(sizes, 10), schema_of(sizes)) for sizes in [(2, 3), (3, 2)])
    with pytest.raises(DataError, match="same schema"):
        one + other
