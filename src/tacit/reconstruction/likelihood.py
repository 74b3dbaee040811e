"""The constrained maximum-likelihood distribution, by expectation-maximisation.

    p_j <- p_j * g_j,    g_j = sum_i p*_i M_ij / (M p)_i

Huang & Du (2008, eq. 3, from Agrawal et al.), with its summation indices corrected. The fixed
point maximises the likelihood over the simplex, so no cell is ever negative. Steps are
extrapolated (SQUAREM: Varadhan & Roland, 2008) and taken back where the likelihood would fall.

Convergence is stated, not assumed: the gradient g has mean 1 under p, and by concavity
max_j g_j - 1 bounds what the log-likelihood a record can still gain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.channel.linear import Array, Linear

TOLERANCE = 1e-12
MAX_ITERATIONS = 5_000
#: A leap may shrink a cell at most to this share of what a plain step makes of it.
_SHRINK = 0.01

Map = Callable[[Array], Array]


@dataclass(frozen=True)
class Convergence:
    """How the iteration ended; `gap` bounds what the log-likelihood a record could still gain."""

    converged: bool
    iterations: int
    last_change: float
    log_likelihood: float
    gap: float


@dataclass(frozen=True, eq=False)
class Fit:
    """The maximum-likelihood distribution and how it was reached."""

    value: Array
    convergence: Convergence


@dataclass(frozen=True, eq=False)
class _Step:
    """One EM step from a distribution: where it leads, and how good the start was."""

    after: Array
    log_likelihood: float
    gap: float


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
    p, change = start, 0.0
    for iteration in range(1, max_iterations + 1):
        first = _step(forward, backward, observed, p)
        if first.gap <= tolerance:
            return Fit(p, Convergence(True, iteration, change, first.log_likelihood, first.gap))
        second = _step(forward, backward, observed, first.after)
        leap = _leap(p, first.after, second.after)
        third = _step(forward, backward, observed, leap)
        better = third.log_likelihood >= second.log_likelihood
        following = third.after if better else second.after
        change, p = float(np.abs(following - p).max()), following
    last = _step(forward, backward, observed, p)
    return Fit(p, Convergence(False, max_iterations, change, last.log_likelihood, last.gap))


def _step(forward: Map, backward: Map, observed: Array, p: Array) -> _Step:
    seen = observed > 0
    expected = np.where(seen, forward(p), 1.0)
    gradient = backward(observed / expected)
    likelihood = float(np.sum(observed[seen] * np.log(expected[seen])))
    return _Step(p * gradient, likelihood, float(gradient.max() - 1))


def _leap(p: Array, after: Array, after_next: Array) -> Array:
    """Extrapolate two steps; cells may shrink fast but stay positive."""
    pace, turn = after - p, after_next - 2 * after + p
    length = np.linalg.norm(turn)
    reach = max(1.0, float(np.linalg.norm(pace) / length)) if length > 0 else 1.0
    leap: Array = np.maximum(p + 2 * reach * pace + reach**2 * turn, _SHRINK * after_next)
    return np.asarray(leap / leap.sum())


def fit(forward: Linear, frequencies: Array) -> Fit:
    """Maximum-likelihood distribution of the cells of one group."""
    return maximise(
        lambda p: (forward @ p[:, None])[:, 0],
        lambda q: (forward.T @ q[:, None])[:, 0],
        frequencies,
        np.full(forward.shape[1], 1 / forward.shape[1]),
    )
