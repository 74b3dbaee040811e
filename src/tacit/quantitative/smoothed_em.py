"""The most likely smooth distribution of points behind reports of the square wave.

Expectation-maximisation with smoothing (EMS): after each EM step the shares of neighbouring points
are averaged with the weights 1/4, 1/2, 1/4. Without it, EM fits the noise.

Reference: Li et al. (SIGMOD 2020), section 5.4; the smoothing is that of D. Nychka, Some properties
of adding a smoothing step to the EM algorithm, Statistics & Probability Letters 9 (1990) 187-193.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.core.arrays import Array
from tacit.quantitative.square_wave_scrambling import SquareWave
from tacit.reconstruction.likelihood import Convergence

#: An iteration ends when no share moves further than this share of the largest one.
_CLOSE, _MOST_STEPS = 1e-4, 5_000


@dataclass(frozen=True)
class WaveSums:
    """The channel of the square wave as sums over windows: M x in the time of two passes."""

    near: float
    far: float
    steps: int
    reach: int

    @classmethod
    def of(cls, scrambling: SquareWave) -> WaveSums:
        """`far` for all points, and `near` more for those within reach."""
        far = float(scrambling.far)
        near = float(scrambling.largest_ratio) * far - far
        return cls(near, far, scrambling.steps, scrambling.reach)

    def forward(self, true: Array) -> Array:
        """Probabilities of reports, along the first axis."""
        sums = _summed(true)
        reports = np.arange(self.steps + 2 * self.reach)
        high = np.minimum(reports + 1, self.steps)
        low = np.maximum(reports - 2 * self.reach, 0)
        return np.asarray(self.far * sums[-1] + self.near * (sums[high] - sums[low]))

    def backward(self, reported: Array) -> Array:
        """The transposed map."""
        sums = _summed(reported)
        low = np.arange(self.steps)
        high = low + 2 * self.reach + 1
        return np.asarray(self.far * sums[-1] + self.near * (sums[high] - sums[low]))


def smoothed_em(wave: WaveSums, reported: Array) -> tuple[Array, Convergence]:
    """Shares of the true points for shares of reports, and how the iteration ended."""
    true = np.full(wave.steps, 1 / wave.steps)
    change, steps = np.inf, 0
    while change >= _CLOSE and steps < _MOST_STEPS:
        after = _smooth(true * wave.backward(reported / wave.forward(true)))
        change = float(np.max(np.abs(after - true)) / after.max())
        true, steps = after, steps + 1
    likelihood = float(reported @ np.log(wave.forward(true)))
    return true, Convergence(change < _CLOSE, steps, change, likelihood, change)


def _summed(columns: Array) -> Array:
    """Cumulative sums along the first axis, from 0."""
    return np.concatenate([np.zeros_like(columns[:1]), np.cumsum(columns, axis=0)])


def _smooth(shares: Array) -> Array:
    """Neighbours averaged; the border is its own neighbour."""
    padded = np.concatenate([shares[:1], shares, shares[-1:]])
    smooth = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
    return np.asarray(smooth / smooth.sum())
