"""Without disguise: the tree of Chow and Liu on the true counts, by scikit-learn and Kruskal."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2_contingency
from sklearn.metrics import mutual_info_score

from tacit.core.arrays import Codes
from tacit.core.schema import Schema
from tacit.mine import ChowLiuTree
from tacit.mine.miner import attributes_of_codes, truthful_design
from tacit.models.dependence_tree import pair_dependence
from tacit.models.tree_distribution import ROOT, TreeDistribution
from tacit.models.units import UnitReports
from tacit.records import count

Edge = tuple[int, int]


def kruskal(scores: dict[Edge, float], n: int) -> set[Edge]:
    """The spanning tree of largest total score."""
    tree_of, found = list(range(n)), set()
    for a, b in sorted(scores, key=lambda edge: -scores[edge]):
        if tree_of[a] != tree_of[b]:
            found.add((a, b))
            tree_of = [tree_of[a] if t == tree_of[b] else t for t in tree_of]
    return found


def records(sizes: tuple[int, ...], seed: int) -> Codes:
    rng = np.random.default_rng(seed)
    parents = [ROOT, *(int(rng.integers(v)) for v in range(1, len(sizes)))]
    tables = [
        rng.dirichlet(np.ones(k)) if p == ROOT else rng.dirichlet(np.ones(k), sizes[p])
        for p, k in zip(parents, sizes, strict=True)
    ]
    drawn = TreeDistribution(tuple(parents), tuple(tables)).draws(4000, rng).astype(np.uint8)
    drawn[: len(sizes) * 6] = np.stack(  # every category occurs
        [np.arange(len(sizes) * 6) % k for k in sizes], axis=1
    )
    return drawn


def edges_of(model: ChowLiuTree) -> set[Edge]:
    ends = (sorted(int(name[1:]) for name in e.first + e.second) for e in model.edges_)
    return {(a, b) for a, b in ends}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("sizes", [(2,) * 8, (2, 3, 4, 2, 5, 3)])
def test_the_tree_is_that_of_the_true_counts(sizes: tuple[int, ...], seed: int) -> None:
    """Among the pairs that pass the test; the information is corrected for what chance adds."""
    codes = records(sizes, seed)
    scores, informations = {}, {}
    tests = {
        pair: chi2_contingency(_counts(codes, pair, sizes), correction=False)
        for pair in combinations(range(len(sizes)), 2)
    }
    model = ChowLiuTree(alpha=0).fit(codes)
    kept = _passed(codes)
    for (a, b), test in tests.items():
        informations[a, b] = mutual_info_score(codes[:, a], codes[:, b]) / np.log(2)
        if (a, b) in kept:
            scores[a, b] = informations[a, b] * (1 - test.dof / test.statistic)
    assert edges_of(model) == kruskal(scores, len(sizes))
    for edge in model.edges_:
        a, b = sorted(int(name[1:]) for name in edge.first + edge.second)
        assert edge.information == pytest.approx(scores[a, b], rel=1e-9)
    if set(sizes) == {2}:  # the correction is the same for all pairs: the plain tree
        plain = {pair: value for pair, value in informations.items() if pair in kept}
        assert edges_of(model) == kruskal(plain, len(sizes))


def _counts(codes: Codes, pair: Edge, sizes: tuple[int, ...]) -> Codes:
    table = np.zeros([sizes[v] for v in pair], np.int64)
    np.add.at(table, tuple(codes[:, v] for v in pair), 1)
    return table


def _passed(codes: Codes) -> set[Edge]:
    design = truthful_design(Schema(attributes_of_codes(codes)))
    found = pair_dependence(UnitReports(count(codes, design.schema), design))
    return {(a, b) for a, b in found.pairs[found.adjusted <= 0.05].tolist()}


def test_the_tests_are_pearsons_and_close_to_the_likelihood_ratio() -> None:
    sizes = (2, 3, 4, 2, 5, 3)
    codes = records(sizes, 3)
    design = truthful_design(Schema(attributes_of_codes(codes)))
    found = pair_dependence(UnitReports(count(codes, design.schema), design))
    for pair, statistic, freedom, p_value in zip(
        found.pairs.tolist(), found.statistic, found.freedom, found.p_values, strict=True
    ):
        table = _counts(codes, tuple(pair), sizes)
        pearson = chi2_contingency(table, correction=False)
        assert statistic == pytest.approx(pearson.statistic)
        assert freedom == pearson.dof
        assert p_value >= pearson.pvalue * (1 - 1e-9)
