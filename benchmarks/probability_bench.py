"""Probabilities of long conjunctions against a plain mask of the true records."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.bayes_bench import schema_of
from benchmarks.measure import Row, best
from tacit import Design, Group, disguise, reconstruct, related

RECORDS, CONDITIONS = 20_000, 40


def rows() -> Iterator[Row]:
    """40 yes/no conditions in one related group."""
    schema = schema_of((2,) * CONDITIONS)
    design = Design(schema, [Group(schema.names, related(0.8))])
    rng = np.random.default_rng(15)
    inside = rng.random((RECORDS, 1)) < 0.3
    true = (inside & (rng.random((RECORDS, CONDITIONS)) < 0.97)).astype(np.uint8)
    rec = reconstruct(disguise(true, design, rng), design)
    event = {name: schema[name].categories[1] for name in schema.names}
    ours = best(lambda: rec.probability(event), 9)
    peer = best(lambda: float(np.all(true == 1, axis=1).mean()), 9)
    found, plain = rec.probability(event), float(np.all(true == 1, axis=1).mean())
    assert abs(float(found) - plain) < 5 * float(found.stderr), "both must find the same share"
    claim = f"probability of {CONDITIONS} conditions, 20,000 records, against a mask of the truth"
    detail = f"{1000 * ours:.1f} ms of CPU against {1000 * peer:.1f} ms"
    yield Row(claim, ours / peer, 15, "times the time", detail, at_most=True)
