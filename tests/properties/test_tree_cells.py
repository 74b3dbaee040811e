"""Trees from counts of cells are the trees from rows, however records are stored and counted."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import Attribute, Design, Group, Schema, disguise, related, truthful, unrelated
from tacit.core.channel import Coin
from tacit.mine.tree import growth, tables
from tacit.mine.tree.growth import CRITERIA, GrowthSettings, Tree, grow
from tacit.mine.tree.tables import RowTables, TreeReports
from tacit.records import count, count_or_list
from tests.support.families import attributes_of, seeds, shares

#: Rounding of shares, and of their covariances.
ROUNDING = 1e-9
growths = st.builds(
    GrowthSettings,
    st.sampled_from(list(CRITERIA.values())),
    st.sampled_from([0.0, 0.3, 2.0]),
    st.sampled_from([0, 1, 3, None]),
)
few = settings(max_examples=settings.default.max_examples * 3 // 5)


def coins(rng: np.random.Generator, kind: str, schema: Schema) -> list[Group]:
    """One to four groups, related (yes/no), unrelated or both; one in six is truthful."""
    n_groups = int(rng.integers(1, 5))
    member = rng.permutation(np.append(np.arange(n_groups), rng.integers(0, n_groups, 9)))
    groups = []
    for g in range(n_groups):
        own = [a for a, of in zip(schema.attributes, member, strict=False) if of == g]
        if own:
            groups.append(Group([a.name for a in own], _coin(rng, kind, own)))
    return groups


def _coin(rng: np.random.Generator, kind: str, own: list[Attribute]) -> Coin:
    if rng.random() < 1 / 6:
        return truthful()
    theta = f"{rng.choice([5, 7, 8, 9])}/10"
    if kind == "unrelated" or (kind == "both" and rng.random() < 0.5):
        return unrelated(theta, {a.name: shares(rng, a.size) for a in own})
    return related("7/10" if theta == "5/10" else theta)


def reported(kind: str, seed: int) -> tuple[Design, np.ndarray, str]:
    """Records that depend on each other, disguised."""
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(3, 7)), int(10 ** rng.uniform(1, 3.5))
    sizes = (2,) * d if kind != "unrelated" else tuple(map(int, rng.integers(2, 5, d)))
    design = Design(Schema(attributes_of(sizes)), coins(rng, kind, Schema(attributes_of(sizes))))
    base = rng.integers(0, 4, n)
    alike = [
        np.where(rng.random(n) < 0.6, (base + i) % k, rng.integers(0, k, n))
        for i, k in enumerate(sizes)
    ]
    true = np.stack(alike, axis=1).astype(np.uint8)
    return design, disguise(true, design, rng), design.schema.names[int(rng.integers(d))]


def same(one: Tree, other: Tree) -> None:
    for name in ("attribute", "parent", "child", "label_source"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_allclose(one.value, other.value, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=0, atol=ROUNDING)


@few
@given(st.sampled_from(["related", "unrelated", "both"]), growths, seeds())
def test_cells_give_the_tree_of_rows(kind: str, growth_settings: GrowthSettings, seed: int) -> None:
    design, records, target = reported(kind, seed)
    reports = TreeReports.of(count(records, design.reported), design, target)
    assert reports.has_cells
    with patch.object(growth, "root_tables", RowTables.root):
        expected = grow(reports, growth_settings)
    same(grow(reports, growth_settings), expected)


@few
@given(growths, seeds())
def test_packed_records_give_the_tree_of_codes(growth_settings: GrowthSettings, seed: int) -> None:
    design, records, target = reported("both", seed)
    patterns = count(records, design.reported)
    with patch.object(tables, "_MOST_REPEATED", len(records)):
        packed = TreeReports.of(patterns, design, target)
    assert packed.packed
    coded = replace(packed, answers=packed.codes)
    same(grow(packed, growth_settings), grow(coded, growth_settings))


@few
@given(st.sampled_from(["related", "unrelated"]), growths, seeds())
def test_records_that_are_not_counted_give_the_tree_of_counted_ones(
    kind: str, growth_settings: GrowthSettings, seed: int
) -> None:
    design, records, target = reported(kind, seed)
    with patch("tacit.records.patterns.mostly_distinct", return_value=True):
        every = count_or_list(records, design.reported)
    assert len(every) == len(records)
    one, other = (
        TreeReports.of(patterns, design, target)
        for patterns in (every, count(records, design.reported))
    )
    same(grow(one, growth_settings), grow(other, growth_settings))
