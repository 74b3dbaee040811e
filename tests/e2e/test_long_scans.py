"""Long scans in real processes: Ctrl-C, kills, a full disk, a memory limit, progress."""

from __future__ import annotations

import math
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit import Attribute, Design, Group, Schema, related
from tacit.records import count_reported, engines, queries
from tacit.records.duckdb_engine import DuckDBFiles
from tests.support.engines import BINARY, put_in_postgres, records_of

if TYPE_CHECKING:
    from tests.support.postgres import Cluster

pytestmark = pytest.mark.slow

#: The names of a file that make a scan long, at the cost of one file.
LINKS = 400
SCHEMA = Schema([Attribute(f"q{i}", ["no", "yes"]) for i in range(4)])
DESIGN = Design(SCHEMA, [Group(list(SCHEMA.names), related(0.8))])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a design; temporary files go below it. A program in the background may
    ignore Ctrl-C, and its children would too."""
    monkeypatch.chdir(tmp_path)
    Path("temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    Path("design.json").write_text(DESIGN.to_json())
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield tmp_path
    signal.signal(signal.SIGINT, before)


def long_records(n: int = 1_000_000, links: int = LINKS) -> Path:
    """A folder of files that share their bytes."""
    parts = Path("parts")
    parts.mkdir()
    codes = np.random.default_rng(1).integers(0, 2, (4, n)).astype(np.int8)
    labels = pa.array(["no", "yes"])
    table = {f"q{i}": pa.DictionaryArray.from_arrays(own, labels) for i, own in enumerate(codes)}
    pq.write_table(pa.table(table), parts / "part-0.parquet")
    for number in range(1, links):
        (parts / f"part-{number}.parquet").hardlink_to(parts / "part-0.parquet")
    return parts


def stopped(
    arguments: list[str], started: Callable[[], bool], number: signal.Signals, **options: Any
) -> tuple[int, str]:
    """Run a command, send a signal once it has started its work; its status and errors."""
    command = [sys.executable, "-m", "tacit", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options) as process:
        while not started() and process.poll() is None:
            time.sleep(0.01)
        time.sleep(0.2)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    return process.returncode, said


def duckdb_works() -> bool:
    return any(Path("temporary").glob("tacit-duckdb-*"))


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [(signal.SIGINT, 130, ["interrupted"]), (signal.SIGTERM, 143, [])],
)
def test_a_scan_by_duckdb_is_interrupted_and_leaves_nothing(
    number: signal.Signals, status: int, said: list[str]
) -> None:
    arguments = ["count", "design.json", str(long_records()), "--out", "all.counts"]
    found, errors = stopped(arguments, duckdb_works, number)
    assert (found, errors.split()) == (status, said)
    assert not list(Path("temporary").iterdir())
    assert sorted(os.listdir()) == ["design.json", "parts", "temporary"]


def test_a_query_of_postgresql_is_cancelled_in_the_server(cluster: Cluster) -> None:
    address = cluster.url()
    put_in_postgres(records_of(BINARY), address, "records")
    Path("binary.json").write_text(BINARY.to_json())
    with psycopg.connect(address, autocommit=True) as connection:
        names = ", ".join(BINARY.schema.names)
        connection.execute(
            f"CREATE VIEW slow AS SELECT {names} FROM records WHERE pg_sleep(.05) IS NOT NULL"
        )

        def active() -> bool:
            sql = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
            return connection.execute(sql).fetchone() is not None

        arguments = ["count", "binary.json", "--database", f"{address}#slow", "--out", "a.counts"]
        status, errors = stopped(arguments, active, signal.SIGINT)
        assert (status, errors.split()) == (130, ["interrupted"])
        assert not active()
    assert not Path("a.counts").exists()


def part_files() -> list[str]:
    return [path.name for path in Path("out").iterdir() if path.name.endswith(".part")]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_disguise_that_is_stopped_leaves_the_old_result(
    number: signal.Signals, status: int
) -> None:
    parts, out = long_records(), Path("out/reported.parquet")
    out.parent.mkdir()
    out.write_text("old")
    arguments = ["disguise", "design.json", str(parts), "--out", str(out)]
    found, errors = stopped(arguments, lambda: bool(part_files()), number)
    assert found == status
    assert "Traceback" not in errors
    assert out.read_text() == "old"
    assert len(part_files()) == (number == signal.SIGKILL)  # hidden, and never taken for a result


def test_a_full_disk_is_one_error_and_leaves_nothing() -> None:
    parts = long_records(links=1)
    Path("out").mkdir()

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    command = [sys.executable, "-m", "tacit", "disguise", "design.json", str(parts)]
    ran = subprocess.run(
        [*command, "--out", "out/reported.parquet"],
        preexec_fn=little_room,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert ran.stderr.startswith("error: out/reported.parquet: cannot be written: ")
    assert ran.stderr.count("\n") == 1
    assert not list(Path("out").iterdir())


# Memory ---------------------------------------------------------------------------------------

#: Runs a command and prints its peak resident memory in MB.
PEAK = """
import re, sys
from pathlib import Path
from tacit.cli.main import run
status = run(sys.argv[1:])
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print("peak", int(peak[1]) // 1000)
sys.exit(status)
"""


def peak_of(*arguments: str) -> tuple[int, str, int]:
    """The status of a command, its errors and its peak of resident memory in MB."""
    ran = subprocess.run(
        [sys.executable, "-c", PEAK, *arguments], capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stderr, int(ran.stdout.split()[-1]) if "peak" in ran.stdout else 0


def distinct_records(n: int, width: int) -> None:
    """A file of records that hardly repeat, and their design."""
    schema = Schema([Attribute(f"w{i}", [0, 1]) for i in range(width)])
    design = Design(schema, [Group(list(schema.names), related(0.8))])
    Path("wide.json").write_text(design.to_json())
    codes = np.random.default_rng(2).integers(0, 2, (width, n)).astype(np.int8)
    pq.write_table(pa.table(dict(zip(schema.names, codes, strict=True))), "wide.parquet")


def test_a_count_that_needs_more_memory_than_allowed_is_one_error() -> None:
    distinct_records(700_000, 60)
    arguments = ("count", "wide.json", "wide.parquet", "--out", "wide.counts")
    status, errors, _ = peak_of(*arguments)
    assert status == 0, errors
    Path("wide.counts").unlink()
    status, errors, peak = peak_of(*arguments, "--memory", "200MB")
    assert status == 2
    assert errors == (
        "error: needs more than 200 MB of memory, which is the limit; give more, or ask for fewer "
        "attributes\n"
    )
    assert peak < 1.25 * 200
    assert not Path("wide.counts").exists()
    assert not list(Path("temporary").iterdir())


def test_a_disguise_stays_within_the_memory_allowed() -> None:
    distinct_records(400_000, 40)
    arguments = ("disguise", "wide.json", "wide.parquet", "--seed", "3", "--out")
    status, errors, peak = peak_of(*arguments, "free.parquet")
    assert (status, peak > 240) == (0, True), errors  # it takes more if it may
    status, errors, peak = peak_of(*arguments, "limited.parquet", "--memory", "240MB")
    assert (status, peak <= 240) == (0, True), errors
    assert pq.read_table("free.parquet").equals(pq.read_table("limited.parquet"))


@pytest.mark.parametrize(
    ("amount", "said"), [("9MB", "is too low"), ("lots", "is no amount of memory")]
)
def test_a_limit_that_cannot_be_is_one_error(amount: str, said: str) -> None:
    status, errors, _ = peak_of("estimate", "design.json", "none.parquet", "--memory", amount)
    assert (status, errors.count("\n")) == (2, 1)
    assert said in errors


# Progress -------------------------------------------------------------------------------------


def test_duckdb_tells_how_much_of_a_scan_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "PERIOD", 0.001)
    told: list[float] = []
    DuckDBFiles(sorted(long_records(links=10).iterdir()), SCHEMA).telling(told.append).patterns()
    known = [share for share in told if not math.isnan(share)]
    assert known == sorted(known)
    assert 0 < max(known) <= 1


def test_postgresql_tells_that_it_works_but_not_how_much(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "PERIOD", 0.001)
    told: list[float] = []
    url = put_in_postgres(records_of(BINARY), cluster.url(), "records")
    engines.engine_of(url, BINARY.reported).telling(told.append).patterns()
    assert told
    assert all(map(math.isnan, told))
    assert count_reported(url, BINARY).n_records == 3000
