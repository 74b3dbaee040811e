"""Upper bounds on what reports disclose that need the design alone: no data, no dependence.

The adversary holds the whole reported record and knows the joint distribution of the answers; of
that distribution only the target's own share p is fixed. The chance of a right guess is convex in
the distribution of the other answers given the target, so it is largest where each answer to the
target fixes all others:

    two categories   every group sees one of two cells: the largest Bayes accuracy over the
                     two-point experiments of the groups, multiplied; exact
    more             1 - (2/k) sum over pairs of categories of the smallest error of telling
                     them apart, or 1 - prod_g m_g (1 - max p), m_g = sum_y min_x M_g[y, x]
    worst posterior  odds of p times the largest likelihood ratio of each group; for more than
                     two categories the groups' epsilons added up

The sum over pairs holds because for a_1 >= a_2 >= ... the pairs' smaller entries sum to
a_2 + 2 a_3 + ..., at most k/2 times a_2 + a_3 + ....

Where too many choices of experiments would have to be tried, each group gets one experiment that
dominates all its own; where outcomes become too many, posteriors are spread to a grid. Both only
raise the bound. Sums are exact and no logarithm is taken, so every machine finds the same number.

Two-point experiments say how well one group's report tells two true joint answers apart.
An experiment lists, for each outcome, its probability under the first and under the second true
answer. Two true cells u, v of a group give the experiment (M[y, u], M[y, v]) over reports y. An
experiment dominates another if its ROC curve is nowhere lower (Blackwell); then every adversary
does at least as well with it. Each channel lists its pairs in closed form, with exact fractions;
only those that no other pair dominates are kept.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, combinations, combinations_with_replacement, pairwise, product

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel import Channel
from tacit.core.channel.channel import Target
from tacit.core.channel.numbers import ratio_product
from tacit.core.design import Design, Group
from tacit.errors import DataError

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
            sums = merged.get(share, (_ZERO, _ZERO))
            merged[share] = (sums[0] + first, sums[1] + second)
    return tuple(merged[share] for share in sorted(merged))


def undominated(experiments: Sequence[Experiment]) -> tuple[Experiment, ...]:
    """Each experiment that no other one dominates, once."""
    best: list[Experiment] = []
    for experiment in dict.fromkeys(experiments):
        if not any(_dominates(other, experiment) for other in best):
            best = [other for other in best if not _dominates(experiment, other)] + [experiment]
    return tuple(best)


def _curve(experiment: Experiment) -> list[tuple[Fraction, Fraction]]:
    """The ROC curve: (share of the first, of the second) in outcomes that favour the second."""
    start = (_ZERO, _ZERO)
    return list(accumulate(experiment, lambda a, b: (a[0] + b[0], a[1] + b[1]), initial=start))


def _dominates(first: Experiment, second: Experiment) -> bool:
    curve = _curve(first)
    return all(_height(curve, x) >= y for x, y in _curve(second))


def _height(curve: Sequence[tuple[Fraction, Fraction]], at: Fraction) -> Fraction:
    """The ROC curve's largest value at a point."""
    for (x0, y0), (x1, y1) in zip(curve[-2::-1], curve[:0:-1], strict=True):
        if x0 <= at <= x1:
            return y1 if x0 == x1 else y0 + (y1 - y0) * (at - x0) / (x1 - x0)
    return _ONE


@lru_cache(maxsize=4096)
def envelope(experiments: tuple[Experiment, ...]) -> Experiment:
    """The least experiment that dominates all: increments of the concave hull of ROC curves."""
    hull: list[tuple[Fraction, Fraction]] = []
    for point in sorted({point for experiment in experiments for point in _curve(experiment)}):
        while len(hull) > 1:
            (x0, y0), (x1, y1) = hull[-2:]
            if (x1 - x0) * (point[1] - y0) < (y1 - y0) * (point[0] - x0):
                break
            hull.pop()
        hull.append(point)
    return _experiment((b[0] - a[0], b[1] - a[1]) for a, b in pairwise(hull))


#: Choices of experiments that are tried before each group gets its dominating one.
_MOST_CHOICES = 64
#: Attributes of more categories are not bounded by pairs.
_MOST_PAIRED = 12
#: Outcomes that are kept apart.
_MOST_OUTCOMES = 1024
#: Posteriors closer than this are one outcome.
_SAME = 1e-14
#: More than all roundings together.
_SLACK = 4e-12

ChosenExperiments = tuple[tuple[Experiment, int], ...]
#: Kinds of groups: their best experiments, and how many groups there are of the kind.
Others = tuple[tuple[tuple[Experiment, ...], int], ...]


@dataclass(frozen=True)
class Bound:
    """Upper bounds: the best guess is right, a guess drawn from the posterior is right, and the
    largest posterior of any true answer.
    """

    accuracy: float
    drawn: float
    worst_posterior: float


def bound_of_all(bounds: Collection[Bound]) -> Bound:
    """Of several answers at once: who guesses all of them right guesses each one right."""
    accuracy = min(bound.accuracy for bound in bounds)
    return Bound(accuracy, accuracy, min(bound.worst_posterior for bound in bounds))


class DesignReports:
    """All reports that an adversary sees: those of the groups `seen`, of all groups if None.

    In several `waves` the same people answer again and every wave draws anew: each group is then
    seen that many times. How the answers of two waves depend on each other is not assumed either,
    so the bound holds for answers that change and for answers that stay.
    """

    def __init__(self, design: Design, seen: Sequence[Group] | None = None, waves: int = 1) -> None:
        self._design = design
        groups = design.groups if seen is None else seen
        self._channels = {g: g.coin.channel(design.attributes_of(g)) for g in groups}
        channels = [*self._channels.values()] * waves
        self._kinds = Counter(experiments_of(channel) for channel in channels)
        self._erased = float(math.prod((c.overlap for c in channels), start=Fraction(1)))
        self._ratio = ratio_product(channel.ratio for channel in channels)
        self._pairs: dict[tuple[str, int, int], tuple[Experiment, ...]] = {}

    def _pair(self, name: str, channel: Channel, target: Target) -> tuple[Experiment, ...]:
        """The best experiments on two categories, kept because a large channel hashes slowly."""
        key = (name, *target[1:])
        if key not in self._pairs:
            self._pairs[key] = experiments_of(channel, target)
        return self._pairs[key]

    def bound(self, name: str, prior: Sequence[float] | None = None) -> Bound:
        """The bound on one attribute whose group is seen.

        `prior` is the attribute's own distribution, every category equally likely if None.
        """
        size, group = self._design.schema[name].size, self._design.group_of(name)
        shares = (1 / size,) * size if prior is None else tuple(float(p) for p in prior)
        if len(shares) != size:
            raise DataError(f"the prior of {name!r} needs {size} probabilities, got {len(shares)}")
        if group not in self._channels:
            raise DataError(f"the group of {name!r} must be one of the groups seen")
        channel, position = self._channels[group], group.attributes.index(name)
        kinds = self._kinds.copy()
        kinds[experiments_of(channel)] -= 1
        others = tuple((+kinds).items())
        accuracy, drawn = 1.0, 1.0
        if size == 2:
            pair = self._pair(name, channel, (position, 0, 1))
            accuracy, drawn = _two(shares[0], shares[1], pair, others)
            worst = max(_posterior(p, _ratio(pair, others, i)) for i, p in enumerate(shares))
        else:
            worst = _posterior(max(shares), self._ratio)
        if 2 < size <= _MOST_PAIRED:
            pairs = combinations(range(size), 2)
            experiments = ((i, j, self._pair(name, channel, (position, i, j))) for i, j in pairs)
            missed = math.fsum(
                shares[i] + shares[j] - _two(shares[i], shares[j], pair, others)[0]
                for i, j, pair in experiments
            )
            accuracy = 1 - 2 / size * missed
        accuracy = min(accuracy, 1 - self._erased * (1 - max(shares)))
        drawn = min(drawn, accuracy, 1 - self._erased * (1 - math.fsum(p * p for p in shares)))
        return Bound(*(min(1.0, value + _SLACK) for value in (accuracy, drawn, worst)))


@lru_cache(maxsize=4096)
def _two(
    first: float, second: float, experiments: tuple[Experiment, ...], others: Others
) -> tuple[float, float]:
    """Two categories: the largest over all choices of one experiment per group."""
    accuracy, drawn = 0.0, 0.0
    if first <= 0 and second <= 0:
        return accuracy, drawn
    for choice in _choices(experiments, others):
        a, b = _outcomes(choice, first, second)
        accuracy = max(accuracy, math.fsum(np.maximum(a, b)))
        drawn = max(drawn, math.fsum((a * a + b * b) / (a + b)))
    return accuracy, drawn


def _choices(experiments: tuple[Experiment, ...], others: Others) -> Iterator[ChosenExperiments]:
    """Every choice of one experiment per group; groups of one kind are interchangeable."""
    numbers = [math.comb(len(options) + count - 1, count) for options, count in others]
    if math.prod(numbers, start=len(experiments)) > _MOST_CHOICES:
        yield tuple((envelope(options), count) for options, count in ((experiments, 1), *others))
        return
    kinds = [list(combinations_with_replacement(options, count)) for options, count in others]
    for chosen in experiments:
        for rest in product(*kinds):
            yield ((chosen, 1), *Counter(option for picked in rest for option in picked).items())


def _outcomes(
    choice: ChosenExperiments, first_share: float, second_share: float
) -> tuple[Array, Array]:
    """P(outcome and first answer), P(outcome and second answer) of all experiments together."""
    first, second = np.array([first_share]), np.array([second_share])
    for experiment, count in choice:
        step = np.array([[float(a), float(b)] for a, b in experiment])
        for _ in range(count):
            if math.fsum(np.minimum(first, second)) < _SLACK / 4:
                return first, second  # certain already, and the slack covers the rest
            first = np.multiply.outer(first, step[:, 0]).ravel()
            second = np.multiply.outer(second, step[:, 1]).ravel()
            first, second = _merged(first, second)
    return first, second


def _merged(first: Array, second: Array) -> tuple[Array, Array]:
    """Outcomes with the same posterior as one; too many are spread to a grid."""
    total = first + second
    possible = total > 0
    first, second, total = first[possible], second[possible], total[possible]
    posterior = first / total
    order = np.argsort(posterior, kind="stable")
    first, second, posterior = first[order], second[order], posterior[order]
    label = np.concatenate([[0], np.cumsum(np.diff(posterior) > _SAME)])
    first, second = (np.bincount(label, x).astype(np.float64) for x in (first, second))
    return _spread(first, second) if first.size > _MOST_OUTCOMES else (first, second)


def _spread(first: Array, second: Array) -> tuple[Array, Array]:
    """Each outcome split between the two nearest grid posteriors: never less informative."""
    total = first + second
    position = first / total * (_MOST_OUTCOMES - 1)
    low = np.minimum(np.floor(position), _MOST_OUTCOMES - 2)
    share = position - low
    where = low.astype(np.intp)
    mass = np.bincount(where, total * (1 - share), _MOST_OUTCOMES)
    mass = mass + np.bincount(where + 1, total * share, _MOST_OUTCOMES)
    grid = np.arange(_MOST_OUTCOMES) / (_MOST_OUTCOMES - 1)
    possible = mass > 0
    return (mass * grid)[possible], (mass * (1 - grid))[possible]


@lru_cache(maxsize=4096)
def _ratio(experiments: tuple[Experiment, ...], others: Others, answer: int) -> Fraction | None:
    """The largest likelihood ratio of all groups in favour of one answer; None if unbounded."""
    ratios = [(_largest_ratio(options, answer), count) for options, count in others]
    powers = [None if ratio is None else ratio**count for ratio, count in ratios]
    return ratio_product([_largest_ratio(experiments, answer), *powers])


def _largest_ratio(experiments: tuple[Experiment, ...], answer: int) -> Fraction | None:
    """The largest likelihood ratio in favour of one answer; None if unbounded."""
    pairs = [(o[answer], o[1 - answer]) for experiment in experiments for o in experiment]
    if any(other == 0 and likelihood > 0 for likelihood, other in pairs):
        return None
    return max(likelihood / other for likelihood, other in pairs if other > 0)


def _posterior(share: float, ratio: Fraction | None) -> float:
    """The posterior of an answer of this prior share after evidence of this ratio."""
    if share <= 0:
        return 0.0
    if ratio is None or share >= 1:
        return 1.0
    odds = Fraction(share) / (1 - Fraction(share)) * ratio
    return float(odds / (1 + odds))
