"""How often the default tree splits although the class is independent of all attributes.

    python -m tests.statistical.tree_null_study --runs 2400 --seed 1

True records are drawn anew in every run: seven attributes, dependent on each other through a hidden
class, and a class with a given share. It prints the share of trees with a split for each design and
class share. `--out` appends each run to a CSV file; runs that it already has are not repeated.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import defaultdict
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import numpy as np

from tacit import Attribute, Design, Group, Schema, disguise, related, uniform_perturbation
from tacit.core.arrays import Codes
from tacit.mine import DecisionTree

N_RECORDS, N_ATTRIBUTES = 2000, 7
#: Family, parameter, groups, categories of an attribute.
DESIGNS = (
    ("related", 0.6, 1, 2),
    ("related", 0.7, 2, 2),
    ("related", 0.8, 4, 2),
    ("related", 0.9, 3, 2),
    ("unrelated", 0.4, 1, 2),
    ("unrelated", 0.7, 3, 2),
    ("unrelated", 0.6, 2, 3),
    ("related", 0.8, 2, 3),
)
SHARES = (0.5, 0.3, 0.2)
CELLS = tuple(product(DESIGNS, SHARES))
FAMILIES = {"related": related, "unrelated": uniform_perturbation}

Design4 = tuple[str, float, int, int]


def schema_of(categories: int) -> Schema:
    """Seven attributes and a yes/no class, the last."""
    labels = [f"c{i}" for i in range(categories)]
    features = [Attribute(f"q{i}", labels) for i in range(N_ATTRIBUTES)]
    return Schema([*features, Attribute("class", ["no", "yes"])])


def records(rng: np.random.Generator, categories: int, share: float) -> Codes:
    """Attributes that depend on each other, and a class that depends on none."""
    hidden = rng.random(N_RECORDS) < 0.4
    shares = rng.dirichlet(np.full(categories, 3.0), (N_ATTRIBUTES, 2)).cumsum(axis=2)
    draws = rng.random((N_RECORDS, N_ATTRIBUTES, 1))
    limits = shares[:, hidden.astype(int)].transpose(1, 0, 2)[..., :-1]
    answers = (draws > limits).sum(axis=2)
    own = rng.random(N_RECORDS) < share
    return np.column_stack([answers, own]).astype(np.uint8)


def splits(cell: tuple[Design4, float], seed: int, caution: float | None = None) -> bool:
    """Whether the tree of one survey splits."""
    (family, theta, groups, categories), share = cell
    rng, schema = np.random.default_rng([7, seed]), schema_of(categories)
    parts = [schema.names[i::groups] for i in range(groups)]
    design = Design(schema, [Group(part, FAMILIES[family](theta)) for part in parts])
    reported = disguise(records(rng, categories, share), design, rng)
    return DecisionTree(design, "class", caution=caution).fit(reported).get_n_leaves() > 1


def summary(found: Iterable[tuple[int, int]]) -> str:
    """The share of splits by cell and in all; runs are (seed, split)."""
    by_cell: dict[int, list[int]] = defaultdict(list)
    for seed, split in found:
        by_cell[seed % len(CELLS)].append(split)
    lines = ["family     theta  groups  categories  class share   runs  split"]
    for number, own in sorted(by_cell.items()):
        (family, theta, groups, categories), share = CELLS[number]
        lines.append(
            f"{family:9s}  {theta:5.2f}  {groups:6d}  {categories:10d}  {share:11.1f}  "
            f"{len(own):5d}  {np.mean(own):.3f}"
        )
    every = [split for own in by_cell.values() for split in own]
    lines.append(f"all: {np.mean(every):.4f} of {len(every)} runs")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--caution", type=float, help="unbiased tables with this caution instead")
    parser.add_argument("--out", type=Path, help="CSV file of finished runs")
    chosen = parser.parse_args()
    found: dict[int, int] = {}
    if chosen.out is not None and chosen.out.exists():
        with chosen.out.open(newline="") as file:
            found = {int(row["seed"]): int(row["split"]) for row in csv.DictReader(file)}
    elif chosen.out is not None:
        chosen.out.write_text("seed,split\n")
    for seed in range(chosen.seed, chosen.seed + chosen.runs):
        if seed in found:
            continue
        found[seed] = int(splits(CELLS[seed % len(CELLS)], seed, chosen.caution))
        if chosen.out is not None:
            with chosen.out.open("a", newline="") as file:
                csv.writer(file).writerow([seed, found[seed]])
    sys.stdout.write(summary(found.items()) + "\n")


if __name__ == "__main__":
    main()
