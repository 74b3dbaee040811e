"""The constrained maximum-likelihood distribution, by expectation-maximisation.

    p_j <- p_j * g_j,    g_j = sum_i p*_i M_ij / (M p)_i

Huang & Du (2008, eq. 3, from Agrawal et al.), with its summation indices corrected. The fixed
point maximises the likelihood over the simplex, so no cell is ever negative.

Convergence is stated, not assumed: the gradient g has mean 1 under p, and by concavity
max_j g_j - 1 bounds what the log-likelihood a record can still gain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.arrays import Array
from tacit.channel.linear_maps import Linear
from tacit.squarem import Convergence, Step, climb

TOLERANCE = 1e-11
MAX_ITERATIONS = 2_000

Map = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Fit:
    """The maximum-likelihood distribution and how it was reached."""

    value: Array
    convergence: Convergence


def maximise(
    forward: Map,
    backward: Map,
    observed: Array,
    start: Array,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
) -> Fit:
    """Maximise sum observed * log(forward(p)) over distributions p.

    `forward` is the channel, `backward` its transpose; both map tables to tables.
    """

    def step(p: Array) -> Step:
        seen = observed > 0
        expected = np.where(seen, forward(p), 1.0)
        gradient = backward(observed / expected)
        likelihood = float(np.sum(observed[seen] * np.log(expected[seen])))
        return Step(p * gradient, likelihood, float(gradient.max() - 1))

    return Fit(*climb(step, start, lambda p: p / p.sum(), tolerance, max_iterations))


def fit(forward: Linear, frequencies: Array) -> Fit:
    """Maximum-likelihood distribution of the cells of one group."""
    return maximise(
        lambda p: (forward @ p[:, None])[:, 0],
        lambda q: (forward.T @ q[:, None])[:, 0],
        frequencies,
        np.full(forward.shape[1], 1 / forward.shape[1]),
    )
