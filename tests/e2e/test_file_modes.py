"""Files with what single people reported can be read by their owner only."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from tacit.collect.store import Store
from tacit.survey import publish
from tests.support.commands import Ran
from tests.support.studio import reports, send, survey

MINE = survey()
INVITED = survey("Invited", access="invited")
_STORE = ("mine.json", "--database", "survey.db")
_LINKS = ("--database", "survey.db", "--base-url", "https://survey.example.org")
_RECORDS = ("mine.json", "reported.csv")

#: What a command writes: its arguments without the file, and the suffix of the file.
PRIVATE = {
    "records": (("survey", "export", *_STORE), ".csv"),
    "zipped records": (("survey", "export", *_STORE), ".csv.gz"),
    "records in columns": (("survey", "export", *_STORE), ".parquet"),
    "labelled records": (("survey", "export", *_STORE, "--labels"), ".csv"),
    "records for SPSS": (("survey", "export", *_STORE), ".sav"),
    "records for Stata": (("survey", "export", *_STORE), ".dta"),
    "links": (("survey", "invite", "invited.json", "3", *_LINKS), ".csv"),
    "backup": (("backup", "--database", "survey.db"), ".db"),
    "report": (("report", *_STORE), ".html"),
    "printed report": (("report", *_STORE), ".pdf"),
    "disguised records": (("disguise", "mine.json", "true.csv"), ".csv"),
    "scrambled numbers": (
        ("numbers", "scramble", "cards.json", "true.csv", "--column", "n"),
        ".csv",
    ),
    "counts": (("count", *_RECORDS), ".counts"),
    "merged counts": (("merge", "one.counts"), ".counts"),
    "naive Bayes": (("mine", "nb", *_RECORDS, "--target", "site"), ".json"),
    "tree": (("mine", "tree", *_RECORDS, "--target", "site"), ".json"),
    "forest": (("mine", "forest", *_RECORDS, "--target", "site", "--trees", "2"), ".json"),
    "rules": (("mine", "rules", *_RECORDS, "--min-support", "0.1"), ".json"),
    "table of rules": (("mine", "rules", *_RECORDS, "--min-support", "0.1"), ".csv"),
    "clusters": (("mine", "clusters", *_RECORDS, "--classes", "1"), ".json"),
    "joint": (("mine", "joint", *_RECORDS), ".json"),
    "predictions": (("predict", "nb.json", "true.csv"), ".csv"),
}
#: For everybody who may read the folder, unless the umask says otherwise.
SHARED = {
    "estimates": (("estimate", *_RECORDS, "--table", "site"), ".csv"),
    "privacy": (("privacy", "mine.json"), ".csv"),
    "plan": (("plan", "mine.json", "--respondents", "1000"), ".csv"),
    "scrambling": (("numbers", "new", "additive", "--noise=-1,1"), ".json"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a survey, its records, true records, and a model."""
    from tacit.cli.main import run

    folder = tmp_path_factory.mktemp("files")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        publish(MINE.survey, "mine.json")
        publish(INVITED.survey, "invited.json")
        store = Store("survey.db")
        store.register(MINE)
        store.register(INVITED)
        send(store, MINE, reports(MINE, 400))
        store.close()
        rng = np.random.default_rng(1)
        true = {a.name: rng.choice([str(c) for c in a.categories], 50) for a in MINE.design.schema}
        pa_csv.write_csv(pa.table({**true, "n": np.arange(50)}), "true.csv")
        for command in (
            ("survey", "export", *_STORE, "--out", "reported.csv"),
            ("count", *_RECORDS, "--out", "one.counts"),
            ("mine", "nb", *_RECORDS, "--target", "site", "--out", "nb.json"),
            ("numbers", "new", "additive", "--noise=-1,1", "--out", "cards.json"),
        ):
            assert run([*command]) == 0, command
    return folder


@pytest.fixture(autouse=True)
def generous_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def written(
    tacit: Callable[..., Ran], arguments: tuple[str, ...], path: Path, before: int | None
) -> int:
    """The mode of a file after a command has written it, over one with a mode if there is one."""
    if before is not None:
        path.write_text("")
        path.chmod(before)
    ran = tacit(*arguments, "--out", path)
    assert ran.status == 0, ran.err
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("what", PRIVATE)
def test_nobody_else_can_read_what_people_reported(
    what: str,
    tacit: Callable[..., Ran],
    files: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(files)
    arguments, suffix = PRIVATE[what]
    assert written(tacit, arguments, tmp_path / f"new{suffix}", None) == 0o600
    if what not in ("links", "backup"):  # which are never written over a file
        assert written(tacit, arguments, tmp_path / f"old{suffix}", 0o666) == 0o600


@pytest.mark.parametrize("what", SHARED)
def test_other_files_follow_the_umask_and_stay_as_private_as_they_were(
    what: str,
    tacit: Callable[..., Ran],
    files: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(files)
    arguments, suffix = SHARED[what]
    assert written(tacit, arguments, tmp_path / f"new{suffix}", None) == 0o666
    assert written(tacit, arguments, tmp_path / f"old{suffix}", 0o640) == 0o640
    os.umask(0o027)
    assert written(tacit, arguments, tmp_path / f"narrow{suffix}", None) == 0o640
