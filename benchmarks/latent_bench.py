"""Latent classes in disguised records against stepmix on the same records undisguised."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from stepmix.stepmix import StepMix

from benchmarks.bayes_bench import schema_of
from benchmarks.measure import Row, best
from tacit import Design, Group, disguise, related
from tacit.mine import LatentClass
from tacit.records import count

RECORDS, ATTRIBUTES, CLASSES = 10**6, 15, 5
#: stepmix would take minutes for 10^6 records; its time grows with their number.
PEER_RECORDS = 20_000
STARTS = 10
LIMIT = 10.0
SHARES = np.array([0.3, 0.25, 0.2, 0.15, 0.1])


def rows() -> Iterator[Row]:
    """CPU time once counted, for one and for three groups, and the ratio to stepmix."""
    rng = np.random.default_rng(21)
    yes = rng.uniform(0.1, 0.9, (CLASSES, ATTRIBUTES))
    true = (rng.random((RECORDS, ATTRIBUTES)) < yes[rng.choice(CLASSES, RECORDS, p=SHARES)]).astype(
        np.uint8
    )
    names = schema_of((2,) * ATTRIBUTES).names
    ours = {}
    for n_groups in (1, 3):
        groups = [Group(names[i::n_groups], related(0.7)) for i in range(n_groups)]
        design = Design(schema_of((2,) * ATTRIBUTES), groups)
        reported = disguise(true, design, np.random.default_rng(22))
        patterns = count(reported, design.reported)
        start = time.process_time()
        model = LatentClass(design, CLASSES, n_init=STARTS).fit(patterns)
        model.shares()
        seconds = time.process_time() - start
        ours[n_groups] = best(lambda d=design, r=reported: _fit(d, r), 1)
        off = np.abs(np.sort(model.prior_) - np.sort(SHARES)).max()
        assert off < 0.02, f"the shares must be found, they are off by {off:.3f}"
        what = f"latent classes, 10^6 x 15 yes/no, 5 classes, related groups: {n_groups}"
        detail = f"{STARTS} starts, with standard errors; shares within {off:.4f}"
        yield Row(f"{what}: fit once counted", seconds, LIMIT, "s of CPU", detail, at_most=True)
    raw = true[:PEER_RECORDS]
    peer = StepMix(
        CLASSES, measurement="binary", n_init=STARTS, random_state=1, progress_bar=0, verbose=0
    )
    seconds = best(lambda: peer.fit(raw), 1)
    for n_groups, own in ours.items():
        yield Row(
            f"latent classes, related groups: {n_groups}: 10^6 disguised records against stepmix "
            "on 2 x 10^4 true ones, counted in",
            seconds / own,
            1,
            "times faster",
            f"{own:.2f} s of CPU against {seconds:.2f} s for a fiftieth of the records, "
            f"{STARTS} starts each",
        )


def _fit(design: Design, reported: np.ndarray) -> None:
    LatentClass(design, CLASSES, n_init=STARTS).fit(reported)
