"""simplex: the nearest distribution."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tacit.core.arrays import Array
from tacit.reconstruction import inversion, simplex
from tacit.reconstruction.tables import project
from tests.support.families import CASES
from tests.support.tables import problem_of

tables = arrays(
    np.float64, st.tuples(st.integers(1, 4), st.integers(1, 4)), elements=st.floats(-9, 9)
)


@given(tables)
def test_a_projection_is_a_distribution_and_optimal(values: Array) -> None:
    """Nearest if and only if no vertex of the simplex lies in the direction of the residual."""
    nearest = project(values)
    assert nearest.shape == values.shape
    assert (nearest >= 0).all()
    np.testing.assert_allclose(nearest.sum(), 1, rtol=1e-12)
    residual = values - nearest
    assert residual.max() <= np.sum(residual * nearest) + 1e-12


@given(tables)
def test_a_distribution_is_its_own_projection(values: Array) -> None:
    weights = np.abs(values) + 0.1
    np.testing.assert_allclose(
        project(weights / weights.sum()), weights / weights.sum(), atol=1e-15
    )


def test_simplex_is_the_projected_unbiased_estimate_with_its_errors() -> None:
    case = next(c for c in CASES if c.family == "related" and len(c.attributes) == 2)
    counts = np.zeros(case.design.reported.sizes)
    counts[0, 0] = 40
    problem = problem_of(case.design, counts, case.design.schema.names, 40)
    raw, projected = inversion(problem), simplex(problem)
    assert raw.value.min() < 0
    np.testing.assert_array_equal(projected.value, project(raw.value))
    np.testing.assert_array_equal(projected.stderr, raw.stderr)
    np.testing.assert_array_equal(projected.interval(), raw.interval())
    assert projected.method == "simplex"
