"""related, crosswise, mangat_singh: the truth, or the opposite, about all answers of the group.

    M = theta * I + (1 - theta) * kron_a L_a,    L_a = (J - I) / (k_a - 1)

For yes/no answers L is the complement: one group is the scheme of Du & Zhan (2003, eq. 3),
g groups those of Soni & Shrivastva (2013, eq. 4-9; their M_3 has an error in entry (2,6) and
eq. 9 lists 17 entries for 16, so we take Kronecker products). One attribute of any k is Warner's
scheme as Huang & Du (2008, section III-B) extend it.

crosswise(p) is related(p) for one yes/no answer (Yu, Tian & Tang, 2008). mangat_singh(truth, p) has
two stages: the truth with probability `truth`, else Warner's device with p. That is related with
theta = truth + (1 - truth) p (Mangat & Singh, 1990).

At theta = 1/2 for yes/no answers (1/k for one attribute of k categories; in general where
theta/(1-theta) is the product of 1/(k_a - 1) over an odd number of attributes) M is singular: no
estimate exists, although the papers' grids of theta list 1/2.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, repeat
from typing import ClassVar

import numpy as np

from tacit.core.arrays import Array, Codes, Index, Mask
from tacit.core.channel.channel import (
    Agreement,
    Channel,
    DenseKernel,
    Kernel,
    Linear,
    Mirror,
    Mixture,
    Outcomes,
    SecondMoments,
    Step,
    Target,
    along_axes,
    check_dense,
    erasure,
    uncertainty,
)
from tacit.core.channel.coin import (
    YU_TIAN_TANG,
    Attributes,
    Coin,
    Differ,
    Keep,
    Strategy,
    all_positions,
)
from tacit.core.channel.numbers import Number, Unit, probability
from tacit.core.channel.weights import (
    Axes,
    EventMoments,
    Events,
    GroupWeights,
    KeepKernel,
    SignedKernel,
    States,
)
from tacit.errors import DataError

#: Products of (k - 1) beyond this no longer change an eigenvalue that a double can hold.
_LARGEST_PRODUCT = 10**13


@dataclass(frozen=True)
class Related(Coin):
    """With probability theta all true, else all other than true."""

    theta: Fraction
    family: ClassVar[str] = "related"
    reference: ClassVar[str] = (
        "Warner, S. L. (1965). Randomized response: A survey technique for eliminating evasive "
        "answer bias. Journal of the American Statistical Association, 60(309), 63-69."
    )
    procedure: ClassVar[str] = (
        "with probability {theta} the true answer was reported, otherwise another one, "
        "each other answer with the same probability (Warner, 1965)."
    )

    def strategies(self, attributes: Attributes) -> tuple[tuple[Fraction, Strategy], ...]:
        units = tuple((i,) for i in range(len(attributes)))
        return ((self.theta, Keep()), (1 - self.theta, Differ(units)))

    def channel(self, attributes: Attributes, positions: Unit | None = None) -> AgreementChannel:
        chosen = all_positions(attributes, positions)
        return AgreementChannel(self.theta, tuple(attributes[i].size for i in chosen))

    @property
    def remedy(self) -> str:
        return (
            f"at theta = {self.theta} the truth and its opposite cannot be told apart; "
            "move theta away from it, for yes/no answers away from 1/2 (a die gives 2/3 or 5/6)"
        )


class RelatedDevice(Coin):
    """Another device with the channel of a related one."""

    @property
    @abstractmethod
    def equivalent(self) -> Related:
        """The one device with the same channel."""

    def strategies(self, attributes: Attributes) -> tuple[tuple[Fraction, Strategy], ...]:
        return self.equivalent.strategies(attributes)

    def channel(self, attributes: Attributes, positions: Unit | None = None) -> AgreementChannel:
        return self.equivalent.channel(attributes, positions)


@dataclass(frozen=True)
class Crosswise(RelatedDevice):
    """Yes means: my answer and that to an innocent question of prevalence p are the same.

    Algebraically related(p) on one yes/no attribute; the second category reports "the same".
    """

    p: Fraction
    family: ClassVar[str] = "crosswise"
    one_yes_no: ClassVar[bool] = True
    reference: ClassVar[str] = YU_TIAN_TANG
    procedure: ClassVar[str] = (
        "respondents reported only whether their answer is the same as that to an innocent "
        "question with known share {p} (Yu, Tian & Tang, 2008)."
    )
    meaning: ClassVar[str] = "{yes} if both answers are the same, {no} if they are different"
    asks = "comparison"
    report_words = ("different", "same")
    remedy = (
        "an innocent question with p = 1/2 hides the answer from everyone; "
        "choose one whose prevalence is away from 1/2 (born in the first quarter: 1/4)"
    )

    @property
    def equivalent(self) -> Related:
        return Related(self.p)


@dataclass(frozen=True)
class MangatSingh(RelatedDevice):
    """The truth with probability `truth`, else related(p): two devices one after the other."""

    truth: Fraction
    p: Fraction
    family: ClassVar[str] = "mangat_singh"
    reference: ClassVar[str] = (
        "Mangat, N. S., & Singh, R. (1990). An alternative randomized response procedure. "
        "Biometrika, 77(2), 439-442."
    )
    procedure: ClassVar[str] = (
        "with probability {truth} the true answer was reported; otherwise a second draw "
        "decided: the true answer with probability {p}, else another one "
        "(Mangat & Singh, 1990)."
    )

    @property
    def equivalent(self) -> Related:
        return Related(self.truth + (1 - self.truth) * self.p)

    @property
    def remedy(self) -> str:
        theta = self.equivalent.theta
        return (
            f"both devices together give the truth with probability {theta}, at which the truth "
            "and its opposite cannot be told apart; take a larger truth or another p"
        )


@dataclass(frozen=True)
class AgreementChannel(Channel):
    """theta * I + (1 - theta) * kron L: entries depend only on which attributes agree."""

    theta: Fraction
    sizes: tuple[int, ...]

    @property
    def true_shape(self) -> tuple[int, ...]:
        return self.sizes

    @property
    def ratio(self) -> Fraction | None:
        """Two or more attributes: reports that mix truth and lie never occur, so None."""
        lie = (1 - self.theta) / math.prod(k - 1 for k in self.sizes)
        if len(self.sizes) > 1 or self.theta == 0 or lie == 0:
            return None
        return max(self.theta, lie) / min(self.theta, lie)

    @property
    def overlap(self) -> Fraction:
        if len(self.sizes) > 1:
            return Fraction(0)
        (k,) = self.sizes
        return k * min(self.theta, (1 - self.theta) / (k - 1))

    def experiments(self, target: Target | None = None) -> list[Outcomes]:
        """Cells that differ in all attributes; of several, also cells that agree in one."""
        theta, sizes, none = self.theta, self.sizes, Fraction(0)
        off = (1 - theta) / math.prod(k - 1 for k in sizes)
        both = off * math.prod(k - 2 for k in sizes)
        alone = 1 - theta - off - both
        experiments = [[(theta, off), (off, theta), (alone, none), (none, alone), (both, both)]]
        if len(sizes) > 1:
            shared = min(
                (1 - theta)
                * math.prod(Fraction(k - 2, k - 1) for j, k in enumerate(sizes) if j != i)
                for i in range(len(sizes))
                if target is None or i != target[0]
            )
            experiments.append(erasure(shared))
        return experiments

    @property
    def condition(self) -> float:
        """The eigenvalues are theta + (1 - theta) * prod of -1/(k - 1); the largest is 1.

        Floats find the smallest, fractions settle it.
        """
        theta, rest = float(self.theta), float(1 - self.theta)
        nearest = min(self._products(), key=lambda product: abs(theta + rest / product))
        smallest = abs(self.theta + (1 - self.theta) / nearest)
        return math.inf if smallest == 0 else float(1 / smallest)

    def _products(self) -> set[int]:
        """prod -(k_a - 1) over the subsets of attributes, each value once."""
        products = {1}
        for k in self.sizes:
            products |= {-p * (k - 1) for p in products if abs(p) < _LARGEST_PRODUCT}
        return products

    @cached_property
    def forward(self) -> Agreement:
        contrast = np.ones(())
        for k in self.sizes:
            contrast = np.multiply.outer(contrast, np.array([1.0, -1 / (k - 1)]))
        theta = float(self.theta)
        return Agreement(self.sizes, theta + (1 - theta) * contrast)

    @cached_property
    def inverse(self) -> Agreement:
        """For one yes/no group P(E) = (theta P*(E) - (1-theta) P*(not E)) / (2 theta - 1)."""
        return self.forward.inverse()

    def moments(self, power: int) -> SecondMoments:
        powers = self.inverse.power(power)
        product = Agreement(self.sizes, powers.eigenvalues * self.forward.eigenvalues)
        *others, same = product.coefficients().ravel()
        alike = np.ones(math.prod(self.sizes))
        return SecondMoments(same * alike, min(others) * alike, max(others) * alike)

    @property
    def _yes_no(self) -> bool:
        return set(self.sizes) == {2}

    @property
    def fast_forward(self) -> Linear:
        if not self._yes_no:
            return super().fast_forward
        return Mirror(float(self.theta), math.prod(self.sizes))

    def weights(self, attributes: Axes, inverse: Callable[[], Array]) -> GroupWeights:
        if self._yes_no:
            return KeepOrComplementWeights(attributes, float(self.theta))
        return KeepOrDifferWeights(attributes, float(self.theta), self.sizes)

    @cached_property
    def kernel(self) -> KeepOrDiffer:
        return KeepOrDiffer(float(self.theta), float(1 - self.theta), self.sizes)


#: The state of a yes/no group after a miss and a hit in each state.
_NEXT_STATE = np.array([[2, 1], [3, 1], [2, 3], [3, 3]], np.int8).ravel()


@dataclass(frozen=True, eq=False)
class KeepOrComplementWeights(GroupWeights):
    """Yes/no answers, all true or all opposite.

    States: 0 no condition yet, 1 all met, 2 all missed, 3 mixed.
    """

    theta: float

    @property
    def same_for_all_events(self) -> bool:
        return True

    @property
    def n_states(self) -> int:
        return 3

    @property
    def _by_state(self) -> Array:
        spread = 2 * self.theta - 1
        return np.array([1.0, self.theta / spread, -(1 - self.theta) / spread, 0.0])

    @property
    def heaviest(self) -> float:
        return float(np.abs(self._by_state[1:]).max())

    def dropped(self, states: States) -> Mask:
        return np.asarray(states == 3)

    def step(self, states: States, attribute: int | Index, hit: Mask) -> States:
        return _NEXT_STATE.take((states << 1) | hit)

    def weights(self, events: Events, states: States) -> Array:
        return self._by_state[states][None]

    def moments(self, event: Events, power: int = 2) -> EventMoments:
        met, missed = self._by_state[1:3] ** power
        inside = self.theta * met + (1 - self.theta) * missed
        opposite = self.theta * missed + (1 - self.theta) * met
        mixed = sum(not event.of(a).all() for a in self.attributes) > 1
        outside = (min(0.0, opposite), max(0.0, opposite)) if mixed else (opposite, opposite)
        return EventMoments((inside, inside), outside)

    def kernels(self, reported: Axes) -> tuple[SignedKernel, ...]:
        return tuple(
            KeepKernel(self.attributes, reported, weight, flip)
            for flip, weight in enumerate(self._by_state[1:3].tolist())
            if weight
        )


#: An int64 has room for this many attributes, one bit each.
_WORD = 63
#: Numbers of hits that are tabulated for one event.
_MAX_HITS = 1 << 22

#: Conditions of one kind: allowed categories, all categories, number of attributes.
Kinds = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, eq=False)
class KeepOrDifferWeights(GroupWeights):
    """All true, or every answer another one. States have one bit per attribute: its last hit.

    Attributes with as many categories, of which as many are allowed, are exchangeable: the weight
    depends on how many of them hit.
    """

    theta: float
    sizes: tuple[int, ...]

    def start(self, cells: Index) -> States:
        return np.zeros(len(cells), self._bits.dtype)

    @property
    def heaviest(self) -> float:
        return float(max(np.abs(_by_hits(self.theta, ((1, k, 1),))).max() for k in self.sizes))

    @cached_property
    def _bits(self) -> States:
        """The bit of each attribute of the schema; Python integers if a word is too short."""
        kind = np.int64 if len(self.attributes) < _WORD else object
        bits = np.zeros(max(self.attributes) + 1, kind)
        bits[list(self.attributes)] = [1 << i for i in range(len(self.attributes))]
        return bits

    def step(self, states: States, attribute: int | Index, hit: Mask) -> States:
        bit = self._bits[attribute]
        return np.where(hit, states | bit, states & ~bit)

    def weights(self, events: Events, states: States) -> Array:
        numbers = np.stack([events.of(a).sum(axis=1) for a in self.attributes], axis=1)
        kinds, which = np.unique(numbers, axis=0, return_inverse=True)
        return np.stack([self._weights(kind, states) for kind in kinds])[which.ravel()]

    def _weights(self, numbers: Index, states: States) -> Array:
        """The same for events that allow so many categories of each attribute."""
        kinds = self._kinds(numbers)
        cells = np.zeros(len(states), np.int64)
        for members in kinds.values():
            hits = sum((states >> i & 1).astype(np.int64) for i in members)
            cells = cells * (len(members) + 1) + hits
        return _by_hits(self.theta, _counted(kinds)).ravel()[cells]

    def _kinds(self, numbers: Index) -> dict[tuple[int, int], list[int]]:
        """Attributes with a condition, by allowed and all categories."""
        kinds: dict[tuple[int, int], list[int]] = {}
        for i, (b, k) in enumerate(zip(numbers.tolist(), self.sizes, strict=True)):
            if b < k:
                kinds.setdefault((b, k), []).append(i)
        return kinds

    def moments(self, event: Events, power: int = 2) -> EventMoments:
        numbers = np.array([event.of(a).sum() for a in self.attributes])
        kinds = _counted(self._kinds(numbers))
        powers = _by_hits(self.theta, kinds) ** power
        steps = [
            _hit_products(n, np.array([k - b, b - 1]) / (k - 1), np.array([k - b - 1, b]) / (k - 1))
            for b, k, n in kinds
        ]
        moved = along_axes(steps, powers)
        *outside, inside = (self.theta * powers + (1 - self.theta) * moved).ravel()
        return EventMoments((inside, inside), (min(outside), max(outside)))

    def hit_tables(self, events: Events, attributes: Index) -> Array:
        """One table serves all events whose attributes have as many categories."""
        sizes = np.array(events.sizes)[attributes]
        _, first, which = np.unique(sizes, axis=0, return_index=True, return_inverse=True)
        tables = []
        for f in first.tolist():
            row = slice(f, f + 1)
            tables.append(super().hit_tables(events.take(row), attributes[row])[0])
        return np.stack(tables)[which.ravel()]

    def kernels(self, reported: Axes) -> tuple[SignedKernel, ...] | None:
        ratio = (1 - self.theta) / self.theta if self.theta > 0 else math.inf
        if ratio >= 1:
            return None
        if ratio == 0:
            return (KeepKernel(self.attributes, reported, 1.0),)
        even = self.theta / (2 * self.theta - 1)
        return tuple(
            PowerKernel(self.attributes, reported, weight, self.sizes, parity, ratio)
            for parity, weight in enumerate((even, 1 - even))
        )


def _counted(kinds: dict[tuple[int, int], list[int]]) -> Kinds:
    return tuple((b, k, len(members)) for (b, k), members in kinds.items())


@lru_cache(maxsize=4096)
def _by_hits(theta: float, kinds: Kinds) -> Array:
    """g by the number of hits among the attributes of each kind (allowed, size, how many).

    W is a sum over sets U of attributes of 1/(theta + (1-theta) prod_U -1/(k-1)) times contrasts
    I - J/k on U and means J/k elsewhere; sets with as many members of each kind are summed at once.
    """
    cells = math.prod(n + 1 for _, _, n in kinds)
    if cells > _MAX_HITS:
        raise DataError(
            f"the weights of an event with conditions on attributes of {len(kinds)} different "
            f"sizes in one related group need {cells:,} cases, more than the {_MAX_HITS:,} "
            "allowed; use fewer conditions"
        )
    products = np.ones(())
    for _, k, n in kinds:
        products = np.multiply.outer(products, (-1 / (k - 1)) ** np.arange(n + 1))
    steps = [
        _hit_products(n, np.array([b / k, 1 - b / k]), np.array([b / k, -b / k]))
        for b, k, n in kinds
    ]
    return along_axes(steps, 1 / (theta + (1 - theta) * products))


def _hit_products(n: int, hit: Array, miss: Array) -> Array:
    """Row h: coefficients of the polynomial hit^h miss^(n - h), from linear hit and miss."""
    hits = list(accumulate(repeat(hit, n), np.convolve, initial=np.ones(1)))
    misses = list(accumulate(repeat(miss, n), np.convolve, initial=np.ones(1)))
    return np.stack([np.convolve(hits[h], misses[n - h]) for h in range(n + 1)])


@dataclass(frozen=True, eq=False)
class PowerKernel(SignedKernel):
    """Apply K an even (`parity` 0) or odd (1) number of times; `ratio` is (1-theta)/theta.

    K^j keeps an answer of k categories with probability (1 + (k-1) a) / k, a = (-1/(k-1))^j, and
    else gives one of the others, all equally likely.
    """

    sizes: tuple[int, ...]
    parity: int
    ratio: float

    random: ClassVar[bool] = True

    def write(self, reported: Codes, copy: Codes, rng: np.random.Generator) -> None:
        power = 2 * (rng.geometric(1 - self.ratio**2, len(copy)) - 1) + self.parity
        for true, report, k in zip(self.true, self.reported, self.sizes, strict=True):
            same = (1 + (k - 1) * (-1 / (k - 1)) ** power) / k
            other = rng.random(len(copy)) >= same
            shift = np.where(other, rng.integers(1, k, len(copy)), 0)
            copy[:, true] = (reported[:, report] + shift) % k


@dataclass(frozen=True, eq=False)
class KeepOrDiffer(Kernel):
    """theta * I + rest * kron_a L_a: the two parts have no cell in common."""

    theta: float
    rest: float
    sizes: tuple[int, ...]

    @property
    def length(self) -> int:
        return sum(self.sizes)

    @cached_property
    def mixture(self) -> Mixture:
        others = tuple((1 - np.eye(k)) / (k - 1) for k in self.sizes)
        return Mixture(self.theta, self.rest, others, None)

    def apply(self, step: Step, table: Array) -> Array:
        turning = table
        for other in self.mixture.others:  # each moves the leading axis to the back
            turning = DenseKernel(other).apply(step, turning.reshape(len(other), -1)).T
        differ = turning.reshape(table.shape[1], -1).T
        if step is Step.PEAK:
            return np.maximum(self.theta * table, self.rest * differ)
        power = 2 if step is Step.SQUARES else 1
        return self.theta**power * table + self.rest**power * differ

    @property
    def entropies(self) -> Array:
        ways = math.prod(k - 1 for k in self.sizes)
        truth, other = uncertainty(np.array([self.theta, self.rest / ways]))
        return np.full(math.prod(self.sizes), truth + ways * other)

    @property
    def entries(self) -> Array:
        cells = math.prod(self.sizes)
        check_dense(cells)
        return self.apply(Step.TOTAL, np.eye(cells))

    def outcomes(self, answers: Index) -> Iterator[Array]:
        """The others show what the coin decided: the category is the true one, or another one."""
        same = self.theta * np.eye(self.sizes[0])
        other = self.rest * self.mixture.others[0]
        for table in (same, other) if len(self.sizes) > 1 else (same + other,):
            yield from table[:, :, None]


def related(theta: Number) -> Related:
    """Truth about the whole group with probability theta, else the opposite (Warner; Du & Zhan)."""
    return Related(probability(theta, "related: theta"))


def crosswise(p: Number) -> Crosswise:
    """Report whether the answer equals that to an innocent question of known prevalence p."""
    return Crosswise(probability(p, "crosswise: p"))


def mangat_singh(truth: Number, p: Number) -> MangatSingh:
    """The truth with probability `truth`, else Warner's device: the truth with probability p."""
    return MangatSingh(probability(truth, "mangat_singh: truth"), probability(p, "mangat_singh: p"))
