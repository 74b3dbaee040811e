"""Many attributes: pair tables of one with all others, without any joint space."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.measure import MB, Row, peak_memory
from tacit import Attribute, Design, Group, Schema, disguise, reconstruct, related

RECORDS, ATTRIBUTES = 10**6, 100


def rows() -> Iterator[Row]:
    schema = Schema([Attribute(f"a{i}", ["no", "yes"]) for i in range(ATTRIBUTES)])
    names = schema.names
    groups = [Group(names[i::3], related(0.8)) for i in range(3)]
    design = Design(schema, groups)
    rng = np.random.default_rng(5)
    with peak_memory() as peak:
        true = rng.integers(0, 2, (ATTRIBUTES, RECORDS), dtype=np.uint8).T
        reported = disguise(true, design, rng)
        start = time.perf_counter()
        reconstruction = reconstruct(reported, design)
        tables = [reconstruction.table([names[0], other]) for other in names[1:]]
        seconds = time.perf_counter() - start
    assert all(abs(table.value.sum() - 1) < 1e-9 for table in tables)
    yield Row(
        "10^6 x 100 yes/no, three groups: 99 pair tables with errors, total memory",
        peak.extra / MB,
        1024,
        "MB",
        f"{seconds:.1f} s to count and reconstruct",
        at_most=True,
    )
