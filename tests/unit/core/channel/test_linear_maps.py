"""Linear maps in their structure agree with the matrices they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.core.channel.linear_maps import Agreement, Dense, DiagonalPlusOuter, Linear, chain, outer
from tests.support.tables import kron_all


def maps() -> list[Linear]:
    rng = np.random.default_rng(3)
    return [
        Dense(rng.normal(size=(5, 3))),
        DiagonalPlusOuter(rng.normal(size=4), rng.normal(size=4), rng.normal(size=4)),
        Agreement((3, 2), rng.normal(size=(2, 2)) + 3),
    ]


@pytest.mark.parametrize("linear", maps(), ids=lambda m: type(m).__name__)
def test_a_map_is_its_matrix(linear: Linear) -> None:
    M = linear.matrix()
    columns = np.random.default_rng(1).normal(size=(linear.shape[1], 7))
    assert M.shape == linear.shape
    np.testing.assert_allclose(linear @ columns, M @ columns, atol=1e-12)
    np.testing.assert_allclose(linear.T.matrix(), M.T, atol=1e-12)
    np.testing.assert_allclose(linear.power(2).matrix(), M**2, atol=1e-11)


def test_entries_of_an_agreement_depend_only_on_where_cells_agree() -> None:
    linear = Agreement((3, 2), np.array([[1.0, 0.4], [0.3, 0.2]]))
    M, entries = linear.matrix(), linear.coefficients()
    cells = [(i, j) for i in range(3) for j in range(2)]
    expected = [[entries[int(x[0] == y[0]), int(x[1] == y[1])] for y in cells] for x in cells]
    np.testing.assert_allclose(M, expected, atol=1e-14)
    np.testing.assert_allclose(linear.inverse().matrix() @ M, np.eye(6), atol=1e-13)
    values = np.sort(np.linalg.eigvalsh(M))
    np.testing.assert_allclose(values, [0.2, 0.2, 0.3, 0.3, 0.4, 1.0], atol=1e-13)


def test_a_chain_is_the_kronecker_product_that_is_never_built() -> None:
    steps = maps()
    columns = np.random.default_rng(2).normal(size=(3 * 4 * 6, 2))
    expected = kron_all([step.matrix() for step in steps]) @ columns
    np.testing.assert_allclose(chain(steps, columns), expected, atol=1e-11)


def test_outer_flattens_with_the_last_factor_running_fastest() -> None:
    np.testing.assert_array_equal(outer(np.array([1.0, 2]), np.array([3.0, 5])), [3, 5, 6, 10])
