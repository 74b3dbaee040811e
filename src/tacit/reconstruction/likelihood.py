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

TOLERANCE = 1e-11
MAX_ITERATIONS = 2_000
#: A leap may shrink a cell at most to this share of what a plain step makes of it.
_SHRINK = 0.01
#: Lengths of a leap that are tried, each about half the one before.
_TRIES = 4
#: Log-likelihoods a record that differ by less cannot be told apart.
_ROUNDING = 1e-14

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

    def step(p: Array) -> _Step:
        return _step(forward, backward, observed, p)

    p, change = start, 0.0
    for iteration in range(1, max_iterations + 1):
        first = step(p)
        if first.gap <= tolerance:
            return Fit(p, Convergence(True, iteration, change, first.log_likelihood, first.gap))
        second = step(first.after)
        following = _furthest(step, p, first, second)
        change, p = float(np.abs(following - p).max()), following
    last = step(p)
    return Fit(p, Convergence(False, max_iterations, change, last.log_likelihood, last.gap))


def _furthest(step: Callable[[Array], _Step], p: Array, first: _Step, second: _Step) -> Array:
    """Where the longest leap leads that does not lower the likelihood; else two plain steps."""
    pace, turn = first.after - p, second.after - 2 * first.after + p
    length = float(np.linalg.norm(turn))
    reach = max(1.0, float(np.linalg.norm(pace)) / length) if length > 0 else 1.0
    for _ in range(_TRIES):
        leap = np.maximum(p + 2 * reach * pace + reach**2 * turn, _SHRINK * second.after)
        third = step(leap / leap.sum())
        if third.log_likelihood >= second.log_likelihood - _ROUNDING:
            return third.after
        reach = (reach + 1) / 2
    return second.after


def _step(forward: Map, backward: Map, observed: Array, p: Array) -> _Step:
    seen = observed > 0
    expected = np.where(seen, forward(p), 1.0)
    gradient = backward(observed / expected)
    likelihood = float(np.sum(observed[seen] * np.log(expected[seen])))
    return _Step(p * gradient, likelihood, float(gradient.max() - 1))


def fit(forward: Linear, frequencies: Array) -> Fit:
    """Maximum-likelihood distribution of the cells of one group."""
    return maximise(
        lambda p: (forward @ p[:, None])[:, 0],
        lambda q: (forward.T @ q[:, None])[:, 0],
        frequencies,
        np.full(forward.shape[1], 1 / forward.shape[1]),
    )
