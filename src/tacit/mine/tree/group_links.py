"""Links: how sure the direction is in which a group of attributes depends on the class.

If theta is close to 1/2, reports from which two groups depend on each other in one direction are
nearly those of the opposite one, and a model of largest likelihood has one of them as if it were
certain. The unbiased table of an attribute and the class has d = P(c, a) - P(c) P(a) with its
covariance C. For the dependence e of a model, the log-odds of e against -e are

    2 e^T C^-1 d,

averaged over the attributes of a group, whose noise is nearly the same. With w the chance of e, the
mean over both directions has 2 w - 1 of the dependence between the group and all others:

    p <- (2 w - 1) p + (2 - 2 w) p(group) p(others),    at least none of it.
"""

from __future__ import annotations

import numpy as np

from tacit.core.arrays import Array
from tacit.mine.tree.joint_channel import JointChannel
from tacit.reconstruction import Estimate, Reconstruction


class Links:
    """The unbiased tables of the class and the attributes of each group without the class."""

    def __init__(self, channel: JointChannel, found: Reconstruction, target: str) -> None:
        self.channel = channel
        self.target = len(channel.sizes)
        names = channel.channel.true.names
        others = [f for f in channel.channel.factors if self.target not in f.true_axes]
        self.groups = [
            {a: found.table([target, names[a]]) for a in factor.true_axes} for factor in others
        ]

    def shrunk(self, table: Array) -> Array:
        """The table with each group as dependent on the others as its direction is sure."""
        cube = table.reshape(self.channel.channel.true.sizes)
        for unbiased in self.groups:
            axes = tuple(unbiased)
            odds = np.mean([self._log_odds(cube, a, own) for a, own in unbiased.items()])
            kept = max(0.0, float(np.tanh(odds / 2)))  # 2 w - 1
            others = tuple(a for a in range(cube.ndim) if a not in axes)
            apart = cube.sum(axis=axes, keepdims=True) * cube.sum(axis=others, keepdims=True)
            cube = kept * cube + (1 - kept) * apart
        return np.asarray(cube.reshape(table.shape))

    def _log_odds(self, cube: Array, a: int, unbiased: Estimate) -> float:
        """2 e^T C^-1 d of one attribute."""
        model = cube.sum(axis=tuple(b for b in range(cube.ndim) if b not in (a, self.target))).T
        precision = np.linalg.pinv(unbiased.covariance, rcond=1e-8, hermitian=True)
        return float(2 * _beyond(model) @ precision @ _beyond(unbiased.value))


def _beyond(table: Array) -> Array:
    """P(c, a) - P(c) P(a), flattened."""
    return np.asarray(table - np.outer(table.sum(axis=1), table.sum(axis=0))).ravel()
