"""Records and designs in and out of files."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, related, uniform_perturbation
from tacit.errors import DataError, DesignError, FileError, TacitError
from tacit.records import (
    BATCH,
    check_apart,
    check_out,
    count,
    count_records,
    files,
    read_batches,
    read_design,
    read_frame,
    write_frame,
    write_text,
    writing_records,
)

SUFFIXES = [".csv", ".csv.gz", ".parquet"]
SCHEMA = Schema([Attribute("smokes", ["no", "yes"]), Attribute("income", ["low", "mid", "high"])])
AGE = Attribute("age", ["young", "old", "?"], missing="?", edges=[40])
DESIGN = Design(SCHEMA, [Group(["smokes", "income"], related(theta=0.7))])


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """Makes a file of some content."""

    def make(content: str | bytes, name: str = "data.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def codes_in(path: Path, schema: Schema = SCHEMA) -> list[list[int]]:
    return [record for codes in read_batches(path, schema) for record in codes.tolist()]


def parquet(columns: dict[str, Any], path: Path) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


# Reading ------------------------------------------------------------------------------------


def test_columns_are_found_by_name_and_others_are_not_read(file: Any) -> None:
    path = file('id,income,note,smokes\n1,high,"a, b",no\n2,low,"two\nlines",yes\n')
    assert codes_in(path) == [[0, 2], [1, 0]]


@pytest.mark.parametrize(
    "content", ["a\r\nx\r\ny\r\n", "\ufeffa\nx\ny\n", 'a\n"x"\n"y"', "\n\na\nx\ny\n"]
)
def test_line_ends_byte_order_marks_quotes_and_blank_lines_above_do_not_matter(
    file: Any, content: str
) -> None:
    assert codes_in(file(content), Schema([Attribute("a", ["x", "y"])])) == [[0], [1]]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_blank_line_of_one_column_is_a_missing_cell(file: Any, end: str) -> None:
    path = file(end.join(["", "a", "x", "", "y", "", ""]))
    assert codes_in(path, Schema([Attribute("a", ["x", "y", "?"], missing="?")])) == [
        *([0], [2], [1], [2])
    ]
    assert read_frame(path).to_pydict() == {"a": ["x", None, "y", None]}
    with pytest.raises(DataError, match="'a': 2 missing cells, the first at record 1"):
        codes_in(path, Schema([Attribute("a", ["x", "y"])]))


def test_a_blank_line_of_several_columns_is_skipped(file: Any) -> None:
    path = file("\nsmokes,income\n\nno,low\n\n")
    assert codes_in(path) == [[0, 0]]
    assert read_frame(path).num_rows == 1


def test_only_the_empty_cell_of_a_csv_file_is_missing(file: Any) -> None:
    words = ["NA", "None", "null", "nan", "NULL", "N/A"]
    path = file("a\n" + "\n".join(words) + '\n""\n')
    schema = Schema([Attribute("a", [*words, "missing"], missing="missing")])
    assert codes_in(path, schema) == [[i] for i in range(7)]


@pytest.mark.parametrize("cells", [["39", "40", "41.5", ""], ["young", "young", "old", "?"]])
def test_a_binned_column_of_a_csv_file_holds_numbers_or_labels(file: Any, cells: list[str]) -> None:
    path = file("age,x\n" + "".join(f"{cell},\n" for cell in cells))
    assert codes_in(path, Schema([AGE])) == [[0], [0], [1], [2]]


def test_numbers_may_have_spaces_and_the_missing_label_among_them(file: Any) -> None:
    assert codes_in(file("age\n 39\n?\n1e3 \n"), Schema([AGE])) == [[0], [2], [1]]


@pytest.mark.parametrize(
    "column", [pa.array([39, None, 50], pa.int8()), [39.0, None, 50.5], ["young", "?", "old"]]
)
def test_a_binned_column_of_a_parquet_file_holds_numbers_or_labels(
    tmp_path: Path, column: Any
) -> None:
    path = parquet({"age": column}, tmp_path / "data.parquet")
    assert codes_in(path, Schema([AGE])) == [[0], [2], [1]]


def test_a_label_that_reads_as_a_number_needs_parquet_if_numbers_are_binned(file: Any) -> None:
    schema = Schema([Attribute("age", ["1", "2"], edges=[40])])
    with pytest.raises(DataError, match="cannot tell its category '1' from a number"):
        codes_in(file("age\n1\n"), schema)


def test_a_blank_label_beside_a_missing_one_needs_parquet(file: Any) -> None:
    schema = Schema([Attribute("a", ["", "x", "m"], missing="m")])
    with pytest.raises(DataError, match="cannot tell its category '' from a missing cell"):
        codes_in(file('a\n""\n'), schema)


@pytest.mark.parametrize("cells", ["True\nFalse", "true\nfalse", "TRUE\nFALSE"])
def test_booleans_are_read_as_any_program_writes_them(file: Any, cells: str) -> None:
    path = file(f"a\n{cells}\n")
    assert codes_in(path, Schema([Attribute("a", [False, True])])) == [[1], [0]]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_batches_are_of_one_size_however_the_file_is_laid_out(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"data{suffix}"
    true = np.random.default_rng(1).integers(0, 2, (2 * BATCH + 5, 2), dtype=np.uint8)
    with writing_records(path, SCHEMA) as write:
        for part in np.array_split(true, 7):
            write(part)
    batches = list(read_batches(path, SCHEMA))
    assert [len(batch) for batch in batches] == [BATCH, BATCH, 5]
    assert np.array_equal(np.concatenate(batches), true)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_progress_grows_to_one(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"data{suffix}"
    with writing_records(path, SCHEMA) as write:
        write(np.zeros((1000, 2), np.uint8))
    told: list[float] = []
    list(read_batches(path, SCHEMA, told.append))
    assert told == sorted(told)
    assert told[-1] == 1.0


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (",low\n", r"attribute 'smokes': 1 missing cells, the first at record 3000 "),
        ("nay,low\n", r"unknown category 'nay' of attribute 'smokes' at record 3000 "),
    ],
)
def test_an_error_names_the_record_of_the_file(
    file: Any, cells: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the file is read in many parts."""
    monkeypatch.setattr(files, "READ_BYTES", 1 << 10)
    path = file("smokes,income\n" + "no,low\n" * 3000 + cells)
    with pytest.raises(DataError, match=f"data.csv: {said}"):
        codes_in(path)


# Files that cannot be read --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("smokes,income\n", "holds 0 records"),
        ("smokes,income\nno,low\nno,low,high\n", "line 3 has 3 cells, the header has 2"),
        ("smokes,income\nno\n", "line 2 has 1 cells, the header has 2"),
        (b"smokes,income\nno,\xe9\n", "not UTF-8"),
        ("smokes,income\n".encode("utf-16"), "not UTF-8"),
        ("smokes,incme\nno,low\n", "no column for attribute 'income'.*did you mean 'incme'"),
        ("smokes;income\nno;low\n", "separated by commas"),
        ("smokes,income,smokes\nno,low,no\n", "2 columns are named 'smokes'"),
    ],
)
def test_a_bad_csv_file_is_an_error_of_one_line(file: Any, content: str | bytes, said: str) -> None:
    with pytest.raises(TacitError, match=f"^.*data.csv: .*{said}[^\n]*$"):
        codes_in(file(content))


def test_a_truncated_parquet_file_is_an_error(tmp_path: Path) -> None:
    path = parquet({"smokes": ["no"], "income": ["low"]}, tmp_path / "data.parquet")
    whole = path.read_bytes()
    for length in range(1, len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(FileError, match=r"truncated|not a Parquet file"):
            codes_in(path)


def test_a_damaged_parquet_file_is_an_error(tmp_path: Path) -> None:
    path = parquet({"smokes": ["no"], "income": ["low"]}, tmp_path / "data.parquet")
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(len(content) - 8) + content[-4:])
    with pytest.raises(FileError, match=r"data\.parquet: "):
        codes_in(path)


@pytest.mark.parametrize("name", ["data.parquet", "data.csv.gz"])
def test_a_file_that_is_not_what_its_suffix_says_is_an_error(file: Any, name: str) -> None:
    with pytest.raises(FileError, match=name):
        codes_in(file("smokes,income\nno,low\n", name))


def test_a_truncated_gzip_file_is_an_error(file: Any) -> None:
    content = gzip.compress(b"smokes,income\n" + b"no,low\nyes,high\n" * 1000)
    with pytest.raises(FileError, match=r"data\.csv\.gz"):
        codes_in(file(content[:-30], "data.csv.gz"))


def test_duplicate_columns_of_a_parquet_file_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table([["no"], ["no"], ["low"]], ["smokes", "smokes", "income"]), path)
    with pytest.raises(DataError, match="2 columns are named 'smokes'"):
        codes_in(path)


def test_a_column_of_another_type_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = parquet({"smokes": [["no"]], "income": ["low"]}, tmp_path / "data.parquet")
    with pytest.raises(DataError, match="attribute 'smokes': its column is of type list"):
        codes_in(path)


def test_a_parquet_file_without_records_is_an_error(tmp_path: Path) -> None:
    none = pa.array([], pa.string())
    path = parquet({"smokes": none, "income": none}, tmp_path / "data.parquet")
    with pytest.raises(DataError, match="holds 0 records"):
        codes_in(path)


def test_a_path_that_is_no_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        codes_in(tmp_path / "none.csv")
    with pytest.raises(FileError, match="the directory has no file of records"):
        codes_in(tmp_path)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(FileError, match="not a regular file"):
        codes_in(tmp_path / "pipe.csv")


def test_an_unknown_suffix_is_an_error_that_lists_the_known(file: Any) -> None:
    with pytest.raises(FileError, match=r"unknown suffix '\.xlsx'; allowed: \.csv, \.csv\.gz"):
        codes_in(file("x", "data.xlsx"))


def test_read_frame_reads_every_column_with_its_type(file: Any) -> None:
    frame = read_frame(file("a,b,c\n1,NA,\n2,x,0.5\n"))
    assert frame.to_pydict() == {"a": [1, 2], "b": ["NA", "x"], "c": [None, 0.5]}


# Writing --------------------------------------------------------------------------------------

AWKWARD = Schema(
    [
        Attribute("plain", ["a,b", 'say "x"', "two\nlines", "", "é", " "]),
        Attribute("a, b", [True, False]),
        Attribute('"', [1, 2, 30]),
        Attribute("float", [0.5, 2.0, 1e-7]),
        AGE,
    ]
)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("schema", [SCHEMA, AWKWARD])
def test_what_is_written_reads_back(tmp_path: Path, suffix: str, schema: Schema) -> None:
    path = tmp_path / f"data{suffix}"
    rng = np.random.default_rng(3)
    true = np.stack([rng.integers(0, size, 500) for size in schema.sizes], axis=1)
    with writing_records(path, schema) as write:
        write(true.astype(np.uint8))
    assert codes_in(path, schema) == true.tolist()
    assert os.listdir(tmp_path) == [path.name]


def test_a_csv_file_is_plain_where_it_can_be(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    with writing_records(path, SCHEMA) as write:
        write(np.array([[0, 2], [1, 0]], np.uint8))
    assert path.read_text() == "smokes,income\nno,high\nyes,low\n"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_equal_records_make_equal_files(tmp_path: Path, suffix: str) -> None:
    contents = set()
    for name in ("a", "b"):
        with writing_records(tmp_path / f"{name}{suffix}", SCHEMA) as write:
            write(np.ones((9, 2), np.uint8))
        contents.add((tmp_path / f"{name}{suffix}").read_bytes())
    assert len(contents) == 1


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("reason", [KeyboardInterrupt, SystemExit, DataError])
def test_an_interrupted_file_leaves_what_was_there(
    tmp_path: Path, suffix: str, reason: type[BaseException]
) -> None:
    path = tmp_path / f"data{suffix}"
    path.write_text("before")

    def interrupted() -> None:
        with writing_records(path, SCHEMA) as write:
            write(np.zeros((100, 2), np.uint8))
            raise reason

    with pytest.raises(reason):
        interrupted()
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_text() == "before"


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"the folder .*none does not exist"):
        write_text(tmp_path / "none" / "x.json", "")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileError, match="is not a regular file"):
        check_out(tmp_path / "folder.csv")
    with pytest.raises(FileError, match="cannot be written: File name too long"):
        write_text(tmp_path / ("x" * 300), "")


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    write_text(tmp_path / "link.txt", "content")
    assert (tmp_path / "real.txt").read_text() == "content"
    assert (tmp_path / "link.txt").is_symlink()


def test_the_file_that_is_read_must_not_be_written(file: Any) -> None:
    path = file("smokes,income\nno,low\n")
    with pytest.raises(FileError, match="is the file that is read"):
        check_out(path.parent / "." / path.name, path)
    with pytest.raises(FileError, match="is the file that is read"):
        check_apart(path, path)
    check_out(path, path.with_name("none.csv"))


def test_a_frame_with_missing_cells_is_written(tmp_path: Path) -> None:
    table = pa.table({"a": ["x", None], "n": [0.25, None]})
    write_frame(tmp_path / "t.csv", table)
    assert (tmp_path / "t.csv").read_text() == "a,n\nx,0.25\n,\n"
    write_frame(tmp_path / "t.parquet", table)
    assert pq.read_table(tmp_path / "t.parquet").equals(table)


# Designs --------------------------------------------------------------------------------------


def test_a_design_file_reads_back(tmp_path: Path) -> None:
    write_text(tmp_path / "d.json", DESIGN.to_json())
    assert read_design(tmp_path / "d.json") == DESIGN


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [
        ("", FileError, "the file is empty"),
        ('{\n"tacit": "design",\n oops}', FileError, "in line 3"),
        ("[]", FileError, "not a design file"),
        (b"\xff", FileError, "not UTF-8"),
        (DESIGN.to_json().replace('"version": 1', '"version": 99'), FileError, "version 99"),
        (DESIGN.to_json().replace("7/10", "7/5"), DesignError, "theta must lie between 0 and 1"),
        ("[" * 100_000, FileError, "not a design file"),
        ('{"version": ' + "9" * 5000 + "}", FileError, "not a design file"),
    ],
)
def test_a_bad_design_file_is_an_error_that_names_it(
    file: Any, content: str | bytes, kind: type[TacitError], said: str
) -> None:
    with pytest.raises(kind, match=rf"d\.json: .*{said}"):
        read_design(file(content, "d.json"))


# Counting -------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_is_counted_as_its_records_are(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"data{suffix}"
    many = Schema([Attribute(f"a{i}", ["x", "y", "z"]) for i in range(9)])
    true = np.random.default_rng(2).integers(0, 3, (2 * BATCH + 11, 9), dtype=np.uint8)
    with writing_records(path, many) as write:
        write(true)
    counted, expected = count_records(str(path), many), count(true, many)
    assert np.array_equal(counted.patterns, expected.patterns)
    assert np.array_equal(counted.counts, expected.counts)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_of_records_that_hardly_repeat_is_listed_unless_patterns_must_be_distinct(
    tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"data{suffix}"
    many = Schema([Attribute(f"a{i}", ["x", "y"]) for i in range(40)])
    true = np.random.default_rng(2).integers(0, 2, (BATCH + 11, 40), dtype=np.uint8)
    with writing_records(path, many) as write:
        write(true)
    np.testing.assert_array_equal(count_records(path, many, distinct=False).patterns, true)
    np.testing.assert_array_equal(count_records(path, many).patterns, count(true, many).patterns)


def test_frames_and_arrays_are_counted_too() -> None:
    frame = pa.table({"smokes": ["no", "yes", "no"], "income": ["low", "mid", "low"]})
    codes = np.array([[0, 0], [1, 1], [0, 0]])
    for records in (frame, codes):
        assert count_records(records, SCHEMA).marginal(["smokes"]).tolist() == [2, 1]


def test_batches_disguise_as_the_whole_does(tmp_path: Path) -> None:
    """The same seed gives the same reports, from memory and from a file."""
    design = Design(SCHEMA, [Group([name], uniform_perturbation(0.5)) for name in SCHEMA.names])
    true = np.random.default_rng(4).integers(0, 2, (BATCH + 70_000, 2), dtype=np.uint8)
    true = np.asfortranarray(true)
    with writing_records(tmp_path / "true.parquet", SCHEMA) as write:
        write(true)
    rng = np.random.default_rng(5)
    batches = read_batches(tmp_path / "true.parquet", SCHEMA)
    parts = [disguise(codes, design, rng) for codes in batches]
    whole = disguise(true, design, np.random.default_rng(5))
    assert np.array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("label", ["a\rb", "a\nb", "a,b", 'a"b'])
def test_a_label_with_a_sign_of_csv_is_read_again(label: str, tmp_path: Path) -> None:
    schema = Schema([Attribute("a", [label, "other"])])
    codes = np.array([[0], [1], [0]], np.uint8)
    with writing_records(tmp_path / "records.csv", schema) as write:
        write(codes)
    (found,) = read_batches(tmp_path / "records.csv", schema)
    np.testing.assert_array_equal(found, codes)
