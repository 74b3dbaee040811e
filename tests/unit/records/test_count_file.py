"""Count tables in files: what was counted is found again, and nothing is counted twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tacit import Design, Group, reconstruct
from tacit.core.channel import related
from tacit.errors import DataError, FileError
from tacit.records import Origin, PatternTable, count_reported
from tacit.records.count_file import CountedPart, StoredCounts, read_counts
from tests.support.engines import BINARY, LABELLED, put_parts, records_of

TABLE = records_of(LABELLED)
OTHER = Design(BINARY.schema, [Group(BINARY.schema.names, related(0.7))])


def stored(table: PatternTable, design: Design = LABELLED, *parts: CountedPart) -> StoredCounts:
    return StoredCounts(table, Origin(design.fingerprint), parts)


def assert_equal(found: PatternTable, own: PatternTable) -> None:
    assert found.schema == own.schema
    np.testing.assert_array_equal(found.patterns, own.patterns)
    np.testing.assert_array_equal(found.counts, own.counts)


def test_a_written_table_is_read_again_and_serves_every_estimate(tmp_path: Path) -> None:
    path, own = tmp_path / "survey.counts", count_reported(TABLE, LABELLED)
    stored(own).write(path)
    assert_equal(read_counts(path).table, own)
    assert_equal(read_counts(str(path)).table, own)
    found = reconstruct(str(path), LABELLED).table(["ill", "region"])
    np.testing.assert_array_equal(
        found.value, reconstruct(own, LABELLED).table(["ill", "region"]).value
    )


def test_two_halves_merged_are_the_whole() -> None:
    halves = [stored(count_reported(part, LABELLED)) for part in (TABLE[:1100], TABLE[1100:])]
    assert_equal((halves[0] + halves[1]).table, count_reported(TABLE, LABELLED))


def test_counts_of_two_designs_are_not_merged_and_not_used() -> None:
    table = count_reported(records_of(BINARY), BINARY)
    with pytest.raises(DataError, match="two designs"):
        stored(table, BINARY) + stored(table, OTHER)


def test_counts_of_another_design_are_refused(tmp_path: Path) -> None:
    stored(count_reported(records_of(BINARY), BINARY), BINARY).write(tmp_path / "binary.counts")
    with pytest.raises(DataError, match="counts of another design"):
        reconstruct(tmp_path / "binary.counts", OTHER)


def test_no_file_is_counted_twice(tmp_path: Path) -> None:
    files = sorted(put_parts(TABLE, tmp_path).glob("*.parquet"))
    first, second = (
        stored(count_reported(path, LABELLED), LABELLED, CountedPart.of(path)) for path in files[:2]
    )
    assert (first + second).new_files(files) == files[2:]
    moved = files[0].rename(tmp_path / "moved.parquet")
    assert first.new_files([moved]) == []
    with pytest.raises(DataError, match=r"part-0\.parquet: counted in both tables"):
        first + second + first


def test_a_damaged_or_foreign_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "survey.counts"
    stored(count_reported(TABLE, LABELLED)).write(path)
    content = bytearray(path.read_bytes())
    content[len(content) // 8] ^= 0xFF
    (tmp_path / "damaged.counts").write_bytes(content)
    pq.write_table(TABLE, tmp_path / "records.counts")
    (tmp_path / "text.counts").write_text("counts")
    for name in ("damaged", "records", "text"):
        with pytest.raises(FileError, match=rf"{name}\.counts: not a (sound )?count file"):
            read_counts(tmp_path / f"{name}.counts")
    with pytest.raises(FileError, match=r"use \.counts"):
        stored(count_reported(TABLE, LABELLED)).write(tmp_path / "survey.parquet")


def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "survey.counts"
    stored(count_reported(TABLE, LABELLED)).write(path)
    table = pq.read_table(path)
    metadata = {
        k: v.replace(b'"version": 1', b'"version": 9') for k, v in table.schema.metadata.items()
    }
    pq.write_table(table.replace_schema_metadata(metadata), path)
    with pytest.raises(FileError, match=r"version 9.*upgrade tacit"):
        read_counts(path)


def test_a_database_is_recognised_however_it_is_named(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    of = CountedPart.of_database
    assert (
        of("survey.db", "d") == of(f"{tmp_path}/survey.db", "d") == of("sqlite:///survey.db", "d")
    )
    plain = of("postgresql://db/research#answers", "d")
    assert plain == of("postgresql://ann:secret@db/research?sslmode=require#answers", "d")
    assert "secret" not in plain.name
    others = [("other.db", "d"), ("survey.db", "e"), ("postgresql://db/research#more", "d")]
    assert len({of(*other).mark for other in others} | {plain.mark, of("survey.db", "d").mark}) == 5


@pytest.mark.parametrize("off", [-1, 1])
def test_counts_that_do_not_add_up_are_refused(off: int, tmp_path: Path) -> None:
    path, own = tmp_path / "survey.counts", count_reported(records_of(LABELLED), LABELLED)
    StoredCounts(own, Origin(LABELLED.fingerprint)).write(path)
    table, said = pq.read_table(path), '"n_records": {}'
    right, wrong = (said.format(own.n_records + n).encode() for n in (0, off))
    metadata = {k: v.replace(right, wrong) for k, v in table.schema.metadata.items()}
    pq.write_table(table.replace_schema_metadata(metadata), path)
    with pytest.raises(FileError, match="its counts do not add up"):
        read_counts(path)
