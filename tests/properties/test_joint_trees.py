"""For any design: a tree agrees with the reconstruction wherever it was fitted to it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tacit import Design, reconstruct
from tacit.core.arrays import Array
from tacit.mine import ChowLiuTree
from tacit.records import PatternTable
from tests.support.families import designs, seeds
from tests.support.tables import cells_of, reported_table

#: So many that reconstructed tables are positive and every dependence is significant.
N_RECORDS = 10**12


def counted(design: Design, joint: Array) -> PatternTable:
    """The reports to expect of a true distribution."""
    chances = reported_table(design, joint).ravel()
    cells = np.array(cells_of(design.reported.attributes), np.uint8)
    counts = np.round(chances * N_RECORDS).astype(np.int64)
    return PatternTable(design.reported, cells[counts > 0], counts[counts > 0])


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(design=designs(max_attributes=4, largest=4), seed=seeds())
def test_margins_and_edges_are_the_reconstructed_ones_with_their_errors(
    design: Design, seed: int
) -> None:
    sizes = design.schema.sizes
    joint = np.random.default_rng(seed).dirichlet(np.full(int(np.prod(sizes)), 5.0))
    patterns = counted(design, joint.reshape(sizes))
    model, plain = ChowLiuTree(design, alpha=0).fit(patterns), reconstruct(patterns, design)
    families = [[name] for name in design.schema.names]
    families += [[*edge.first, *edge.second] for edge in model.edges_]
    for names in families:
        if len(names) > 3:
            continue
        found, expected = model.table(names), plain.table(names)
        np.testing.assert_allclose(found.value, expected.value, atol=1e-8)
        np.testing.assert_allclose(found.stderr, expected.stderr, rtol=1e-4, atol=1e-12)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(design=designs(max_attributes=4, largest=3), seed=seeds())
def test_a_true_tree_is_told_exactly_from_enough_reports(design: Design, seed: int) -> None:
    """Two attributes at most are always a tree; of more, independent ones are."""
    rng, sizes = np.random.default_rng(seed), design.schema.sizes
    joint: Array = np.ones(())
    for k in sizes:
        joint = np.multiply.outer(joint, rng.dirichlet(np.full(k, 5.0)))
    model = ChowLiuTree(design).fit(counted(design, joint))
    units = model.units_
    order = [name for names in units for name in names]
    found = model.tree_.joint().reshape([design.schema[name].size for name in order])
    turned = found.transpose([order.index(name) for name in design.schema.names])
    np.testing.assert_allclose(turned, joint, atol=1e-7)
