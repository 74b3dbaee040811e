"""disguise_files: files in, one file out, the same for every layout; complete or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, related, unrelated
from tacit.core.label_codes import decode
from tacit.errors import DataError, FileError, TacitError
from tacit.records import files, read_origin
from tacit.records.disguise import SEED_BLOCK, disguise_files
from tests.support.families import CASES, Case

SCHEMA = Schema([Attribute("smokes", ["no", "yes"]), Attribute("children", [0, 1, 2])])
DESIGN = Design(
    SCHEMA, [Group(["smokes"], related(0.7)), Group(["children"], unrelated(0.5, [0.2, 0.3, 0.5]))]
)


def true_table(n: int, schema: Schema = SCHEMA, seed: int = 3) -> Any:
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, k, n) for k in schema.sizes], axis=1).astype(np.uint8)
    return decode(codes, schema, "pyarrow")


@pytest.fixture
def put(tmp_path: Path) -> Any:
    def write(table: Any, name: str = "true.parquet", **options: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        if name.endswith(".csv"):
            pa_csv.write_csv(table, path)
        else:
            pq.write_table(table, path, **options)
        return path

    return write


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_file_is_disguised_as_its_frame_is(case: Case, put: Any, tmp_path: Path) -> None:
    schema, out = case.design.schema, tmp_path / "reported.parquet"
    table = true_table(500, schema)
    assert disguise_files(put(table, "true.csv"), case.design, out, 11) == (500, 0)
    assert pq.read_table(out).equals(disguise(table, case.design, np.random.default_rng(11)))


LONG = SEED_BLOCK + 70_000


def test_reports_do_not_depend_on_batches_formats_or_files(
    put: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, out = true_table(LONG), tmp_path / "reported.parquet"
    disguise_files(put(table), DESIGN, out, 5)
    expected = pq.read_table(out)
    cuts = [0, 10_001, 200_000, 200_003, LONG]
    for number in range(4):
        part = table.slice(cuts[number], cuts[number + 1] - cuts[number])
        put(part, f"parts/{number}.parquet", row_group_size=7_000)
    put(table.slice(0, 0), "parts/4.parquet")  # as Spark writes for an empty partition
    monkeypatch.setattr(files, "BATCH_BYTES", 1)
    assert files.batch_records(SCHEMA) == files.LEAST_BATCH
    for source in (tmp_path / "parts", tmp_path / "parts/*.parquet", put(table, "true.csv")):
        assert disguise_files(source, DESIGN, out, 5) == (LONG, 0)
        assert pq.read_table(out).equals(expected)


def test_every_block_and_every_seed_has_draws_of_its_own(put: Any, tmp_path: Path) -> None:
    same = pa.table({"smokes": ["no"] * (2 * SEED_BLOCK), "children": [0] * (2 * SEED_BLOCK)})
    path, out = put(same), tmp_path / "reported.parquet"
    drawn = []
    for seed in (5, 5, 6, None):
        disguise_files(path, DESIGN, out, seed)
        drawn.append(pq.read_table(out).column("smokes").to_numpy() == "yes")
    first, again, other, entropy = drawn
    np.testing.assert_array_equal(first, again)
    halves = [first[:SEED_BLOCK], first[SEED_BLOCK:], other[:SEED_BLOCK], entropy[:SEED_BLOCK]]
    for place, half in enumerate(halves):
        assert abs(half.mean() - 0.3) < 5 * np.sqrt(0.21 / SEED_BLOCK)
        for later in halves[place + 1 :]:
            assert abs((half & later).mean() - 0.09) < 5 * np.sqrt(0.09 * 0.91 / SEED_BLOCK)


def test_wide_records_are_read_in_smaller_batches() -> None:
    wide = Schema([Attribute(f"w{i}", ["no", "yes"]) for i in range(100)])
    assert files.batch_records(SCHEMA) == files.BATCH
    assert files.LEAST_BATCH <= files.batch_records(wide) < files.BATCH
    assert files.BATCH % files.batch_records(wide) == 0


def test_the_result_names_its_design_and_keeps_types(put: Any, tmp_path: Path) -> None:
    out = tmp_path / "reported.parquet"
    disguise_files(put(true_table(100)), DESIGN, out)
    origin = read_origin(out)
    assert origin is not None
    assert origin.design == DESIGN.fingerprint
    assert pq.read_schema(out).types == [pa.string(), pa.int64()]
    with pytest.raises(DataError, match="holds reported records"):
        disguise_files(out, DESIGN, tmp_path / "twice.parquet")


BAD = [
    ({"smokes": ["no", "nope"], "children": [0, 1]}, r"unknown category 'nope'.*at record 1 "),
    ({"smokes": ["no", "yes"], "children": [0, 7]}, r"unknown category 7 of.*at record 1 "),
    ({"smokes": ["no", "yes"]}, r"no column for attribute 'children'"),
]


def test_missing_answers_stay_missing(put: Any, tmp_path: Path) -> None:
    put(true_table(300_000), "parts/0.parquet")
    put(pa.table({"smokes": ["no", None, "yes"], "children": [None, None, 1]}), "parts/1.parquet")
    out = tmp_path / "reported.parquet"
    assert disguise_files(tmp_path / "parts", DESIGN, out, 5) == (300_003, 3)
    found = pq.read_table(out)
    assert [column.null_count for column in found.columns] == [1, 2]
    assert found.column("smokes")[-2].as_py() is None


@pytest.mark.parametrize(("columns", "said"), BAD)
def test_bad_records_are_one_error_and_leave_the_old_result(
    put: Any, tmp_path: Path, columns: Any, said: str
) -> None:
    put(true_table(300_000), "parts/0.parquet")
    put(pa.table(columns), "parts/1.parquet")
    out = tmp_path / "out" / "reported.parquet"
    out.parent.mkdir()
    out.write_text("old")
    with pytest.raises(TacitError, match=r"parts/1\.parquet: .*" + said):
        disguise_files(tmp_path / "parts", DESIGN, out)
    assert [path.name for path in out.parent.iterdir()] == ["reported.parquet"]
    assert out.read_text() == "old"


def test_a_source_is_not_overwritten_and_files_of_one_kind_are_needed(
    put: Any, tmp_path: Path
) -> None:
    source = put(true_table(10), "parts/0.parquet")
    with pytest.raises(FileError, match="is the file that is read"):
        disguise_files(tmp_path / "parts", DESIGN, source)
    put(true_table(10), "parts/1.csv")
    with pytest.raises(FileError, match="several kinds"):
        disguise_files(tmp_path / "parts", DESIGN, tmp_path / "out.parquet")


@pytest.mark.parametrize("seed", [-1, True, 1.5, "7", np.random.default_rng(1)])
def test_a_seed_is_an_integer_from_0(put: Any, tmp_path: Path, seed: Any) -> None:
    with pytest.raises(DataError, match="the seed must be an integer from 0"):
        disguise_files(put(true_table(10)), DESIGN, tmp_path / "out.parquet", seed)
