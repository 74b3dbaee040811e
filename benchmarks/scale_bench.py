"""`make bench-scale`: engines on data larger than memory should need; CPU time and peak memory.

python -m benchmarks.scale_bench [--records 10000000] [--folder build/scale] [--work NAME] [--spark]

Each piece of work runs in a process of its own, so that peak memory is its own. Files are made once
and kept in the folder; delete it when you are done.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tacit import Attribute, Design, Group, Schema
from tacit.core.channel import related

CHUNK = 1_000_000
_UNQUOTED = pa_csv.WriteOptions(quoting_style="none")
PER_FILE = 10_000_000
BINARY = Design(
    Schema([Attribute(f"a{i}", [0, 1]) for i in range(17)]),
    [Group([f"a{i}" for i in range(j, min(j + 6, 17))], related(0.9)) for j in (0, 6, 12)],
)
SIZES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 2, 3)
LABELS = Schema(
    [Attribute(f"c{i}", [f"category {j}" for j in range(k)]) for i, k in enumerate(SIZES)]
)


def binary_chunk(rng: np.random.Generator, n: int) -> Any:
    """Answers that depend on the first one."""
    first = rng.random(n, np.float32) < 0.4
    columns = {"a0": first}
    for place in range(1, 17):
        follows = rng.random(n, np.float32) < 0.2 + 0.04 * place
        columns[f"a{place}"] = np.where(follows, first, rng.random(n, np.float32) < 0.3)
    return pa.table({name: pa.array(column.astype(np.int8)) for name, column in columns.items()})


def label_chunk(rng: np.random.Generator, n: int) -> Any:
    columns = {}
    for attribute in LABELS:
        share = 0.7 ** np.arange(attribute.size)
        codes = rng.choice(attribute.size, n, p=share / share.sum()).astype(np.int8)
        labels = pa.array(list(attribute.categories))
        columns[attribute.name] = pa.DictionaryArray.from_arrays(codes, labels)
    return pa.table(columns)


def make(folder: Path, chunk: Callable[[np.random.Generator, int], Any], records: int) -> None:
    """Parquet files, a seed per chunk: the same for every number of records."""
    folder.mkdir(parents=True, exist_ok=True)
    for file, start in enumerate(range(0, records, PER_FILE)):
        path = folder / f"part-{file:03}.parquet"
        if path.exists():
            continue
        part, writer = path.with_suffix(".part"), None
        for first in range(start, min(start + PER_FILE, records), CHUNK):
            table = chunk(np.random.default_rng(first), min(CHUNK, records - first))
            table = pa.table(
                {
                    n: c.combine_chunks()
                    for n, c in zip(table.column_names, table.columns, strict=True)
                }
            )
            writer = writer or pq.ParquetWriter(part, table.schema)
            writer.write_table(table)
        assert writer is not None
        writer.close()
        part.rename(path)


def make_csv(folder: Path, source: Path) -> None:
    """The records of Parquet files as CSV files."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.glob("*.parquet")):
        made = folder / f"{path.stem}.csv"
        if made.exists():
            continue
        part = made.with_suffix(".part")
        with pq.ParquetFile(path) as file:
            plain = pa.schema((field.name, _plain(field.type)) for field in file.schema_arrow)
            with pa_csv.CSVWriter(part, plain, write_options=_UNQUOTED) as writer:
                for batch in file.iter_batches():
                    writer.write_table(pa.Table.from_batches([batch]).cast(plain))
        part.rename(made)


def _plain(kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


# Pieces of work: each has the folder of its data ------------------------------------------------


def plain_group_by(folder: Path) -> None:
    import duckdb

    kind = "csv" if folder.name.endswith("csv") else "parquet"
    sql = f"SELECT *, count(*) FROM read_{kind}('{folder}/*.{kind}') GROUP BY ALL"
    duckdb.connect().execute(sql).to_arrow_table()


def patterns(folder: Path) -> None:
    from tacit.records.duckdb_engine import DuckDBFiles

    DuckDBFiles(sorted(folder.iterdir()), _schema(folder)).patterns()


def our_reader(folder: Path) -> None:
    from tacit.records.engines import ReadFiles

    ReadFiles(sorted(folder.iterdir()), _schema(folder)).patterns()


def _schema(folder: Path) -> Schema:
    return LABELS if folder.name.startswith("labels") else BINARY.schema


def naive_bayes(folder: Path) -> None:
    from tacit.mine import NaiveBayes

    NaiveBayes(BINARY, "a0").fit(folder)


def tree(folder: Path) -> None:
    from tacit.mine import DecisionTree

    DecisionTree(BINARY, "a0", caution=2, max_depth=8).fit(folder)


def copy_by_pyarrow(folder: Path) -> None:
    """All files into one, with the compression of our files: what a disguise has to do at least."""
    with _written(folder) as out:
        writer = None
        for path in sorted(folder.glob("*.parquet")):
            with pq.ParquetFile(path) as file:
                writer = writer or pq.ParquetWriter(out, file.schema_arrow, compression="zstd")
                for batch in file.iter_batches(1 << 18):
                    writer.write_batch(batch)
        assert writer is not None
        writer.close()


def disguise_stream(folder: Path) -> None:
    from tacit.records.disguise import disguise_files

    with _written(folder) as out:
        disguise_files(folder, BINARY, out)


@contextmanager
def _written(folder: Path) -> Iterator[Path]:
    """A file beside the folder, removed at the end."""
    out = folder.with_name(f"{folder.name}-{os.getpid()}.parquet")
    try:
        yield out
    finally:
        out.unlink(missing_ok=True)


def spark_and_duckdb(folder: Path) -> None:
    """Spark with two executors on this machine, when it is warm, and DuckDB: wall time."""
    from tacit.records import count_records
    from tests.support.engines import spark_session

    with spark_session(small=False) as session:
        records = session.read.parquet(str(folder))
        times = []
        for source in (records, records, folder):
            start = time.perf_counter()
            count_records(source, BINARY.schema)
            times.append(time.perf_counter() - start)
    print(f"seconds of wall time: Spark {times[0]:.1f}, warm {times[1]:.1f}; DuckDB {times[2]:.1f}")


#: Pieces of work by data; the first of each list is the peer of the others.
WORK: dict[str, list[list[Callable[[Path], None]]]] = {
    "binary": [
        [plain_group_by, patterns, our_reader, naive_bayes, tree],
        [copy_by_pyarrow, disguise_stream],
    ],
    "labels": [[plain_group_by, patterns, our_reader]],
    "binary-csv": [[plain_group_by, our_reader]],
    "labels-csv": [[plain_group_by, our_reader]],
}
CHUNKS = {"binary": binary_chunk, "labels": label_chunk}


def measured(work: str, folder: Path) -> dict[str, float]:
    """CPU seconds and peak megabytes of a piece of work in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.scale_bench",
        "--run",
        work,
        "--folder",
        str(folder),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def run(work: str, folder: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    globals()[work](folder)
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found = {"cpu": cpu, "wall": time.perf_counter() - start, "mb": after.ru_maxrss / 1024}
    print(json.dumps(found))


def make_data(name: str, folder: Path, records: int) -> None:
    """The files of these data."""
    kind = name.removesuffix("-csv")
    make(folder / kind, CHUNKS[kind], records)
    if name != kind:
        make_csv(folder / name, folder / kind)


def compare(data: str, works: list[Callable[[Path], None]], folder: Path) -> None:
    """A row per piece of work, beside the first."""
    peer: dict[str, float] = {}
    for work in works:
        found = measured(work.__name__, folder)
        peer = peer or found
        ratios = [(f"{found[key]:.1f}", f"{found[key] / peer[key]:.2f}") for key in ("cpu", "wall")]
        cells = " | ".join(cell for pair in ratios for cell in pair)
        shown = work.__name__.replace("_", " ")
        print(f"| {data} | {shown} | {cells} | {found['mb']:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, default=Path("build/scale"))
    parser.add_argument("--only", choices=tuple(WORK))
    parser.add_argument("--work", help="only the rows of the list with this piece of work")
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--run")
    given = parser.parse_args()
    if given.run:
        run(given.run, given.folder)
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    print("| data | work | CPU s | of the peer | wall s | of the peer | peak MB |")
    print("|---|---|---|---|---|---|---|")
    folder = given.folder / f"{given.records}"
    for name, lists in WORK.items():
        if given.only in (None, name) and (given.records <= PER_FILE or "csv" not in name):
            make_data(name, folder, given.records)
            for works in lists:
                if given.work is None or given.work in [work.__name__ for work in works]:
                    compare(f"{given.records:,} {name}", works, folder / name)
    if given.spark:
        spark_and_duckdb(given.folder / f"{given.records}" / "binary")


if __name__ == "__main__":
    main()
