"""Missing answers from the database to estimates: the same as from the exported file."""

from __future__ import annotations

import csv
import io
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacit import disguise, reconstruct
from tacit.collect.store import Response, Store, packed
from tacit.core.label_codes import with_no_answer
from tacit.errors import EngineError
from tacit.records import answers_of, count, count_codes
from tacit.regression import logit
from tacit.survey import publish
from tests.support.commands import is_one_error
from tests.support.free_text_surveys import FREE, response_with
from tests.support.optional_surveys import ANALYSED, DAY, fill, stored_codes, true_answers
from tests.support.postgres import Cluster

N = 1200
CODES = stored_codes(ANALYSED, N)
TABLES = [["smokes"], ["income", "place"], ["worries.pay", "worries.job"], ["drug", "smokes"]]


@pytest.fixture
def database(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    publish(ANALYSED.survey, "published.json")
    with closing(Store(url)) as store:
        fill(store, ANALYSED, CODES)
    return url


def same(found: Any, expected: Any) -> None:
    for names in TABLES:
        one, other = found.table(names), expected.table(names)
        np.testing.assert_allclose(one.value, other.value, rtol=0, atol=1e-12)
        np.testing.assert_allclose(one.stderr, other.stderr, rtol=0, atol=1e-12)
        assert one.n_left_out == other.n_left_out


def expected() -> Any:
    """What the library makes of a frame with missing cells."""
    true, absent = true_answers(ANALYSED, N)
    frame = pd.DataFrame(
        {
            a.name: pd.Series(np.array(a.categories, object)[true[:, i]]).mask(absent[:, i])
            for i, a in enumerate(ANALYSED.design.schema)
        }
    )
    reported = disguise(frame, ANALYSED.design, np.random.default_rng(1))
    return reconstruct(reported, ANALYSED.design)


def test_the_store_returns_missing_answers_as_missing(url: str) -> None:
    with closing(Store(url)) as store:
        fill(store, ANALYSED, CODES)
        found = store.codes(ANALYSED.survey.fingerprint)
    assert sorted(map(tuple, found)) == sorted(map(tuple, CODES))
    same(
        reconstruct(count_codes(found, ANALYSED.design.reported), ANALYSED.design),
        expected(),
    )


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_an_export_has_empty_cells_and_gives_the_estimates_of_the_database(
    database: str, tacit: Callable[..., Any], kind: str
) -> None:
    out = f"reported.{kind}"
    given = ("survey", "export", "published.json", "--database", database, "--out", out)
    status, said, _ = tacit(*given)
    assert (status, said) == (0, f"wrote {out}: 1,200 records\n")
    found = reconstruct(out, ANALYSED.design)
    assert found.patterns.absent is not None
    same(found, expected())
    for table in ("smokes", "income,place"):
        asked = ("--table", table, "--format", "json")
        ran = [
            tacit("estimate", "published.json", *source, *asked)
            for source in ([out], ["--database", database])
        ]
        assert ran[0] == ran[1]
        assert '"n_left_out": ' in ran[0][1]


def test_the_database_engine_and_a_count_file_give_the_same(
    cluster: Cluster, tacit: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    publish(ANALYSED.survey, "published.json")
    address = cluster.url()
    with closing(Store(address)) as store:
        fill(store, ANALYSED, CODES)
    same(reconstruct(address, ANALYSED.design), expected())
    plain = logit("smokes ~ place", count_codes(CODES, ANALYSED.design.reported), ANALYSED.design)
    for data in (address, "all.counts"):
        if data != address:
            out = ("--out", data)
            assert tacit("count", "published.json", "--database", address, *out)[0] == 0
        found = logit("smokes ~ place", data, ANALYSED.design)
        np.testing.assert_allclose(found.params, plain.params, atol=1e-8)
        assert found.n_left_out == plain.n_left_out > 0
    same(reconstruct("all.counts", ANALYSED.design), expected())


def test_a_damaged_code_is_not_taken_for_a_missing_answer(cluster: Cluster) -> None:
    address = cluster.url()
    with closing(Store(address)) as store:
        fill(store, ANALYSED, CODES[:20])
        row = [9, *map(int, CODES[0][1:])]
        fingerprint = ANALYSED.survey.fingerprint
        store.write([Response(fingerprint, b"0" * 16, packed(row, ANALYSED.stored))], DAY)
    with pytest.raises(EngineError, match="a code is not a category"):
        reconstruct(address, ANALYSED.design)


def test_count_files_with_and_without_missing_answers_can_be_merged(
    tacit: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    publish(ANALYSED.survey, "published.json")
    missing = (np.array(ANALYSED.design.reported.sizes) <= CODES).any(axis=1)
    for name, codes in (("all", CODES), ("whole", CODES[~missing]), ("gaps", CODES[missing])):
        with closing(Store(tmp_path / f"{name}.db")) as store:
            fill(store, ANALYSED, codes)
        given = ("--database", f"{name}.db", "--out", f"{name}.counts")
        assert tacit("count", "published.json", *given)[0] == 0
    for files in (("whole.counts", "gaps.counts"), ("gaps.counts", "whole.counts")):
        assert tacit("merge", *files, "--out", "both.counts")[0] == 0
        same(reconstruct("both.counts", ANALYSED.design), expected())
    asked = ("--table", "smokes", "--format", "json")
    one, other = (
        tacit("estimate", "published.json", f, *asked) for f in ("all.counts", "both.counts")
    )
    assert one == other


def test_counts_with_an_unused_category_for_missing_answers_are_complete() -> None:
    """Such as those of a day on which everybody answered."""
    missing = (np.array(ANALYSED.design.reported.sizes) <= CODES).any(axis=1)
    wide = count(CODES[~missing], with_no_answer(ANALYSED.design.reported))
    found = answers_of(wide, ANALYSED.design.reported)
    assert found.absent is None
    assert found.n_records == (~missing).sum()


def test_a_miner_that_needs_complete_records_says_so(
    database: str, tacit: Callable[..., Any]
) -> None:
    given = ("--database", database, "--target", "smokes", "--out", "model.json")
    is_one_error(
        tacit("mine", "tree", "published.json", *given), "this needs complete records: leave out"
    )


def test_a_report_says_how_many_answers_are_missing(
    database: str, tacit: Callable[..., Any]
) -> None:
    given = ("--database", database, "--out", "report.html")
    assert tacit("report", "published.json", *given)[0] == 0
    text = Path("report.html").read_text(encoding="utf-8")
    left_out = expected().table(["smokes"]).n_left_out
    assert f"{left_out} without an answer left out." in text
    assert "could decline to answer" in text


def test_free_texts_are_exported_apart_and_no_cell_is_a_formula(
    url: str, tacit: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    publish(FREE.survey, "published.json")
    written = ["=1+1", "two\nlines, and a comma", "<b>😀</b>", ""]
    with closing(Store(url)) as store:
        store.register(FREE)
        store.write([response_with(FREE, text) for text in written], DAY)
    given = ("survey", "export", "published.json", "--database", url, "--out", "reported.csv")
    status, said, _ = tacit(*given, "--texts", "texts.csv")
    assert (status, said) == (0, "wrote reported.csv: 4 records\nwrote texts.csv: 3 texts\n")
    assert stat.S_IMODE(Path("texts.csv").stat().st_mode) == 0o600
    content = Path("texts.csv").read_bytes().decode()
    rows = list(csv.reader(io.StringIO(content, newline="")))
    assert rows[0] == ["question", "text"]
    assert sorted(rows[1:]) == sorted(["more", text] for text in ("'=1+1", *written[1:3]))
    assert Path("reported.csv").read_text().splitlines()[0] == "a,b"
    is_one_error(tacit(*given, "--texts", "texts.txt"), "texts.txt: must be named .csv")
    is_one_error(tacit(*given, "--texts", "reported.csv"), "is the file that is read")


def test_a_survey_without_free_texts_has_none_to_export(
    database: str, tacit: Callable[..., Any]
) -> None:
    given = ("survey", "export", "published.json", "--database", database, "--out", "reported.csv")
    is_one_error(tacit(*given, "--texts", "texts.csv"), "the survey has no free texts")
    assert not Path("reported.csv").exists()


def test_a_check_says_what_is_not_disguised(
    tacit: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("survey.json").write_text(FREE.survey.to_json(), encoding="utf-8")
    status, said, _ = tacit("survey", "check", "survey.json")
    assert status == 0
    told = " ".join(said.split())
    assert "optional: b. Missing answers are visible, not disguised" in told
    assert "free texts: more, __proto__. They are not disguised" in told
