"""Counting patterns against reading the same memory once, by the fastest of two plain reads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.measure import MB, Row, best, peak_memory
from tacit import Attribute, Schema
from tacit.records import count

RECORDS, ATTRIBUTES = 10**7, 17


def rows() -> Iterator[Row]:
    schema = Schema([Attribute(f"a{i}", ["no", "yes"]) for i in range(ATTRIBUTES)])
    rng = np.random.default_rng(2)
    for shape, layout in (
        ((RECORDS, ATTRIBUTES), "record by record"),
        ((ATTRIBUTES, RECORDS), "attribute by attribute"),
    ):
        stored = rng.integers(0, 2, shape, dtype=np.uint8)
        codes = stored if shape[0] == RECORDS else stored.T
        words = stored.reshape(-1).view(np.uint64)
        limit = min(best(words.max), best(lambda words=words: np.bitwise_or.reduce(words)))
        with peak_memory() as peak:
            count(codes, schema)
        ours = best(lambda codes=codes: count(codes, schema))
        claim = f"pattern table of 10^7 x 17 yes/no, {layout}"
        detail = f"{ours:.3f} s of CPU against {limit:.3f} s"
        yield Row(claim, 100 * limit / ours, 15, "% of reading", detail)
        yield Row(claim + ", extra memory", peak.extra / MB, 64, "MB", "", at_most=True)
