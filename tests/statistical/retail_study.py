"""Which frequent itemsets of a retail data set are found through the disguise.

    python -m tests.statistical.retail_study --seed 1

mines 10^5 synthetic baskets of 200 items, each item disguised with its own coin (MASK), and prints
by threshold, theta and error control: how many sets are claimed, which share of the truly frequent
ones is found (recall), also of those whose support is at least 1.5 times the threshold, and which
share of the claimed ones is frequent (precision). Frequent is meant among the baskets themselves.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import numpy as np

from tacit import disguise
from tacit.core.arrays import Codes
from tacit.mine import FalseDiscovery, FamilyWise, PlainThreshold, itemsets
from tacit.mine.apriori import Itemsets
from tacit.mine.error_control import ErrorControl
from tests.support.retail import BASKETS, ITEMS, baskets, mask

THETAS = (0.95, 0.9, 0.8, 0.7)
SUPPORTS = (0.02, 0.01)
LONGEST = 4
CONTROLS: dict[str, ErrorControl] = {
    "plain": PlainThreshold(),
    "fdr .05": FalseDiscovery(0.05),
    "family-wise .05": FamilyWise(0.05),
}
HEADS = (
    "support above",
    "frequent",
    "theta",
    "control",
    "claimed",
    "recall",
    "clear ones",
    "precision",
)
#: Sets with this many times the least support are clearly frequent.
CLEAR = 1.5

Sets = set[tuple[int, ...]]


def sets_of(found: Itemsets) -> list[tuple[int, ...]]:
    return [tuple(row) for level in found.found for row in level.tolist()]


def truth(records: Codes, support: float) -> tuple[Sets, Sets]:
    """The frequent sets of the true records, and those that are clearly so."""
    design = mask(1, records.shape[1])
    found = itemsets(records, design, support, max_length=LONGEST, control=PlainThreshold())
    listed = zip(sets_of(found), found.support.tolist(), strict=True)
    return set(sets_of(found)), {one for one, share in listed if share >= CLEAR * support}


def rows(n: int = BASKETS, n_items: int = ITEMS, seed: int = 1) -> Iterator[tuple[object, ...]]:
    """A row per threshold, theta and control."""
    records, rng = baskets(n, n_items, seed), np.random.default_rng(seed)
    for support in SUPPORTS:
        true, clear = truth(records, support)
        for theta in THETAS:
            design = mask(theta, n_items)
            reported = disguise(records, design, rng)
            for name, control in CONTROLS.items():
                found = itemsets(reported, design, support, max_length=LONGEST, control=control)
                claimed = set(sets_of(found))
                recall, of_clear = (
                    len(claimed & true) / len(true),
                    len(claimed & clear) / len(clear),
                )
                precision = len(claimed & true) / max(1, len(claimed))
                shares = (f"{share:.3f}" for share in (recall, of_clear, precision))
                yield support, f"{len(true):,}", theta, name, f"{len(claimed):,}", *shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    lines = [HEADS, ("---",) * len(HEADS), *rows(seed=parser.parse_args().seed)]
    for line in lines:
        sys.stdout.write("| " + " | ".join(map(str, line)) + " |\n")


if __name__ == "__main__":
    main()
