"""disguise_files: true records in files to a file of reported records, as a stream.

It takes the memory of a batch, however many records there are. The result is a temporary file until
it is complete. With a seed, every SEED_BLOCK records have a child of it, so the reports do not
depend on the size of batches, and blocks could be drawn in any order.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tacit.core.arrays import Codes
from tacit.core.conditions import filled
from tacit.core.design import Design
from tacit.core.disguise import Disguiser, absent_reports
from tacit.core.exact_draws import Source, entropy, seeded_source
from tacit.core.label_codes import absent_cells, with_no_answer
from tacit.core.schema import Schema
from tacit.errors import DataError, MissingAnswersError
from tacit.records import Origin, Progress, check_out, check_true, read_batches, writing_records
from tacit.records.record_files import record_files

#: Records that share a child of the seed; batches of `read_batches` divide it.
SEED_BLOCK = 1 << 18


class WrittenReports(NamedTuple):
    """How many records were written, and how many of their reports are missing."""

    records: int
    missing: int


def disguise_files(
    records: str | Path,
    design: Design,
    out: str | Path,
    seed: int | None = None,
    *,
    origin: Origin | None = None,
    progress: Progress | None = None,
) -> WrittenReports:
    """Write reported records for true ones. Missing answers stay missing: no coin disguises them.

    `records` is a file (.csv, .csv.gz, .parquet), a glob or a directory of files of one kind,
    which are read in the order of their names. `seed` None draws from the operating system's
    entropy: use it for answers of real people. `origin` names the design in the result.
    """
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise DataError(f"the seed must be an integer from 0, or None; got {seed!r}")
    files = record_files(records)
    check_out(out, *files)
    for path in files:
        check_true(path, "disguise true ones")
    named = Origin(design.fingerprint) if origin is None else origin

    def written(schema: Schema) -> WrittenReports:
        draws, n_records, n_missing = BlockDraws(design, seed), 0, 0
        with writing_records(out, design.reported, origin=named) as write:
            for read in read_batches(records, schema, progress):
                codes, absent = absent_cells(read, design.schema)
                codes, absent = filled(codes, design.conditions, design.schema, absent, n_records)
                hidden = absent_reports(absent, design) if absent.any() else None
                write(draws.next(codes), absent=hidden)
                n_records += len(codes)
                n_missing += 0 if hidden is None else int(hidden.sum())
        return WrittenReports(n_records, n_missing)

    try:
        return written(design.schema)
    except MissingAnswersError:  # begin again, with a category for them
        return written(with_no_answer(design.schema))


class BlockDraws:
    """Draws the reports of batches that are equally long and divide SEED_BLOCK, but for the last.

    The first block is drawn as `disguise` draws a frame with the same seed.
    """

    def __init__(self, design: Design, seed: int | None) -> None:
        self._disguiser, self._seed, self._place = Disguiser(design), seed, 0
        self._source: Source = entropy

    def next(self, codes: Codes) -> Codes:
        """The reported codes of the next batch."""
        block, rest = divmod(self._place, SEED_BLOCK)
        if self._seed is not None and rest == 0:
            self._source = seeded_source(self._seed, *([block] if block else []))
        self._place += len(codes)
        return self._disguiser.draw(codes, self._source)
