"""`python -m tacit.studio.model_process`: learns one model, within limits, and writes its file."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from tacit.errors import TacitError
from tacit.records import write_text
from tacit.records.count_file import read_counts
from tacit.records.memory_limit import limited_memory
from tacit.studio.model_request import ModelRequest
from tacit.studio.model_training import train
from tacit.studio.release import Release
from tacit.survey import Published

#: Seconds of processor time and bytes of memory that a model may take.
MOST_SECONDS, MOST_MEMORY = 600, 2 << 30


def learn(job: dict[str, Any]) -> None:
    """Learn the model of a job and write it where the job says."""
    counts = Path(job["counts"])
    try:
        table = read_counts(counts).table
    finally:
        counts.unlink(missing_ok=True)
    release = Release(Published.from_json(job["published"]), table)
    made = train(release, ModelRequest(**job["request"]))
    head = job["about"] | {"request": job["request"], "n_records": table.n_records}
    text = json.dumps(head | made, ensure_ascii=False, allow_nan=False)
    write_text(job["out"], text + "\n", private=True)


def main() -> int:
    """Read a job from standard input; write what is wrong with it beside its model."""
    _limit()
    job = json.loads(sys.stdin.read())
    try:
        with limited_memory(MOST_MEMORY):
            learn(job)
    except (TacitError, MemoryError) as error:
        told = str(error) or "there is not enough memory for this model; ask for a smaller one"
        write_text(job["problem"], told, private=True)
        return 1
    return 0


def _limit() -> None:
    """Let requests go first, and end after too long a time, where the system can do this."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        os.nice(5)
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))


if __name__ == "__main__":
    sys.exit(main())
