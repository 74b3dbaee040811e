"""Synthetic market baskets: few popular items, many rare ones, and items bought together.

Like the generator of Agrawal & Srikant (VLDB 1994, section 2.4.3), shortened: a basket is made of
a few patterns drawn from a fixed list, some items of each left out, and of single items.
"""

from __future__ import annotations

import numpy as np

from tacit import Attribute, Design, Group, Schema, related, truthful
from tacit.core.arrays import Codes
from tacit.core.channel import Coin

BASKETS, ITEMS = 100_000, 200
#: Bundles of items that are bought together, and the mean number of them in a basket.
BUNDLES, PER_BASKET = 60, 2.0
#: How often an item of a bundle is left out, and how many single items are added on average.
LEFT_OUT, SINGLES = 0.25, 4.0


def baskets(n: int = BASKETS, n_items: int = ITEMS, seed: int = 0) -> Codes:
    """Records x items, 1 where a basket has the item."""
    rng = np.random.default_rng(seed)
    popularity = rng.permutation(1 / np.arange(2, n_items + 2))
    popularity /= popularity.sum()
    found = rng.random((n, n_items)) < np.minimum(SINGLES * popularity, 0.6)
    shares = rng.exponential(size=BUNDLES)
    shares *= PER_BASKET / shares.sum()
    for share in shares:
        members = rng.choice(n_items, int(rng.integers(2, 6)), replace=False, p=popularity)
        bought = (rng.random(n) < share)[:, None] & (rng.random((n, len(members))) > LEFT_OUT)
        found[:, members] |= bought
    return found.astype(np.uint8)


def schema_of(n_items: int = ITEMS) -> Schema:
    """One yes/no attribute per item."""
    return Schema([Attribute(f"item {i}", ["no", "yes"]) for i in range(n_items)])


def mask(theta: float, n_items: int = ITEMS) -> Design:
    """Every item disguised with its own coin (MASK); truthful if theta is 1."""
    coin: Coin = truthful() if theta == 1 else related(theta)
    schema = schema_of(n_items)
    return Design(schema, [Group([name], coin) for name in schema.names])
