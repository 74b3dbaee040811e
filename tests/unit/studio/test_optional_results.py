"""Missing answers in the studio: results, tables and files leave them out, and say how many."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pyreadstat
import pytest

from tacit import reconstruct
from tacit.collect.store import Store
from tacit.errors import DataError
from tacit.records import count_codes
from tacit.studio.accounts import Role
from tacit.studio.disclosure import answering
from tacit.studio.group_tables import group_table
from tacit.studio.recoding import recoded
from tacit.studio.record_files import LabelledRecords, codebook, r_script
from tacit.studio.release import Release, Releases
from tacit.studio.report import survey_report
from tacit.studio.results import question_results
from tests.support.free_text_surveys import FREE, response_with
from tests.support.optional_surveys import ANALYSED, DAY, fill, stored_codes
from tests.support.studio import tried

N = 600
CODES = stored_codes(ANALYSED, N)
SIZES = np.array(ANALYSED.design.reported.sizes)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "survey.db")
    fill(made, ANALYSED, CODES)
    made.close_survey(ANALYSED.survey.fingerprint)
    return made


def test_a_release_survives_a_restart_with_its_missing_answers(
    store: Store, tmp_path: Path
) -> None:
    expected = reconstruct(count_codes(CODES, ANALYSED.design.reported), ANALYSED.design)
    for _ in range(2):  # counted, then read from the folder
        found = Releases(store, tmp_path).newest(ANALYSED)
        assert found is not None
        assert found.counts.absent is not None
        assert found.counts.n_records == N
        for name in ANALYSED.design.schema.names:
            one, other = found.reconstruction.table([name]), expected.table([name])
            np.testing.assert_allclose(one.value, other.value, rtol=0, atol=1e-12)
            assert one.n_left_out == other.n_left_out
    store.close()


def test_results_leave_out_missing_answers_and_say_how_many(store: Store, tmp_path: Path) -> None:
    release = Releases(store, tmp_path).newest(ANALYSED)
    assert release is not None
    results = {result.name: result for result in question_results(release)}
    missing = dict(zip(ANALYSED.design.reported.names, (CODES >= SIZES).sum(axis=0), strict=True))
    for name, result in results.items():
        assert result.missing == missing[name]
        reported = [one.reported for one in result.categories if one.reported is not None]
        assert sum(reported) == pytest.approx(1 if reported else 0, abs=1e-12)
    assert results["drug"].missing == 0 < results["smokes"].missing
    table = group_table(release, "smokes", ["place"])
    assert table.test is not None
    both = (CODES[:, [0, 4]] >= SIZES[[0, 4]]).any(axis=1).sum()
    assert both + 20 <= table.missing < both + 30  # and some more, at random
    assert len(table.cells) == 4
    text = survey_report(release)
    assert f"{missing['smokes']} without an answer left out." in text
    assert "could decline to answer" in text
    store.close()


def declining(n_declined: int, n: int = 600) -> Release:
    """A release in which so many people left out `smokes`."""
    codes = stored_codes(ANALYSED, n)
    codes = np.where(codes >= SIZES, 0, codes)
    codes[:n_declined, 0] = SIZES[0]
    return Release(ANALYSED, count_codes(codes, ANALYSED.design.reported))


def groups_of(release: Release, name: str) -> np.ndarray:
    """How many people of each place the table of a question has."""
    records = answering(release, ["place", name])
    return records.counts.complete(["place", name]).marginal(["place"])


def test_results_less_a_table_do_not_tell_who_declined() -> None:
    """The attack: people of each place, less those whose answers a table has.

    The control leaves out only the person who declined; the difference is then her place.
    """
    release = declining(1)
    place = release.counts.complete(["place"]).marginal(["place"])
    alone = release.counts.complete(["place", "smokes"]).marginal(["place"])
    assert sorted(place - alone) == [0, 1]
    for name in ("place", "smokes"):
        table = group_table(release, name, ["smokes" if name == "place" else "place"])
        assert table.missing > 20
    difference = place - groups_of(release, "smokes")
    assert difference.sum() > 20
    np.testing.assert_array_equal(groups_of(release, "smokes"), groups_of(release, "smokes"))
    nobody = declining(0)
    assert group_table(nobody, "smokes", ["place"]).missing == 0


def test_two_tables_tell_together_only_of_many_who_are_left_out() -> None:
    """Records that one table leaves out at random are not those that another one leaves out."""
    release = declining(30)
    first, second = (groups_of(release, name) for name in ("smokes", "income"))
    assert (second - first).sum() >= 20
    codes = stored_codes(ANALYSED, 600)
    both = Release(ANALYSED, count_codes(codes, ANALYSED.design.reported))
    sizes = {answering(both, ["place", name]).counts.n_records for name in ("smokes", "income")}
    assert len(sizes) == 2


def test_a_table_of_three_questions_needs_an_answer_of_everybody() -> None:
    release = declining(40)
    with pytest.raises(DataError, match="nobody left out"):
        group_table(release, "smokes", ["place", "drug"])
    assert group_table(release, "income", ["place", "drug"]).missing == 0


@pytest.mark.parametrize("labels", [False, True])
def test_files_have_missing_cells(labels: bool, tmp_path: Path) -> None:
    made = LabelledRecords(ANALYSED, CODES)
    absent = CODES >= SIZES
    rows = list(csv.reader(io.StringIO(made.csv(labels).decode())))[1:]
    np.testing.assert_array_equal(np.array(rows) == "", absent)
    table = pq.read_table(io.BytesIO(made.parquet(labels)))
    np.testing.assert_array_equal(
        np.stack([column.is_null().to_numpy() for column in table.columns], axis=1), absent
    )
    for kind, read in ((".sav", pyreadstat.read_sav), (".dta", pyreadstat.read_dta)):
        path = tmp_path / f"records{kind}"
        path.write_bytes(made.file(kind))
        frame, _ = read(path)
        np.testing.assert_array_equal(frame.isna().to_numpy(), absent)
        found = np.where(absent, 0, frame.to_numpy(float, na_value=0))
        np.testing.assert_array_equal(found, np.where(absent, 0, CODES + 1.0))


def test_codebook_and_script_know_missing_answers() -> None:
    text = codebook(ANALYSED, N)
    assert text.count("Optional: an empty cell") == 5, "one per attribute of an optional question"
    script = r_script(ANALYSED, "records.csv", ".csv")
    assert 'levels = c("no", "yes")' in script, "R makes an empty cell NA: it is no level"


def test_pages_and_downloads_of_a_survey_with_missing_answers(tmp_path: Path) -> None:
    studio = tried(tmp_path, records=0)
    fill(studio.store, ANALYSED, CODES)
    studio.store.close_survey(ANALYSED.survey.fingerprint)
    studio.mine = ANALYSED
    browser = studio.client(studio.account("analyst", Role.ANALYST))
    place = f"/surveys/{ANALYSED.slug}"
    assert browser.get(place).status_code == 200
    page = browser.get(f"{place}/results")
    assert page.status_code == 200
    assert "without an answer left out" in page.text
    files = ("report.html", "estimates.csv", "estimates.tex", "codebook.md")
    records = [f"records.{kind}" for kind in ("csv", "parquet", "sav", "dta")]
    for name in ("compare?row=smokes&column=place", *files, *records):
        end = f"/{name}"
        assert browser.get(place + end).status_code == 200, end
    questions = browser.get(f"{place}/estimates.json").json()["questions"]
    assert {one["name"]: one["missing"] for one in questions}["smokes"] > 0
    rows = list(csv.reader(io.StringIO(browser.get(f"{place}/records.csv").text)))[1:]
    assert sum(row[0] == "" for row in rows) == (CODES[:, 0] >= SIZES[0]).sum()
    studio.store.close()


def test_free_texts_can_be_downloaded_once_the_survey_is_closed(tmp_path: Path) -> None:
    studio = tried(tmp_path, records=0)
    studio.store.register(FREE)
    written = [f"text {n}" for n in range(3)] + ["=1+1"]
    studio.store.write([response_with(FREE, text) for text in written], DAY)
    studio.mine = FREE
    browser = studio.client(studio.account("analyst", Role.ANALYST))
    place = f"/surveys/{FREE.slug}"
    refused = browser.get(f"{place}/texts.csv")
    assert refused.status_code == 400
    assert "once the survey is closed" in refused.text
    studio.store.close_survey(FREE.survey.fingerprint)
    rows = list(csv.reader(io.StringIO(browser.get(f"{place}/texts.csv").text)))
    assert sorted(row[1] for row in rows[1:]) == sorted([*written[:3], "'=1+1"])
    studio.store.delete_survey(FREE.survey.fingerprint)
    with studio.store.database.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM texts").scalar() == 0
    studio.store.close()


def test_answers_are_merged_although_other_questions_were_left_out() -> None:
    """The test of a merged table was refused: it needed answers to all questions."""
    counts = count_codes(CODES, ANALYSED.design.reported)
    merged, design = recoded(counts, ANALYSED.design, ["drug"], {})
    assert merged.n_records == N
    assert design.schema.names == ("drug",)
    declined, _ = recoded(counts, ANALYSED.design, ["drug", "place"], {})
    assert declined.n_records == (CODES[:, 4] < SIZES[4]).sum()
