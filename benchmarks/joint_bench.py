"""Chow-Liu trees of disguised records against scikit-learn on the same records undisguised.

The peer is the usual way to write it: mutual_info_score of every pair, and a spanning tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.metrics import mutual_info_score

from benchmarks.bayes_bench import schema_of
from benchmarks.measure import MB, Row, best, peak_memory
from tacit import Design, Group, disguise, related
from tacit.mine import ChowLiuTree
from tacit.models.tree_distribution import ROOT, TreeDistribution

GROUPS, THETA = 3, 0.8
LEAST, LIMIT = 10, 300
#: The peer takes over a minute for 4,950 pairs; it is measured on the first of them.
PEER_PAIRS = 150


def rows() -> Iterator[Row]:
    """10^6 x 15 with 2 to 4 categories, and 10^5 x 100 yes/no attributes."""
    for n, sizes in ((10**6, (2, 3, 4) * 5), (10**5, (2,) * 100)):
        tree = random_tree(sizes, 31)
        true = tree.draws(n, np.random.default_rng(32)).astype(np.uint8)
        schema = schema_of(sizes)
        parts = [schema.names[g::GROUPS] for g in range(GROUPS)]
        design = Design(schema, [Group(part, related(THETA)) for part in parts])
        reported = disguise(true, design, np.random.default_rng(33))
        with peak_memory() as peak:
            model = ChowLiuTree(design).fit(reported)
        seconds = best(lambda d=design, r=reported: ChowLiuTree(d).fit(r), 2)
        pairs = list(combinations(range(len(sizes)), 2))
        share = min(1, PEER_PAIRS / len(pairs))
        peer = best(lambda t=true, p=pairs: peer_tree(t, p[:PEER_PAIRS]), 1) / share
        what = f"Chow-Liu tree, 10^{round(np.log10(n))} x {len(sizes)}, related groups: {GROUPS}"
        detail = (
            f"{seconds:.2f} s against {peer:.2f} s, {found(model, tree)} of {len(sizes) - 1} edges"
            + (f"; the peer's time from {PEER_PAIRS} of {len(pairs):,} pairs" * (share < 1))
        )
        claim = f"{what}: CPU against mutual_info_score on raw records"
        yield Row(claim, peer / seconds, LEAST, "times faster", detail)
        made = best(lambda m=model, k=n: m.synthesize(k, np.random.default_rng(34)), 1)
        detail = f"{n:,} synthetic records in {made:.2f} s"
        yield Row(f"{what}: extra memory", peak.extra / MB, LIMIT, "MB", detail, at_most=True)


def random_tree(sizes: Sequence[int], seed: int) -> TreeDistribution:
    """A tree in which every attribute depends clearly on one of the three before it."""
    rng = np.random.default_rng(seed)
    parents = [ROOT, *(int(rng.integers(max(0, v - 3), v)) for v in range(1, len(sizes)))]
    tables = []
    for parent, k in zip(parents, sizes, strict=True):
        if parent == ROOT:
            tables.append(np.full(k, 1 / k))
            continue
        own = rng.dirichlet(np.full(k, 4.0))
        copied = np.eye(k)[np.arange(sizes[parent]) % k]
        tables.append(0.5 * copied + 0.5 * own)
    return TreeDistribution(tuple(parents), tuple(tables))


def peer_tree(true: np.ndarray, pairs: Sequence[tuple[int, int]]) -> object:
    scores = np.zeros((true.shape[1],) * 2)
    for a, b in pairs:
        scores[a, b] = mutual_info_score(true[:, a], true[:, b])
    return minimum_spanning_tree(-scores)


def found(model: ChowLiuTree, tree: TreeDistribution) -> int:
    """How many edges of the true tree were found."""
    names = model.features_.names
    true = {frozenset((names[p], names[v])) for p, v in tree.edges}
    return sum(frozenset(e.first + e.second) in true for e in model.edges_)
