"""One contract for every engine: the same counts, the same estimates and models, clear errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from tacit import Attribute, Design, Group, Schema, reconstruct
from tacit.channel import truthful
from tacit.counting import count_reported, engine_choice, engine_of, pair_tables
from tacit.errors import DataError
from tacit.mine import DecisionTree, NaiveBayes, model_to_json
from tests.support.engines import (
    BINARY,
    LABELLED,
    WIDE,
    Put,
    put_in_postgres,
    put_parts,
    records_of,
    with_cells,
    with_nulls,
)

if TYPE_CHECKING:
    from tests.support.postgres import Cluster

#: Ibis still uses names that DuckDB has renamed.
pytestmark = pytest.mark.filterwarnings("ignore:fetch_.*is deprecated:DeprecationWarning")

DESIGNS = {"binary": BINARY, "labelled": LABELLED, "wide": WIDE}


@cache
def table_of(name: str) -> Any:
    return records_of(DESIGNS[name])


@cache
def expected(name: str) -> Any:
    return reconstruct(table_of(name), DESIGNS[name])


# The contract ---------------------------------------------------------------------------------


def same_patterns(put: Put) -> None:
    """The pattern table is that of NumPy, for every design."""
    for name, design in DESIGNS.items():
        found, own = count_reported(put(table_of(name)), design), expected(name).patterns
        np.testing.assert_array_equal(found.patterns, own.patterns)
        np.testing.assert_array_equal(found.counts, own.counts)


def same_patterns_of_some_attributes(put: Put) -> None:
    engine = engine_of(put(table_of("labelled")), LABELLED.reported)
    names = ["smokes", "region"]
    found, own = engine.patterns(names), expected("labelled").patterns.subset(names)
    np.testing.assert_array_equal(found.patterns, own.patterns)
    np.testing.assert_array_equal(found.counts, own.counts)


def same_estimates(put: Put) -> None:
    found = reconstruct(put(table_of("labelled")), LABELLED)
    for names in (["ill"], ["region", "children"], ["ill", "smokes", "grade"]):
        own, other = expected("labelled").table(names), found.table(names)
        np.testing.assert_allclose(other.value, own.value, rtol=0, atol=1e-12)
        np.testing.assert_allclose(other.stderr, own.stderr, rtol=0, atol=1e-12)


def same_models(put: Put) -> None:
    for miner, target, name in (
        (NaiveBayes, "q0", "binary"),
        (DecisionTree, "q0", "binary"),
        (DecisionTree, "ill", "labelled"),
    ):
        design = DESIGNS[name]
        own = miner(design, target).fit(table_of(name))
        found = miner(design, target).fit(put(table_of(name)))
        assert model_to_json(found) == model_to_json(own)


def same_wide_tree(put: Put) -> None:
    """Wide records are listed rather than counted, in the order in which the engine sends them."""
    tree = DecisionTree(WIDE, "w0", caution=2, max_depth=8)
    own, found = (tree.fit(records).tree_ for records in (table_of("wide"), put(table_of("wide"))))
    np.testing.assert_array_equal(found.attribute, own.attribute)
    np.testing.assert_allclose(found.value, own.value, rtol=0, atol=1e-12)


def same_pair_tables(put: Put) -> None:
    for name in ("labelled", "wide"):
        schema = DESIGNS[name].reported
        found = pair_tables(engine_of(put(table_of(name)), schema))
        own = expected(name).patterns
        assert found.n_records == own.n_records
        first, *_, last = schema.names
        for pair in ((first, last), (last, schema.names[1])):
            np.testing.assert_array_equal(found.table(*pair), own.marginal(pair))


def same_counts_by_undisguised_columns(put: Put) -> None:
    table = table_of("binary")
    strata = pa.array(np.where(np.arange(len(table)) % 3 == 0, "a", "b"))
    weights = pa.array(np.arange(len(table)) % 2 + 0.5)
    whole = table.append_column("stratum", strata).append_column("w", weights)
    found = engine_of(put(whole), BINARY.reported).patterns_by(["stratum", "w"])
    chosen = np.array(found.columns.column("stratum").to_pylist()) == "a"
    chosen &= np.array(found.columns.column("w").to_pylist()) == 0.5
    mine = table.filter(pa.array((np.arange(len(table)) % 6) == 0))
    own = count_reported(mine, BINARY)
    assert int(found.patterns.counts[chosen].sum()) == own.n_records
    order = np.lexsort(found.patterns.patterns[chosen].T[::-1])
    np.testing.assert_array_equal(found.patterns.patterns[chosen][order], own.patterns)
    np.testing.assert_array_equal(found.patterns.counts[chosen][order], own.counts)


def missing_cells_get_their_category(put: Put) -> None:
    table = with_nulls(table_of("labelled"), "smokes", [0, 7, 2999])
    own, found = (count_reported(records, LABELLED) for records in (table, put(table)))
    np.testing.assert_array_equal(found.patterns, own.patterns)
    np.testing.assert_array_equal(found.counts, own.counts)


def numbers_are_binned(put: Put) -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.normal(size=997), [0.5, -1.0, np.nan]])
    schema = Schema(
        [Attribute("x", ["low", "mid", "high", "none"], missing="none", edges=[-1.0, 0.5])]
    )
    design = Design(schema, [Group(["x"], truthful())])
    table = pa.table({"x": pa.array(values, pa.float64(), from_pandas=False)})
    own, found = (count_reported(records, design) for records in (table, put(table)))
    np.testing.assert_array_equal(found.counts, own.counts)


def a_missing_cell_is_refused(put: Put) -> None:
    table = with_nulls(table_of("labelled"), "region", [3, 2998])
    with pytest.raises(DataError, match=r"attribute 'region': \d missing cells.*give them a cat"):
        count_reported(put(table), LABELLED)


def an_unknown_category_is_refused(put: Put) -> None:
    for name, value in (("region", "nord"), ("children", 4), ("score", 0.75)):
        table = with_cells(table_of("labelled"), name, [2000], value)
        message = rf"unknown category '?{value}'? of attribute '{name}'"
        with pytest.raises(DataError, match=message):
            count_reported(put(table), LABELLED)


def a_missing_column_is_refused(put: Put) -> None:
    table = table_of("labelled").rename_columns(
        ["ill", "regions", "children", "grade", "score", "smokes"]
    )
    with pytest.raises(DataError, match=r"column for attribute 'region'.*did you mean 'regions'"):
        count_reported(put(table), LABELLED)


def a_column_of_another_type_is_refused(put: Put) -> None:
    table = table_of("binary").set_column(0, "q0", pa.array([0, 1] * 1500))
    with pytest.raises(DataError, match=r"unknown category [01] of attribute 'q0'"):
        count_reported(put(table), BINARY)


def no_records_are_refused(put: Put) -> None:
    with pytest.raises(DataError, match=r"\b(0|no) records"):
        count_reported(put(table_of("binary").slice(0, 0)), BINARY)


CHECKS: list[Callable[[Put], None]] = [
    same_patterns,
    same_patterns_of_some_attributes,
    same_estimates,
    same_models,
    same_wide_tree,
    same_pair_tables,
    same_counts_by_undisguised_columns,
    missing_cells_get_their_category,
    numbers_are_binned,
    a_missing_cell_is_refused,
    an_unknown_category_is_refused,
    a_missing_column_is_refused,
    a_column_of_another_type_is_refused,
    no_records_are_refused,
]


# The engines ----------------------------------------------------------------------------------


def _numpy(request: pytest.FixtureRequest, folder: Path) -> Put:
    return lambda table: table


def _duckdb_files(request: pytest.FixtureRequest, folder: Path) -> Put:
    return lambda table: put_parts(table, folder)


def _duckdb_table(request: pytest.FixtureRequest, folder: Path) -> Put:
    import duckdb
    import ibis

    connection, number = duckdb.connect(), iter(range(1000))
    backend = ibis.duckdb.from_connection(connection)

    def put(table: Any) -> Any:
        name = f"records{next(number)}"
        connection.register("given", table)
        connection.execute(f"CREATE TABLE {name} AS FROM given")
        return backend.table(name)

    return put


def _postgresql(request: pytest.FixtureRequest, folder: Path) -> Put:
    cluster: Cluster = request.getfixturevalue("cluster")
    address, number = cluster.url(), iter(range(1000))
    return lambda table: put_in_postgres(table, address, f"records{next(number)}")


ENGINES = {
    "numpy": _numpy,
    "duckdb files": _duckdb_files,
    "duckdb table": _duckdb_table,
    "postgresql": _postgresql,
}


@pytest.fixture(
    params=[
        pytest.param(name, marks=pytest.mark.slow if name == "postgresql" else ())
        for name in ENGINES
    ]
)
def put(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    monkeypatch.setattr(engine_choice, "FEWEST_BYTES", 0)
    return ENGINES[request.param](request, tmp_path)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_engine(put: Put, check: Callable[[Put], None]) -> None:
    check(put)
