"""`tacit survey invite | close | export` and `tacit backup`, as a user runs them."""

from __future__ import annotations

import csv
import re
import resource
import sqlite3
import stat
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tacit.collect.store import Outcome, Store, SurveyState
from tacit.errors import FileError
from tacit.survey import Published, publish
from tests.support.postgres import Cluster
from tests.support.published import published, response, responses

INVITED = published(access="invited")
OPEN = published()
BASE = "https://survey.example.org"
NO_DATABASE = "there is no such database; tacit serve creates it for a published survey"
#: Bytes that a file may have: enough to open a database, too few for a copy of it.
_ROOM = 1 << 16


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    publish(INVITED.survey, "published.json")
    publish(OPEN.survey, "open.json")
    return tmp_path


def _invite(tacit: Any, url: str, n: int = 3, out: str = "links.csv") -> tuple[int, str, str]:
    given = ("--database", url, "--base-url", f"{BASE}/", "--out", out)
    result: tuple[int, str, str] = tacit("survey", "invite", "published.json", str(n), *given)
    return result


def _tokens(out: str = "links.csv") -> list[str]:
    with open(out, newline="", encoding="utf-8") as file:
        return [row["link"].partition("#")[2] for row in csv.DictReader(file)]


def _filled(url: str, survey: Published, n: int) -> None:
    store = Store(url)
    store.register(survey)
    store.write([response(survey, number) for number in range(n)], date(2027, 1, 1))
    store.close()


def test_every_link_works_once_and_is_shown_once(tacit: Any, url: str) -> None:
    status, out, err = _invite(tacit, url)
    assert (status, out, err) == (0, "wrote links.csv: 3 one-time links\n", "")
    slug = INVITED.slug
    lines = Path("links.csv").read_text().splitlines()
    assert all(re.fullmatch(rf"{BASE}/s/{slug}/#[\w-]{{22}}", line) for line in lines[1:])
    assert stat.S_IMODE(Path("links.csv").stat().st_mode) == 0o600
    store = Store(url)
    batch = list(responses(INVITED, _tokens()))
    assert store.write(batch, date(2027, 1, 1)) == [Outcome.STORED] * 3
    assert store.state(INVITED.survey.fingerprint) == SurveyState(True, 3, 3, 0)
    store.close()


def test_links_are_never_written_over_a_file(tacit: Any, url: str) -> None:
    _invite(tacit, url)
    before = Path("links.csv").read_bytes()
    status, _, err = _invite(tacit, url)
    assert (status, err) == (2, "error: links.csv: already exists; write to another file\n")
    assert Path("links.csv").read_bytes() == before


def test_links_that_could_not_be_written_are_taken_back(
    tacit: Any, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise FileError("links.csv: cannot be written: No space left on device")

    monkeypatch.setattr("tacit.records.files.write_text", full)
    assert _invite(tacit, url)[0] == 2
    store = Store(url)
    assert store.state(INVITED.survey.fingerprint) == SurveyState(True, 0, 0, 0)
    store.close()


@pytest.mark.parametrize("base", ["survey.example.org", "ftp://x", "https://", "https://a/?b=1"])
def test_a_base_url_that_is_none_is_refused_before_anything_is_made(tacit: Any, base: str) -> None:
    given = ("--database", "x.db", "--base-url", base, "--out", "links.csv")
    status, _, err = tacit("survey", "invite", "published.json", "3", *given)
    assert status == 2
    assert "must be an address such as https://survey.example.org" in err
    assert not Path("x.db").exists()


def test_an_open_survey_has_no_links(tacit: Any) -> None:
    given = ("--database", "x.db", "--base-url", BASE, "--out", "links.csv")
    status, _, err = tacit("survey", "invite", "open.json", "3", *given)
    assert status == 2
    assert "the survey is open to anyone" in err


def test_a_closed_survey_takes_nothing_more(tacit: Any, url: str) -> None:
    _filled(url, OPEN, 5)
    assert tacit("survey", "close", "open.json", "--database", url) == (
        0,
        "closed: 5 records\n",
        "",
    )
    store = Store(url)
    assert store.write([response(OPEN)], date(2027, 1, 1)) == [Outcome.CLOSED]
    store.close()


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_an_export_and_the_published_survey_give_estimates(
    tacit: Any, url: str, suffix: str
) -> None:
    _filled(url, OPEN, 400)
    out = f"reported.{suffix}"
    status, said, note = tacit("survey", "export", "open.json", "--database", url, "--out", out)
    assert (status, said) == (0, f"wrote {out}: 400 records\n")
    assert "the survey is open" in note
    status, said, _ = tacit("estimate", "open.json", out, "--table", "smokes")
    assert status == 0
    assert "from 400 reported records" in said


def test_an_export_has_labels_only_and_an_order_that_reveals_nothing(tacit: Any, url: str) -> None:
    _filled(url, OPEN, 300)
    tacit("survey", "close", "open.json", "--database", url)
    status, _, note = tacit(
        "survey", "export", "open.json", "--database", url, "--out", "r.parquet"
    )
    assert (status, note) == (0, "")
    table = pq.read_table("r.parquet")
    assert table.column_names == ["smokes", "number"]
    numbers = [int(label[1:]) for label in table.column("number").to_pylist()]
    assert sorted(numbers) == list(range(300))
    assert numbers != sorted(numbers)


@pytest.mark.parametrize("command", ["close", "export"])
def test_a_database_or_survey_that_does_not_exist_is_an_error(tacit: Any, command: str) -> None:
    out = ("--out", "r.csv") if command == "export" else ()
    status, _, err = tacit("survey", command, "open.json", "--database", "x.db", *out)
    assert (status, err) == (2, f"error: x.db: {NO_DATABASE}\n")
    assert not Path("x.db").exists()
    _filled("x.db", INVITED, 0)
    status, _, err = tacit("survey", command, "open.json", "--database", "x.db", *out)
    assert status == 2
    assert "has no survey with the fingerprint" in err


def test_a_database_is_for_its_owner_only(tacit: Any) -> None:
    _filled("x.db", OPEN, 1)
    assert stat.S_IMODE(Path("x.db").stat().st_mode) == 0o600


def test_a_backup_of_a_live_database_is_a_database(tacit: Any, url: str) -> None:
    live = Store(url)
    live.register(OPEN)
    live.write([response(OPEN, number) for number in range(500)], date(2027, 1, 1))
    assert tacit("backup", "--database", url, "--out", "b.db") == (0, "wrote b.db\n", "")
    live.write([response(OPEN, 999)], date(2027, 1, 1))
    copy = Store("b.db")
    fingerprint = OPEN.survey.fingerprint
    assert copy.published() == (OPEN,)
    assert sorted(copy.codes(fingerprint)[:, 1]) == list(range(500))
    assert copy.write([response(OPEN, 998)], date(2027, 1, 1)) == [Outcome.STORED]
    assert live.state(fingerprint).records == copy.state(fingerprint).records == 501
    assert stat.S_IMODE(Path("b.db").stat().st_mode) == 0o600
    connection = sqlite3.connect("b.db")
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    copy.close()
    live.close()


def test_a_backup_can_be_copied_back_to_postgresql(tacit: Any, cluster: Cluster) -> None:
    old, new = cluster.url(), cluster.url()
    _filled(old, OPEN, 300)
    _invite(tacit, old, 20)
    assert tacit("backup", "--database", old, "--out", "b.db")[0] == 0
    status, out, _ = tacit("backup", "--database", "b.db", "--out", new)
    assert (status, out) == (0, "wrote postgresql://...\n")
    before, after = Store(old), Store(new)
    for survey in (OPEN, INVITED):
        fingerprint = survey.survey.fingerprint
        assert before.state(fingerprint) == after.state(fingerprint)
        assert np.array_equal(before.codes(fingerprint), after.codes(fingerprint))
    after.register(published(title="Another"))  # numbers go on where they were
    assert len(after.published()) == 3
    status, _, err = tacit("backup", "--database", "b.db", "--out", new)
    assert status == 2
    assert "is not empty" in err
    before.close()
    after.close()


def test_a_backup_overwrites_nothing_and_leaves_no_part(tacit: Any, folder: Path) -> None:
    _filled("x.db", OPEN, 1)
    status, _, err = tacit("backup", "--database", "x.db", "--out", "x.db")
    assert (status, err) == (2, "error: x.db: already exists; a backup never overwrites a file\n")
    assert tacit("backup", "--database", "x.db", "--out", "missing/b.db")[0] == 2
    assert not [path for path in folder.iterdir() if ".part" in path.name]


def test_a_backup_that_finds_no_room_is_one_error_and_no_file(url: str, folder: Path) -> None:
    _filled(url, OPEN, 500)
    there = set(folder.iterdir())
    done = subprocess.run(
        [sys.executable, "-m", "tacit", "backup", "--database", url, "--out", "b.db"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (_ROOM, _ROOM)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert re.fullmatch(r"error: b\.db: .*(full|disk I/O error)\n", done.stderr)
    assert set(folder.iterdir()) <= there


def test_the_variable_of_the_service_names_the_database_too(
    tacit: Any, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _filled(url, OPEN, 2)
    monkeypatch.setenv("TACIT_DATABASE", url)
    links = ("--base-url", BASE, "--out", "links.csv")
    assert tacit("survey", "invite", "published.json", "1", *links)[0] == 0
    assert tacit("survey", "close", "open.json") == (0, "closed: 2 records\n", "")
    assert tacit("survey", "export", "open.json", "--out", "r.csv")[0] == 0
    assert tacit("backup", "--out", "b.db") == (0, "wrote b.db\n", "")
    status, _, err = tacit("survey", "close", "open.json", "--database", "none.db")  # a flag wins
    assert (status, err) == (2, f"error: none.db: {NO_DATABASE}\n")


def test_a_published_survey_that_was_changed_is_no_design(tacit: Any) -> None:
    changed = Path("open.json").read_text().replace('"theta": "5/6"', '"theta": "4/6"')
    Path("open.json").write_text(changed)
    status, _, err = tacit("design", "check", "open.json")
    assert status == 2
    assert "changed since it was published" in err


def test_a_database_is_counted_again_and_not_added_to_its_own_counts(tacit: Any, url: str) -> None:
    """Records have no order, so new ones cannot be told from those that were counted."""
    _filled(url, OPEN, 3)
    count = ("count", "open.json", "--database", url, "--out", "a.counts")
    assert "3 records" in tacit(*count)[1]
    _filled(url, OPEN, 5)
    status, out, err = tacit(*count, "--add", "a.counts")
    assert (status, out) == (2, "")
    assert "count all again, without --add" in err
    assert "8 records" in tacit(*count)[1]
