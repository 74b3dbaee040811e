"""Files for other programs: labels, numbers, names, and markup or formulas in texts."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pyreadstat
import pytest

from tacit import disguise, reconstruct
from tacit.cli.main import run
from tacit.core.arrays import Codes
from tacit.output.table import Table
from tacit.studio.accounts import Role
from tacit.studio.record_files import (
    LONGEST_NAME,
    LabelledRecords,
    codebook,
    labelled_variables,
    r_script,
    statistics_names,
)
from tacit.survey import Published, publish, survey_from_dict
from tests.support.page_surveys import HOSTILE, every_kind
from tests.support.studio import MARKUP, reports, survey, tried

READ = {".sav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta}
FORMULAS = Published(
    survey_from_dict(
        {
            "title": "=1+1",
            "questions": [
                {
                    "name": "=a",
                    "kind": "choice",
                    "text": '@sum "quoted" \\ back',
                    "categories": ["-x", "+y", "z, with a comma"],
                    "labels": {"z, with a comma": "=cmd()"},
                }
            ],
            "groups": [{"questions": ["=a"], "family": "uniform_perturbation", "q": "1/2"}],
        },
        "survey",
    )
)


def some(published: Published, n: int = 60) -> Codes:
    rng = np.random.default_rng(3)
    sizes = published.design.schema.sizes
    true = np.stack([rng.integers(size, size=n) for size in sizes], axis=1).astype(np.uint8)
    return disguise(true, published.design, rng)


@pytest.mark.parametrize("published", [every_kind(), HOSTILE, FORMULAS, survey()])
@pytest.mark.parametrize("kind", [".sav", ".dta"])
def test_other_programs_read_the_same_codes_and_labels(
    published: Published, kind: str, tmp_path: Path
) -> None:
    codes = some(published)
    made = LabelledRecords(published, codes)
    path = tmp_path / f"records{kind}"
    path.write_bytes(made.file(kind))
    frame, found = READ[kind](path)
    np.testing.assert_array_equal(frame.to_numpy(), codes.astype(int) + 1)
    names = [one.short for one in made.variables]
    assert list(frame.columns) == names
    for one in made.variables:
        text = found.column_names_to_labels[one.short]
        assert text
        assert " ".join(one.text.split()).startswith(text)
        values = found.variable_value_labels[one.short]
        assert list(values) == list(range(1, len(one.labels) + 1))
        for full, kept in zip(one.labels, values.values(), strict=True):
            assert " ".join(full.split()).startswith(kept)
            assert len(kept) >= min(len(full), 30)


def test_labels_are_the_texts_of_questions_and_answers() -> None:
    found = {one.name: one for one in labelled_variables(every_kind())}
    assert found["income"].labels == ("Up to 2000", "2001 to 4000", "More than 4000")
    assert found["income"].ordered
    assert found["worries.pay"].text == "Which of these keep you awake at night? My pay"
    assert found["drug"].labels == ("Report P", "Report Q", "Report R")
    assert not found["drug"].ordered


def test_files_say_that_a_crosswise_report_is_same_or_different() -> None:
    """Labelled "Yes", it would be read as the sensitive answer; the words can be read back."""
    published = every_kind()
    design = published.design
    (name,) = [g.attributes[0] for g in design.groups if g.coin.family == "crosswise"]
    records = LabelledRecords(published, some(published))
    (variable,) = [one for one in records.variables if one.name == name]
    assert variable.labels == ("different", "same")
    assert f"A report is {design.group_of(name).coin.report_meaning((design.schema[name],))}" in (
        codebook(published, 60).replace("\\", "")
    )


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("published", [every_kind(), HOSTILE, survey()])
def test_csv_and_parquet_have_the_same_cells(published: Published, labels: bool) -> None:
    codes = some(published)
    made = LabelledRecords(published, codes)
    rows = list(csv.reader(io.StringIO(made.csv(labels).decode())))
    table = pq.read_table(io.BytesIO(made.parquet(labels)))
    names = [one.name for one in made.variables]
    assert rows[0] == table.column_names == names
    texts = [one.labels if labels else one.categories for one in made.variables]
    expected = [[column[code] for column, code in zip(texts, row, strict=True)] for row in codes]
    assert rows[1:] == expected
    assert [list(row.values()) for row in table.to_pylist()] == expected
    assert table.schema.field(0).metadata == {b"label": made.variables[0].text.encode()}
    assert gzip.decompress(made.file(".csv.gz", labels)) == made.csv(labels)


def test_no_cell_and_no_header_is_a_formula() -> None:
    made = LabelledRecords(FORMULAS, some(FORMULAS))
    for labels in (False, True):
        rows = list(csv.reader(io.StringIO(made.csv(labels).decode())))
        cells = {cell for row in rows for cell in row}
        assert [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))] == []
        assert rows[0] == ["'=a"]
    assert "'=cmd()" in made.csv(True).decode()
    assert Table(["=a"], [[-1.5]]).csv() == "'=a\n-1.5\n"  # a number stays a number


def test_names_fit_other_programs() -> None:
    given = ["a" * 50, "a" * 50 + "b", "x.y z", "é", "", "if", "_all", "STR10", "X_Y_Z", "ok"]
    found = statistics_names(given)
    assert len({name.lower() for name in found}) == len(given)
    for name in found:
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)
        assert len(name) <= LONGEST_NAME
    assert found[-1] == "ok"
    assert found[5] == "v_if"


def test_a_codebook_shows_markup_as_text_and_every_code() -> None:
    text = codebook(survey(), 400)
    assert "400 reported records" in text
    assert MARKUP not in text
    assert r"\<script\>alert\(1\)\</script\>" in text
    assert r"| 2 | yes | yes |" in text
    assert survey().fingerprint in text
    assert "with probability 4/5" in text
    hostile = codebook(HOSTILE, 3)
    assert re.findall(r"(?<!\\)[<>]", hostile) == []


def test_a_script_of_r_names_every_level_and_escapes_texts() -> None:
    text = r_script(FORMULAS, 'x".csv', ".csv", labels=True)
    assert r'read.csv("x\".csv"' in text
    assert """levels = c("'-x", "'+y", "'=cmd()")""" in text
    assert r'"@sum \"quoted\" \\ back"' in text
    assert 'read_parquet("r.parquet")' in r_script(FORMULAS, "r.parquet", ".parquet")
    assert 'levels = c("-x", "+y", "z, with a comma")' in r_script(FORMULAS, "r", ".parquet")
    assert 'as_factor(read_sav("r.sav"))' in r_script(FORMULAS, "r.sav", ".sav")
    assert 'as_factor(read_dta("r.dta"))' in r_script(FORMULAS, "r.dta", ".dta")


@pytest.mark.slow
def test_the_files_of_the_studio_are_those_of_its_release(tmp_path: Path) -> None:
    studio = tried(tmp_path, closed=True)
    client = studio.client(studio.account("Ada", Role.ANALYST))
    base = f"/surveys/{studio.mine.slug}"
    codes = reports(studio.mine, 400)
    counts = [[int(np.sum(column == code)) for code in range(3)] for column in codes.T]
    for kind, read in READ.items():
        path = tmp_path / f"got{kind}"
        path.write_bytes(client.get(f"{base}/records{kind}").content)
        frame = read(path)[0]
        assert [[int((frame[n] == c).sum()) for c in (1, 2, 3)] for n in frame] == counts
    table = pq.read_table(io.BytesIO(client.get(f"{base}/records.parquet").content))
    assert table["stole"].to_pylist().count("yes") == counts[0][1]
    text = client.get(f"{base}/records.csv?labels=yes").text
    assert text.count(f"Never {MARKUP}") == counts[1][0]
    assert client.get(f"{base}/codebook.md").text == codebook(studio.mine, 400)
    latex = client.get(f"{base}/estimates.tex").text
    shares = reconstruct(codes, studio.mine.design).table(["stole"])
    (low, high), share = (limits[1] for limits in shares.interval()), shares.value[1]
    assert f"yes & {share:.4f} & {low:.4f} & {high:.4f} & {counts[0][1] / 400:.4f}" in latex
    script = client.get(f"{base}/records.R?kind=sav").text
    assert f'read_sav("{studio.mine.slug}-records.sav")' in script
    assert client.get(f"{base}/records.R?kind=exe").status_code == 400
    (listed,) = client.get("/surveys.json").json()["surveys"]
    assert listed == {
        "slug": studio.mine.slug,
        "title": "Work",
        "open": False,
        "records": 400,
        "role": "analyst",
    }
    studio.store.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    studio = tried(tmp_path, records=40)
    publish(studio.mine.survey, "published.json")
    studio.store.close()
    return tmp_path


def exported(*given: Any) -> int:
    return run(["survey", "export", "published.json", "--database", "survey.db", *map(str, given)])


def test_the_command_writes_files_for_other_programs(folder: Path) -> None:
    assert exported("--out", "r.sav", "--codebook", "book.md", "--r-script", "read.R") == 0
    frame, _ = pyreadstat.read_sav(folder / "r.sav")
    codes = reports(survey(), 40)
    assert sorted(map(tuple, frame.to_numpy().astype(int) - 1)) == sorted(map(tuple, codes))
    assert (folder / "book.md").read_text(encoding="utf-8") == codebook(survey(), 40)
    assert 'read_sav("r.sav")' in (folder / "read.R").read_text(encoding="utf-8")
    assert exported("--out", "r.csv", "--labels") == 0
    assert f"Never {MARKUP}" in (folder / "r.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--out", "r.xls"], "unknown suffix '.xls'; allowed: .csv, .csv.gz, .parquet, .sav, .dta"),
        (["--out", "r.sav", "--codebook", "b.txt"], "b.txt: must be named .md"),
        (["--out", "r.sav", "--r-script", "b.txt"], "b.txt: must be named .R"),
    ],
)
def test_a_wrong_name_is_one_line_and_nothing_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str], given: list[str], said: str
) -> None:
    before = sorted(folder.iterdir())
    assert exported(*given) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert said in error
    assert sorted(folder.iterdir()) == before


def test_the_list_of_surveys_has_only_those_of_the_account(tmp_path: Path) -> None:
    studio = tried(tmp_path, records=0)
    client = studio.client(studio.account("new", Role.VIEWER, of="other"))
    listed = json.loads(client.get("/surveys.json").text)["surveys"]
    assert [one["title"] for one in listed] == ["Other"]
    studio.store.close()
