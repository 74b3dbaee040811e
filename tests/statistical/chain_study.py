"""Coverage of a chain of conditional questions, with redrawn true records.

python -m tests.statistical.chain_study [--runs 1000] [--seed 7]

A chain of three: the first question, the second one if yes, the third one after one of its answers.
Of each: coverage of the 95 % interval, the standard deviation of estimates, that by inversion, and
the mean standard error; then the coverage of the share of those asked the second question.
"""

from __future__ import annotations

import argparse

import numpy as np

from tacit import Attribute, Design, Group, Schema, disguise, reconstruct, related
from tacit.core.arrays import Array
from tacit.core.conditions import DOES_NOT_APPLY
from tacit.reconstruction import inversion
from tests.statistical.inference_study import show

SCHEMA = Schema(
    [
        Attribute("smokes", ["no", "yes"]),
        Attribute("packs", ["few", "many", DOES_NOT_APPLY]),
        Attribute("brand", ["red", "green", "blue", DOES_NOT_APPLY]),
    ]
)
GROUPS = [Group([name], related("4/5")) for name in SCHEMA.names]
DESIGN = Design(SCHEMA, GROUPS, {"packs": {"smokes": ["yes"]}, "brand": {"packs": ["many"]}})
#: Shares of smokers, and of many packs among them.
SETTINGS = ((0.6, 0.5), (0.1, 0.3))
RECORDS = (100, 400, 1500)


def survey(rng: np.random.Generator, smoke: float, many: float, n: int) -> Array:
    """A row per question: whether the interval covers, both errors, the standard error."""
    smokes = rng.random(n) < smoke
    packs = np.where(smokes, rng.random(n) < many, 2)
    brand = np.where(packs == 1, rng.integers(0, 3, n), 3)
    true = np.column_stack([smokes, packs, brand]).astype(np.uint8)
    found = reconstruct(disguise(true, DESIGN, rng), DESIGN)
    rows = []
    truths = (("smokes", 1, smoke), ("packs", 1, smoke * many), ("brand", 0, smoke * many / 3))
    for name, cell, share in truths:
        own, (low, high) = found.table([name]), found.table([name]).interval()
        other = found.table([name], inversion).value[cell]
        covers = low[cell] <= share <= high[cell]
        rows.append([covers, own.value[cell] - share, other - share, own.stderr[cell]])
    low, high = found.asked("packs").interval()
    return np.array([*rows, [low[1] <= many <= high[1], np.nan, np.nan, np.nan]], float)


def main() -> None:
    """Print a line per setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    for smoke, many in SETTINGS:
        for n in RECORDS:
            rng = np.random.default_rng(given.seed)
            found = np.stack([survey(rng, smoke, many, n) for _ in range(given.runs)])
            covered, spread = found[:, :, 0].mean(axis=0), found[:, :3].std(axis=0)
            stderr = found[:, :3, 3].mean(axis=0)
            parts = (covered, spread[:, 1], spread[:, 2], stderr)
            shown = [" ".join(f"{number:.3f}" for number in part) for part in parts]
            show(f"{smoke} {many} n {n}: {' | '.join(shown)}")


if __name__ == "__main__":
    main()
