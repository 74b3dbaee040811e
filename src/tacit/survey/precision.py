"""The expected width of intervals, before any data.

    Var(p_hat) = (p own + (1 - p) other - p^2) / n

own and other are the second moments of a report's weight in the estimate by inversion, for records
in the category and outside it (corrected Theorem 6 of Huang & Du 2008). If the others differ, the
largest counts; if categories differ, the one with the largest error. The worst p is (own - other) /
2, clipped to [0, 1]. Without disguise this is p (1 - p) / n.

A yes/no answer with more than two reports (`kuk`, `christofides`, a tall matrix) is estimated by
generalised least squares. Its variance is that of the most likely share:

    Var(p_hat) = 1 / (n sum_y (M[y, yes] - M[y, no])^2 / (p M[y, yes] + (1 - p) M[y, no]))

The worst p is then the worst of 0, .01, ..., 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel.event_moments import EventMoments
from tacit.core.design import Design
from tacit.errors import DataError

LEVEL = 0.95
_Z = NormalDist().inv_cdf((1 + LEVEL) / 2)


@dataclass(frozen=True)
class Width:
    """Standard errors of one attribute's shares: at the worst share, at .1 and at .5.

    None if the attribute has no inverse of its own (a joint matrix, or a tall one of three or more
    categories).
    """

    attribute: str
    respondents: int
    worst: float | None
    at_tenth: float | None
    at_half: float | None

    def half(self, stderr: float | None) -> float | None:
        """Half the width of a 95 % interval, by the normal approximation."""
        return None if stderr is None else _Z * stderr


def widths(design: Design, respondents: int) -> tuple[Width, ...]:
    """Expected standard errors of every attribute's shares for this many respondents."""
    if type(respondents) is not int or respondents < 1:
        raise DataError(f"respondents must be a whole number from 1, got {respondents!r}")
    return tuple(_width(design, name, respondents) for name in design.schema.names)


def _width(design: Design, name: str, n: int) -> Width:
    group = design.group_of(name)
    channel = None
    if group.coin.separable or len(group.attributes) == 1:
        channel = design.channel([name]).factors[0].channel
    if channel is not None and channel.inverse is None and channel.true_shape == (2,):
        shares = (np.linspace(0, 1, 101), 0.1, 0.5)
        return Width(name, n, *(_likely_stderr(channel.matrix, p, n) for p in shares))
    if channel is None or channel.inverse is None:
        return Width(name, n, None, None, None)
    moments = channel.moments(2)
    worst = np.clip((moments.inside[0] - moments.outside[1]) / 2, 0, 1)
    return Width(name, n, *(_stderr(moments, p, n) for p in (worst, 0.1, 0.5)))


def _stderr(moments: EventMoments, p: Array | float, n: int) -> float:
    """The largest standard error over categories with the share p."""
    variance = p * moments.inside[0] + (1 - p) * moments.outside[1] - np.square(p)
    return math.sqrt(max(float(np.max(variance)), 0.0) / n)


def _likely_stderr(matrix: Array, p: Array | float, n: int) -> float:
    """The largest standard error of the most likely share of yes, if the true share is p."""
    no, yes = matrix[:, :, None].transpose(1, 0, 2)
    reported = np.maximum(p * yes + (1 - p) * no, np.finfo(float).tiny)
    information = ((yes - no) ** 2 / reported).sum(axis=0)
    return math.sqrt(float(np.max(1 / information)) / n)
