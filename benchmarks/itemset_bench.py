"""Frequent itemsets from disguised baskets against mlxtend on the same baskets undisguised."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from mlxtend.frequent_patterns import fpgrowth

from benchmarks.measure import MB, Row, best, peak_memory
from tacit import Attribute, Design, Group, Schema, disguise, matrix, related, truthful
from tacit.core.channel import Coin
from tacit.mine import PlainThreshold, association_rules, itemsets
from tacit.mine.apriori import Itemsets

BASKETS, ITEMS, SUPPORT = 10**5, 200, 0.01
BUNDLES = 60
#: Times of the peer, and megabytes.
LARGEST, LIMIT = 3, 300


def rows() -> Iterator[Row]:
    """Every item with its own coin (MASK) or matrix, one related group, no disguise."""
    true = baskets()
    frame = pd.DataFrame(true.astype(bool))
    expected = fpgrowth(frame, min_support=SUPPORT)
    peer = best(lambda: fpgrowth(frame, min_support=SUPPORT), 2)
    names = [f"i{i}" for i in range(ITEMS)]
    schema = Schema([Attribute(name, ["no", "yes"]) for name in names])
    what = f"itemsets, 10^5 x {ITEMS}, support {SUPPORT:g}"
    coins: dict[str, tuple[Coin, int]] = {
        "a coin per item (MASK)": (related(0.9), ITEMS),
        "one related group": (related(0.9), 1),
        "a matrix per item": (matrix([["9/10", "1/10"], ["1/10", "9/10"]]), ITEMS),
        "truthful": (truthful(), 1),
    }
    for name, (coin, groups) in coins.items():
        design = Design(schema, [Group(names[g::groups], coin) for g in range(groups)])
        reported = disguise(true, design, np.random.default_rng(1))
        with peak_memory() as peak:
            found = mined(reported, design)
        seconds = best(lambda d=design, r=reported: mined(r, d), 3)
        if name == "truthful":
            assert len(found) == len(expected), "both must find the same sets"
        detail = f"{seconds:.2f} s against {peer:.2f} s; {len(found):,} and {len(expected):,} sets"
        claim = f"{what}, {name}: CPU against fpgrowth of mlxtend on raw baskets"
        yield Row(claim, seconds / peer, LARGEST, "times", detail, True)
        rules = best(lambda f=found: association_rules(f, 0.5), 1)
        detail = f"rules within them in {rules:.2f} s"
        yield Row(f"{what}, {name}: extra memory", peak.extra / MB, LIMIT, "MB", detail, True)


def mined(records: np.ndarray, design: Design) -> Itemsets:
    return itemsets(records, design, SUPPORT, control=PlainThreshold())


def baskets() -> np.ndarray:
    """Few popular items, many rare ones, and bundles of items that are bought together."""
    rng = np.random.default_rng(0)
    popularity = 1 / np.arange(2, ITEMS + 2)
    popularity /= popularity.sum()
    found = rng.random((BASKETS, ITEMS)) < np.minimum(4 * popularity, 0.6)
    shares = 2 * rng.dirichlet(np.ones(BUNDLES))
    for share in shares:
        members = rng.choice(ITEMS, int(rng.integers(2, 6)), replace=False, p=popularity)
        bought = (rng.random(BASKETS) < share)[:, None]
        found[:, members] |= bought & (rng.random((BASKETS, len(members))) < 0.75)
    return found.astype(np.uint8)
