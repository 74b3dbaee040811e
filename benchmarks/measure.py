"""Rows of the benchmark table, and how they are measured: CPU time and peak memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

MB = 1 << 20
HEADER = ["what", "measured", "target", "verdict", "detail"]


@dataclass(frozen=True)
class Row:
    """One claim: a figure that must reach, or stay under, its target."""

    claim: str
    figure: float
    target: float
    unit: str
    detail: str
    at_most: bool = False

    @property
    def met(self) -> bool:
        return self.figure <= self.target if self.at_most else self.figure >= self.target

    def cells(self) -> list[str]:
        sign = "at most" if self.at_most else "at least"
        wanted = f"{sign} {self.target:g} {self.unit}"
        verdict = "met" if self.met else "MISSED"
        return [self.claim, f"{self.figure:.3g} {self.unit}", wanted, verdict, self.detail]


#: Measures some rows, in the same order every time.
Suite = Callable[[], Iterator[Row]]


def measured(suite: Suite) -> list[Row]:
    """The rows of a suite; if one misses its target, each row is the median of three runs."""
    first = list(suite())
    if all(row.met for row in first):
        return first
    runs = zip(first, suite(), suite(), strict=True)
    return [sorted(rows, key=lambda row: row.figure)[1] for rows in runs]


def best(work: Callable[[], object], repeats: int = 5) -> float:
    """CPU seconds of the fastest of a few runs.

    Not wall time: on a busy machine a short peer finds an undisturbed moment more easily than a
    longer piece of work, which would bend the ratio.
    """
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


@dataclass
class Peak:
    """Memory that a piece of work used beyond what was in use before it."""

    extra: float = field(default=float("nan"))


@contextmanager
def peak_memory() -> Iterator[Peak]:
    """Peak resident memory of the block beyond that at its start, in bytes (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")
    before, peak = _resident("VmRSS"), Peak()
    yield peak
    peak.extra = _resident("VmHWM") - before


def _resident(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    line = next(line for line in lines if line.startswith(name + ":"))
    return int(line.split()[1]) * 1024
