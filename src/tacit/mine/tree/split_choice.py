"""best_splits: the split of each node with the largest gain, among those that exceed noise.

Noise is only computed for splits whose gain exceeds that of the best so far.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from tacit.core.arrays import Array, Index, Mask
from tacit.mine.tree.class_tables import ClassTables
from tacit.mine.tree.criteria import BestMoments, BestSplits, SplitCriterion
from tacit.mine.tree.node_tables import NodeTables
from tacit.mine.tree.tree import NONE

#: Gains closer than this are equal, and the first attribute and option are taken: the two options
#: of a yes/no attribute are the same split, and with shares cut at zero many attributes give only
#: pure nodes. Rounding errors should not choose among them.
_TIE = 1e-12


@dataclass(frozen=True)
class GrowthSettings:
    """The criterion, the standard errors a split must exceed noise by, and the largest depth."""

    criterion: SplitCriterion
    caution: float
    max_depth: int | None = None

    def least_dependence(self, n_categories: int, n_classes: int) -> float:
        """Standard errors that some cell of a table must exceed."""
        return self._as_rare((n_categories - 1) * (n_classes - 1))

    def least_lead(self, n_attributes: int) -> float:
        """Standard errors by which a class must lead that of the parent."""
        return self._as_rare(math.sqrt(n_attributes)) if self.caution else 0.0

    def _as_rare(self, tries: float) -> float:
        """Standard errors that noise exceeds as often in this many tries as `caution` in one."""
        return -float(ndtri_exp(log_ndtr(-self.caution) - math.log(tries)))


def best_splits(settings: GrowthSettings, tables: NodeTables) -> BestSplits:
    """The split with the largest gain at each node, among those that exceed noise."""
    reports = tables.reports
    with_noise = settings.caution > 0 and not reports.exact
    best = _no_splits(tables, with_noise)
    free = tables.choices > 1
    for split in tables.splits([a for a in reports.features if free[:, a].any()]):
        gains = _gains(settings, split, free[:, split.attributes])
        if with_noise:
            _drop_noise(settings, tables, split, gains, best.gain)
        option = (gains >= gains.max(axis=2, keepdims=True) - _TIE).argmax(axis=2)
        gain = np.take_along_axis(gains, option[..., None], axis=2)[..., 0]
        which = np.full(tables.n, NONE)
        for place in range(len(split.attributes)):
            better = gain[:, place] > best.gain + _TIE
            best.gain[better], which[better] = gain[better, place], place
        _replace(best, split, which, option)
    return best


def _gains(settings: GrowthSettings, split: ClassTables, free: Mask) -> Array:
    """The gain of each option, nodes x attributes x options; minus infinity unless it is free."""
    value = split.value[free]
    gains = settings.criterion.gains(value if settings.caution == 0 else np.maximum(value, 0))
    found = np.full((*free.shape, gains.shape[1]), -np.inf)
    found[free] = gains
    return found


def _drop_noise(
    settings: GrowthSettings, tables: NodeTables, split: ClassTables, gains: Array, best: Array
) -> None:
    """Set the gains of options within noise to minus infinity, where they exceed the best."""
    nodes, which = np.nonzero(gains.max(axis=2) > best[:, None] + _TIE)
    if not len(nodes):
        return
    beyond, noise = split.noise(nodes, which)
    unseen = tables.unseen(np.full(tables.n, split.attributes[0]))[nodes, None, None]
    stderr = np.sqrt(noise**2 + unseen / tables.reports.n_records)
    least = settings.least_dependence(*beyond.shape[1:]) * stderr
    options = settings.criterion.options(np.asarray((np.abs(beyond) >= least).any(axis=2)))
    gains[nodes, which] = np.where(options, gains[nodes, which], -np.inf)


def _no_splits(tables: NodeTables, with_noise: bool) -> BestSplits:
    n, c = tables.n, tables.reports.sizes[tables.reports.target]
    value = np.zeros((n, max(tables.reports.sizes), c))
    moments = None
    if with_noise:
        own, cross = np.zeros((*value.shape, c)), np.zeros((*value.shape, c))
        moments = BestMoments(own, cross, tables.by_class()[1])
    return BestSplits(np.full(n, -np.inf), np.full(n, NONE), np.zeros(n, np.intp), value, moments)


def _replace(best: BestSplits, split: ClassTables, which: Index, option: Index) -> None:
    """Take the split by one of the attributes at the nodes where it is better."""
    nodes = np.flatnonzero(which != NONE)
    if not len(nodes):
        return
    places, k = which[nodes], split.value.shape[2]
    best.attribute[nodes] = np.take(split.attributes, places)
    best.option[nodes] = option[nodes, places]
    best.value[nodes] = 0
    best.value[nodes, :k] = split.value[nodes, places]
    if best.moments is not None:
        own, cross, _ = best.moments
        own[nodes, :k], cross[nodes, :k] = split.moments(nodes, places)
