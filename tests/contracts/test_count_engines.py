"""One contract for every engine: the same counts, the same estimates and models, clear errors."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from tacit import Attribute, Design, Group, Schema, reconstruct
from tacit.collect.store import Store
from tacit.core.channel import truthful
from tacit.errors import DataError, EngineError, FileError, TacitError
from tacit.mine import ChowLiuTree, DecisionTree, LatentClass, NaiveBayes, model_to_json
from tacit.models.naive_bayes import pairs
from tacit.records import (
    PatternTable,
    count,
    count_reported,
    engine_of,
    engines,
    pair_tables,
    patterns,
)
from tacit.records.duckdb_engine import DuckDBFiles
from tacit.records.patterns import pair_counts
from tests.support.engine_studies import same_study_of_a_sample
from tests.support.engines import (
    BINARY,
    LABELLED,
    WIDE,
    KillingOnce,
    Put,
    has_java,
    put_in_postgres,
    put_parts,
    putting_in_spark,
    records_of,
    spark_session,
    with_cells,
    with_nulls,
)
from tests.support.published import published, response
from tests.support.spark_disguises import SPARK_DISGUISES

if TYPE_CHECKING:
    from tests.support.postgres import Cluster

#: Ibis still uses names that DuckDB has renamed.
pytestmark = pytest.mark.filterwarnings("ignore:fetch_.*is deprecated:DeprecationWarning")

BEYOND = "fit in memory, which this needs; give fewer"
DESIGNS = {"binary": BINARY, "labelled": LABELLED, "wide": WIDE}


@cache
def table_of(name: str) -> Any:
    return records_of(DESIGNS[name], 1200 if name == "wide" else 3000)


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


def same_tree_of_records_beyond_memory(put: Put) -> None:
    """The records stay where they are; each level of the tree is one pass over them."""
    tree, own = (DecisionTree(WIDE, "w0", caution=1, max_depth=4) for _ in range(2))
    own.fit(table_of("wide"))
    engine, passes = engine_of(put(table_of("wide")), WIDE.reported), []
    total = engine.total
    engine.total = lambda table: passes.append(table) or total(table)  # type: ignore[method-assign]
    remote = PatternTable.remote(engine)
    tree.fit(remote)
    assert tree.get_depth() == 4
    assert len(passes) == 1 + tree.get_depth()  # one for the pairs
    np.testing.assert_array_equal(tree.tree_.attribute, own.tree_.attribute)
    np.testing.assert_allclose(tree.tree_.value, own.tree_.value, rtol=0, atol=1e-12)
    found, expected = (
        NaiveBayes(WIDE, "w0", method=pairs).fit(records) for records in (remote, table_of("wide"))
    )
    assert model_to_json(found) == model_to_json(expected)
    with pytest.raises(DataError, match=r"70 attributes of .* distinct records do not fit"):
        NaiveBayes(WIDE, "w0").fit(remote)


def wide_records_beyond_memory_stay_where_they_are(put: Put) -> None:
    """Tables are estimated from them; what needs every record is refused before it is fetched."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patterns, "MOST_BYTES", 1 << 10)
        patch.setattr(patterns, "FEW_RECORDS", 0)
        records = put(table_of("wide"))
        if isinstance(records, pa.Table):
            return  # in memory already
        found = reconstruct(records, WIDE)
        assert found.patterns.engine is not None
        for names in (["w0", "w3"], ["w1", "w2", "w5"]):
            own, other = expected("wide").table(names), found.table(names)
            np.testing.assert_allclose(other.value, own.value, rtol=0, atol=1e-12)
            np.testing.assert_allclose(other.stderr, own.stderr, rtol=0, atol=1e-12)
        with pytest.raises(DataError, match=BEYOND):
            DecisionTree(WIDE, "w0").fit(records)


def other_models_of_records_beyond_memory_are_refused(put: Put) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patterns, "MOST_BYTES", 1 << 10)
        patch.setattr(patterns, "FEW_RECORDS", 0)
        records = put(table_of("wide"))
        for model in (LatentClass(WIDE, 2), ChowLiuTree(WIDE)):
            if not isinstance(records, pa.Table):
                with pytest.raises(DataError, match=BEYOND):
                    model.fit(records)


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
    same_tree_of_records_beyond_memory,
    wide_records_beyond_memory_stay_where_they_are,
    other_models_of_records_beyond_memory_are_refused,
    same_pair_tables,
    same_counts_by_undisguised_columns,
    same_study_of_a_sample,
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


def _files(request: pytest.FixtureRequest, folder: Path) -> Put:
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
    "our reader": _files,
    "duckdb files": _files,
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
    fewest = 1 << 40 if request.param == "our reader" else 0
    monkeypatch.setattr(engines, "FEWEST_CELLS", fewest)
    return ENGINES[request.param](request, tmp_path)


#: Checks that take long.
LONG = (
    same_models,
    same_wide_tree,
    same_tree_of_records_beyond_memory,
    wide_records_beyond_memory_stay_where_they_are,
    other_models_of_records_beyond_memory_are_refused,
)


@pytest.mark.parametrize(
    "check",
    [pytest.param(c, marks=pytest.mark.slow if c in LONG else (), id=c.__name__) for c in CHECKS],
)
def test_an_engine_keeps_the_contract(put: Put, check: Callable[[Put], None]) -> None:
    check(put)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Spark and Ibis
def test_spark_keeps_the_contract_also_if_an_executor_is_killed(tmp_path: Path) -> None:
    """One test, because it takes long to start Spark."""
    if not has_java():
        assert os.environ.get("TACIT_REQUIRE_ALL") != "1", "Java is not installed"
        pytest.skip("Java is not installed")
    with spark_session() as session:
        put = putting_in_spark(session, tmp_path)
        for check in CHECKS:
            if check is not other_models_of_records_beyond_memory_are_refused:  # as the tree is
                session.sparkContext.setJobGroup(check.__name__, "a check of the contract")
                check(put)
        _a_level_of_a_tree_is_one_job(session.sparkContext.statusTracker())
        _a_damaged_part_is_refused(lambda folder: session.read.parquet(str(folder)), tmp_path)
        for disguises in SPARK_DISGUISES:
            disguises(session)
        # Last, because another executor has to start.
        engine = engine_of(put(table_of("labelled")), LABELLED.reported)
        own = pair_tables(engine_of(table_of("labelled"), LABELLED.reported))
        killing = KillingOnce(partial(pair_counts, LABELLED.reported.sizes), tmp_path / "killed")
        np.testing.assert_array_equal(engine.total(killing), own.counts)
        assert killing.mark.exists()


def _a_level_of_a_tree_is_one_job(jobs: Any) -> None:
    """As Spark counts its jobs: one for all pairs, one per level, each a single scan; the last one
    counts distinct records, before they are refused."""
    own = sorted(jobs.getJobIdsForGroup(same_tree_of_records_beyond_memory.__name__))
    stages = [len(jobs.getJobInfo(job).stageIds) for job in own]
    assert stages == [1] * (1 + 4) + [2]


@pytest.mark.slow
def test_a_level_of_a_tree_is_one_query_of_duckdb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "FEWEST_CELLS", 0)
    engine = engine_of(put_parts(table_of("wide"), tmp_path), WIDE.reported)
    assert isinstance(engine, DuckDBFiles)
    connect, scans = duckdb.connect, []

    class Connection:
        """Notes each query that reads the files."""

        def __init__(self) -> None:
            self._own = connect()

        def execute(self, sql: str) -> Any:
            scans.extend([sql] * sql.count("read_parquet"))
            return self._own.execute(sql)

        def __enter__(self) -> Connection:
            return self

        def __exit__(self, *_: object) -> None:
            self._own.close()

    monkeypatch.setattr(duckdb, "connect", Connection)
    tree = DecisionTree(WIDE, "w0", caution=1, max_depth=4).fit(PatternTable.remote(engine))
    assert len(scans) == 1 + tree.get_depth() == 5


# What goes wrong ------------------------------------------------------------------------------


def _damaged(folder: Path) -> Path:
    """The folder of Parquet parts, one of them with other bytes in its middle."""
    part = folder / "part-1.parquet"
    content = bytearray(part.read_bytes())
    middle = slice(len(content) // 4, len(content) // 2)
    content[middle] = bytes(byte ^ 0xFF for byte in content[middle])
    part.write_bytes(content)
    return folder


def _a_damaged_part_is_refused(source: Callable[[Path], Any], tmp_path: Path) -> None:
    folder = _damaged(put_parts(table_of("labelled"), tmp_path))
    with pytest.raises((FileError, EngineError, DataError)) as raised:
        count_reported(source(folder), LABELLED)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize("fewest", [0, 1 << 40], ids=["duckdb", "our reader"])
def test_a_damaged_part_is_refused_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fewest: int
) -> None:
    monkeypatch.setattr(engines, "FEWEST_CELLS", fewest)
    folder = _damaged(put_parts(table_of("labelled"), tmp_path))
    with pytest.raises(TacitError, match=r"part-1\.parquet: "):
        count_reported(folder, LABELLED)
    part = folder / "part-1.parquet"
    part.write_bytes(part.read_bytes()[:-10])
    with pytest.raises(FileError, match=r"part-1\.parquet: the Parquet file is truncated"):
        count_reported(folder, LABELLED)


@pytest.mark.parametrize("fewest", [0, 1 << 40], ids=["duckdb", "our reader"])
def test_both_readers_of_files_raise_the_same_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fewest: int
) -> None:
    monkeypatch.setattr(engines, "FEWEST_CELLS", fewest)
    folder = put_parts(with_cells(table_of("labelled"), "region", [1002], "nord"), tmp_path)
    message = r"part-1\.parquet: unknown category 'nord' of attribute 'region' at record 2 "
    with pytest.raises(DataError, match=message):
        count_reported(folder, LABELLED)
    folder = put_parts(with_nulls(table_of("labelled"), "grade", [1003, 1005]), tmp_path)
    message = r"part-1\.parquet: attribute 'grade': 2 missing cells, the first at record 3 "
    with pytest.raises(DataError, match=message):
        count_reported(folder, LABELLED)


def test_a_lost_connection_is_one_clear_error(cluster: Cluster) -> None:
    address = cluster.url()
    put_in_postgres(table_of("binary"), address, "records")
    names = ", ".join(BINARY.schema.names)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            f"CREATE VIEW lost AS SELECT {names} FROM records "
            "WHERE q0 <> 'yes' OR pg_terminate_backend(pg_backend_pid())"
        )
    for work in (count_reported, DecisionTree(BINARY, "q0").fit):
        arguments = (BINARY,) if work is count_reported else ()
        with pytest.raises(EngineError, match=r"could not be counted: .*terminat"):
            work(f"{address}#lost", *arguments)


def test_an_unreachable_database_is_one_clear_error(tmp_path: Path) -> None:
    url = f"postgresql://ann:secret@/postgres?host={tmp_path}#records"
    with pytest.raises(EngineError, match="the database does not answer") as raised:
        count_reported(url, BINARY)
    assert "secret" not in str(raised.value)


def test_an_unknown_table_is_an_error_that_names_the_nearest(cluster: Cluster) -> None:
    address = cluster.url()
    put_in_postgres(table_of("binary"), address, "reported")
    with pytest.raises(DataError, match=r"unknown table 'reports'.*did you mean 'reported'"):
        count_reported(f"{address}#reports", BINARY)
    with pytest.raises(DataError, match="no database of the service; give a table"):
        count_reported(address, BINARY)


def test_the_database_of_the_service_is_counted_by_its_packed_codes(cluster: Cluster) -> None:
    survey, address = published(), cluster.url()
    with closing(Store(address)) as store:
        store.register(survey)
        made = [response(survey, number % 40) for number in range(300)]
        store.write(made, date(2026, 11, 1))
        own = count(store.codes(survey.survey.fingerprint), survey.design.reported)
    found = count_reported(address, survey.design)
    np.testing.assert_array_equal(found.patterns, own.patterns)
    np.testing.assert_array_equal(found.counts, own.counts)
    listed = count_reported(address, survey.design, distinct=False)
    assert listed.n_records == 300
    with pytest.raises(DataError, match="has no survey with this design"):
        count_reported(address, BINARY)


def test_a_partitioned_directory_has_an_attribute_in_its_names(tmp_path: Path) -> None:
    table = table_of("binary")
    pq.write_to_dataset(table, tmp_path / "parts", partition_cols=["q3"])
    found, own = count_reported(tmp_path / "parts", BINARY), expected("binary").patterns
    np.testing.assert_array_equal(found.patterns, own.patterns)
    np.testing.assert_array_equal(found.counts, own.counts)
    both = tmp_path / "q3=yes"
    put_parts(table, both.mkdir() or both)
    found = count_reported(both, BINARY)  # the column, not the path
    np.testing.assert_array_equal(found.counts, own.counts)
    (tmp_path / "parts" / "q3=no").rename(tmp_path / "parts" / "q3=never")
    with pytest.raises(DataError, match="unknown category 'never' of attribute 'q3'"):
        count_reported(tmp_path / "parts", BINARY)


def test_arrow_files_and_globs_are_counted(tmp_path: Path) -> None:
    table, own = table_of("labelled"), expected("labelled").patterns
    for part, start in enumerate((0, 1000, 2000)):
        pa.feather.write_feather(table.slice(start, 1000), tmp_path / f"part-{part}.arrow")
    put_parts(table, tmp_path)
    for records in (str(tmp_path / "part-*.arrow"), str(tmp_path / "*" / "*.parquet")):
        found = count_reported(records, LABELLED)
        np.testing.assert_array_equal(found.patterns, own.patterns)
        np.testing.assert_array_equal(found.counts, own.counts)
    with pytest.raises(FileError, match=r"\*\.csv: no file matches"):
        count_reported(str(tmp_path / "*.csv"), LABELLED)


def test_parts_whose_columns_have_other_types_are_not_cast(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB would cast 1.5 in the second file to 2, the type of the first file."""
    monkeypatch.setattr(engines, "FEWEST_CELLS", 0)
    schema = Schema([Attribute("grade", [1, 2, 1.5])])
    design = Design(schema, [Group(["grade"], truthful())])
    pq.write_table(pa.table({"grade": [1, 2, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"grade": [1.5, 2.0]}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"grade": ["1", "1.5"]}), tmp_path / "c.parquet")
    assert count_reported(tmp_path, design).counts.tolist() == [2, 3, 2]


def test_columns_that_differ_in_case_only_are_not_confused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB would read the first for both; so our reader counts them."""
    monkeypatch.setattr(engines, "FEWEST_CELLS", 0)
    schema = Schema([Attribute("a", ["no", "yes"]), Attribute("A", ["no", "yes"])])
    design = Design(schema, [Group(["a", "A"], truthful())])
    table = pa.table({"a": ["no", "no", "yes"], "A": ["yes", "yes", "no"]})
    pq.write_table(table, tmp_path / "case.parquet")
    found = count_reported(tmp_path / "case.parquet", design)
    assert found.patterns.tolist() == [[0, 1], [1, 0]]
    pa.feather.write_feather(table, tmp_path / "case.arrow")
    with pytest.raises(DataError, match="DuckDB cannot tell 'a' from 'A'"):
        count_reported(tmp_path / "case.arrow", design)


@pytest.mark.parametrize("fewest", [0, 1 << 40], ids=["duckdb", "our reader"])
def test_files_without_records_are_skipped_if_others_have_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fewest: int
) -> None:
    monkeypatch.setattr(engines, "FEWEST_CELLS", fewest)
    folder = put_parts(table_of("binary"), tmp_path)
    pq.write_table(table_of("binary").slice(0, 0), folder / "part-9.parquet")
    pq.write_table(pa.table({"q0": pa.nulls(0)}), folder / "part-8.parquet")
    assert count_reported(folder, BINARY).n_records == 3000
