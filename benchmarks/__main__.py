"""`make bench`: run every comparison, print the table and add the run to the history."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

from benchmarks import (
    bayes_bench,
    count_bench,
    disguise_bench,
    front_bench,
    history,
    itemset_bench,
    joint_bench,
    latent_bench,
    peer_bench,
    probability_bench,
    regression_bench,
    service_bench,
    studio_bench,
    tree_bench,
    wide_bench,
)
from benchmarks.measure import HEADER, Row, Suite, measured

SUITES: dict[str, Suite] = {
    "disguise": disguise_bench.rows,
    "count": count_bench.rows,
    "peers": peer_bench.rows,
    "wide": wide_bench.rows,
    "probability": probability_bench.rows,
    "bayes": bayes_bench.rows,
    "trees": tree_bench.rows,
    "itemsets": itemset_bench.rows,
    "latent": latent_bench.rows,
    "joint": joint_bench.rows,
    "regression": regression_bench.rows,
    "fronts": front_bench.rows,
    "service": service_bench.rows,
    "studio": studio_bench.rows,
}


def main(chosen: list[str]) -> int:
    console = Console(width=160)
    found: list[Row] = []
    for name in chosen or SUITES:
        with console.status(f"measuring: {name}"):
            found += measured(SUITES[name])
    table = Table(*HEADER)
    for row in found:
        table.add_row(*row.cells())
    console.print(table)
    if not chosen:
        history.keep(found)
    missed = [row.claim for row in found if not row.met]
    console.print(f"{len(found) - len(missed)} of {len(found)} targets met")
    for claim in missed:
        console.print(f"missed in the median of three runs: {claim}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
