"""Disguise against NumPy's exclusive or of the same array: the memory limit of flipping answers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.measure import Row, best
from tacit import Attribute, Design, Group, Schema, disguise, related

RECORDS, ATTRIBUTES = 10**7, 16


def rows() -> Iterator[Row]:
    schema = Schema([Attribute(f"a{i}", ["no", "yes"]) for i in range(ATTRIBUTES)])
    whole = Design(schema, [Group(schema.names, related(0.7))])
    apart = Design(schema, [Group([name], related(0.7)) for name in schema.names])
    rng = np.random.default_rng(1)
    for order, layout in (("C", "record by record"), ("F", "attribute by attribute")):
        true = _binary(rng, order)
        other = _binary(rng, order)
        limit = best(lambda a=true, b=other: a ^ b)
        for design, what, target in (
            (whole, "one coin per record", 30),
            (apart, "one coin per cell", 8),
        ):
            ours = best(lambda a=true, d=design: disguise(a, d, rng), repeats=3)
            yield Row(
                f"disguise 10^7 x 16 yes/no, {what}, {layout}",
                100 * limit / ours,
                target,
                "% of XOR",
                f"{ours:.3f} s of CPU against {limit:.3f} s",
            )


def _binary(rng: np.random.Generator, order: str) -> np.ndarray:
    shape = (RECORDS, ATTRIBUTES) if order == "C" else (ATTRIBUTES, RECORDS)
    codes = rng.integers(0, 2, shape, dtype=np.uint8)
    return codes if order == "C" else codes.T
