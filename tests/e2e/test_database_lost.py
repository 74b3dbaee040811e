"""The database file is taken away, replaced or cannot grow while the server runs.

Whatever happens to it, no response is acknowledged that is not in the file at that path, readiness
says so, and a line is logged.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

import pytest

from tacit.cli.main import run
from tacit.collect.store import Store
from tacit.collect.store.values import enough_to_erase
from tests.support.published import published
from tests.support.serving import SECONDS, Served, serving
from tests.support.stages import Stages, stages

SURVEY = published()
ENOUGH = 40

pytestmark = pytest.mark.slow


def _events(served: Served) -> list[str]:
    """What was logged of the database being there or not."""
    events = [json.loads(line)["event"] for line in served.log]
    return [event for event in events if event in ("database-gone", "database-back")]


def _until_logged(served: Served, event: str) -> None:
    until = time.monotonic() + SECONDS
    while event not in _events(served):
        assert time.monotonic() < until, "".join(served.log)
        time.sleep(0.05)


def _stored(database: Path) -> Counter[int]:
    store = Store(database, must_exist=True)
    found = Counter(map(int, store.codes(SURVEY.survey.fingerprint)[:, 1]))
    store.close()
    return found


def _files(database: Path) -> list[Path]:
    return [path for end in ("", "-wal", "-shm") if (path := Path(f"{database}{end}")).exists()]


def _deleted(database: Path) -> None:
    for path in _files(database):
        path.unlink()


def _log_deleted(database: Path) -> None:
    Path(f"{database}-wal").unlink()


def _moved(database: Path) -> None:
    database.parent.rename(database.parent.with_name("elsewhere"))


def _replaced(database: Path) -> None:
    """By a backup, as `mv` does it."""
    assert run(["backup", f"--database={database}", f"--out={database}.copy"]) == 0
    os.replace(f"{database}.copy", database)


def _copied_over(database: Path) -> None:
    """By an earlier copy, as `cp` does it: the file stays the same, its content does not."""
    shutil.copyfile(f"{database}.early", database)


def _truncated(database: Path) -> None:
    os.truncate(database, 0)


#: While SQLite itself writes to the file, the change cannot be seen: decision 0019.
OVERWRITES = (_copied_over, _truncated)


@contextmanager
def _at_rest(work: Stages) -> Iterator[None]:
    """No request is under way, no order is due to be erased, and the log is empty."""
    database = work.served.database
    until = time.monotonic() + SECONDS
    with work.paused():
        while _order_is_due(database) or Path(f"{database}-wal").stat().st_size:
            assert time.monotonic() < until
            time.sleep(0.05)
        time.sleep(0.5)  # the server notes what the file looks like now
        yield


def _order_is_due(database: Path) -> bool:
    """Whether the server is about to rewrite the file, to erase the order of arrival."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        counts = connection.execute("SELECT records, settled FROM surveys").fetchall()
    return any(records - settled >= enough_to_erase(records) for records, settled in counts)


@pytest.mark.parametrize(
    "lose", [_deleted, _log_deleted, _moved, _replaced, _copied_over, _truncated]
)
def test_nothing_is_acknowledged_once_the_database_file_is_lost(
    tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    with serving(folder, [SURVEY], "--rate", "off", "--log", "json") as served:
        shutil.copyfile(served.database, f"{served.database}.early")
        with stages(served, SURVEY) as work:
            work.until("answers", 201, ENOUGH)
            with _at_rest(work) if lose in OVERWRITES else nullcontext():
                lose(served.database)
                work.stage = "gone"
            work.until("ready", 503)
            work.until("answers", 503, ENOUGH)
        assert work.answers["gone"].keys() == {503}
        _until_logged(served, "database-gone")
        assert _events(served) == ["database-gone"]
        if lose not in OVERWRITES:  # SQLite itself may notice these first
            assert "while it was open; put the files back" in "".join(served.log)
        if lose is _deleted:
            assert not served.database.exists(), "no empty database may take its place"
        assert served.stop() == 0


def test_a_database_that_is_put_back_takes_responses_again_and_has_lost_none(
    tmp_path: Path,
) -> None:
    folder, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    folder.mkdir()
    with serving(folder, [SURVEY], "--rate", "off", "--log", "json") as served:
        with stages(served, SURVEY) as work:
            work.until("answers", 201, ENOUGH)
            folder.rename(elsewhere)
            work.stage = "gone"
            work.until("answers", 503, ENOUGH)
            elsewhere.rename(folder)
            work.stage = "back"
            work.until("answers", 201, ENOUGH)
            work.until("ready", 200)
        assert work.answers["gone"].keys() <= {503}
        assert served.stop() == 0
    _check(served, work)


@contextmanager
def _limited(served: Served, size: int) -> Iterator[None]:
    """No file of the server may grow over a size: what a full disk does, on any machine."""
    none = resource.RLIM_INFINITY
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (size, none))
    yield
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (none, none))


@pytest.mark.parametrize("room", [0, 12 << 10, 48 << 10])
def test_a_full_disk_is_never_called_ready_and_the_server_recovers_by_itself(
    tmp_path: Path, room: int
) -> None:
    """Also if there is room for a small write: recovery is proven by one as large as failed."""
    with serving(tmp_path, [SURVEY], "--rate", "off", "--log", "json") as served:
        with stages(served, SURVEY) as work:
            work.until("answers", 201, ENOUGH)
            with _limited(served, served.database.stat().st_size + room):
                work.until("answers", 503)
                work.stage = "full"
                work.until("ready", 503, ENOUGH)
                work.until("answers", 503, ENOUGH)
            work.stage = "back"
            work.until("ready", 200)
            work.until("answers", 201, ENOUGH)
            _until_logged(served, "database-back")
        assert work.answers["full"].keys() == {503}
        assert work.ready["full"].keys() == {503}
        assert served.stop() == 0
    assert _events(served) == ["database-gone", "database-back"]
    _check(served, work)


def _check(served: Served, work: Stages) -> None:
    """Everything acknowledged is stored; what was refused may be, if it was written in part."""
    assert not Counter(work.acknowledged) - _stored(served.database)
