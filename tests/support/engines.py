"""Reported records put where an engine counts them: memory, files, PostgreSQL, Spark."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from tacit import Attribute, Design, Group, Schema, disguise
from tacit.core.channel import matrix, related, truthful, uniform_perturbation
from tacit.core.label_codes import decode

#: Puts a table of records somewhere, and returns what `reconstruct` takes.
Put = Callable[[pa.Table], Any]

#: Compiling costs more than it saves, and so does verifying the classes of Spark.
_JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=256m "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
_FOR_SMALL_DATA = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": f"{_JAVA} -Xms1g -Xmn512m",
    "spark.executor.extraJavaOptions": f"{_JAVA} -Xms384m -Xmn192m",
}

BINARY = Design(
    Schema([Attribute(f"q{i}", ["no", "yes"]) for i in range(8)]),
    [
        Group(["q0", "q1", "q2"], related(0.8)),
        Group(["q3", "q4", "q5"], related(0.75)),
        Group(["q6", "q7"], related(0.85)),
    ],
)
LABELLED = Design(
    Schema(
        [
            Attribute("ill", [False, True]),
            Attribute("region", ["north", 'it\'s "east"', "süd", ""]),
            Attribute("children", [0, 1, 2, 3]),
            Attribute("grade", [2, 1, 5]),
            Attribute("score", [0.5, 1.0, 2.25]),
            Attribute("smokes", ["no", "yes", "unknown"], missing="unknown"),
        ]
    ),
    [
        Group(["ill"], matrix([[0.9, 0.2], [0.1, 0.8]])),
        Group(["region", "children"], uniform_perturbation(0.7)),
        Group(["grade", "score"], uniform_perturbation(0.8)),
        Group(["smokes"], truthful()),
    ],
)
WIDE = Design(
    Schema([Attribute(f"w{i}", ["no", "yes"]) for i in range(70)]),
    [Group([f"w{i}" for i in range(70)], related(0.9))],
)


def records_of(design: Design, n: int = 3000, seed: int = 5) -> pa.Table:
    """Reported records of a population in which the answers depend on the first one."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, design.schema.sizes[0], n)
    columns = [first]
    for size in design.schema.sizes[1:]:
        free = rng.integers(0, size, n)
        columns.append(np.where(rng.random(n) < 0.5, first % size, free))
    true = np.stack(columns, axis=1).astype(np.uint8)
    return decode(disguise(true, design, rng), design.reported, "pyarrow")


def with_nulls(table: pa.Table, name: str, places: list[int]) -> pa.Table:
    """The table with some cells of a column missing."""
    return with_cells(table, name, places, None)


def with_cells(table: pa.Table, name: str, places: list[int], value: object) -> pa.Table:
    """The table with some cells of a column changed."""
    cells = table.column(name).to_pylist()
    for place in places:
        cells[place] = value
    at = table.column_names.index(name)
    return table.set_column(at, name, pa.array(cells, table.schema.field(name).type))


def put_parts(table: pa.Table, folder: Path) -> Path:
    """A directory with the records in three Parquet files."""
    folder = Path(tempfile.mkdtemp(dir=folder))
    step = -(-len(table) // 3) or 1
    for part, start in enumerate(range(0, max(len(table), 1), step)):
        pq.write_table(table.slice(start, step), folder / f"part-{part}.parquet")
    return folder


def put_in_postgres(table: pa.Table, address: str, name: str) -> str:
    """A URL of a new table with the records."""
    types = {
        pa.string(): "text",
        pa.bool_(): "boolean",
        pa.int64(): "bigint",
        pa.float64(): "double precision",
    }
    columns = ", ".join(
        '"' + field.name.replace('"', '""') + f'" {types[field.type]}' for field in table.schema
    )
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {name} ({columns})")
        with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copy.write_row(row)
    return f"{address}#{name}"


def putting_in_spark(session: Any, folder: Path) -> Put:
    """Puts tables in frames of Parquet files, each table once.

    Spark is told the types of the columns: to find them takes a job per frame.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    frames: dict[int, tuple[pa.Table, Any]] = {}

    def put(table: pa.Table) -> Any:
        if id(table) not in frames:
            reader = session.read.schema(from_arrow_schema(table.schema))
            frames[id(table)] = table, reader.parquet(str(put_parts(table, folder)))
        return frames[id(table)][1]

    return put


def has_java() -> bool:
    """Whether Spark can start."""
    return shutil.which("java") is not None


@contextmanager
def spark_session(small: bool = True) -> Iterator[Any]:
    """Spark with two executor processes that exchange data; for small data, it compiles nothing."""
    import pyspark
    from pyspark.sql import SparkSession

    folder = tempfile.mkdtemp(prefix="tacit-spark-")
    paths = [path for path in sys.path if path]
    environment = {
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_WORKER_DIR": folder,
        "SPARK_LOCAL_DIRS": folder,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    settings = {
        "spark.executor.memory": "512m",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.warehouse.dir": folder,
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(paths),
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
    }
    if small:
        settings |= _FOR_SMALL_DATA
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("tacit")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
        for name, old in before.items():
            os.environ.pop(name) if old is None else os.environ.update({name: old})
        shutil.rmtree(folder, ignore_errors=True)


class KillingOnce:
    """A table of a block; the first call, on any machine, kills the executor that it runs in."""

    def __init__(self, table: Callable[[Any], Any], mark: Path) -> None:
        self.table, self.mark = table, mark

    def __call__(self, codes: Any) -> Any:
        try:
            self.mark.touch(exist_ok=False)
        except FileExistsError:
            return self.table(codes)
        daemon = os.getppid()  # the process of Python that the executor started
        executor = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(executor, signal.SIGKILL)
        time.sleep(60)
        raise AssertionError("the executor still runs")
