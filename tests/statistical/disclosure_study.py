"""How well disclosure is estimated, on random populations and designs.

    python -m tests.statistical.disclosure_study --runs 200 --seed 1000000

prints coverage of ranges and bounds, errors of estimates, and the worst cases. Every third run has
no joint table to work with. It takes about two seconds per run. `--kind unstructured` draws tables
of which few reports cannot say much: what no model can know.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from tacit.core.arrays import Array
from tacit.privacy.disclosure import MAX_TABLE, Assessed, assess
from tests.support.populations import KINDS, STRESS, Population, Truth, population, truth

#: Joint cells from which on a run has no joint table, in runs that must have none.
_NO_TABLE = 64


@dataclass(frozen=True)
class Outcome:
    """One scope of one run: the truth and what was said about it."""

    seed: int
    kind: str
    scope: str
    n_records: int
    true: Truth
    accuracy: tuple[float, float, float, float]  # estimate, low, high, bound
    worst: tuple[float, float, float, float]
    known: bool


def outcomes(seed: int, kind: str | None = None) -> list[Outcome]:
    """All scopes of one population."""
    drawn = population(seed, kind)
    largest = _NO_TABLE if seed % 3 == 0 else MAX_TABLE
    rng = np.random.default_rng(seed)
    found = assess(drawn.design, drawn.reported, rng, max_table=largest)
    singles, record = truth(drawn.table, drawn.design)
    scopes = {name: (found.scopes[name,], true) for name, true in singles.items()}
    scopes["record"] = found.scopes[drawn.design.schema.names], record
    return [_outcome(seed, drawn, scope, *pair) for scope, pair in scopes.items()]


def _outcome(seed: int, drawn: Population, scope: str, said: Assessed, true: Truth) -> Outcome:
    figures = said.figures
    assert figures.central is not None
    private = figures.interval("map_privacy")
    return Outcome(
        seed,
        drawn.kind,
        scope,
        drawn.reported.n_records,
        true,
        (1 - figures.central[1], 1 - private[1], 1 - private[0], said.bound.accuracy),
        (figures.central[2], *figures.interval("worst_posterior"), said.bound.worst_posterior),
        said.known("map_privacy"),
    )


@dataclass(frozen=True)
class Summary:
    """Shares of scopes whose truth lies within a range or a bound; estimate minus truth."""

    scopes: int
    known: float
    range_holds: float
    bound_holds: float
    mean_error: float
    mean_understatement: float
    largest_understatement: float
    slack: float

    def __str__(self) -> str:
        return (
            f"{self.scopes:5d} scopes, known {self.known:.3f}; upper end holds "
            f"{self.range_holds:.4f}, bound holds {self.bound_holds:.4f}; error "
            f"{self.mean_error:+.4f}, understated by {self.mean_understatement:.4f} on average, "
            f"{self.largest_understatement:.3f} at most; bound above truth {self.slack:.3f}"
        )


def summary(found: Iterable[Outcome], figure: str = "accuracy") -> Summary:
    """Of the best guess (`accuracy`) or of the worst posterior (`worst`)."""
    chosen = list(found)
    true = np.array([
        o.true.accuracy if figure == "accuracy" else o.true.worst_posterior for o in chosen
    ])  # fmt: skip
    said = np.array([getattr(o, figure) for o in chosen])
    estimate, high, bound = said[:, 0], said[:, 2], said[:, 3]
    short: Array = np.maximum(true - estimate, 0)
    return Summary(
        len(chosen),
        float(np.mean([o.known for o in chosen])),
        float((true <= high + 1e-9).mean()),
        float((true <= bound + 1e-9).mean()),
        float((estimate - true).mean()),
        float(short.mean()),
        float(short.max()),
        float((bound - true).mean()),
    )


def attributes(found: Iterable[Outcome]) -> list[Outcome]:
    return [o for o in found if o.scope != "record"]


def records(found: Iterable[Outcome]) -> list[Outcome]:
    return [o for o in found if o.scope == "record"]


def _print(found: list[Outcome], say: Callable[[str], object]) -> None:
    for name, chosen in (("attributes", attributes(found)), ("records", records(found))):
        for figure in ("accuracy", "worst"):
            say(f"{name:10s} {figure:8s} {summary(chosen, figure)}")
            stated = [o for o in chosen if o.known]
            if stated:
                say(f"{'  if known':10s} {figure:8s} {summary(stated, figure)}")
        for kind in sorted({o.kind for o in chosen}):
            say(f"  {kind:13s} {summary([o for o in chosen if o.kind == kind])}")
        say("  worst cases: seed, population, scope, records, truth, (estimate, low, high, bound)")
        for o in sorted(chosen, key=lambda o: o.accuracy[2] - o.true.accuracy)[:8]:
            said = ", ".join(f"{v:.3f}" for v in o.accuracy)
            say(f"  {o.seed} {o.kind} {o.scope} {o.n_records} {o.true.accuracy:.3f} ({said})")
    for o in found:
        if o.true.accuracy > o.accuracy[3] + 1e-9 or o.true.worst_posterior > o.worst[3] + 1e-9:
            say(f"  bound missed: {o}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1_000_000)
    parser.add_argument("--kind", choices=[*KINDS, *STRESS])
    chosen = parser.parse_args()
    found: list[Outcome] = []
    times = []
    for seed in range(chosen.seed, chosen.seed + chosen.runs):
        start = time.process_time()
        found += outcomes(seed, chosen.kind)
        times.append(time.process_time() - start)

    def say(text: str) -> None:
        sys.stdout.write(text + "\n")

    _print(found, say)
    say(f"CPU seconds per run: median {np.median(times):.1f}, largest {max(times):.1f}")


if __name__ == "__main__":
    main()
