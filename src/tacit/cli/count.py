"""`tacit count`, `merge` and `disguise`: count tables in files, and true records disguised."""

from __future__ import annotations

from functools import reduce
from operator import add as added
from pathlib import Path
from typing import Annotated

from typer import Argument, Option, echo

from tacit.cli import show
from tacit.cli.arguments import DesignFile, MemoryLimit, RecordsOut, SimulationSeed
from tacit.cli.notes import note, note_seed
from tacit.cli.sources import FromDatabase, check_made_by, counted
from tacit.errors import DataError
from tacit.output.number_text import number_of
from tacit.records import check_apart, count_answers, read_design, read_design_origin
from tacit.records.count_file import CountedPart, StoredCounts, check_suffix, read_counts
from tacit.records.disguise import disguise_files
from tacit.records.engines import file_engine
from tacit.records.paths import record_files

CountsOut = Annotated[Path, Option(help="The count file to write: .counts.")]


def count(
    *,
    design_file: DesignFile,
    out: CountsOut,
    data: list[str] | None = Argument(None, metavar="[DATA]..."),
    add: Path | None = None,
    database: FromDatabase = None,
    memory: MemoryLimit = None,
) -> None:
    """Count reported records into a file, from which every other command can estimate.

    Example: [bold]tacit count survey.json 'data/*.parquet' --out survey.counts[/bold]

    Example: [bold]tacit count survey.json data --add survey.counts --out survey.counts[/bold]

    Parameters
    ----------
    data
        Reported records: files, globs or directories; or give --database instead.
    add
        A count file to add to; files that it has already are skipped.
    """
    design, origin = read_design(design_file), read_design_origin(design_file)
    check_suffix(out)
    if bool(data) == (database is not None):
        raise DataError("give files of reported records or a --database")
    old = None if add is None else read_counts(add)
    if database is not None:
        part = CountedPart.of_database(database, origin.design)
        if old is not None and old.has(part):
            raise DataError(
                f"{add}: has records of this database already, and new ones cannot be told from "
                "them, because records are stored without order; count all again, without --add"
            )
        table = counted(design_file, design, database).with_no_answer()
        fresh = StoredCounts(table, origin, (part,))
    else:
        files = list(dict.fromkeys(path for given in data or [] for path in record_files(given)))
        for path in files:
            check_apart(out, path)
        new = files if old is None else old.new_files(files)
        if not new:
            echo(f"nothing to add: {number_of(len(files), 'file')}, all counted in {add}")
            return
        check_made_by(design_file, new, " ".join(data or []))
        with show.progress("counting") as tell:
            table = count_answers(
                lambda schema: file_engine(new, schema).telling(tell).fitting_patterns(),
                design.reported,
            ).with_no_answer()  # a category for missing answers if there are any
        fresh = StoredCounts(table, origin, tuple(map(CountedPart.of, new)))
    _write(fresh if old is None else old + fresh, out)


def merge(*, files: list[Path] = Argument(metavar="COUNTS..."), out: CountsOut) -> None:
    """Merge count files of one design, such as those of several organisations.

    Example: [bold]tacit merge north.counts south.counts --out both.counts[/bold]

    Parameters
    ----------
    files
        Count files.
    """
    check_suffix(out)
    _write(reduce(added, map(read_counts, files)), out)


def _write(counts: StoredCounts, out: Path) -> None:
    counts.write(out)
    records, patterns = counts.table.n_records, len(counts.table)
    echo(f"wrote {out}: {number_of(records, 'record')}, {number_of(patterns, 'distinct pattern')}")


# `tacit disguise`: true records in, reported records out.


def disguise_file(
    *,
    design_file: DesignFile,
    data: Path = Argument(metavar="DATA"),
    out: RecordsOut,
    seed: SimulationSeed = None,
    memory: MemoryLimit = None,
) -> None:
    """Draw reported records from true ones, as the design says.

    Without --seed the draws come from the operating system's entropy, as they must for answers
    of real people. Columns that the design does not name are left out. Missing answers stay
    missing.

    Example: [bold]tacit disguise survey.json true.csv --out reported.parquet[/bold]

    Parameters
    ----------
    data
        True records: .csv, .csv.gz or .parquet, a glob or a directory.
    """
    design, origin = read_design(design_file), read_design_origin(design_file)
    with show.progress("disguising") as tell:
        written = disguise_files(data, design, out, seed, origin=origin, progress=tell)
    echo(f"wrote {out}: {number_of(written.records, 'reported record')}")
    if written.missing:
        note(
            f"{number_of(written.missing, 'missing answer')} passed on as missing: no coin "
            "disguises it, and everybody can see that it is missing"
        )
    note_seed(seed)
