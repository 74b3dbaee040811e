"""split_gate: whether the reports show any dependence of the class, so that a tree may split.

Two tests; one is enough:

1. Some attribute depends on the class (see `class_tests`), Bonferroni over the attributes.
2. The tree predicts held-out reports better than a class independent of all attributes, by some
   paired standard errors. Both models, P(x) P(c | leaf of x) and P(x) P(c), are fitted to the other
   reports by EM, with a weak prior of P(x): a wrong P(x) could be repaired by the leaves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import chdtrc

from tacit.core.arrays import Array, Index
from tacit.mine.tree.joint_table import MStep

#: Level of the first test, over all attributes.
LEVEL = 0.025
#: Standard errors that the second test asks for.
STANDARD_ERRORS = 2.2
#: Records that the prior counts for in both models of the second test.
STRENGTH = 30.0


def smallest_p_value(tests: Sequence[tuple[float, int]]) -> float:
    """The smallest p-value of chi-squared statistics with their degrees of freedom, Bonferroni."""
    values = [float(chdtrc(freedom, statistic)) for statistic, freedom in tests]
    return min(1.0, min(values) * len(values))


def leaf_step(prior: Array, strength: float, leaf: Index, n_records: float) -> MStep:
    """The M step of P(x) P(c | leaf of x): one record of the whole is added to every leaf.

    The margin of the prior counts as `strength` records of the features.
    """
    n_leaves, features = int(leaf.max()) + 1, prior.sum(axis=1)
    weight = strength / n_records

    def m_step(expected: Array) -> Array:
        sums = np.stack([np.bincount(leaf, column, n_leaves) for column in expected.T], axis=1)
        whole = sums.sum(axis=0)
        sums += whole / whole.sum() / n_records
        chances = sums / sums.sum(axis=1, keepdims=True)
        margin = (expected.sum(axis=1) + weight * features) / (1 + weight)
        return np.asarray(margin[:, None] * chances[leaf])

    return m_step


def paired(differences: Array, counts: Array) -> tuple[float, float]:
    """The mean over reports of differences, and its standard error."""
    n = float(counts.sum())
    mean = float(counts @ differences) / n
    variance = float(counts @ np.square(differences - mean)) / max(n - 1, 1)
    return mean, math.sqrt(variance / n)
