"""Two-point experiments: how well one group's report tells two true joint answers apart.

An experiment lists, for each outcome, its probability under the first and under the second true
answer. Two true cells u, v of a group give the experiment (M[y, u], M[y, v]) over reports y. An
experiment dominates another if its ROC curve is nowhere lower (Blackwell); then every adversary
does at least as well with it. Only pairs that no other pair dominates are listed, in closed form
per family, with exact fractions:

    keep or replace    the two cells that are drawn least often, in both orders
    keep or differ     one attribute: any two cells; several: cells that differ in all attributes
                       and cells that agree in one
    matrix             every pair; the erasure experiment for large matrices
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, permutations
from math import prod

import numpy as np

from tacit.channel import Channel
from tacit.channel.distribution import Distribution, Independent
from tacit.channel.keep_or_draw import ReplacementChannel
from tacit.channel.matrix import MatrixChannel
from tacit.channel.related import AgreementChannel

#: (probability under the first, under the second true answer) of each outcome.
Experiment = tuple[tuple[Fraction, Fraction], ...]

#: Position of an attribute in its group, and the codes of two of its categories.
Target = tuple[int, int, int]

#: A matrix of more true cells than this is bounded by its erasure experiment.
_MOST_LISTED = 12
_ZERO, _ONE = Fraction(0), Fraction(1)


@lru_cache(maxsize=4096)
def experiments_of(channel: Channel, target: Target | None = None) -> tuple[Experiment, ...]:
    """The best experiments on any two cells, or on two cells with the target's two categories."""
    if isinstance(channel, ReplacementChannel):
        found = _keep_or_replace(channel, target)
    elif isinstance(channel, AgreementChannel):
        found = _keep_or_differ(channel, target)
    else:
        assert isinstance(channel, MatrixChannel)
        found = _matrix(channel, target)
    return undominated(found)


def overlap(channel: Channel) -> Fraction:
    """sum_y min_x M[y, x]: the share of reports that carry nothing about the truth (Doeblin)."""
    if isinstance(channel, ReplacementChannel):
        cells = prod(channel.true_shape)
        off = 1 - channel.theta
        return off if channel.theta >= 0 else channel.theta * cells + off
    if isinstance(channel, AgreementChannel):
        if len(channel.sizes) > 1:
            return _ZERO
        (k,) = channel.sizes
        return k * min(channel.theta, (1 - channel.theta) / (k - 1))
    assert isinstance(channel, MatrixChannel)
    return sum((min(row) for row in channel.rows), _ZERO)


def _keep_or_replace(channel: ReplacementChannel, target: Target | None) -> list[Experiment]:
    """Cells drawn less often dominate: a garbling can move uninformative draws onto a cell."""
    theta, drawn = channel.theta, channel.drawn
    if target is None:
        first, second = _two_smallest(drawn)
        pairs = [(first, second), (second, first)]
    else:
        position, one, other = target
        pairs = [(_smallest(drawn, position, one), _smallest(drawn, position, other))]
    off = 1 - theta
    return [
        _experiment(
            [
                (theta + off * first, off * first),
                (off * second, theta + off * second),
                (off * (1 - first - second),) * 2,
            ]
        )
        for first, second in pairs
    ]


def _two_smallest(drawn: Distribution) -> tuple[Fraction, Fraction]:
    """The two smallest probabilities of cells."""
    if not isinstance(drawn, Independent):
        (table,) = drawn.units[1]
        first, second = sorted(table)[:2]
        return first, second
    least = [sorted(margin) for margin in drawn.margins]
    second = min(
        prod((row[0] for j, row in enumerate(least) if j != i), start=_ONE) * least[i][1]
        for i in range(len(least))
    )
    return drawn.smallest, second


def _smallest(drawn: Distribution, position: int, code: int) -> Fraction:
    """The smallest probability of a cell in which an attribute has this code."""
    if isinstance(drawn, Independent):
        others = (min(m) for i, m in enumerate(drawn.margins) if i != position)
        return prod(others, start=drawn.margins[position][code])
    (table,) = drawn.units[1]
    cells = np.array(table, dtype=object).reshape(drawn.shape)
    least: Fraction = min(np.take(cells, code, axis=position).ravel().tolist())
    return least


def _keep_or_differ(channel: AgreementChannel, target: Target | None) -> list[Experiment]:
    theta, sizes = channel.theta, channel.sizes
    off = (1 - theta) / prod(k - 1 for k in sizes)
    both = off * prod(k - 2 for k in sizes)
    alone = 1 - theta - off - both
    found = [[(theta, off), (off, theta), (alone, _ZERO), (_ZERO, alone), (both, both)]]
    if len(sizes) > 1:
        shared = min(
            (1 - theta) * prod(Fraction(k - 2, k - 1) for j, k in enumerate(sizes) if j != i)
            for i in range(len(sizes))
            if target is None or i != target[0]
        )
        found.append([(1 - shared, _ZERO), (_ZERO, 1 - shared), (shared, shared)])
    return [_experiment(outcomes) for outcomes in found]


def _matrix(channel: MatrixChannel, target: Target | None) -> list[Experiment]:
    cells = prod(channel.true_shape)
    if cells > _MOST_LISTED:
        shared = overlap(channel)
        return [_experiment([(1 - shared, _ZERO), (_ZERO, 1 - shared), (shared, shared)])]
    pairs: Iterable[tuple[int, ...]] = permutations(range(cells), 2)
    if target is not None:
        codes = np.indices(channel.true_shape)[target[0]].ravel()
        pairs = [(u, v) for u, v in pairs if (codes[u], codes[v]) == target[1:]]
    return [_experiment([(row[u], row[v]) for row in channel.rows]) for u, v in pairs]


def _experiment(outcomes: Iterable[tuple[Fraction, Fraction]]) -> Experiment:
    """Outcomes sorted by likelihood ratio, those with the same ratio merged."""
    merged: dict[Fraction, tuple[Fraction, Fraction]] = {}
    for first, second in outcomes:
        if first + second > 0:
            share = first / (first + second)
            held = merged.get(share, (_ZERO, _ZERO))
            merged[share] = (held[0] + first, held[1] + second)
    return tuple(merged[share] for share in sorted(merged))


def undominated(found: Sequence[Experiment]) -> tuple[Experiment, ...]:
    """Each experiment that no other one dominates, once."""
    kept: list[Experiment] = []
    for one in dict.fromkeys(found):
        if not any(_dominates(other, one) for other in kept):
            kept = [other for other in kept if not _dominates(one, other)] + [one]
    return tuple(kept)


def _curve(experiment: Experiment) -> list[tuple[Fraction, Fraction]]:
    """The ROC curve: (share of the first, of the second) in outcomes that favour the second."""
    points, x, y = [(_ZERO, _ZERO)], _ZERO, _ZERO
    for first, second in experiment:
        x, y = x + first, y + second
        points.append((x, y))
    return points


def _dominates(one: Experiment, other: Experiment) -> bool:
    curve = _curve(one)
    return all(_height(curve, x) >= y for x, y in _curve(other))


def _height(curve: Sequence[tuple[Fraction, Fraction]], at: Fraction) -> Fraction:
    """The ROC curve's largest value at a point."""
    for (x0, y0), (x1, y1) in zip(curve[-2::-1], curve[:0:-1], strict=True):
        if x0 <= at <= x1:
            return y1 if x0 == x1 else y0 + (y1 - y0) * (at - x0) / (x1 - x0)
    return _ONE


@lru_cache(maxsize=4096)
def envelope(found: tuple[Experiment, ...]) -> Experiment:
    """The least experiment that dominates all: increments of the concave hull of ROC curves."""
    hull: list[tuple[Fraction, Fraction]] = []
    for point in sorted({point for one in found for point in _curve(one)}):
        while len(hull) > 1 and _turns_left(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return _experiment((b[0] - a[0], b[1] - a[1]) for a, b in pairwise(hull))


def _turns_left(
    a: tuple[Fraction, Fraction], b: tuple[Fraction, Fraction], c: tuple[Fraction, Fraction]
) -> bool:
    return (b[0] - a[0]) * (c[1] - a[1]) >= (b[1] - a[1]) * (c[0] - a[0])
