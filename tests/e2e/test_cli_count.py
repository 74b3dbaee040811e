"""`tacit count` and `tacit merge`, and commands that read what they write."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tacit.cli.main import run
from tests.support.engines import BINARY, LABELLED, put_parts, records_of

TABLE = records_of(BINARY)


@pytest.fixture
def design(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("design.json").write_text(BINARY.to_json())
    return "design.json"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert run(arguments) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert run(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    return said


def test_files_globs_directories_and_count_files_give_the_same_estimates(
    design: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = put_parts(TABLE, tmp_path)
    pq.write_table(TABLE, "whole.parquet")
    expected = printed(capsys, "estimate", design, "whole.parquet")
    assert printed(capsys, "estimate", design, str(folder)) == expected
    assert printed(capsys, "estimate", design, f"{folder}/*.parquet") == expected
    assert "3,000 records" in printed(capsys, "count", design, str(folder), "--out", "a.counts")
    assert printed(capsys, "estimate", design, "a.counts") == expected


def test_new_files_are_added_and_known_ones_are_not_counted_again(
    design: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = put_parts(TABLE, tmp_path)
    count = ("count", design, str(folder))
    late = (folder / "part-2.parquet").rename(tmp_path / "part-2.parquet")
    assert "2,000 records" in printed(capsys, *count, "--out", "a.counts")
    again = (*count, "--add", "a.counts", "--out", "a.counts")
    assert printed(capsys, *again) == "nothing to add: 2 files, all counted in a.counts\n"
    late.rename(folder / "part-2.parquet")
    assert "3,000 records" in printed(capsys, *again)


def test_two_halves_are_merged_once(design: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name, part in (("a", TABLE[:1000]), ("b", TABLE[1000:])):
        pa.csv.write_csv(part, f"{name}.csv")
        printed(capsys, "count", design, f"{name}.csv", "--out", f"{name}.counts")
    merge = ("merge", "a.counts", "b.counts")
    assert "3,000 records" in printed(capsys, *merge, "--out", "both.counts")
    assert "counted in both" in refused(capsys, *merge, "both.counts", "--out", "more.counts")


def test_counts_of_another_design_and_wrong_arguments_are_refused(
    design: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(records_of(LABELLED), "other.parquet")
    Path("other.json").write_text(LABELLED.to_json())
    printed(capsys, "count", "other.json", "other.parquet", "--out", "other.counts")
    assert "another design" in refused(capsys, "estimate", design, "other.counts")
    assert "--database" in refused(capsys, "count", design, "--out", "a.counts")
    assert "use .counts" in refused(capsys, "count", design, "other.parquet", "--out", "a.csv")
    assert "no file matches" in refused(capsys, "count", design, "*.csv", "--out", "a.counts")
    assert "no column" in refused(capsys, "count", design, "other.parquet", "--out", "a.counts")
    assert not Path("a.counts").exists()
