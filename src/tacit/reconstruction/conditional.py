"""Conditional shares P(A | B) = P(A and B) / P(B), from the unbiased joint table.

    influence of a report:  (g_AB - r g_B) / P(B),    r = P(A | B)

Both shares are estimated: taking P(B) as known is wrong. Standard errors are by the delta method.
Limits are not: a value r0 is tested by P(A and B) - r0 P(B), whose mean is 0 if it is true, with
the variance that r0 implies (Fieller, 1954; Wilson, 1927),

    n Var = P(B) r0 (1 - r0) + noise,    noise = mean of (g_AB - r0 g_B)^2 - its part without noise

so an interval lies in [0, 1] and is never empty; it is all of [0, 1] if P(B) could be 0. Without
disguise it is the exact interval among the records of B.

If all conditions of B are on undisguised attributes, the records of B are known, and the test is
that of the share among them (see `score_test`), also if they are few.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from tacit.arrays import Array
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.reported_shares import reported_within
from tacit.reconstruction.score_test import ScoreTest


def conditional_shares(
    table: Estimate, given: int, name: str, undisguised: bool = False
) -> Estimate:
    """The last axes of a joint table given the first ones; the table keeps its attributes.

    Where the estimate of P(B) is not positive, the share is not a number and its interval is all
    of [0, 1]. `undisguised` says that the first axes are.
    """
    if table.simple is not None:
        return _sampled_shares(table, table.simple, given, name, undisguised)
    shape = table.value.shape
    groups = math.prod(shape[:given])
    joint = table.value.reshape(groups, -1)
    total = joint.sum(axis=1, keepdims=True)
    total = np.where(total > 0, total, np.nan)
    value = joint / total
    covariance = table.covariance
    spread = _spreads(covariance, groups)
    variance = (spread[0] - 2 * value * spread[1] + value**2 * spread[2]) / total**2
    found = replace(
        table,
        value=value.reshape(shape),
        stderr=np.sqrt(np.maximum(variance, 0)).reshape(shape),
        covariance_of=partial(_covariance, value, total, covariance),
        score_of=None,
        interval_of=None,
        reported_of=partial(_reported, table, given),
        name=name,
    )
    if undisguised and table.score is not None and np.any(table.score.n_all):
        records = table.n_records * np.nan_to_num(total) * np.ones(joint.shape)
        return found.with_score(table.score.given(records.reshape(shape)))
    return found.with_score(_score(joint, total, spread, table.n_records, shape))


def _reported(table: Estimate, given: int) -> Array | None:
    return reported_within(table.reported, given)


def _sampled_shares(
    table: Estimate, simple: Estimate, given: int, name: str, undisguised: bool
) -> Estimate:
    """The shares with the errors of a sample."""
    found = conditional_shares(simple, given, name, undisguised)
    groups = math.prod(table.value.shape[:given])
    total = table.value.reshape(groups, -1).sum(axis=1, keepdims=True)
    total = np.where(total > 0, total, np.nan)
    covariance = _covariance(found.value.reshape(groups, -1), total, table.covariance)
    sampled = found.of_sample(covariance, table.df)
    sampled = replace(sampled, n_left_out=table.n_left_out)
    return replace(sampled, fit_of=table.fit_of, warning_of=table.warning_of)


def _spreads(covariance: Array, groups: int) -> tuple[Array, Array, Array]:
    """Variance of each share, its covariance with that of its group, variance of the latter."""
    each = np.arange(groups)
    cells = covariance.reshape(groups, -1, groups, covariance.shape[0] // groups)
    own = cells[each, :, each, :]  # groups x cells x cells
    return (
        np.diagonal(own, axis1=1, axis2=2),
        own.sum(axis=2),
        own.sum(axis=(1, 2))[:, None],
    )


def _covariance(value: Array, total: Array, joint: Array) -> Array:
    slopes = _slopes(value, total)
    return np.asarray(slopes @ joint @ slopes.T)


def _slopes(value: Array, total: Array) -> Array:
    """Derivatives of the conditional shares by the joint ones."""
    groups, cells = value.shape
    slopes = np.zeros((groups, cells, groups, cells))
    each = np.arange(groups)
    slopes[each, :, each, :] = (np.eye(cells) - value[:, :, None]) / total[:, :, None]
    return slopes.reshape(groups * cells, -1)


def _score(
    joint: Array,
    total: Array,
    spread: tuple[Array, Array, Array],
    n_records: int,
    shape: tuple[int, ...],
) -> ScoreTest:
    """The test of every share, as if from the records of its group; see the module."""
    known = np.nan_to_num(total, nan=1.0)
    first = n_records * spread[0] + joint**2 - joint
    mixed = n_records * spread[1] + joint * known - joint
    second = np.broadcast_to(n_records * spread[2] + known**2 - known, joint.shape)
    noise = np.stack([first, -2 * mixed, second]) / known
    # Sums of rounded numbers: without disguise there is no noise at all.
    noise = np.where(np.abs(noise) < 1e-9, 0.0, noise)
    unknown = np.isnan(total) & np.ones(joint.shape, bool)
    noise[0][unknown] = np.inf
    center = np.where(unknown, 0.5, joint / known)
    records = np.broadcast_to(np.maximum(n_records * known, 1e-9), joint.shape)
    return ScoreTest(
        center.reshape(shape),
        noise.reshape(3, *shape),
        np.zeros((3, *shape)),
        records.reshape(shape),
    )
