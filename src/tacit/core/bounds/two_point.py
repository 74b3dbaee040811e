"""Two-point experiments: how well one group's report tells two true joint answers apart.

An experiment lists, for each outcome, its probability under the first and under the second true
answer. Two true cells u, v of a group give the experiment (M[y, u], M[y, v]) over reports y. An
experiment dominates another if its ROC curve is nowhere lower (Blackwell); then every adversary
does at least as well with it. Each channel lists its pairs in closed form, with exact fractions;
only those that no other pair dominates are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise

from tacit.core.channel import Channel
from tacit.core.channel.channel import Target

#: (probability under the first, under the second true answer) of each outcome.
Experiment = tuple[tuple[Fraction, Fraction], ...]

_ZERO, _ONE = Fraction(0), Fraction(1)


@lru_cache(maxsize=4096)
def experiments_of(channel: Channel, target: Target | None = None) -> tuple[Experiment, ...]:
    """The best experiments on any two cells, or on two cells with the target's two categories."""
    return undominated([_experiment(outcomes) for outcomes in channel.experiments(target)])


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
    start = (_ZERO, _ZERO)
    return list(accumulate(experiment, lambda a, b: (a[0] + b[0], a[1] + b[1]), initial=start))


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
