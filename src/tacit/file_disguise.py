"""disguise_files: true records in files to a file of reported records, as a stream.

It takes the memory of a batch, however many records there are. The result is a temporary file until
it is complete. With a seed, every SEED_BLOCK records have a child of it, so the reports do not
depend on the size of batches, and blocks could be drawn in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from tacit.arrays import Codes
from tacit.design import Design
from tacit.errors import DataError
from tacit.exact_draws import Source, entropy, seeded_source
from tacit.files import Origin, Progress, check_out, check_true, read_batches, writing_records
from tacit.files.record_files import record_files
from tacit.record_disguise import Disguiser

#: Records that share a child of the seed; batches of `read_batches` divide it.
SEED_BLOCK = 1 << 18


def disguise_files(
    records: str | Path,
    design: Design,
    out: str | Path,
    seed: int | None = None,
    *,
    origin: Origin | None = None,
    progress: Progress | None = None,
) -> int:
    """Write reported records for true ones; how many there are.

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
    n_records = 0
    with writing_records(out, design.reported, origin=named) as write:
        for reported in disguised(read_batches(records, design.schema, progress), design, seed):
            write(reported)
            n_records += len(reported)
    return n_records


def disguised(batches: Iterable[Codes], design: Design, seed: int | None) -> Iterator[Codes]:
    """Reported codes of batches that are equally long and divide SEED_BLOCK, but for the last."""
    disguiser, place = Disguiser(design), 0
    source: Source = entropy
    for codes in batches:
        if seed is not None and place % SEED_BLOCK == 0:
            source = _block_source(seed, place // SEED_BLOCK)
        yield disguiser.draw(codes, source)
        place += len(codes)


def _block_source(seed: int, block: int) -> Source:
    """The first block is drawn as `disguise` draws a frame with the same seed."""
    return seeded_source(seed, block) if block else seeded_source(seed)
