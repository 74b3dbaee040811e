"""The bound for any dependence: never below brute force, and equal to it for yes/no answers."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, related, uniform_perturbation, unrelated
from tacit.core import bounds
from tacit.core.arrays import Array
from tacit.core.bounds import Bound, DesignReports
from tacit.errors import DataError
from tests.support.grids import slow_but_first
from tests.support.written_out import WrittenOut, merged, random_design, written_out

#: Bound and enumeration are sums of roundings; the bound adds 4e-12 on the safe side.
AGREEMENT = 1e-11
DESIGNS, AT_ONCE, MOST_CELLS, MOST_CATEGORIES = 300, 50, 12, 3


def over_all_dependence(design: Design, name: str, shares: Array) -> tuple[float, float, float]:
    """The largest best guess, drawn guess and posterior, by enumerating extreme joint tables.

    All three are convex in the joint table, so each true answer goes with one whole record.
    """
    out = WrittenOut.of(design)
    codes = out.true[name]
    best, drawn, worst = 0.0, 0.0, 0.0
    for cells in product(*(np.flatnonzero(codes == c) for c in range(len(shares)))):
        table = np.zeros(len(codes))
        table[list(cells)] = shares
        pse, map_privacy, posterior, _ = written_out(merged(out.matrix * table, codes, 1))
        best, drawn, worst = (
            max(best, 1 - map_privacy),
            max(drawn, 1 - pse),
            max(worst, posterior),
        )
    return min(best, 1.0), min(drawn, 1.0), min(worst, 1.0)


@pytest.mark.parametrize("start", slow_but_first(range(0, DESIGNS, AT_ONCE), 4))
def test_no_dependence_discloses_more_than_the_bound(start: int) -> None:
    for seed in range(start, start + AT_ONCE):
        rng = np.random.default_rng(seed)
        design = random_design(rng, MOST_CELLS)
        for attribute in design.schema:
            if attribute.size > MOST_CATEGORIES:
                continue
            shares = rng.dirichlet(np.ones(attribute.size))
            if seed % 5 == 0:  # categories that nobody has
                shares = np.eye(attribute.size)[seed % attribute.size]
            best, drawn, worst = over_all_dependence(design, attribute.name, shares)
            found = DesignReports(design).bound(attribute.name, shares.tolist())
            assert found.accuracy >= best
            assert found.drawn >= drawn
            assert found.worst_posterior >= worst
            if attribute.size == 2:
                assert found.accuracy <= best + AGREEMENT
                assert found.drawn <= drawn + AGREEMENT
                assert found.worst_posterior <= worst + AGREEMENT


def yes_no(number: int, *groups: Group) -> Design:
    return Design(Schema([Attribute(f"a{i}", ["no", "yes"]) for i in range(number)]), groups)


def test_ten_questions_may_disclose_what_ten_copies_of_an_answer_would() -> None:
    design = yes_no(10, *(Group([f"a{i}"], related("4/5")) for i in range(10)))
    found = DesignReports(design).bound("a0")
    truths = [math.comb(10, i) * 0.8**i * 0.2 ** (10 - i) for i in range(11)]
    expected = sum(truths[6:]) + truths[5] / 2
    assert expected <= found.accuracy <= expected + AGREEMENT
    odds = 4.0**10
    assert found.worst_posterior == pytest.approx(odds / (1 + odds), abs=AGREEMENT)
    alone = DesignReports(design, [design.group_of("a0")]).bound("a0")
    assert 0.8 <= alone.accuracy <= 0.8 + AGREEMENT
    assert 0.68 <= alone.drawn <= 0.68 + AGREEMENT
    assert 0.8 <= alone.worst_posterior <= 0.8 + AGREEMENT
    with pytest.raises(DataError, match="'a0' must be one of the groups seen"):
        DesignReports(design, [design.group_of("a1")]).bound("a0")


def test_dominating_experiments_and_a_grid_only_raise_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    coins = [unrelated("2/3", [f"{i}/20", f"{20 - i}/20"]) for i in range(1, 9)]
    design = yes_no(8, *(Group([f"a{i}"], coin) for i, coin in enumerate(coins)))
    exact = _uncached(design, monkeypatch, choices=1000, outcomes=100_000)
    hull = _uncached(design, monkeypatch, choices=1, outcomes=100_000)
    grid = _uncached(design, monkeypatch, choices=1, outcomes=200)
    assert exact.accuracy < hull.accuracy < grid.accuracy < hull.accuracy + 0.01
    assert exact.worst_posterior == hull.worst_posterior == grid.worst_posterior


def _uncached(
    design: Design, monkeypatch: pytest.MonkeyPatch, choices: int, outcomes: int
) -> Bound:
    monkeypatch.setattr(bounds, "_MOST_CHOICES", choices)
    monkeypatch.setattr(bounds, "_MOST_OUTCOMES", outcomes)
    bounds._two.cache_clear()
    found = DesignReports(design).bound("a0")
    bounds._two.cache_clear()
    return found


def test_the_bound_for_three_categories_is_that_of_a_single_report_where_there_is_one() -> None:
    design = Design(
        Schema([Attribute("a", ["x", "y", "z"])]), [Group(["a"], uniform_perturbation("1/2"))]
    )
    assert 2 / 3 <= DesignReports(design).bound("a").accuracy <= 2 / 3 + AGREEMENT


def test_one_related_coin_for_two_questions_bounds_nothing() -> None:
    design = yes_no(2, Group(["a0", "a1"], related("3/4")))
    assert DesignReports(design).bound("a0") == Bound(1.0, 1.0, 1.0)
